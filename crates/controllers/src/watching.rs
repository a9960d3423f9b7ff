//! One watch a kind for the whole process. Each change wakes the keys it concerns in the queues of
//! the controllers that care, and only if something they care about differs.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use futures::StreamExt;
use kube::{
    Api, Client,
    api::DynamicObject,
    core::ApiResource,
    runtime::{
        WatchStreamExt,
        reflector::{Store, store::Writer},
        watcher::{self, Event},
    },
};
use serde_json::Value;
use tokio::sync::mpsc;

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
    seen: HashMap<ObjectKey, u64>,
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
            seen: HashMap::new(),
        }
    }

    fn changed(&mut self, object: &DynamicObject) {
        let print = (self.print)(object);
        if self.seen.insert(ObjectKey::of(object), print) != Some(print) {
            self.wake(object);
        }
    }

    fn gone(&mut self, object: &DynamicObject) {
        self.seen.remove(&ObjectKey::of(object));
        self.wake(object);
    }

    fn wake(&self, object: &DynamicObject) {
        for key in (self.keys)(object) {
            // A closed queue means that its controller is shutting down.
            let _ = self.queue.send(key);
        }
    }
}

/// The watch of one kind.
pub(crate) struct Watch {
    kind: Kind,
    selector: Option<&'static str>,
    routes: Vec<Route>,
    slim: fn(&mut DynamicObject),
    writer: Option<Writer<DynamicObject>>,
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

    /// Keeps the objects, cut down by `slim`.
    pub(crate) fn keep(mut self, slim: fn(&mut DynamicObject)) -> (Self, Store<DynamicObject>) {
        let writer = Writer::new(self.kind.resource());
        let store = writer.as_reader();
        self.slim = slim;
        self.writer = Some(writer);
        (self, store)
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
                    tracing::warn!(kind = %resource.kind, %error, "a watch failed and is tried again");
                }
            }
        }
    }

    fn take(&mut self, mut event: Event<DynamicObject>) {
        // The store must know an object before a queue wakes its controller.
        let original = match &mut event {
            Event::Apply(object) | Event::InitApply(object) | Event::Delete(object) => {
                let original = object.clone();
                (self.slim)(object);
                Some(original)
            }
            Event::Init | Event::InitDone => None,
        };
        if let Some(writer) = &mut self.writer {
            writer.apply_watcher_event(&event);
        }
        let Some(original) = original else { return };
        for route in &mut self.routes {
            match event {
                Event::Delete(_) => route.gone(&original),
                _ => route.changed(&original),
            }
        }
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
    let metadata = &object.metadata;
    let mut hasher = DefaultHasher::new();
    metadata.uid.hash(&mut hasher);
    metadata.generation.hash(&mut hasher);
    metadata.labels.hash(&mut hasher);
    metadata.annotations.hash(&mut hasher);
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
    for pointer in pointers {
        object
            .data
            .pointer(pointer)
            .map(Value::to_string)
            .hash(&mut hasher);
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
