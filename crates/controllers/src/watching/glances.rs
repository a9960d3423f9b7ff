//! Objects as a watch last showed them, for reads that may be as old as what woke the reader.
//!
//! A pass is woken by a change after the change is in here, so what it reads is at least as new as
//! its reason to run. Nothing is served while the watch is broken: then the API server is asked. That
//! one object is absent is never concluded from here.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use kube::{api::DynamicObject, runtime::watcher::Event};
use serde_json::{Value, json};

use super::{ObjectKey, Term};

/// Told by a watch what it sees.
pub(crate) trait Onlooker: Send {
    /// Takes what the watch tells.
    fn take(&self, event: &Event<DynamicObject>);
    /// The watch failed and is tried again.
    fn broken(&self);
}

/// What one watch shows: of each object what is `read`, found by its name and by its group.
pub(crate) struct Glances<T = Value> {
    read: fn(&DynamicObject) -> T,
    group: fn(&DynamicObject) -> Option<Term>,
    inner: Arc<RwLock<Inner<T>>>,
}

struct Inner<T> {
    objects: Rows<T>,
    /// Objects of a list under way.
    listed: Rows<T>,
    /// A list was completed, and the watch has not broken since.
    whole: bool,
}

struct Rows<T> {
    by_key: HashMap<Arc<ObjectKey>, Row<T>>,
    groups: HashMap<Arc<Term>, Vec<Arc<ObjectKey>>>,
}

struct Row<T> {
    seen: Arc<T>,
    group: Option<Arc<Term>>,
}

impl Default for Glances<Value> {
    /// Whole objects, in no groups.
    fn default() -> Self {
        Self::new(whole, |_| None)
    }
}

impl<T> Clone for Glances<T> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            ..*self
        }
    }
}

impl<T> Glances<T> {
    /// Shows what is `read` of each object.
    pub(crate) fn new(
        read: fn(&DynamicObject) -> T,
        group: fn(&DynamicObject) -> Option<Term>,
    ) -> Self {
        let inner = Inner {
            objects: Rows::default(),
            listed: Rows::default(),
            whole: false,
        };
        Self {
            read,
            group,
            inner: Arc::new(RwLock::new(inner)),
        }
    }

    /// An object, if the watch shows it.
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<Arc<T>> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        let row = inner.objects.by_key.get(&ObjectKey::new(namespace, name));
        row.filter(|_| inner.whole).map(|row| row.seen.clone())
    }

    /// The objects of a group, sorted by name; `None`: the watch does not know.
    pub(crate) fn group(&self, group: &Term) -> Option<Vec<Arc<T>>> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        if !inner.whole {
            return None;
        }
        let mut keys: Vec<&Arc<ObjectKey>> = Vec::new();
        keys.extend(inner.objects.groups.get(group).into_iter().flatten());
        keys.sort_unstable();
        let rows = keys.iter().filter_map(|key| {
            let row = inner.objects.by_key.get(key.as_ref())?;
            Some(row.seen.clone())
        });
        Some(rows.collect())
    }

    fn put(&self, rows: &mut Rows<T>, object: &DynamicObject) {
        let key = Arc::new(ObjectKey::of(object));
        rows.put(key, (self.read)(object), (self.group)(object));
    }
}

impl<T: Send + Sync> Onlooker for Glances<T> {
    fn broken(&self) {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        inner.whole = false;
    }

    fn take(&self, event: &Event<DynamicObject>) {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Init => inner.listed = Rows::default(),
            Event::InitApply(object) => self.put(&mut inner.listed, object),
            Event::InitDone => {
                inner.objects = std::mem::take(&mut inner.listed);
                inner.whole = true;
            }
            Event::Apply(object) => {
                self.put(&mut inner.objects, object);
                inner.whole = true;
            }
            Event::Delete(object) => {
                inner.objects.remove(&ObjectKey::of(object));
                inner.whole = true;
            }
        }
    }
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self {
            by_key: HashMap::new(),
            groups: HashMap::new(),
        }
    }
}

impl<T> Rows<T> {
    fn put(&mut self, key: Arc<ObjectKey>, seen: T, group: Option<Term>) {
        let seen = Arc::new(seen);
        if let Some(row) = self.by_key.get_mut(&*key)
            && row.group.as_deref() == group.as_ref()
        {
            row.seen = seen;
            return;
        }
        self.remove(&key);
        let group = group.map(|term| match self.groups.get_key_value(&term) {
            Some((known, _)) => known.clone(),
            None => Arc::new(term),
        });
        if let Some(group) = &group {
            let keys = self.groups.entry(group.clone()).or_default();
            keys.push(key.clone());
        }
        self.by_key.insert(key, Row { seen, group });
    }

    fn remove(&mut self, key: &ObjectKey) {
        let Some(group) = self.by_key.remove(key).and_then(|row| row.group) else {
            return;
        };
        if let Some(keys) = self.groups.get_mut(&*group) {
            keys.retain(|other| **other != *key);
            if keys.is_empty() {
                self.groups.remove(&*group);
            }
        }
    }
}

/// The object; who manages which field nobody reads here.
fn whole(object: &DynamicObject) -> Value {
    let mut value = json!(object);
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    value
}

#[cfg(test)]
mod tests {
    use super::{DynamicObject, Event, Glances, ObjectKey, Onlooker as _, Term};
    use crate::kinds::Kind;

    fn cluster(name: &str, paused: bool) -> DynamicObject {
        let mut object = DynamicObject::new(name, &Kind::Cluster.resource()).within("team-a");
        object.data = serde_json::json!({ "spec": { "paused": paused } });
        object
    }

    fn paused(glances: &Glances, name: &str) -> Option<bool> {
        glances.get("team-a", name)?["spec"]["paused"].as_bool()
    }

    #[test]
    fn only_a_whole_watch_is_believed_and_never_about_absence() {
        let glances = Glances::default();
        glances.take(&Event::Init);
        glances.take(&Event::InitApply(cluster("a", false)));
        assert_eq!(paused(&glances, "a"), None, "the list is not complete");
        glances.take(&Event::InitDone);
        assert_eq!(paused(&glances, "a"), Some(false));
        glances.take(&Event::Apply(cluster("a", true)));
        assert_eq!(paused(&glances, "a"), Some(true));
        glances.broken();
        assert_eq!(paused(&glances, "a"), None);
        glances.take(&Event::Init);
        glances.take(&Event::InitApply(cluster("b", false)));
        glances.take(&Event::InitDone);
        assert_eq!(paused(&glances, "a"), None, "it is no longer listed");
        assert_eq!(paused(&glances, "b"), Some(false));
        glances.take(&Event::Delete(cluster("b", false)));
        assert_eq!(paused(&glances, "b"), None);
    }

    #[test]
    fn a_group_is_what_its_objects_say_now() {
        let group = |cluster: &DynamicObject| {
            let paused = cluster.data["spec"]["paused"].as_bool()?;
            Some(Term::about("paused", cluster, paused.to_string()))
        };
        let glances = Glances::new(|cluster| ObjectKey::of(cluster).name, group);
        let names = |paused: &str| -> Option<Vec<String>> {
            let rows = glances.group(&Term::new("paused", "team-a", paused))?;
            Some(rows.iter().map(|name| name.as_ref().clone()).collect())
        };
        assert_eq!(names("true"), None, "nothing was listed yet");
        glances.take(&Event::Init);
        for (name, paused) in [("b", true), ("a", true), ("c", false)] {
            glances.take(&Event::InitApply(cluster(name, paused)));
        }
        glances.take(&Event::InitDone);
        assert_eq!(names("true").unwrap(), ["a", "b"]);
        glances.take(&Event::Apply(cluster("a", false)));
        assert_eq!(names("true").unwrap(), ["b"]);
        assert_eq!(names("false").unwrap(), ["a", "c"]);
        glances.take(&Event::Delete(cluster("c", false)));
        glances.take(&Event::Delete(cluster("b", true)));
        assert_eq!(names("false").unwrap(), ["a"]);
        assert!(names("true").unwrap().is_empty());
        glances.broken();
        assert_eq!(names("false"), None);
    }
}
