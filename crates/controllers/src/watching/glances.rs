//! Objects as a watch last showed them, for reads that may be as old as what woke the reader.
//!
//! A pass is woken by a change after the change is in here, so what it reads is at least as new as
//! its reason to run. Absence is never concluded from here, and nothing is served while the watch
//! is broken: both are asked of the API server.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use kube::{api::DynamicObject, runtime::watcher::Event};
use serde_json::Value;

use super::ObjectKey;

/// What one watch shows.
#[derive(Clone, Default)]
pub(crate) struct Glances {
    inner: Arc<RwLock<Inner>>,
}

#[derive(Default)]
struct Inner {
    objects: HashMap<ObjectKey, Arc<Value>>,
    /// Objects of a list under way.
    listed: HashMap<ObjectKey, Arc<Value>>,
    /// A list was completed, and the watch has not broken since.
    whole: bool,
}

impl Glances {
    /// An object, if the watch shows it.
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        let key = ObjectKey::new(namespace, name);
        inner.objects.get(&key).filter(|_| inner.whole).cloned()
    }

    /// The watch failed and is tried again.
    pub(super) fn broken(&self) {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        inner.whole = false;
    }

    /// Takes what the watch tells.
    pub(super) fn take(&self, event: &Event<DynamicObject>) {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Init => inner.listed.clear(),
            Event::InitApply(object) => {
                if let Some(value) = value(object) {
                    inner.listed.insert(ObjectKey::of(object), value);
                }
            }
            Event::InitDone => {
                inner.objects = std::mem::take(&mut inner.listed);
                inner.whole = true;
            }
            Event::Apply(object) => {
                let key = ObjectKey::of(object);
                match value(object) {
                    Some(value) => inner.objects.insert(key, value),
                    None => inner.objects.remove(&key),
                };
                inner.whole = true;
            }
            Event::Delete(object) => {
                inner.objects.remove(&ObjectKey::of(object));
                inner.whole = true;
            }
        }
    }
}

/// The object; who manages which field nobody reads here.
fn value(object: &DynamicObject) -> Option<Arc<Value>> {
    let mut value = serde_json::to_value(object).ok()?;
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    Some(Arc::new(value))
}

#[cfg(test)]
mod tests {
    use super::{DynamicObject, Event, Glances};
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
}
