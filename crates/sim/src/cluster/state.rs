//! What is known of a workload cluster, and how its objects are read.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::Value;

use super::client::{Seen, text};

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
        format!("{}/{}", self.path_in(namespace(object)), name(object))
    }
}

type Key = (String, String);

/// What is known of a cluster.
#[derive(Debug, Default)]
pub(super) struct State {
    objects: BTreeMap<Kind, BTreeMap<Key, Value>>,
}

/// Since when some of what is known has been so.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Nodes that pods are bound to and that do not exist.
    pub(super) missing: BTreeMap<String, Duration>,
    /// Nodes that carry a taint that pods must go for.
    pub(super) tainted: BTreeMap<String, Duration>,
    /// Nodes whose pods were told to be unready.
    pub(super) down: BTreeSet<String>,
}

impl State {
    /// Whether every kind has been listed once.
    pub(super) fn is_complete(&self) -> bool {
        self.objects.len() == Kind::ALL.len()
    }

    pub(super) fn take(&mut self, kind: Kind, seen: Seen) {
        match seen {
            Seen::All(objects) => {
                let all = objects.into_iter().map(|object| (key(&object), object));
                self.objects.insert(kind, all.collect());
            }
            Seen::Changed(object) => self.note(kind, object),
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
        let all = self.objects.entry(kind).or_default();
        let known = all.get(&key(&object));
        if known.is_none_or(|known| revision(known) < revision(&object)) {
            all.insert(key(&object), object);
        }
    }

    pub(super) fn all(&self, kind: Kind) -> impl Iterator<Item = &Value> {
        self.objects
            .get(&kind)
            .into_iter()
            .flat_map(BTreeMap::values)
    }

    pub(super) fn node(&self, name: &str) -> Option<&Value> {
        let nodes = self.objects.get(&Kind::Node)?;
        nodes.get(&(String::new(), name.to_owned()))
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

/// Whether the labels of a node are those that a pod asks for.
pub(super) fn is_selected(pod_spec: &Value, node: &Value) -> bool {
    let wanted = pod_spec.get("nodeSelector").and_then(Value::as_object);
    let labels = node.pointer("/metadata/labels");
    wanted
        .into_iter()
        .flatten()
        .all(|(key, value)| labels.and_then(|labels| labels.get(key)) == Some(value))
}

/// The first taint of a node that a pod of this spec cannot stand, among those of these effects.
pub(super) fn repelled<'a>(
    pod_spec: &Value,
    node: &'a Value,
    effects: &[&str],
) -> Option<&'a Value> {
    let tolerations = list(pod_spec, "/tolerations");
    list(node, "/spec/taints").iter().find(|taint| {
        effects.contains(&text(taint, "/effect"))
            && !tolerations
                .iter()
                .any(|toleration| tolerates(toleration, taint))
    })
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
}
