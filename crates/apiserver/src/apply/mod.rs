//! Server-side apply, and the bookkeeping that every other write owes it.
//!
//! | file | duty |
//! | --- | --- |
//! | `field_set` | sets of fields and their written form |
//! | `typed` | whether a configuration has the shape of its schema |
//! | `walk` | objects as sets of fields: set, changed, without |
//! | `merge` | a configuration laid over a live object |
//! | `managed_fields` | who owns what, read from and written to metadata |
//! | `ownership` | what a change takes from other managers |
//! | `update` | the same for a write that leaves most managers alone |
//! | `last_applied` | objects that kubectl applied from the client side before |
//! | `conflict` | refusals, in Kubernetes' words |
//!
//! Everything here is a pure function; the time comes in as an argument.

mod conflict;
pub mod field_set;
mod last_applied;
pub mod managed_fields;
mod merge;
mod ownership;
mod typed;
mod update;
mod walk;

use jiff::Timestamp;
use serde_json::{Value, json};

pub use conflict::{ApplyError, Conflict};
use managed_fields::{Managed, Manager, Operation, Owned, stamp, strip};
use ownership::Change;

use crate::schema::Structural;

/// The owner of fields that were there before the first apply of an untracked object (Kubernetes'
/// own name).
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Applies a configuration to a live object, or creates it from the configuration.
///
/// The answer holds the merged object with its managed fields; when nothing changes, it equals the
/// live object. Defaults, pruning and validation follow in the caller, as for every write.
///
/// # Errors
/// [`ApplyError::Conflict`] when another manager owns a field that changes and `force` is not set;
/// [`ApplyError::BadRequest`] for a configuration with managed fields;
/// [`ApplyError::Untyped`] for fields that the schema doesn't declare.
pub fn apply(
    live: Option<&Value>,
    config: &Value,
    manager: &str,
    force: bool,
    schema: &Structural,
    now: Timestamp,
    subresource: &str,
) -> Result<Value, ApplyError> {
    check_config(config, schema)?;
    let api_version = config
        .get("apiVersion")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let applier = Manager {
        name: manager.to_owned(),
        operation: Operation::Apply,
        subresource: subresource.to_owned(),
        api_version: String::new(),
    };
    let mut managed = Managed::read(live).unwrap_or_default();
    if let Some(live) = live.filter(|_| managed.owners.is_empty()) {
        own_everything(live, &mut managed, schema, now);
    }
    let former = managed.clone();
    let empty = json!({});
    let live_object = live.unwrap_or(&empty);
    let change = Change {
        schema,
        live: live_object,
        config,
        applier: &applier,
        api_version,
    };
    let outcome = match change.apply(&managed, force) {
        Err(conflicts) if manager == "kubectl" => {
            last_applied::without_own_conflicts(conflicts, live_object, schema)
                .map_or_else(|| change.apply(&managed, true), Err)
        }
        other => other,
    };
    let (mut object, mut managed) = outcome.map_err(|refused| {
        ApplyError::Conflict(refused.into_iter().map(|owned| owned.conflict).collect())
    })?;
    if manager == "kubectl" {
        last_applied::refresh(live_object, &mut object, config);
    }
    managed.tidy();
    let same_object = live.is_some_and(|live| ownership::same_content(live, &object));
    if same_object && managed == former {
        return Ok(live_object.clone());
    }
    // Who only says what is so already is noted, but not when.
    if let Some(owned) = managed.owners.get_mut(&applier).filter(|_| !same_object) {
        owned.time = Some(stamp(now));
    }
    managed.cap();
    managed.write(&mut object);
    Ok(object)
}

/// Records who set what in a write other than apply: create, update, patch.
///
/// Managed fields that `new` brings along are taken as they are, so that a client can edit them; a
/// list of one empty entry clears them. The time of an entry moves only when its fields change.
/// Objects whose tracking was cleared stay untracked until somebody applies.
pub fn track_update(
    old: Option<&Value>,
    new: &mut Value,
    manager: &str,
    schema: &Structural,
    now: Timestamp,
    subresource: &str,
) {
    if ownership::is_reset(new) {
        Managed::default().write(new);
        return;
    }
    let updater = updater_of(new, manager, subresource);
    if let Some(old) = old.filter(|old| update::knows(old, new)) {
        let compared = walk::compare(old, new, Some(schema.root()));
        if update::track(&compared, new, &updater, now) {
            return;
        }
    }
    track_all(old, new, &updater, schema, now);
}

/// Reads all managed fields, moves those that changed, and writes all.
fn track_all(
    old: Option<&Value>,
    new: &mut Value,
    updater: &Manager,
    schema: &Structural,
    now: Timestamp,
) {
    let mut managed = match Managed::read(Some(new)) {
        Ok(managed) if !managed.owners.is_empty() => managed,
        Ok(_) | Err(_) => Managed::read(old).unwrap_or_default(),
    };
    if managed.owners.is_empty() && old.is_some() {
        managed.write(new);
        return;
    }
    let empty = json!({});
    let compared = walk::compare(old.unwrap_or(&empty), new, Some(schema.root()));
    ownership::take_over(&compared, &mut managed, updater, now);
    managed.tidy();
    managed.cap();
    managed.write(new);
}

fn updater_of(new: &Value, manager: &str, subresource: &str) -> Manager {
    let api_version = new
        .get("apiVersion")
        .and_then(Value::as_str)
        .unwrap_or_default();
    Manager {
        name: if manager.is_empty() {
            "unknown".to_owned()
        } else {
            manager.to_owned()
        },
        operation: Operation::Update,
        subresource: subresource.to_owned(),
        api_version: api_version.to_owned(),
    }
}

/// What is wrong with the managed fields of an object.
pub(crate) fn problem_of_fields(object: &Value) -> Option<String> {
    Managed::read(Some(object)).err()
}

fn check_config(config: &Value, schema: &Structural) -> Result<(), ApplyError> {
    if !config.is_object() {
        let message = "the applied configuration must be an object".to_owned();
        return Err(ApplyError::BadRequest(message));
    }
    let managed = config.pointer("/metadata/managedFields");
    if managed.is_some_and(|list| !list.is_null()) {
        return Err(ApplyError::BadRequest(
            "metadata.managedFields must be nil".to_owned(),
        ));
    }
    let problems = typed::problems(config, schema.root());
    if problems.is_empty() {
        return Ok(());
    }
    let text = |pointer: &str| {
        config
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
    let object = if namespace.is_empty() {
        format!("/{name}")
    } else {
        format!("{namespace}/{name}")
    };
    let problems = match problems.as_slice() {
        [only] => only.clone(),
        several => format!("errors:\n  {}", several.join("\n  ")),
    };
    Err(ApplyError::Untyped(format!(
        "failed to create typed patch object ({object}; {}, Kind={}): {problems}",
        text("/apiVersion"),
        text("/kind"),
    )))
}

/// Gives every field of an untracked object an owner, so that the first apply can conflict.
fn own_everything(live: &Value, managed: &mut Managed, schema: &Structural, now: Timestamp) {
    let api_version = live
        .get("apiVersion")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let manager = Manager {
        name: BEFORE_FIRST_APPLY.to_owned(),
        operation: Operation::Update,
        subresource: String::new(),
        api_version: api_version.to_owned(),
    };
    let compared = walk::compare(&json!({}), live, Some(schema.root()));
    let fields = strip(&compared.added);
    let time = Some(stamp(now));
    let owned = Owned {
        fields,
        api_version: api_version.to_owned(),
        time,
    };
    managed.owners.insert(manager, owned);
    managed.tidy();
}
