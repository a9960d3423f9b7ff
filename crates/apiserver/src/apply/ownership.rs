//! Who owns which field after a write.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::conflict::{Conflict, describe};
use super::field_set::{FieldPath, FieldSet};
use super::managed_fields::{Managed, Manager, Owned, stamp, strip};
use super::merge::merge;
use super::walk::{self, Comparison, compare, fields_of};
use crate::schema::Structural;
use crate::schema::structural::Node;

/// A conflict with the path that it is about.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) conflict: Conflict,
    pub(super) path: FieldPath,
}

/// One apply.
#[derive(Clone, Copy)]
pub(super) struct Change<'a> {
    pub(super) schema: &'a Structural,
    pub(super) live: &'a Value,
    pub(super) config: &'a Value,
    pub(super) applier: &'a Manager,
    pub(super) api_version: &'a str,
}

impl Change<'_> {
    /// Merges the configuration, takes away what the applier gave up, and moves ownership.
    pub(super) fn apply(
        &self,
        managed: &Managed,
        force: bool,
    ) -> Result<(Value, Managed), Vec<Refused>> {
        let root = Some(self.schema.root());
        let mut managed = managed.clone();
        let mut merged = merge(self.live, self.config, root);
        let last = managed.owners.get(self.applier).cloned();
        // Its name and type count as applied while fields are given up, or all metadata would go
        // with the last label.
        let fields = fields_of(self.config, root);
        let owned = strip(&fields);
        let time = last.as_ref().and_then(|owned| owned.time.clone());
        let api_version = self.api_version.to_owned();
        let entry = Owned {
            fields,
            api_version,
            time,
        };
        managed.owners.insert(self.applier.clone(), entry);
        if let Some(last) = last.filter(|last| !last.fields.is_empty()) {
            merged = prune(merged, &managed, self.applier, &last.fields, root);
        }
        if let Some(entry) = managed.owners.get_mut(self.applier) {
            entry.fields = owned;
        }
        let compared = compare(self.live, &merged, root);
        release(&mut managed, Some(self.applier), &compared, force)?;
        Ok((merged, managed))
    }
}

/// Takes out of a merged object what an applier owned and gave up, unless another owns it.
///
/// What was never the applier's stays, even below an entry that it gave up.
fn prune(
    merged: Value,
    managed: &Managed,
    applier: &Manager,
    last: &FieldSet,
    root: Option<&Node>,
) -> Value {
    let without = |set: &FieldSet| walk::remove(merged.clone(), set, root);
    let named = |value: &Value| fields_of(value, root).with_named_fields(root);
    // Metadata as a whole is nobody's to give up: it names the object.
    let mut metadata = FieldSet::default();
    metadata.insert_path(&["f:metadata"]);
    let last = last.with_named_fields(root).difference(&metadata);
    // Most applies give nothing up, and the applier's own entry shows that at once.
    let mut given_up = last.clone();
    let own_first = managed
        .owners
        .get(applier)
        .into_iter()
        .chain(managed.owners.values());
    for owner in own_first {
        given_up = given_up.difference(&owner.fields.with_named_fields(root));
        if given_up.is_empty() {
            return merged;
        }
    }
    let mut owned = FieldSet::default();
    for owner in managed.owners.values() {
        owned.absorb(owner.fields.clone());
    }
    let owned = owned.with_named_fields(root);
    let present = named(&merged);
    let pruned = without(&last);
    // What others own, or this configuration still sets, comes back.
    let kept = named(&pruned).union(&owned);
    let pruned = without(&present.difference(&kept));
    // So does what the applier never owned.
    without(&present.difference(&named(&pruned)).intersection(&last))
}

/// Takes changed and removed fields from every manager but one.
fn release(
    managed: &mut Managed,
    keep: Option<&Manager>,
    compared: &Comparison,
    force: bool,
) -> Result<(), Vec<Refused>> {
    if compared.is_same() {
        return Ok(());
    }
    let changed = compared.modified.union(&compared.added);
    let mut taken: BTreeMap<Manager, FieldSet> = BTreeMap::new();
    for (manager, owned) in &managed.owners {
        if keep == Some(manager) {
            continue;
        }
        let fields = owned.fields.intersection(&changed);
        if !fields.is_empty() {
            taken.insert(manager.clone(), fields);
        }
    }
    if !force && !taken.is_empty() {
        return Err(refusals(taken));
    }
    for (manager, owned) in &mut managed.owners {
        if keep == Some(manager) {
            continue;
        }
        if let Some(fields) = taken.get(manager) {
            owned.fields = owned.fields.difference(fields);
        }
        if !compared.removed.is_empty() {
            owned.fields = owned.fields.difference(&compared.removed);
        }
    }
    Ok(())
}

fn refusals(taken: BTreeMap<Manager, FieldSet>) -> Vec<Refused> {
    let mut out = Vec::new();
    for (manager, fields) in taken {
        let manager = describe(&manager);
        out.extend(fields.paths().into_iter().map(|path| Refused {
            conflict: Conflict {
                manager: manager.clone(),
                field: path.to_string(),
            },
            path,
        }));
    }
    out
}

/// Moves every changed field to the updating manager.
pub(super) fn take_over(
    compared: &Comparison,
    managed: &mut Managed,
    updater: &Manager,
    now: Timestamp,
) {
    if compared.is_same() {
        return;
    }
    let force = true;
    let released = release(managed, None, compared, force);
    debug_assert!(released.is_ok(), "a forced release refuses nothing");
    let taken = strip(&compared.added.union(&compared.modified));
    if taken.is_empty() {
        return;
    }
    let owned = managed
        .owners
        .entry(updater.clone())
        .or_insert_with(|| Owned {
            fields: FieldSet::default(),
            api_version: updater.api_version.clone(),
            time: None,
        });
    owned.fields.absorb(taken);
    // A scaler's entry has no time on a genuine server either.
    owned.time = (updater.subresource != "scale").then(|| stamp(now));
}

/// Whether managed fields are sent as one empty entry, which clears them.
pub(super) fn is_reset(object: &Value) -> bool {
    let list = object
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array);
    match list.map(Vec::as_slice) {
        Some([Value::Object(only)]) => only.values().all(|value| value.is_null() || value == ""),
        _ => false,
    }
}

/// Whether two objects are the same but for managed fields.
pub(super) fn same_content(one: &Value, other: &Value) -> bool {
    let (Some(one), Some(other)) = (one.as_object(), other.as_object()) else {
        return one == other;
    };
    one.len() == other.len()
        && one.iter().all(|(name, value)| match other.get(name) {
            Some(theirs) if name == "metadata" => same_metadata(value, theirs),
            Some(theirs) => value == theirs,
            None => false,
        })
}

fn same_metadata(one: &Value, other: &Value) -> bool {
    let (Some(one), Some(other)) = (one.as_object(), other.as_object()) else {
        return one == other;
    };
    let rest = |map: &'_ serde_json::Map<String, Value>| {
        map.len() - usize::from(map.contains_key("managedFields"))
    };
    rest(one) == rest(other)
        && one
            .iter()
            .filter(|(name, _)| *name != "managedFields")
            .all(|(name, value)| other.get(name) == Some(value))
}
