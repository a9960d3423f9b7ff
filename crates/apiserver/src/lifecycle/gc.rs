//! Owner references: an object goes when all its owners have gone; an owner that waits for its
//! dependents goes after them; an owner that frees them goes when they are free.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use crate::handlers::{Deleted, FOREGROUND, ORPHAN, Order, Propagation, Writing, delete_begin};
use crate::instance::Instance;
use crate::object::{self, Owner};
use crate::request::options::Preconditions;
use crate::status_error::Failure;
use crate::store::{Change, Event, Key, Record};

/// Which objects there are, and who owns whom, by uid.
#[derive(Default)]
pub(super) struct Collector {
    keys: HashMap<String, Key>,
    owners: HashMap<String, Vec<Owner>>,
    dependents: BTreeMap<String, BTreeSet<String>>,
    /// Objects to look at: dependents whose owners may have gone, owners that wait.
    due: BTreeSet<String>,
    /// Objects that could not be collected: a webhook may have stopped it.
    again: BTreeSet<String>,
}

impl Collector {
    /// Takes an object into the graph.
    pub(super) fn learn(&mut self, shelf: &str, place: &(String, String), record: &Record) {
        let uid = record.head.uid.to_string();
        let (namespace, name) = place.clone();
        self.keys.insert(
            uid.clone(),
            Key {
                shelf: shelf.into(),
                namespace,
                name,
            },
        );
        self.own(&uid, record.head.owners.to_vec());
    }

    fn own(&mut self, uid: &str, owners: Vec<Owner>) {
        for owner in self.owners.remove(uid).into_iter().flatten() {
            if let Some(dependents) = self.dependents.get_mut(&owner.uid) {
                dependents.remove(uid);
                if dependents.is_empty() {
                    self.dependents.remove(&owner.uid);
                }
            }
        }
        for owner in &owners {
            self.dependents
                .entry(owner.uid.clone())
                .or_default()
                .insert(uid.to_owned());
        }
        if !owners.is_empty() {
            self.owners.insert(uid.to_owned(), owners);
        }
    }

    fn forget(&mut self, uid: &str) {
        self.keys.remove(uid);
        // Those it owned lose an owner; those that owned it may have waited for it.
        self.due
            .extend(self.dependents.get(uid).into_iter().flatten().cloned());
        let owners = self
            .owners
            .get(uid)
            .into_iter()
            .flatten()
            .map(|owner| owner.uid.clone());
        self.due.extend(owners);
        self.own(uid, Vec::new());
    }

    /// Everything is due: nobody knows what happened before.
    pub(super) fn check_all(&mut self) {
        self.due.extend(self.owners.keys().cloned());
        self.due.extend(self.keys.keys().cloned());
    }

    /// Takes a change into the graph.
    pub(super) fn note(&mut self, shelf: &str, event: &Event) {
        let uid = event.record.head.uid.to_string();
        if event.change == Change::Deleted {
            self.forget(&uid);
            return;
        }
        let record = &event.record;
        let had = self.owners.get(&uid).map(Vec::as_slice).unwrap_or_default();
        let same_owners = *record.head.owners == *had;
        if !same_owners || !self.keys.contains_key(&uid) {
            let place = (event.namespace.to_string(), event.name.to_string());
            self.learn(shelf, &place, record);
        }
        if (record.deleting && record.held) || !same_owners {
            self.due.insert(uid);
        } else if record.deleting {
            let owners = record.head.owners.iter().map(|owner| owner.uid.clone());
            self.due.extend(owners);
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

    async fn look(&self, instance: &Instance, uid: &str) -> Result<(), Failure> {
        let Some(key) = self.keys.get(uid) else {
            return Ok(());
        };
        let Some(record) = instance
            .latest(key)
            .filter(|record| *record.head.uid == *uid)
        else {
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
        let Some(key) = self.keys.get(&owner.uid) else {
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
        let record = self
            .keys
            .get(&owner.uid)
            .and_then(|key| instance.latest(key));
        record.is_some_and(|record| {
            record.deleting
                && record.held
                && object::finalizers(&record.value()).contains(&FOREGROUND)
        })
    }

    fn dependents_of(&self, uid: &str) -> Vec<&Key> {
        let uids = self.dependents.get(uid).into_iter().flatten();
        uids.filter_map(|uid| self.keys.get(uid)).collect()
    }

    async fn free_dependents(&self, instance: &Instance, uid: &str) -> Result<(), Failure> {
        for key in self.dependents_of(uid) {
            let Some(writing) = writing(instance, key) else {
                continue;
            };
            drop_owners(&writing, key, |owner| owner.uid == uid).await?;
        }
        Ok(())
    }

    /// Deletes what an owner in the foreground owns; lets it go when nothing blocks it any more.
    async fn delete_dependents(
        &self,
        instance: &Instance,
        uid: &str,
        own: &Key,
    ) -> Result<(), Failure> {
        let mut blocked = false;
        for key in self.dependents_of(uid) {
            let Some(record) = instance.latest(key) else {
                continue;
            };
            let blocks = |owner: &Owner| owner.uid == uid && owner.block;
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

    fn still_blocked(&self, instance: &Instance, uid: &str) -> bool {
        self.dependents_of(uid).into_iter().any(|key| {
            instance.latest(key).is_some_and(|record| {
                let mut owners = record.head.owners.iter();
                owners.any(|owner| owner.uid == uid && owner.block)
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
