//! Delete one object or a collection: finalizers, propagation, preconditions, time to stop.

use std::sync::Arc;

use axum::body::Body;
use http::Response;
use serde_json::{Value, json};

use super::answer::{self, ListMeta};
use super::call::Call;
use super::grace;
use super::list::Filter;
use super::write::{Told, Writing, is_gone};
use crate::clock::stamp;
use crate::conversion;
use crate::object::{self, meta_mut};
use crate::registry::{Behaviour, set_condition};
use crate::request::body;
use crate::request::go_json::type_name;
use crate::request::options::{Options, Preconditions};
use crate::status_error::{Cause, Failure, Outcome};
use crate::store::{CommitError, Expect, Key, Record};

/// Dependents must go before the object.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// Dependents must be set free before the object goes.
pub(crate) const ORPHAN: &str = "orphan";
/// Objects of a definition must go before the definition.
pub(crate) const CRD_CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// What happens to the objects that the deleted one owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

impl Propagation {
    pub(super) fn of(options: &Options) -> Outcome<Option<Self>> {
        match (
            options.propagation_policy.as_str(),
            options.orphan_dependents,
        ) {
            ("", None) => Ok(None),
            ("", Some(true)) | ("Orphan", None) => Ok(Some(Self::Orphan)),
            ("", Some(false)) | ("Background", None) => Ok(Some(Self::Background)),
            ("Foreground", None) => Ok(Some(Self::Foreground)),
            ("Background" | "Foreground" | "Orphan", Some(_)) => {
                let why = "orphanDependents and deletionPropagation cannot be both set";
                let message = format!("Invalid value: {:?}: {why}", options.propagation_policy);
                let cause = Cause::new("FieldValueInvalid", "propagationPolicy", message);
                Err(Failure::invalid_options("DeleteOptions", &[cause]))
            }
            (other, _) => {
                let supported = ["Foreground", "Background", "Orphan", "nil"];
                let cause = Cause::unsupported("propagationPolicy", &other.into(), &supported);
                Err(Failure::invalid_options("DeleteOptions", &[cause]))
            }
        }
    }
}

/// What a delete asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    pub(crate) propagation: Option<Propagation>,
    pub(crate) preconditions: Preconditions,
    /// Seconds that a pod gets to stop; `None`: as many as it asks for itself.
    pub(crate) grace: Option<i64>,
}

impl Order {
    pub(super) fn of(options: &Options, preconditions: Preconditions) -> Outcome<Self> {
        Ok(Self {
            propagation: Propagation::of(options)?,
            preconditions,
            grace: options.grace_period_seconds,
        })
    }

    /// A delete of the server's own loops.
    pub(crate) fn own(propagation: Propagation) -> Self {
        Self {
            propagation: Some(propagation),
            ..Self::default()
        }
    }
}

/// Deletes the named object.
pub(crate) async fn delete(call: &Call) -> Outcome<Response<Body>> {
    let (options, preconditions) = read_options(call, &call.body, &call.media_type)?;
    let told = options.as_told_of_delete(&preconditions);
    let order = Order::of(&options, preconditions)?;
    let warn = |text| call.warn(text);
    let writing = Writing {
        dry_run: options.dry_run,
        told: Some(Told {
            options: told,
            of_collection: false,
        }),
        ..Writing::of(call, &warn)
    };
    match begin(&writing, &call.key(), &order).await? {
        Deleted::Gone(record) if !call.served.kind.returns_deleted_object() => {
            Ok(answer::deleted(call, &record))
        }
        Deleted::Gone(record) | Deleted::Waiting(record) => Ok(answer::object(call, 200, &record)),
    }
}

fn read_options(
    call: &Call,
    bytes: &bytes::Bytes,
    media_type: &str,
) -> Outcome<(Options, Preconditions)> {
    let mut options = call.options.clone();
    let preconditions = if bytes.is_empty() {
        Preconditions::default()
    } else {
        let body = body::object(media_type, bytes)?;
        check_options(&body)?;
        options.merge_delete_body(&body)?
    };
    Ok((options, preconditions))
}

/// Whether a body holds options of a delete.
fn check_options(body: &Value) -> Outcome<()> {
    let kind = object::text(body, &["kind"]);
    if !matches!(kind, "" | "DeleteOptions") {
        let version = object::text(body, &["apiVersion"]);
        return Err(Failure::bad_request(format!(
            "no kind {kind:?} is registered for version {version:?} in scheme \
             \"pkg/apis/meta/internalversion/scheme/register.go:27\""
        )));
    }
    let policy = body
        .get("propagationPolicy")
        .filter(|policy| !policy.is_null());
    if let Some(policy) = policy.filter(|policy| !policy.is_string()) {
        return Err(Failure::bad_request(format!(
            "json: cannot unmarshal {} into Go struct field DeleteOptions.propagationPolicy of type \
             v1.DeletionPropagation",
            type_name(policy)
        )));
    }
    Ok(())
}

/// What a delete has done.
pub(crate) enum Deleted {
    Gone(Arc<Record>),
    /// Finalizers hold the object, or a pod's node does.
    Waiting(Arc<Record>),
}

/// Removes the object, or marks it as being deleted when finalizers or its node hold it.
pub(crate) async fn begin(writing: &Writing<'_>, key: &Key, order: &Order) -> Outcome<Deleted> {
    let kind = &writing.served.kind;
    loop {
        let live = writing.instance.latest(key);
        let live = live.ok_or_else(|| Failure::not_found(kind, &key.name))?;
        let old = live.value();
        check_preconditions(writing, key, &old, &order.preconditions)?;
        let (instance, served) = (writing.instance, &writing.served);
        let shown = conversion::record(instance, served, live.clone()).await?;
        writing
            .admit_delete(&conversion::value(&shown, served))
            .await?;
        let new = marked(writing, &old, order);
        let outcome = if is_gone(kind.behaviour, &new) {
            let removed = writing.remove(key, live.revision).await?;
            // Who gets the object as an answer sees that it was told to go.
            let is_shown = kind.behaviour == Behaviour::Pod;
            removed.map(|gone| {
                Deleted::Gone(if is_shown {
                    Arc::new(Record::new(new, gone.revision))
                } else {
                    gone
                })
            })
        } else if new == old {
            writing
                .instance
                .settled()
                .await
                .map_err(Failure::internal)?;
            return Ok(Deleted::Waiting(shown));
        } else if writing.dry_run {
            return Ok(Deleted::Waiting(shown));
        } else {
            let expect = Expect::Revision(live.revision);
            let marked = writing.instance.commit(key, expect, Some(new)).await;
            match marked {
                Ok(record) => Ok(Deleted::Waiting(
                    conversion::record(instance, served, record).await?,
                )),
                Err(error) => Err(error),
            }
        };
        match outcome {
            Ok(deleted) => return Ok(deleted),
            Err(CommitError::Conflict) => {}
            Err(error) => return Err(Failure::internal(error)),
        }
    }
}

pub(super) fn check_preconditions(
    writing: &Writing<'_>,
    key: &Key,
    old: &Value,
    preconditions: &Preconditions,
) -> Outcome<()> {
    let kind = &writing.served.kind;
    if let Some(uid) = preconditions
        .uid
        .as_deref()
        .filter(|uid| *uid != object::uid(old))
    {
        let why = format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object \
             might have been deleted and then recreated",
            object::uid(old)
        );
        return Err(Failure::precondition(kind, &key.name, &why));
    }
    let current = object::meta_str(old, "resourceVersion");
    let wanted = preconditions.resource_version.as_deref();
    if let Some(wanted) = wanted.filter(|wanted| *wanted != current) {
        let why = format!(
            "the ResourceVersion in the precondition ({wanted}) does not match the \
             ResourceVersion in record ({current}). The object might have been modified"
        );
        return Err(Failure::precondition(kind, &key.name, &why));
    }
    if kind.behaviour == Behaviour::Namespace
        && matches!(key.name.as_str(), "default" | "kube-system" | "kube-public")
    {
        return Err(Failure::forbidden(
            kind,
            &key.name,
            "this namespace may not be deleted",
        ));
    }
    Ok(())
}

/// The object with its deletion under way.
fn marked(writing: &Writing<'_>, old: &Value, order: &Order) -> Value {
    let behaviour = writing.served.kind.behaviour;
    let mut new = old.clone();
    if grace::is_stopping(behaviour, old) {
        grace::shorten(&mut new, order.grace);
        // Too late for another word on finalizers.
        if new == *old {
            return new;
        }
    }
    let mut finalizers: Vec<String> = object::finalizers(old)
        .into_iter()
        .map(str::to_owned)
        .collect();
    if let Some(propagation) = order.propagation {
        finalizers.retain(|finalizer| finalizer != FOREGROUND && finalizer != ORPHAN);
        match propagation {
            Propagation::Background => {}
            Propagation::Foreground => finalizers.push(FOREGROUND.into()),
            Propagation::Orphan => finalizers.push(ORPHAN.into()),
        }
    }
    if behaviour == Behaviour::CustomResourceDefinition
        && !object::is_deleting(old)
        && !finalizers.iter().any(|finalizer| finalizer == CRD_CLEANUP)
    {
        finalizers.push(CRD_CLEANUP.into());
    }
    object::set_finalizers(&mut new, &finalizers);
    if !object::is_deleting(old) {
        let seconds = grace::seconds(behaviour, old, order.grace);
        grace::mark(&mut new, writing.instance.now(), seconds);
        let meta = meta_mut(&mut new);
        if let Some(generation) = meta.get("generation").and_then(Value::as_i64) {
            meta.insert("generation".into(), (generation + 1).into());
        }
        if behaviour == Behaviour::Namespace {
            new["status"]["phase"] = "Terminating".into();
        }
        if behaviour == Behaviour::CustomResourceDefinition {
            let conditions = object::child_mut(&mut new, "status").entry("conditions");
            let message = "CustomResourceDefinition marked for deletion; CustomResource deletion \
                           will be issued soon";
            set_condition(
                conditions.or_insert_with(|| json!([])),
                json!({
                    "type": "Terminating", "status": "True", "reason": "InstanceDeletionPending",
                    "message": message, "lastTransitionTime": stamp(writing.instance.now()),
                }),
            );
        }
    }
    new
}

/// Deletes every object of the collection that the selectors accept.
pub(crate) async fn delete_collection(call: &Call) -> Outcome<Response<Body>> {
    let (options, _) = read_options(call, &call.body, &call.media_type)?;
    let order = Order::of(&options, Preconditions::default())?;
    let filter = Filter::of(call)?;
    let shelf = &call.served.kind.shelf;
    let snapshot = call
        .instance
        .space()
        .list(shelf, call.target.namespace.as_deref());
    let warn = |text| call.warn(text);
    let writing = Writing {
        dry_run: options.dry_run,
        told: Some(Told {
            options: options.as_told_of_delete(&Preconditions::default()),
            of_collection: true,
        }),
        ..Writing::of(call, &warn)
    };
    let mut found = filter.in_sight(call, snapshot.records).await?;
    found.retain(|((namespace, name), record)| filter.accepts(namespace, name, record));
    let (places, records): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    // The answer shows what was there; what cannot be shown is not deleted.
    let records = conversion::records(&call.instance, &call.served, records).await?;
    let mut items = Vec::new();
    for ((namespace, name), record) in places.iter().zip(&records) {
        let key = Key {
            shelf: shelf.clone(),
            namespace: namespace.clone(),
            name: name.clone(),
        };
        match begin(&writing, &key, &order).await {
            Ok(_) => items.push(record.clone()),
            // Someone else was faster: gone is gone.
            Err(failure) if failure.code == 404 => {}
            Err(failure) => return Err(failure),
        }
    }
    let meta = ListMeta {
        revision: snapshot.revision,
        continue_token: None,
        remaining: None,
    };
    Ok(answer::list(call, &meta, &items))
}
