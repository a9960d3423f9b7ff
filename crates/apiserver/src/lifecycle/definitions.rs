//! The end of a definition: its objects go first. And names that become free for another one.

use crate::handlers::{CRD_CLEANUP, Order, Propagation, Writing, delete_begin};
use crate::instance::Instance;
use crate::object::{self, at, text};
use crate::registry::CRD_SHELF;
use crate::store::{Change, Event, Key};

/// Looks at a change: a definition that begins to end, or an object that has gone from one.
/// Returns whether anything must be tried again.
pub(super) async fn note(instance: &Instance, shelf: &str, event: &Event) -> bool {
    if shelf == CRD_SHELF {
        if event.change != Change::Created {
            let definition = event.record.value();
            free_names(instance, text(&definition, &["spec", "group"]), &event.name).await;
        }
        if event.change == Change::Updated {
            return settle(instance, &event.name).await;
        }
    } else if event.change == Change::Deleted && shelf.contains('.') {
        return settle(instance, shelf).await;
    }
    false
}

/// Looks again at the definitions of a group that lack a name: it may be free now.
async fn free_names(instance: &Instance, group: &str, changed: &str) {
    for ((_, name), record) in instance.space().list(CRD_SHELF, None).records {
        if name == changed || !lacks_names(&record.value(), group) {
            continue;
        }
        let Some(writing) = writing(instance) else {
            return;
        };
        // Names are accepted with every write of a definition.
        let outcome = writing.update(&key(&name), |live| Ok(live.clone())).await;
        if let Err(failure) = outcome.map_err(|failure| failure.message) {
            tracing::debug!(error = %failure, "the names of a definition stay as they are");
        }
    }
}

fn lacks_names(definition: &serde_json::Value, group: &str) -> bool {
    let conditions = at(definition, &["status", "conditions"]);
    let conditions = conditions.and_then(serde_json::Value::as_array);
    text(definition, &["spec", "group"]) == group
        && conditions.into_iter().flatten().any(|condition| {
            text(condition, &["type"]) == "NamesAccepted" && text(condition, &["status"]) == "False"
        })
}

/// What happens to definitions here is no request that webhooks see.
fn writing(instance: &Instance) -> Option<Writing<'_>> {
    let plural = "customresourcedefinitions";
    let served = instance
        .registry()
        .at("apiextensions.k8s.io", "v1", plural)?;
    Some(Writing {
        told: None,
        ..Writing::own(instance, served, "")
    })
}

fn key(name: &str) -> Key {
    Key {
        shelf: CRD_SHELF.into(),
        namespace: String::new(),
        name: name.to_owned(),
    }
}

/// Deletes the objects of a definition that is ending; lets it go when nothing is left. Returns
/// whether an object could not be deleted.
pub(super) async fn settle(instance: &Instance, name: &str) -> bool {
    let Some(definition) = instance.get(&key(name)).map(|record| record.value()) else {
        return false;
    };
    let held = object::finalizers(&definition).contains(&CRD_CLEANUP);
    if !object::is_deleting(&definition) || !held {
        return false;
    }
    let mut refused = false;
    let objects = instance.space().list(name, None).records;
    let Some(served) = instance.registry().by_shelf(name) else {
        // Never established: there can be no objects.
        release(instance, name).await;
        return false;
    };
    for ((namespace, object), record) in &objects {
        if record.deleting {
            continue;
        }
        let key = Key {
            shelf: name.into(),
            namespace: namespace.clone(),
            name: object.clone(),
        };
        let writing = Writing {
            told: None,
            ..Writing::own(instance, served.clone(), "")
        };
        let order = Order::own(Propagation::Background);
        let outcome = delete_begin(&writing, &key, &order).await;
        if let Err(failure) = outcome.map_err(|failure| failure.message) {
            refused = true;
            tracing::debug!(error = %failure, "an object of an ending definition stays");
        }
    }
    if instance.space().count(name) == 0 {
        release(instance, name).await;
    }
    refused
}

async fn release(instance: &Instance, name: &str) {
    let Some(writing) = writing(instance) else {
        return;
    };
    let outcome = writing
        .update(&key(name), |live| {
            let mut new = live.clone();
            let kept: Vec<String> = object::finalizers(live)
                .into_iter()
                .filter(|finalizer| *finalizer != CRD_CLEANUP)
                .map(str::to_owned)
                .collect();
            object::set_finalizers(&mut new, &kept);
            Ok(new)
        })
        .await;
    if let Err(failure) = outcome.map_err(|failure| failure.message) {
        tracing::debug!(error = %failure, "a definition could not be released");
    }
}
