//! What is known of a workload cluster, and how its objects are read.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::Value;

use super::{
    client::{Seen, text},
    node::Node,
};

/// Kinds that the cluster looks after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Node,
    Pod,
    Deployment,
    ReplicaSet,
    DaemonSet,
    Volume,
    Attachment,
}

impl Kind {
    pub(super) const ALL: [Self; 7] = [
        Self::Node,
        Self::Pod,
        Self::Deployment,
        Self::ReplicaSet,
        Self::DaemonSet,
        Self::Volume,
        Self::Attachment,
    ];

    /// Where all its objects are.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Node => "/api/v1/nodes",
            Self::Pod => "/api/v1/pods",
            Self::Deployment => "/apis/apps/v1/deployments",
            Self::ReplicaSet => "/apis/apps/v1/replicasets",
            Self::DaemonSet => "/apis/apps/v1/daemonsets",
            Self::Volume => "/api/v1/persistentvolumes",
            Self::Attachment => "/apis/storage.k8s.io/v1/volumeattachments",
        }
    }

    /// Where its objects of a namespace are; an empty one for kinds without.
    pub(super) fn path_in(self, namespace: &str) -> String {
        let path = self.path();
        match path.rsplit_once('/') {
            Some((group, plural)) if !namespace.is_empty() => {
                format!("{group}/namespaces/{namespace}/{plural}")
            }
            _ => path.to_owned(),
        }
    }

    /// Where an object is.
    pub(super) fn path_of(self, object: &Value) -> String {
        self.path_at(namespace(object), name(object))
    }

    /// Where the object of that name is.
    pub(super) fn path_at(self, namespace: &str, name: &str) -> String {
        format!("{}/{name}", self.path_in(namespace))
    }
}

type Key = (String, String);

/// What is known of a cluster.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Objects of every kind but nodes.
    objects: BTreeMap<Kind, BTreeMap<Key, Value>>,
    nodes: Option<BTreeMap<Box<str>, Node>>,
    /// Nodes that nobody has looked at as they are now.
    changed: BTreeSet<Box<str>>,
}

/// Since when some of what is known has been so.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Nodes that pods are bound to and that do not exist.
    pub(super) missing: BTreeMap<String, Duration>,
    /// Nodes that carry a taint that pods must go for.
    pub(super) tainted: BTreeMap<String, Duration>,
    /// Nodes whose pods were told to be unready.
    pub(super) down: BTreeSet<Box<str>>,
}

impl State {
    /// Whether every kind has been listed once.
    pub(super) fn is_complete(&self) -> bool {
        self.objects.len() + usize::from(self.nodes.is_some()) == Kind::ALL.len()
    }

    pub(super) fn take(&mut self, kind: Kind, seen: Seen) {
        match seen {
            Seen::All(nodes) if kind == Kind::Node => {
                self.nodes = Some(BTreeMap::new());
                for node in nodes {
                    self.note(kind, node);
                }
            }
            Seen::All(objects) => {
                let all = objects
                    .into_iter()
                    .map(|object| (key(&object), slimmed(object)));
                self.objects.insert(kind, all.collect());
            }
            Seen::Changed(object) => self.note(kind, object),
            Seen::Gone(node) if kind == Kind::Node => {
                if let Some(nodes) = &mut self.nodes {
                    nodes.remove(name(&node));
                    self.changed.insert(name(&node).into());
                }
            }
            Seen::Gone(object) => {
                if let Some(all) = self.objects.get_mut(&kind) {
                    all.remove(&key(&object));
                }
            }
        }
    }

    /// Takes in a state of an object, unless a newer one is known.
    pub(super) fn note(&mut self, kind: Kind, object: Value) {
        if name(&object).is_empty() || text(&object, "/metadata/resourceVersion").is_empty() {
            return;
        }
        if kind == Kind::Node {
            return self.note_node(&object);
        }
        let all = self.objects.entry(kind).or_default();
        let known = all.get(&key(&object));
        if known.is_none_or(|known| revision(known) < revision(&object)) {
            all.insert(key(&object), slimmed(object));
        }
    }

    fn note_node(&mut self, object: &Value) {
        let nodes = self.nodes.get_or_insert_default();
        let known = nodes.get(name(object));
        if known.is_none_or(|known| known.revision < revision(object)) {
            nodes.insert(name(object).into(), Node::of(object, revision(object)));
            self.changed.insert(name(object).into());
        }
    }

    /// Objects of a kind; nodes are apart.
    pub(super) fn all(&self, kind: Kind) -> impl Iterator<Item = &Value> {
        self.objects
            .get(&kind)
            .into_iter()
            .flat_map(BTreeMap::values)
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().flat_map(BTreeMap::values)
    }

    pub(super) fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.as_ref()?.get(name)
    }

    /// Names of nodes that changed since this was last asked: there may be thousands that did not.
    pub(super) fn take_changed(&mut self) -> BTreeSet<Box<str>> {
        std::mem::take(&mut self.changed)
    }

    /// Every node is to be looked at again.
    pub(super) fn look_at_all(&mut self) {
        let nodes = self.nodes.iter().flat_map(BTreeMap::keys);
        self.changed = nodes.cloned().collect();
    }

    /// Objects of a kind that `owner` controls.
    pub(super) fn controlled<'a>(
        &'a self,
        kind: Kind,
        owner: &'a Value,
    ) -> impl Iterator<Item = &'a Value> {
        let own = uid(owner);
        self.all(kind)
            .filter(move |object| controller(object) == Some(own))
    }
}

/// Who manages which field is half of many objects, and nobody asks here.
fn slimmed(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

fn key(object: &Value) -> Key {
    (namespace(object).to_owned(), name(object).to_owned())
}

fn revision(object: &Value) -> u64 {
    text(object, "/metadata/resourceVersion")
        .parse()
        .unwrap_or(0)
}

pub(super) fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

pub(super) fn namespace(object: &Value) -> &str {
    text(object, "/metadata/namespace")
}

pub(super) fn uid(object: &Value) -> &str {
    text(object, "/metadata/uid")
}

pub(super) fn is_deleting(object: &Value) -> bool {
    !text(object, "/metadata/deletionTimestamp").is_empty()
}

/// The node of a pod; empty while it has none.
pub(super) fn node_of(pod: &Value) -> &str {
    text(pod, "/spec/nodeName")
}

/// Whether a pod runs or will: nobody ended it, and it did not end by itself.
pub(super) fn is_active(pod: &Value) -> bool {
    !is_deleting(pod) && !matches!(text(pod, "/status/phase"), "Succeeded" | "Failed")
}

/// What an object says of one of its conditions.
pub(super) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a str> {
    let all = object
        .pointer("/status/conditions")
        .and_then(Value::as_array)?;
    let found = all.iter().find(|one| text(one, "/type") == kind)?;
    Some(text(found, "/status"))
}

pub(super) fn is_ready(object: &Value) -> bool {
    condition(object, "Ready") == Some("True")
}

fn controller(object: &Value) -> Option<&str> {
    let owners = object.pointer("/metadata/ownerReferences")?.as_array()?;
    let controls = |owner: &&Value| owner.get("controller") == Some(&Value::Bool(true));
    Some(text(owners.iter().find(controls)?, "/uid"))
}

pub(super) fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    let list = object.pointer(pointer).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

pub(super) fn number(object: &Value, pointer: &str) -> Option<i64> {
    object.pointer(pointer).and_then(Value::as_i64)
}

pub(super) fn tolerates(toleration: &Value, taint: &Value) -> bool {
    let (key, effect) = (text(toleration, "/key"), text(toleration, "/effect"));
    let exists = text(toleration, "/operator") == "Exists";
    let keyed = if key.is_empty() {
        exists
    } else {
        key == text(taint, "/key")
            && (exists || text(toleration, "/value") == text(taint, "/value"))
    };
    keyed && (effect.is_empty() || effect == text(taint, "/effect"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tolerations_match_as_documented() {
        let taint = json!({ "key": "k", "value": "v", "effect": "NoSchedule" });
        let rows = [
            (json!({ "operator": "Exists" }), true),
            (json!({ "key": "k", "operator": "Exists" }), true),
            (
                json!({ "key": "k", "operator": "Exists", "effect": "NoExecute" }),
                false,
            ),
            (
                json!({ "key": "k", "operator": "Equal", "value": "v" }),
                true,
            ),
            (json!({ "key": "k", "value": "w" }), false),
            (json!({ "key": "other", "operator": "Exists" }), false),
            (json!({}), false),
        ];
        for (toleration, wanted) in rows {
            assert_eq!(tolerates(&toleration, &taint), wanted, "{toleration}");
        }
    }

    #[test]
    fn an_older_state_never_replaces_a_newer_one() {
        let mut state = State::default();
        let pod = |revision: &str| json!({ "metadata": { "name": "p", "namespace": "n", "resourceVersion": revision } });
        state.note(Kind::Pod, pod("10"));
        state.note(Kind::Pod, pod("9"));
        let known: Vec<&str> = state
            .all(Kind::Pod)
            .map(|pod| text(pod, "/metadata/resourceVersion"))
            .collect();
        assert_eq!(known, ["10"]);
    }

    #[test]
    fn a_node_has_changed_once_for_each_newer_state_and_when_it_goes() {
        let node =
            |revision: &str| json!({ "metadata": { "name": "a", "resourceVersion": revision } });
        let mut state = State::default();
        state.take(Kind::Node, Seen::All(vec![node("2")]));
        assert_eq!(state.take_changed().len(), 1);
        assert!(state.take_changed().is_empty());
        state.note(Kind::Node, node("1"));
        assert!(state.take_changed().is_empty(), "an older state is no news");
        state.note(Kind::Node, node("3"));
        assert_eq!(state.take_changed().len(), 1);
        state.look_at_all();
        assert_eq!(state.take_changed().len(), 1);
        state.take(Kind::Node, Seen::Gone(node("3")));
        assert_eq!(state.take_changed().len(), 1);
        assert!(state.node("a").is_none());
    }

    #[test]
    fn who_set_which_field_is_not_kept() {
        let mut state = State::default();
        let pod = json!({ "metadata": {
            "name": "p", "namespace": "n", "resourceVersion": "1", "managedFields": [{}],
        } });
        state.note(Kind::Pod, pod.clone());
        state.take(Kind::Deployment, Seen::All(vec![pod]));
        for kind in [Kind::Pod, Kind::Deployment] {
            let known = state.all(kind).next();
            assert!(known.is_some_and(|known| known["metadata"].get("managedFields").is_none()));
        }
    }
}
