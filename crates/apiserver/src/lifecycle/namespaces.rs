//! The end of a namespace: its content goes first.

use serde_json::Value;

use crate::handlers::{Order, Propagation, Writing, delete_begin};
use crate::instance::Instance;
use crate::object::{self, at, child_mut};
use crate::registry::NAMESPACE_SHELF;
use crate::store::{Change, Event, Key};

/// Looks at a change: a namespace that begins to end, or content that has gone from one.
///
/// Returns whether anything must be tried again.
pub(super) async fn note(instance: &Instance, shelf: &str, event: &Event) -> bool {
    if shelf == NAMESPACE_SHELF && event.change == Change::Updated {
        settle(instance, &event.name).await
    } else if event.change == Change::Deleted && !event.namespace.is_empty() {
        settle(instance, &event.namespace).await
    } else {
        false
    }
}

fn key(name: &str) -> Key {
    Key {
        shelf: NAMESPACE_SHELF.into(),
        namespace: String::new(),
        name: name.to_owned(),
    }
}

/// Deletes the content of a namespace that is ending; lets it go when nothing is left. Returns
/// whether an object could not be deleted.
pub(super) async fn settle(instance: &Instance, name: &str) -> bool {
    let Some(namespace) = instance.get(&key(name)).map(|record| record.value()) else {
        return false;
    };
    if !object::is_deleting(&namespace) {
        return false;
    }
    let (mut left, mut refused) = (0, false);
    for shelf in instance.space().shelf_names() {
        let Some(served) = instance.registry().by_shelf(&shelf) else {
            continue;
        };
        if !served.kind.namespaced {
            continue;
        }
        for ((namespace, name), record) in instance.space().list(&shelf, Some(name)).records {
            left += 1;
            if record.deleting {
                continue;
            }
            let key = Key {
                shelf: shelf.clone(),
                namespace,
                name,
            };
            let writing = Writing::own(instance, served.clone(), "");
            let order = Order::own(Propagation::Background);
            let outcome = delete_begin(&writing, &key, &order).await;
            if let Err(failure) = outcome.map_err(|failure| failure.message) {
                refused = true;
                tracing::debug!(error = %failure, "an object of an ending namespace stays");
            }
        }
    }
    if left == 0 {
        release(instance, name).await;
    }
    refused
}

/// Removes the finalizer that Kubernetes itself holds.
async fn release(instance: &Instance, name: &str) {
    let Some(served) = instance.registry().at("", "v1", "namespaces") else {
        return;
    };
    let writing = Writing::own(instance, served, "finalize");
    let outcome = writing
        .update(&key(name), |live| {
            let mut new = live.clone();
            let list = at(live, &["spec", "finalizers"]).and_then(Value::as_array);
            let kept: Vec<Value> = list
                .into_iter()
                .flatten()
                .filter(|f| *f != "kubernetes")
                .cloned()
                .collect();
            child_mut(&mut new, "spec").insert("finalizers".into(), kept.into());
            Ok(new)
        })
        .await;
    if let Err(failure) = outcome.map_err(|failure| failure.message) {
        tracing::debug!(error = %failure, "a namespace could not be released");
    }
}
