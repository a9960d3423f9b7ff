//! The one road of every write: complete, check, compare, commit.
//!
//! In: an object as a client (or one of the server's own loops) wants it. Out: the stored object.
//! A write that changes nothing is answered with what is stored: no revision, no event.

mod admit;
mod difference;
mod place;
mod rights;
mod signing;

pub(crate) use admit::Told;
pub(crate) use difference::is_gone;
pub(crate) use place::{check_kind, check_version};

use std::sync::Arc;

use serde_json::Value;

use super::call::Call;
use crate::admission::Operation;
use crate::clock::stamp;
use crate::conversion;
use crate::instance::Instance;
use crate::object::{self, at, meta_mut};
use crate::registry::{Behaviour, ScalePaths, Served, establish};
use crate::request::Caller;
use crate::request::options::FieldValidation;
use crate::request::yaml::Repeated;
use crate::status_error::{Cause, Failure, Outcome};
use crate::store::{CommitError, Expect, Key, Record};
use crate::{apply, schema};
use crate::{metadata, strategy};
use difference::{copy_field, differs, only_subresource, remove, same};

/// A write that loses its race this often gives up.
const RETRIES: usize = 1_024;
/// Tries to find a free generated name.
const NAME_TRIES: usize = 8;

/// Who writes what, and how.
pub(crate) struct Writing<'a> {
    pub(crate) instance: &'a Instance,
    pub(crate) served: Served,
    pub(crate) caller: Caller,
    pub(crate) manager: &'a str,
    pub(crate) subresource: &'a str,
    /// The subresource that managed fields name; differs for scale, which writes the spec.
    pub(crate) tracked_as: &'a str,
    pub(crate) dry_run: bool,
    pub(crate) field_validation: FieldValidation,
    /// Fields that the body names more than once.
    pub(crate) repeated: Vec<Repeated>,
    /// Whether the new state already carries its managed fields (apply computes them itself).
    pub(crate) tracked: bool,
    /// Whether the new state comes from a patch, for the words of a refusal.
    pub(crate) patches: bool,
    /// Whether the uid of a new state is a precondition, as in a replacement.
    pub(crate) guarded: bool,
    /// Whether a new state without a resource version may replace anything.
    pub(crate) unconditional: bool,
    /// What admission webhooks are told; `None` when none is asked.
    pub(crate) told: Option<Told>,
    /// Where the numbers are, when the write is about the scale only.
    pub(crate) scale: Option<ScalePaths>,
    pub(crate) warn: &'a (dyn Fn(String) + Send + Sync),
}

/// What an update amounts to.
enum Step {
    Unchanged,
    Replace(Arc<Value>),
    /// The last finalizer is gone from an object that is being deleted.
    Remove(Arc<Value>),
}

impl Step {
    /// The state that validating webhooks are shown.
    fn state(&self, old: &Arc<Value>) -> Arc<Value> {
        match self {
            Self::Unchanged => old.clone(),
            Self::Replace(new) | Self::Remove(new) => new.clone(),
        }
    }
}

/// A write that nobody is warned about.
pub(crate) fn silent(_: String) {}

impl<'a> Writing<'a> {
    /// The write of a call.
    pub(crate) fn of(call: &'a Call, warn: &'a (dyn Fn(String) + Send + Sync)) -> Self {
        Self {
            instance: &call.instance,
            served: call.served.clone(),
            caller: call.caller.clone(),
            manager: &call.manager,
            subresource: &call.target.subresource,
            tracked_as: &call.target.subresource,
            dry_run: call.options.dry_run,
            field_validation: call.options.field_validation,
            repeated: Vec::new(),
            tracked: false,
            patches: false,
            guarded: false,
            unconditional: call.served.kind.allows_unconditional_update(),
            told: Some(Told {
                options: call.options.as_told(),
                of_collection: false,
            }),
            scale: None,
            warn,
        }
    }

    /// A write of the server's own loops.
    pub(crate) fn own(instance: &'a Instance, served: Served, subresource: &'a str) -> Self {
        Self {
            instance,
            served,
            caller: Caller {
                name: "system:apiserver".into(),
                ..Caller::admin()
            },
            manager: "apiserver",
            subresource,
            tracked_as: subresource,
            dry_run: false,
            field_validation: FieldValidation::Ignore,
            repeated: Vec::new(),
            tracked: false,
            patches: false,
            guarded: false,
            unconditional: true,
            told: Some(Told::default()),
            scale: None,
            warn: &silent,
        }
    }

    /// Makes an object; finds a name when only a prefix is given.
    pub(crate) async fn create(
        &self,
        namespace: Option<&str>,
        mut new: Value,
    ) -> Outcome<Arc<Record>> {
        let kind = &self.served.kind;
        if kind.ending {
            return Err(Failure::ending(kind));
        }
        self.check_place(namespace, &mut new)?;
        if !object::meta_str(&new, "resourceVersion").is_empty() {
            let message = "resourceVersion should not be set on objects to be created";
            return Err(Failure::new(500, "", message));
        }
        if let Some(namespace) = namespace {
            self.check_namespace(namespace, object::name(&new))?;
        }
        let seen = self.seen(Operation::Create);
        if seen.mutating {
            new = self.mutate_create(namespace, new).await?;
        }
        let prefix = object::meta_str(&new, "generateName").to_owned();
        let generated = object::name(&new).is_empty() && !prefix.is_empty();
        if generated {
            meta_mut(&mut new).insert("name".into(), self.instance.ids().name(&prefix).into());
        }
        self.prepare_create(&mut new, seen.mutating)?;
        if seen.validating {
            let shown = Arc::new(new);
            self.approve(Operation::Create, namespace, shown.clone(), None)
                .await?;
            new = Arc::unwrap_or_clone(shown);
        }
        for _ in 0..NAME_TRIES {
            let key = Instance::key(kind, namespace, object::name(&new));
            let attempt = if generated {
                new.clone()
            } else {
                std::mem::take(&mut new)
            };
            match self.commit(&key, Expect::Absent, Some(attempt)).await? {
                Ok(record) => return Ok(record),
                Err(CommitError::Conflict) if generated => {
                    let name = self.instance.ids().name(&prefix);
                    meta_mut(&mut new).insert("name".into(), name.into());
                }
                Err(CommitError::Conflict) => {
                    return Err(Failure::already_exists(kind, &key.name));
                }
                Err(error) => return Err(Failure::internal(error)),
            }
        }
        Err(Failure::already_exists(kind, object::name(&new)))
    }

    /// Changes the object at `key`: `change` gets the live object and returns the wished one.
    pub(crate) async fn update(
        &self,
        key: &Key,
        mut change: impl FnMut(&Value) -> Outcome<Value> + Send,
    ) -> Outcome<Arc<Record>> {
        let kind = &self.served.kind;
        for _ in 0..RETRIES {
            let live = self.instance.latest(key);
            let live = live.ok_or_else(|| Failure::not_found(kind, &key.name))?;
            let shown = conversion::record(self.instance, &self.served, live.clone()).await?;
            let old = Arc::new(conversion::value(&shown, &self.served));
            let mut wished = change(&old)?;
            let seen = self.seen(Operation::Update);
            if seen.mutating {
                wished = self.mutate_update(&old, wished).await?;
            }
            let step = self.step(&old, wished, seen.mutating)?;
            if seen.validating {
                let (state, before) = (step.state(&old), Some(old.clone()));
                let namespace = Some(object::namespace(&old));
                self.approve(Operation::Update, namespace, state, before)
                    .await?;
            }
            let expect = Expect::Revision(live.revision);
            let outcome = match step {
                // What lies at an old version is stored anew, as a migration relies on.
                Step::Unchanged if self.is_outdated(&live) => {
                    let old = Arc::unwrap_or_clone(old);
                    self.commit(key, expect, Some(old)).await?
                }
                Step::Unchanged => {
                    self.instance.settled().await.map_err(Failure::internal)?;
                    return Ok(shown);
                }
                Step::Replace(new) => {
                    let new = Arc::unwrap_or_clone(new);
                    self.commit(key, expect, Some(new)).await?
                }
                Step::Remove(new) => {
                    let new = Arc::unwrap_or_clone(new);
                    let removed = self.commit(key, expect, None).await?;
                    removed.map(|gone| Arc::new(Record::removed(new, gone.revision)))
                }
            };
            match outcome {
                Ok(record) => return Ok(record),
                Err(CommitError::Conflict) => {}
                Err(error) => return Err(Failure::internal(error)),
            }
        }
        Err(Failure::stale(kind, &key.name))
    }

    /// Removes the object at `key`, which must still be of this revision.
    pub(crate) async fn remove(
        &self,
        key: &Key,
        revision: u64,
    ) -> Outcome<Result<Arc<Record>, CommitError>> {
        self.commit(key, Expect::Revision(revision), None).await
    }

    /// Whether an object lies at a version that is no longer stored, or in an older form.
    fn is_outdated(&self, live: &Record) -> bool {
        let kind = &self.served.kind;
        kind.is_custom()
            && (*live.head.api_version != *kind.stored_as
                || conversion::reads_differently(live, kind))
    }

    /// Stores an object, or its absence. The outer error is a refusal, the inner one a lost race
    /// or a failing disk.
    async fn commit(
        &self,
        key: &Key,
        expect: Expect,
        new: Option<Value>,
    ) -> Outcome<Result<Arc<Record>, CommitError>> {
        let new = match new {
            Some(new) => Some(conversion::to_stored(self.instance, &self.served, new).await?),
            None => None,
        };
        let outcome = if self.dry_run {
            self.rehearse(key, expect, new)
        } else {
            self.instance.commit(key, expect, new).await
        };
        match outcome {
            Ok(record) => conversion::record(self.instance, &self.served, record)
                .await
                .map(Ok),
            Err(error) => Ok(Err(error)),
        }
    }

    /// What a commit would answer.
    fn rehearse(
        &self,
        key: &Key,
        expect: Expect,
        new: Option<Value>,
    ) -> Result<Arc<Record>, CommitError> {
        let live = self.instance.latest(key);
        match (expect, live, new) {
            (Expect::Absent, Some(_), _) => Err(CommitError::Conflict),
            (_, _, Some(new)) => Ok(Arc::new(Record::unstored(&new))),
            (_, Some(live), None) => Ok(live),
            (_, None, None) => Err(CommitError::Conflict),
        }
    }

    /// Completes and checks an object that is about to be made. What webhooks have seen was pruned
    /// and tracked before.
    fn prepare_create(&self, new: &mut Value, seen: bool) -> Outcome<()> {
        self.shape_create(new, seen)?;
        strategy::admit(&self.served.kind, new);
        self.validate(new, None)?;
        self.check_rights(new, None)?;
        self.finish(new);
        Ok(())
    }

    fn shape_create(&self, new: &mut Value, seen: bool) -> Outcome<()> {
        let (kind, version) = (&self.served.kind, self.served.version());
        let now = self.instance.now();
        self.prune(new, seen)?;
        strategy::prepare_create(kind, new, &self.caller);
        if kind.is_custom() && version.status {
            remove(new, "status");
        }
        let meta = meta_mut(new);
        place::drop_empty(meta);
        for field in [
            "selfLink",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "resourceVersion",
            "generation",
        ] {
            meta.remove(field);
        }
        meta.insert("uid".into(), self.instance.ids().uid().into());
        meta.insert("creationTimestamp".into(), stamp(now).into());
        if kind.counts_generations() {
            meta.insert("generation".into(), 1.into());
        }
        if let Some(schema) = &version.schema {
            schema::default(new, schema);
            if !self.tracked && !seen {
                apply::track_update(None, new, self.manager, schema, now, self.tracked_as);
            }
        }
        Ok(())
    }

    /// What a definition becomes once it is accepted.
    fn finish(&self, new: &mut Value) {
        if self.served.kind.behaviour == Behaviour::CustomResourceDefinition {
            establish(new, &self.instance.registry(), &self.instance.stamp());
        }
    }

    /// The new state of an object that exists, completed and tracked.
    fn shape_update(&self, old: &Value, mut new: Value, seen: bool) -> Outcome<Value> {
        let (kind, version) = (&self.served.kind, self.served.version());
        self.check_version(&mut new)?;
        self.check_identity(old, &new)?;
        check_kind(&self.served, &mut new)?;
        self.prune(&mut new, seen)?;
        self.keep_system_fields(old, &mut new, seen);
        match self.subresource {
            "" => {
                if version.status {
                    copy_field(old, &mut new, "status");
                }
                strategy::prepare_update(kind, &mut new, old);
            }
            subresource => new = only_subresource(kind.behaviour, subresource, old, new),
        }
        if let Some(schema) = &version.schema {
            schema::default(&mut new, schema);
            if !self.tracked && !seen {
                let now = self.instance.now();
                let subresource = self.tracked_as;
                apply::track_update(Some(old), &mut new, self.manager, schema, now, subresource);
            }
        }
        Ok(new)
    }

    fn step(&self, old: &Value, new: Value, seen: bool) -> Outcome<Step> {
        let (kind, version) = (&self.served.kind, self.served.version());
        let mut new = self.shape_update(old, new, seen)?;
        if kind.counts_generations()
            && self.subresource != "status"
            && differs(kind, old, &new, version.status)
        {
            let generation = at(old, &["metadata", "generation"]).and_then(Value::as_i64);
            let next = generation.unwrap_or(0) + 1;
            meta_mut(&mut new).insert("generation".into(), next.into());
        }
        self.validate(&new, Some(old))?;
        self.check_rights(&new, Some(old))?;
        if self.subresource.is_empty() {
            self.finish(&mut new);
        }
        if same(old, &new) {
            return Ok(Step::Unchanged);
        }
        Ok(if is_gone(kind.behaviour, &new) {
            Step::Remove(Arc::new(new))
        } else {
            Step::Replace(Arc::new(new))
        })
    }

    /// Removes unknown fields, and says so as the client asked for.
    fn prune(&self, new: &mut Value, seen: bool) -> Outcome<()> {
        let version = self.served.version();
        let Some(schema) = &version.schema else {
            return Ok(());
        };
        // An object of a built-in kind that does not fit its type cannot even be read.
        if !self.served.kind.is_custom()
            && let Some(why) = schema::decode_problem(new, schema, &self.served.kind.kind)
        {
            if seen {
                return Err(Failure::internal(why));
            }
            let sent = self.patches.then(|| new.clone());
            return Err(self.unreadable(&why, sent));
        }
        if seen {
            schema::prune(new, schema);
            return Ok(());
        }
        let strict = self.field_validation == FieldValidation::Strict;
        let sent = (strict && self.patches).then(|| new.clone());
        let unknown = schema::prune(new, schema);
        let unknown = unknown.iter().map(|path| format!("unknown field {path:?}"));
        match self.field_validation {
            FieldValidation::Ignore => Ok(()),
            FieldValidation::Warn => {
                let repeated = self.repeated.iter().map(|field| field.warning().to_owned());
                repeated.chain(unknown).for_each(self.warn);
                Ok(())
            }
            FieldValidation::Strict => {
                let repeated = self.repeated.iter().map(|field| field.error().to_owned());
                let problems: Vec<String> = repeated.chain(unknown).collect();
                if problems.is_empty() {
                    return Ok(());
                }
                Err(self.strict_failure(&problems, sent))
            }
        }
    }

    /// The refusal of unknown fields; a patch is refused as a field of its own.
    fn strict_failure(&self, problems: &[String], sent: Option<Value>) -> Failure {
        let why = format!("strict decoding error: {}", problems.join(", "));
        self.unreadable(&why, sent)
    }

    /// The refusal of an object that cannot be read.
    pub(super) fn unreadable(&self, why: &str, sent: Option<Value>) -> Failure {
        if let Some(sent) = sent {
            let value = Value::String(sent.to_string());
            return Failure::invalid_as("", "", "", &[Cause::invalid("patch", &value, why)]);
        }
        let (kind, version) = (&self.served.kind.kind, &self.served.version().name);
        Failure::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: {why}"
        ))
    }

    fn validate(&self, new: &Value, old: Option<&Value>) -> Outcome<()> {
        let kind = &self.served.kind;
        let mut causes = metadata::validate(kind, new);
        if let Some(old) = old {
            // The store checks what changed, and the kind does so once more.
            let changes = metadata::validate_update(new, old);
            causes.extend(changes.iter().cloned());
            causes.extend(changes);
        }
        if let Some(schema) = &self.served.version().schema {
            let blocked = causes.iter().any(Cause::blocks_rules);
            let problems = schema::validate_beside(new, old, schema, blocked);
            let in_status = kind.is_custom() && self.subresource == "status";
            causes.extend(problems.iter().map(Cause::from).map(|cause| {
                if in_status {
                    cause.below("status.")
                } else {
                    cause
                }
            }));
        }
        // A binding has just decided the one field that nobody else may change.
        if self.subresource != "binding" {
            causes.extend(strategy::validate(kind, new, old));
        }
        if let Some(paths) = &self.served.version().scale {
            causes.extend(strategy::validate_scale(new, paths));
        }
        if causes.is_empty() {
            if kind.is_custom() {
                let warnings = metadata::finalizer_warnings(new, old);
                warnings.into_iter().for_each(self.warn);
            }
            return Ok(());
        }
        Err(Failure::invalid(kind, object::name(new), &causes))
    }
}
