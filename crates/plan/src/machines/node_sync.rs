//! What a Machine gives its Node: labels and annotations of the managed domains, back-pointers,
//! taints; and what it takes back (Cluster API document, 1.10 and 5.6). What others put on the
//! Node stays: the tracking annotations say which keys came from the Machine.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{drain::Labels, node::NodeView, pod::text};

/// Labels with exactly this prefix.
const ROLE: &str = "node-role.kubernetes.io";
/// Labels of this domain and those below.
const RESTRICTION: &str = "node-restriction.kubernetes.io";
/// Labels and annotations of this domain and those below.
const CLUSTER_API: &str = "node.cluster.x-k8s.io";
/// Until labels have been synced.
const UNINITIALIZED: &str = "node.cluster.x-k8s.io/uninitialized";
/// On a Node the cloud may take back.
const INTERRUPTIBLE: &str = "cluster.x-k8s.io/interruptible";
const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
const CLUSTER_NAMESPACE: &str = "cluster.x-k8s.io/cluster-namespace";
const MACHINE: &str = "cluster.x-k8s.io/machine";
const OWNER_KIND: &str = "cluster.x-k8s.io/owner-kind";
const OWNER_NAME: &str = "cluster.x-k8s.io/owner-name";
const LABELS_FROM_MACHINE: &str = "cluster.x-k8s.io/labels-from-machine";
const ANNOTATIONS_FROM_MACHINE: &str = "cluster.x-k8s.io/annotations-from-machine";
const TAINTS_FROM_MACHINE: &str = "cluster.x-k8s.io/taints-from-machine";

/// What a Machine gives its Node.
#[derive(Debug, Clone, Copy)]
pub struct SyncFacts<'a> {
    /// Name of the Machine.
    pub machine: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// Its Cluster.
    pub cluster: &'a str,
    /// Kind and name of what controls it.
    pub owner: Option<(&'a str, &'a str)>,
    /// Its labels.
    pub labels: &'a Labels,
    /// Its annotations.
    pub annotations: &'a Labels,
    /// Its taints.
    pub taints: &'a [Taint],
    /// The cloud may take the instance back.
    pub interruptible: bool,
}

/// One entry of `Machine.spec.taints`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Taint {
    /// Key.
    pub key: String,
    /// Value.
    #[serde(default)]
    pub value: Option<String>,
    /// Effect, in the Node's own word.
    pub effect: String,
    /// When it is put on the Node.
    pub propagation: Propagation,
}

/// When a taint is put on a Node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Propagation {
    /// It is kept there.
    Always,
    /// Once.
    OnInitialization,
}

/// What changes on a Node.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeChange {
    /// Labels to set; `None`: to remove.
    pub labels: BTreeMap<String, Option<String>>,
    /// Annotations to set; `None`: to remove.
    pub annotations: BTreeMap<String, Option<String>>,
    /// All taints, when they change.
    pub taints: Option<Vec<Value>>,
}

impl NodeChange {
    /// The merge patch; it holds only for the Node as it was read, because it replaces the list of
    /// taints.
    pub fn patch(&self, node: &NodeView) -> Value {
        let mut patch = json!({ "metadata": {
            "resourceVersion": node.resource_version,
            "labels": self.labels,
            "annotations": self.annotations,
        } });
        if let Some(taints) = &self.taints {
            patch["spec"] = json!({ "taints": taints });
        }
        patch
    }
}

/// What is to change; `None`: the Node is as it should be.
pub fn changes(facts: &SyncFacts<'_>, node: &NodeView) -> Option<NodeChange> {
    let mut change = NodeChange::default();
    let labels = managed(facts.labels, is_label);
    let annotations = managed(facts.annotations, |domain| is_or_below(domain, CLUSTER_API));
    give(&mut change.labels, &labels, &node.labels);
    give(&mut change.annotations, &annotations, &node.annotations);
    take_back(
        &mut change.labels,
        node,
        LABELS_FROM_MACHINE,
        &labels,
        &node.labels,
    );
    take_back(
        &mut change.annotations,
        node,
        ANNOTATIONS_FROM_MACHINE,
        &annotations,
        &node.annotations,
    );
    if facts.interruptible && !node.labels.contains_key(INTERRUPTIBLE) {
        change
            .labels
            .insert(INTERRUPTIBLE.to_owned(), Some(String::new()));
    }
    let taints = taints(facts.taints, node);
    if taints != node.taints {
        change.taints = Some(taints);
    }
    give(
        &mut change.annotations,
        &pointers(facts, &labels, &annotations),
        &node.annotations,
    );
    (change != NodeChange::default()).then_some(change)
}

fn pointers(facts: &SyncFacts<'_>, labels: &Labels, annotations: &Labels) -> Labels {
    let always = facts
        .taints
        .iter()
        .filter(|taint| taint.propagation == Propagation::Always);
    let tainted: BTreeSet<String> = always.map(name_of).collect();
    let joined = |keys: &mut dyn Iterator<Item = &String>| {
        keys.map(String::as_str).collect::<Vec<_>>().join(",")
    };
    let mut pointers = vec![
        (CLUSTER_NAME, facts.cluster.to_owned()),
        (CLUSTER_NAMESPACE, facts.namespace.to_owned()),
        (MACHINE, facts.machine.to_owned()),
        (LABELS_FROM_MACHINE, joined(&mut labels.keys())),
        (ANNOTATIONS_FROM_MACHINE, joined(&mut annotations.keys())),
        (TAINTS_FROM_MACHINE, joined(&mut tainted.iter())),
    ];
    if let Some((kind, name)) = facts.owner {
        pointers.push((OWNER_KIND, kind.to_owned()));
        pointers.push((OWNER_NAME, name.to_owned()));
    }
    pointers
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

fn managed(all: &Labels, is_ours: impl Fn(&str) -> bool) -> Labels {
    all.iter()
        .filter(|(key, _)| {
            key.split_once('/')
                .is_some_and(|(domain, _)| is_ours(domain))
        })
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn is_label(domain: &str) -> bool {
    domain == ROLE || is_or_below(domain, RESTRICTION) || is_or_below(domain, CLUSTER_API)
}

fn is_or_below(domain: &str, of: &str) -> bool {
    domain == of
        || domain
            .strip_suffix(of)
            .is_some_and(|below| below.ends_with('.'))
}

fn give(change: &mut BTreeMap<String, Option<String>>, wanted: &Labels, live: &Labels) {
    for (key, value) in wanted {
        if live.get(key) != Some(value) {
            change.insert(key.clone(), Some(value.clone()));
        }
    }
}

/// Removes what came from the Machine once and does no longer.
fn take_back(
    change: &mut BTreeMap<String, Option<String>>,
    node: &NodeView,
    tracking: &str,
    wanted: &Labels,
    live: &Labels,
) {
    for key in tracked(node, tracking) {
        if !wanted.contains_key(key) && live.contains_key(key) {
            change.insert(key.to_owned(), None);
        }
    }
}

fn tracked<'a>(node: &'a NodeView, tracking: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    let keys = node.annotations.get(tracking).map_or("", String::as_str);
    keys.split(',').filter(|key| !key.is_empty())
}

fn name_of(taint: &Taint) -> String {
    format!("{}:{}", taint.key, taint.effect)
}

fn taints(wanted: &[Taint], node: &NodeView) -> Vec<Value> {
    let initialized = node.annotations.contains_key(TAINTS_FROM_MACHINE);
    let before: BTreeSet<&str> = tracked(node, TAINTS_FROM_MACHINE).collect();
    let named = |live: &Value| format!("{}:{}", text(live, "/key"), text(live, "/effect"));
    let is_wanted = |name: &str| wanted.iter().any(|taint| name_of(taint) == name);
    let mut taints: Vec<Value> = node
        .taints
        .iter()
        .filter(|live| live["key"] != UNINITIALIZED)
        .filter(|live| {
            let name = named(live);
            !before.contains(name.as_str()) || is_wanted(&name)
        })
        .cloned()
        .collect();
    for taint in wanted {
        let always = taint.propagation == Propagation::Always;
        if !always && initialized {
            continue;
        }
        let value = taint.value.as_deref().unwrap_or_default();
        match taints.iter_mut().find(|live| named(live) == name_of(taint)) {
            Some(live) if text(live, "/value") == value => {}
            Some(live) => live["value"] = Value::from(value),
            None => taints.push(written(taint)),
        }
    }
    taints
}

fn written(taint: &Taint) -> Value {
    let mut written = json!({ "key": taint.key, "effect": taint.effect });
    if let Some(value) = &taint.value {
        written["value"] = Value::from(value.as_str());
    }
    written
}
