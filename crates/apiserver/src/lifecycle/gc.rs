//! Owner references: an object goes when all its owners have gone; an owner that waits for its
//! dependents goes after them; an owner that frees them goes when they are free.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::graph::{Graph, Node, Uid};
use crate::handlers::{Deleted, FOREGROUND, ORPHAN, Order, Propagation, Writing, delete_begin};
use crate::instance::Instance;
use crate::object::{self, Owner};
use crate::request::options::Preconditions;
use crate::status_error::Failure;
use crate::store::{Change, Event, Key, Place, Record};

/// Which objects there are, who owns whom, and which must be looked at.
#[derive(Default)]
pub(super) struct Collector {
    graph: Graph,
    /// Objects to look at: dependents whose owners may have gone, owners that wait.
    due: BTreeSet<Uid>,
    /// Objects that could not be collected: a webhook may have stopped it.
    again: BTreeSet<Uid>,
}

impl Collector {
    /// Takes an object into the graph.
    pub(super) fn learn(&mut self, shelf: &Arc<str>, place: Place, record: &Record) {
        let (namespace, name) = place;
        let key = Key {
            shelf: shelf.clone(),
            namespace,
            name,
        };
        self.graph.insert(key, &record.head);
    }

    fn forget(&mut self, uid: &Uid) {
        // Those it owned lose an owner; those that owned it may have waited for it.
        self.due.extend(self.graph.dependents(uid).cloned());
        let gone = self.graph.remove(uid);
        self.due.extend(gone.iter().flat_map(Node::owners));
    }

    /// Everything is due: nobody knows what happened before.
    pub(super) fn check_all(&mut self) {
        self.due.extend(self.graph.uids().cloned());
    }

    /// Takes a change into the graph.
    pub(super) fn note(&mut self, shelf: &Arc<str>, event: &Event) {
        let record = &event.record;
        let uid = Uid::of(&record.head.uid);
        if event.change == Change::Deleted {
            self.forget(&uid);
            return;
        }
        let known = self.graph.get(&uid);
        let had = known.map_or(&[][..], |node| &node.head.owners);
        let same_owners = *had == *record.head.owners;
        if !known.is_some_and(|node| Arc::ptr_eq(&node.head, &record.head)) {
            let place = (event.namespace.to_string(), event.name.to_string());
            self.learn(shelf, place, record);
        }
        if (record.deleting && record.held) || !same_owners {
            self.due.insert(uid);
        } else if record.deleting {
            let owners = record.head.owners.iter();
            self.due.extend(owners.map(|owner| Uid::of(&owner.uid)));
        }
    }

    /// Looks at everything that is due.
    pub(super) async fn work(&mut self, instance: &Instance) {
        while let Some(uid) = self.due.pop_first() {
            if let Err(failure) = self.look(instance, &uid).await {
                tracing::debug!(error = %failure.message, "an object could not be collected");
                self.again.insert(uid);
            }
        }
    }

    /// Whether anything must be tried again.
    pub(super) fn has_refused(&self) -> bool {
        !self.again.is_empty()
    }

    /// What could not be collected is due again.
    pub(super) fn try_again(&mut self) {
        self.due.append(&mut self.again);
    }

    async fn look(&self, instance: &Instance, uid: &Uid) -> Result<(), Failure> {
        let Some(Node { key, .. }) = self.graph.get(uid) else {
            return Ok(());
        };
        let same = |record: &Arc<Record>| Uid::of(&record.head.uid) == *uid;
        let Some(record) = instance.latest(key).filter(same) else {
            return Ok(());
        };
        // Most objects own nothing and are owned by nobody: no need to read them.
        if record.head.owners.is_empty() && !record.deleting {
            return Ok(());
        }
        if record.deleting {
            let live = record.value();
            let finalizers = object::finalizers(&live);
            if finalizers.contains(&ORPHAN) {
                self.free_dependents(instance, uid).await?;
                return drop_finalizer(instance, key, ORPHAN).await;
            }
            if finalizers.contains(&FOREGROUND) {
                return self.delete_dependents(instance, uid, key).await;
            }
        }
        self.check_owners(instance, key, &record).await
    }

    /// Deletes an object that lost all its owners; drops the references to those it lost.
    async fn check_owners(
        &self,
        instance: &Instance,
        key: &Key,
        record: &Record,
    ) -> Result<(), Failure> {
        let owners = record.head.owners.iter();
        let (alive, gone): (Vec<&Owner>, Vec<&Owner>) =
            owners.partition(|owner| self.is_there(instance, key, owner));
        let waiting = |owner: &&Owner| self.waits_for_dependents(instance, owner);
        let stays = !alive.is_empty() && !alive.iter().all(waiting);
        // The lot of most objects, whenever their owners change: nothing to do.
        if stays && gone.is_empty() {
            return Ok(());
        }
        let Some(writing) = writing(instance, key) else {
            return Ok(());
        };
        if stays {
            return drop_owners(&writing, key, |owner| gone.contains(&owner)).await;
        }
        if record.deleting || (gone.is_empty() && alive.is_empty()) {
            return Ok(());
        }
        // An owner in the foreground hands its way of going on to what it owns.
        let policy = if alive.is_empty() {
            if object::finalizers(&record.value()).contains(&ORPHAN) {
                Propagation::Orphan
            } else {
                Propagation::Background
            }
        } else {
            Propagation::Foreground
        };
        let order = Order {
            preconditions: Preconditions {
                uid: Some(record.head.uid.to_string()),
                resource_version: None,
            },
            ..Order::own(policy)
        };
        let outcome = delete_begin(&writing, key, &order).await;
        ignore_gone(outcome.map(|_: Deleted| ()))
    }

    fn is_there(&self, instance: &Instance, dependent: &Key, owner: &Owner) -> bool {
        let Some(Node { key, .. }) = self.graph.get(&Uid::of(&owner.uid)) else {
            // Newer than the graph: the store knows.
            return Self::is_stored(instance, dependent, owner);
        };
        // An owner in another namespace is no owner.
        let reachable = key.namespace.is_empty() || key.namespace == dependent.namespace;
        reachable
            && instance
                .latest(key)
                .is_some_and(|record| *record.head.uid == *owner.uid)
    }

    fn is_stored(instance: &Instance, dependent: &Key, owner: &Owner) -> bool {
        let Some(served) = instance.registry().by_type(&owner.api_version, &owner.kind) else {
            // A kind that nobody serves may come back: never delete on a guess.
            return true;
        };
        let namespace = served
            .kind
            .namespaced
            .then_some(dependent.namespace.as_str());
        let key = Instance::key(&served.kind, namespace, &owner.name);
        instance
            .latest(&key)
            .is_some_and(|record| *record.head.uid == *owner.uid)
    }

    fn waits_for_dependents(&self, instance: &Instance, owner: &Owner) -> bool {
        let node = self.graph.get(&Uid::of(&owner.uid));
        let record = node.and_then(|node| instance.latest(&node.key));
        record.is_some_and(|record| {
            record.deleting
                && record.held
                && object::finalizers(&record.value()).contains(&FOREGROUND)
        })
    }

    fn dependents_of(&self, uid: &Uid) -> Vec<&Key> {
        let nodes = self.graph.dependents(uid);
        let nodes = nodes.filter_map(|uid| self.graph.get(uid));
        nodes.map(|node| &node.key).collect()
    }

    async fn free_dependents(&self, instance: &Instance, uid: &Uid) -> Result<(), Failure> {
        for key in self.dependents_of(uid) {
            let Some(writing) = writing(instance, key) else {
                continue;
            };
            drop_owners(&writing, key, |owner| Uid::of(&owner.uid) == *uid).await?;
        }
        Ok(())
    }

    /// Deletes what an owner in the foreground owns; lets it go when nothing blocks it any more.
    async fn delete_dependents(
        &self,
        instance: &Instance,
        uid: &Uid,
        own: &Key,
    ) -> Result<(), Failure> {
        let mut blocked = false;
        for key in self.dependents_of(uid) {
            let Some(record) = instance.latest(key) else {
                continue;
            };
            let blocks = |owner: &Owner| owner.block && Uid::of(&owner.uid) == *uid;
            blocked |= record.head.owners.iter().any(blocks);
            self.check_owners(instance, key, &record).await?;
            if instance.latest(key).is_none() {
                blocked = blocked && self.still_blocked(instance, uid);
            }
        }
        if blocked && self.still_blocked(instance, uid) {
            return Ok(());
        }
        drop_finalizer(instance, own, FOREGROUND).await
    }

    fn still_blocked(&self, instance: &Instance, uid: &Uid) -> bool {
        self.dependents_of(uid).into_iter().any(|key| {
            instance.latest(key).is_some_and(|record| {
                let mut owners = record.head.owners.iter();
                owners.any(|owner| owner.block && Uid::of(&owner.uid) == *uid)
            })
        })
    }
}

fn writing<'a>(instance: &'a Instance, key: &Key) -> Option<Writing<'a>> {
    let served = instance.registry().by_shelf(&key.shelf)?;
    Some(Writing::own(instance, served, ""))
}

async fn drop_owners(
    writing: &Writing<'_>,
    key: &Key,
    drops: impl Fn(&Owner) -> bool + Send + Sync,
) -> Result<(), Failure> {
    let outcome = writing
        .update(key, |live| {
            let mut new = live.clone();
            let owners = object::owners(live);
            let list = object::at(live, &["metadata", "ownerReferences"]).and_then(Value::as_array);
            let kept: Vec<Value> = list
                .into_iter()
                .flatten()
                .zip(&owners)
                .filter(|(_, owner)| !drops(owner))
                .map(|(value, _)| value.clone())
                .collect();
            object::meta_mut(&mut new).insert("ownerReferences".into(), kept.into());
            Ok(new)
        })
        .await;
    ignore_gone(outcome.map(|_| ()))
}

async fn drop_finalizer(instance: &Instance, key: &Key, finalizer: &str) -> Result<(), Failure> {
    let Some(writing) = writing(instance, key) else {
        return Ok(());
    };
    let outcome = writing
        .update(key, |live| {
            let mut new = live.clone();
            let kept: Vec<String> = object::finalizers(live)
                .into_iter()
                .filter(|held| *held != finalizer)
                .map(str::to_owned)
                .collect();
            object::set_finalizers(&mut new, &kept);
            Ok(new)
        })
        .await;
    ignore_gone(outcome.map(|_| ()))
}

/// Someone else was faster: gone is what was wanted.
fn ignore_gone(outcome: Result<(), Failure>) -> Result<(), Failure> {
    match outcome {
        Err(failure) if failure.code == 404 || failure.code == 409 => Ok(()),
        other => other,
    }
}
