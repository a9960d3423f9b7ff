//! The end of a definition: its objects go first.

use crate::handlers::{CRD_CLEANUP, Propagation, Writing, delete_begin};
use crate::instance::Instance;
use crate::object;
use crate::registry::CRD_SHELF;
use crate::request::options::Preconditions;
use crate::store::{Change, Event, Key};

/// Looks at a change: a definition that begins to end, or an object that has gone from one.
pub(super) async fn note(instance: &Instance, shelf: &str, event: &Event) {
    if shelf == CRD_SHELF && event.change == Change::Updated {
        settle(instance, &event.name).await;
    } else if event.change == Change::Deleted && shelf.contains('.') {
        settle(instance, shelf).await;
    }
}

fn key(name: &str) -> Key {
    Key {
        shelf: CRD_SHELF.into(),
        namespace: String::new(),
        name: name.to_owned(),
    }
}

/// Deletes the objects of a definition that is ending; lets it go when nothing is left.
pub(super) async fn settle(instance: &Instance, name: &str) {
    let Some(definition) = instance.get(&key(name)).map(|record| record.value()) else {
        return;
    };
    let held = object::finalizers(&definition).contains(&CRD_CLEANUP);
    if !object::is_deleting(&definition) || !held {
        return;
    }
    let objects = instance.space().list(name, None).records;
    let Some(served) = instance.registry().by_shelf(name) else {
        // Never established: there can be no objects.
        return release(instance, name).await;
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
        let writing = Writing::own(instance, served.clone(), "");
        let policy = Some(Propagation::Background);
        let outcome = delete_begin(&writing, &key, policy, &Preconditions::default()).await;
        if let Err(failure) = outcome.map_err(|failure| failure.message) {
            tracing::debug!(error = %failure, "an object of an ending definition stays");
        }
    }
    if instance.space().count(name) == 0 {
        release(instance, name).await;
    }
}

async fn release(instance: &Instance, name: &str) {
    let plural = "customresourcedefinitions";
    let Some(served) = instance.registry().at("apiextensions.k8s.io", "v1", plural) else {
        return;
    };
    let writing = Writing::own(instance, served, "");
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
