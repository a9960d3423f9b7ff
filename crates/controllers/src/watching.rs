//! One watch a kind for the whole process. Each change wakes the keys it concerns in the queues of
//! the controllers that care, and only if something they care about differs.

mod glances;
mod index;

use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
};

use futures::StreamExt;
use kube::{
    Api, Client,
    api::{DynamicObject, ObjectMeta},
    core::ApiResource,
    runtime::{
        WatchStreamExt,
        reflector::{Store, store::Writer},
        watcher::{self, Event},
    },
};
use serde_json::Value;
use tokio::sync::mpsc;

pub(crate) use self::glances::{Glances, Onlooker};
use self::index::Index;
pub(crate) use self::index::{Kept, Term, Terms};
use crate::kinds::Kind;

/// An object by namespace (empty when cluster-scoped) and name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ObjectKey {
    pub namespace: String,
    pub name: String,
}

impl ObjectKey {
    pub(crate) fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    pub(crate) fn of(object: &DynamicObject) -> Self {
        Self::new(
            object.metadata.namespace.clone().unwrap_or_default(),
            object.metadata.name.clone().unwrap_or_default(),
        )
    }
}

/// Which keys a change wakes.
type Keys = Box<dyn Fn(&DynamicObject) -> Vec<ObjectKey> + Send>;
/// A hash of what a controller cares about.
type Print = fn(&DynamicObject) -> u64;

/// From one kind to the queue of one controller.
pub(crate) struct Route {
    print: Print,
    keys: Keys,
    queue: mpsc::UnboundedSender<ObjectKey>,
}

impl Route {
    /// Wakes `keys` in `queue` when `print` of an object changes, and when it comes or goes.
    pub(crate) fn new(
        queue: &mpsc::UnboundedSender<ObjectKey>,
        print: Print,
        keys: impl Fn(&DynamicObject) -> Vec<ObjectKey> + Send + 'static,
    ) -> Self {
        Self {
            print,
            keys: Box::new(keys),
            queue: queue.clone(),
        }
    }

    fn wake(&self, object: &DynamicObject) {
        for key in (self.keys)(object) {
            // A closed queue means that its controller is shutting down.
            let _ = self.queue.send(key);
        }
    }
}

/// Objects that are shown for as long as their watch lives.
struct Shown(Box<dyn Onlooker>);

impl Drop for Shown {
    fn drop(&mut self) {
        self.0.broken();
    }
}

/// The watch of one kind.
pub(crate) struct Watch {
    kind: Kind,
    selector: Option<&'static str>,
    routes: Vec<Route>,
    slim: fn(&mut DynamicObject),
    writer: Option<Writer<DynamicObject>>,
    index: Option<(Terms, Index)>,
    shown: Option<Shown>,
    /// The prints of each object as it was last seen, one a route.
    seen: HashMap<ObjectKey, Box<[u64]>>,
    /// Keys of the list under way.
    listed: HashSet<ObjectKey>,
}

impl Watch {
    /// Watches all objects of a kind, keeping nothing.
    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            kind,
            selector: None,
            routes: Vec::new(),
            slim: |_| {},
            writer: None,
            index: None,
            shown: None,
            seen: HashMap::new(),
            listed: HashSet::new(),
        }
    }

    /// Only objects with these labels.
    pub(crate) fn labeled(mut self, selector: &'static str) -> Self {
        self.selector = Some(selector);
        self
    }

    /// Adds a route.
    pub(crate) fn route(mut self, route: Route) -> Self {
        self.routes.push(route);
        self
    }

    /// Takes over the routes and the onlooker of another watch of the same kind.
    pub(crate) fn taking_over(mut self, other: Self) -> Self {
        self.routes.extend(other.routes);
        self.shown = self.shown.or(other.shown);
        self
    }

    /// Keeps the objects, cut down by `slim`.
    pub(crate) fn keep(mut self, slim: fn(&mut DynamicObject)) -> (Self, Store<DynamicObject>) {
        let writer = Writer::new(self.kind.resource());
        let store = writer.as_reader();
        self.slim = slim;
        self.writer = Some(writer);
        (self, store)
    }

    /// Keeps the objects, cut down by `slim`, to be found by their `terms`.
    pub(crate) fn keep_by(self, slim: fn(&mut DynamicObject), terms: Terms) -> (Self, Kept) {
        let kind = self.kind;
        let (mut watch, store) = self.keep(slim);
        let index = Index::default();
        watch.index = Some((terms, index.clone()));
        (watch, Kept::new(kind, store, index))
    }

    /// Shows the objects as they come to `onlooker`.
    pub(crate) fn show(mut self, onlooker: impl Onlooker + 'static) -> Self {
        self.shown = Some(Shown(Box::new(onlooker)));
        self
    }

    /// Follows the kind until dropped.
    pub(crate) async fn follow(mut self, client: Client, namespace: Option<String>) {
        let resource = self.kind.resource();
        let api = api(
            client,
            &resource,
            self.kind.is_namespaced(),
            namespace.as_deref(),
        );
        let mut config = watcher::Config::default();
        if let Some(selector) = self.selector {
            config = config.labels(selector);
        }
        let mut events = Box::pin(watcher::watcher(api, config).default_backoff());
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => self.take(event),
                Err(error) => {
                    if let Some(Shown(onlooker)) = &self.shown {
                        onlooker.broken();
                    }
                    tracing::warn!(kind = %resource.kind, %error, "a watch failed and is tried again");
                }
            }
        }
    }

    fn take(&mut self, mut event: Event<DynamicObject>) {
        let mut gone = Vec::new();
        let mut changed = None;
        if let Some(Shown(onlooker)) = &self.shown {
            onlooker.take(&event);
        }
        match &mut event {
            Event::Init => self.listed.clear(),
            Event::InitApply(object) => {
                self.listed.insert(ObjectKey::of(object));
                changed = Some(self.slimmed(object));
            }
            Event::InitDone => gone = self.vanished(),
            Event::Apply(object) => changed = Some(self.slimmed(object)),
            Event::Delete(object) => gone.push(object.clone()),
        }
        // Store and index must know before a queue wakes a controller.
        if let Some(writer) = &mut self.writer {
            writer.apply_watcher_event(&event);
        }
        if let Some((terms, index)) = &self.index {
            if let Some(object) = &changed {
                index.put(ObjectKey::of(object), terms(object));
            }
            for object in &gone {
                index.remove(&ObjectKey::of(object));
            }
        }
        if let Some(object) = &changed {
            self.wake(object);
        }
        for object in &gone {
            self.seen.remove(&ObjectKey::of(object));
            self.routes.iter().for_each(|route| route.wake(object));
        }
    }

    /// Takes the routes on which something differs from what was seen before.
    fn wake(&mut self, object: &DynamicObject) {
        let prints = self.routes.iter().map(|route| (route.print)(object));
        let prints: Box<[u64]> = prints.collect();
        let before = self.seen.insert(ObjectKey::of(object), prints.clone());
        for (number, route) in self.routes.iter().enumerate() {
            if before.as_ref().map(|before| before[number]) != Some(prints[number]) {
                route.wake(object);
            }
        }
    }

    /// The whole object; what is to be kept of it, if anything is, takes its place. Nobody reads who
    /// manages which field, and that is half of many objects.
    fn slimmed(&self, object: &mut DynamicObject) -> DynamicObject {
        object.metadata.managed_fields = None;
        if self.writer.is_none() {
            let nothing = DynamicObject {
                types: None,
                metadata: ObjectMeta::default(),
                data: Value::Null,
            };
            return std::mem::replace(object, nothing);
        }
        let whole = object.clone();
        (self.slim)(object);
        whole
    }

    /// Kept objects that a new list does not hold: they went while the watch was broken.
    fn vanished(&self) -> Vec<DynamicObject> {
        let Some(writer) = &self.writer else {
            return Vec::new();
        };
        let kept = writer.as_reader().state();
        let kept = kept
            .iter()
            .filter(|object| !self.listed.contains(&ObjectKey::of(object)));
        kept.map(|object| object.as_ref().clone()).collect()
    }
}

fn api(
    client: Client,
    resource: &ApiResource,
    namespaced: bool,
    namespace: Option<&str>,
) -> Api<DynamicObject> {
    match namespace {
        Some(namespace) if namespaced => Api::namespaced_with(client, namespace, resource),
        _ => Api::all_with(client, resource),
    }
}

/// Everything of an object that is not status: what most controllers care about.
pub(crate) fn intent(object: &DynamicObject) -> u64 {
    let mut hasher = DefaultHasher::new();
    object.metadata.annotations.hash(&mut hasher);
    intent_but_annotations(object).hash(&mut hasher);
    hasher.finish()
}

/// The same, annotations left out.
pub(crate) fn intent_but_annotations(object: &DynamicObject) -> u64 {
    let metadata = &object.metadata;
    let mut hasher = DefaultHasher::new();
    metadata.uid.hash(&mut hasher);
    metadata.generation.hash(&mut hasher);
    metadata.labels.hash(&mut hasher);
    metadata.finalizers.hash(&mut hasher);
    metadata
        .deletion_timestamp
        .as_ref()
        .map(|time| time.0)
        .hash(&mut hasher);
    for owner in metadata.owner_references.iter().flatten() {
        (&owner.kind, &owner.name, &owner.uid).hash(&mut hasher);
    }
    hasher.finish()
}

/// `intent` and the given parts of the object.
pub(crate) fn intent_and(object: &DynamicObject, pointers: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    intent(object).hash(&mut hasher);
    parts(object, pointers).hash(&mut hasher);
    hasher.finish()
}

/// The given parts of an object.
pub(crate) fn parts(object: &DynamicObject, pointers: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for pointer in pointers {
        object.data.pointer(pointer).hash(&mut hasher);
    }
    hasher.finish()
}

/// The version: every write counts. For objects whose data has no generation.
pub(crate) fn version(object: &DynamicObject) -> u64 {
    let mut hasher = DefaultHasher::new();
    object.metadata.resource_version.hash(&mut hasher);
    hasher.finish()
}

/// The object's own key.
pub(crate) fn itself(object: &DynamicObject) -> Vec<ObjectKey> {
    vec![ObjectKey::of(object)]
}

/// Keeps only the given parts of the data, and of the metadata nothing that is large.
pub(crate) fn keep_only(object: &mut DynamicObject, pointers: &[&[&str]]) {
    object.metadata.managed_fields = None;
    let mut kept = Value::Object(serde_json::Map::new());
    for path in pointers {
        let mut from = &object.data;
        let mut found = true;
        for step in *path {
            match from.get(step) {
                Some(value) => from = value,
                None => found = false,
            }
        }
        if !found {
            continue;
        }
        let mut to = &mut kept;
        for step in *path {
            to = &mut to[*step];
        }
        *to = from.clone();
    }
    object.data = kept;
}

/// Of the conditions that are kept only these stay, and of them whether they hold.
pub(crate) fn keep_conditions(object: &mut DynamicObject, kinds: &[&str]) {
    if let Some(Value::Array(conditions)) = object.data.pointer_mut("/status/conditions") {
        conditions.retain(|condition| kinds.iter().any(|kind| condition["type"] == *kind));
        for condition in conditions.iter_mut().filter_map(Value::as_object_mut) {
            condition.retain(|field, _| field == "type" || field == "status");
        }
    }
}

#[cfg(test)]
mod tests {
    use kube::core::{DynamicObject, ObjectMeta};

    use super::{Event, Kind, ObjectKey, Route, Watch, intent, itself, keep_only, mpsc};

    fn object(name: &str, generation: i64) -> DynamicObject {
        let mut object = DynamicObject::new(name, &Kind::MachinePool.resource()).within("team-a");
        object.metadata.generation = Some(generation);
        object.data = serde_json::json!({ "spec": { "clusterName": "demo", "replicas": 3 } });
        object
    }

    fn woken(queue: &mut mpsc::UnboundedReceiver<ObjectKey>) -> Vec<String> {
        std::iter::from_fn(|| queue.try_recv().ok())
            .map(|key| key.name)
            .collect()
    }

    #[test]
    fn only_what_a_route_cares_about_wakes() {
        let (sender, mut queue) = mpsc::unbounded_channel();
        let mut watch = Watch::new(Kind::MachinePool).route(Route::new(&sender, intent, itself));
        watch.take(Event::Apply(object("a", 1)));
        assert_eq!(woken(&mut queue), ["a"]);
        let mut status_only = object("a", 1);
        status_only.data["status"] = serde_json::json!({ "replicas": 3 });
        watch.take(Event::Apply(status_only));
        assert!(woken(&mut queue).is_empty());
        watch.take(Event::Apply(object("a", 2)));
        watch.take(Event::Delete(object("a", 2)));
        assert_eq!(woken(&mut queue), ["a", "a"]);
    }

    #[test]
    fn what_went_while_the_watch_was_broken_wakes_when_it_is_back() {
        let (sender, mut queue) = mpsc::unbounded_channel();
        let (watch, store) =
            Watch::new(Kind::MachinePool).keep(|pool| keep_only(pool, &[&["spec", "clusterName"]]));
        let mut watch = watch.route(Route::new(&sender, intent, itself));
        for list in [vec!["a", "b"], vec!["b"]] {
            watch.take(Event::Init);
            for name in list {
                watch.take(Event::InitApply(object(name, 1)));
            }
            watch.take(Event::InitDone);
        }
        assert_eq!(woken(&mut queue), ["a", "b", "a"]);
        assert_eq!(store.len(), 1);
    }

    #[test]
    fn kept_objects_hold_only_what_was_asked_for() {
        let mut pool = object("a", 1);
        pool.metadata = ObjectMeta {
            managed_fields: Some(Vec::new()),
            ..pool.metadata
        };
        keep_only(&mut pool, &[&["spec", "clusterName"], &["spec", "absent"]]);
        assert_eq!(
            pool.data,
            serde_json::json!({ "spec": { "clusterName": "demo" } })
        );
        assert!(pool.metadata.managed_fields.is_none());
    }
}
