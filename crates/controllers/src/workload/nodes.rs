//! What a pool needs to know of the Nodes of one workload cluster, indexed by provider ID.

use std::{
    collections::{BTreeSet, HashMap},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, PoisonError, RwLock},
};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use remuda_api::keys::taint;
use remuda_plan::machines::names::instance_key;

/// A Node, cut down to what a pool decides on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeFact {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `spec.providerID`, when it is set.
    pub provider_id: Option<String>,
    /// Condition `Ready` is `True`.
    pub ready: bool,
    /// Since when `ready` has its value.
    pub ready_since: Option<Timestamp>,
    /// `status.nodeInfo.kubeletVersion`.
    pub kubelet_version: Option<String>,
    /// Annotations of the `cluster.x-k8s.io` group: the back-pointers.
    pub back_pointers: Box<[(String, String)]>,
    /// The uninitialized taint is there.
    pub uninitialized: bool,
}

impl NodeFact {
    /// The facts of a Node.
    pub fn of(node: &Node) -> Self {
        let spec = node.spec.as_ref();
        let status = node.status.as_ref();
        let ready = status
            .and_then(|status| status.conditions.as_ref())
            .and_then(|conditions| conditions.iter().find(|c| c.type_ == "Ready"));
        Self {
            name: node.metadata.name.clone().unwrap_or_default(),
            uid: node.metadata.uid.clone().unwrap_or_default(),
            provider_id: spec
                .and_then(|spec| spec.provider_id.clone())
                .filter(|id| !id.is_empty()),
            ready: ready.is_some_and(|condition| condition.status == "True"),
            ready_since: ready
                .and_then(|condition| condition.last_transition_time.as_ref())
                .map(|time| time.0),
            kubelet_version: status
                .and_then(|status| status.node_info.as_ref())
                .map(|info| info.kubelet_version.clone())
                .filter(|version| !version.is_empty()),
            back_pointers: node
                .metadata
                .annotations
                .iter()
                .flatten()
                .filter(|(key, _)| key.starts_with("cluster.x-k8s.io/"))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
            uninitialized: spec
                .and_then(|spec| spec.taints.as_ref())
                .is_some_and(|taints| taints.iter().any(|t| t.key == taint::UNINITIALIZED)),
        }
    }
}

/// A digest of what Machines decide on beyond [`NodeFact`]. Heartbeats do not count, nor does the
/// cordon: a drain would wake itself.
pub(super) fn rest_of(node: &Node) -> u64 {
    let mut hasher = DefaultHasher::new();
    node.metadata.labels.hash(&mut hasher);
    node.metadata.annotations.hash(&mut hasher);
    if let Some(spec) = &node.spec {
        for taint in spec.taints.iter().flatten() {
            (&taint.key, &taint.effect, &taint.value).hash(&mut hasher);
        }
    }
    if let Some(status) = &node.status {
        for condition in status.conditions.iter().flatten() {
            let words = (&condition.type_, &condition.status, &condition.message);
            words.hash(&mut hasher);
        }
        for volume in status.volumes_attached.iter().flatten() {
            volume.name.hash(&mut hasher);
        }
        if let Some(info) = &status.node_info {
            let system = (&info.kubelet_version, &info.os_image, &info.boot_id);
            system.hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// Provider ids, in the form of [`instance_key`], that a change concerns.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Touched {
    /// A fact differs.
    pub by_fact: BTreeSet<String>,
    /// A fact or something else of the Node differs.
    pub by_anything: BTreeSet<String>,
}

/// The Nodes of one workload cluster as its watch last showed them.
#[derive(Debug, Default)]
pub struct NodeCache {
    inner: RwLock<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    by_name: HashMap<String, Arc<NodeFact>>,
    /// By [`instance_key`]: clouds do not tell the case of letters apart, and write it as they like.
    /// Sorted by name.
    by_provider_id: HashMap<String, Vec<Arc<NodeFact>>>,
    rest: HashMap<String, u64>,
    listed: bool,
    trouble: Option<String>,
}

impl NodeCache {
    /// The first list has been read completely and the watch has not broken since.
    pub fn is_current(&self) -> bool {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        inner.listed && inner.trouble.is_none()
    }

    /// Why the watch is broken, when it is.
    pub fn trouble(&self) -> Option<String> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        inner.trouble.clone()
    }

    /// The Node of a provider ID. Where several claim one ID, the first by name.
    pub fn by_provider_id(&self, provider_id: &str) -> Option<Arc<NodeFact>> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        let nodes = inner.by_provider_id.get(&instance_key(provider_id))?;
        nodes.first().cloned()
    }

    /// Names of all Nodes that claim a provider ID, sorted.
    pub fn names_by_provider_id(&self, provider_id: &str) -> Vec<String> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        let nodes = inner.by_provider_id.get(&instance_key(provider_id));
        let nodes = nodes.into_iter().flatten();
        nodes.map(|node| node.name.clone()).collect()
    }

    /// The Node of a name.
    pub fn by_name(&self, name: &str) -> Option<Arc<NodeFact>> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        inner.by_name.get(name).cloned()
    }

    /// Takes a Node as it is now; returns the provider IDs whose pools may want to know.
    pub(crate) fn put(&self, fact: NodeFact, rest: u64) -> Touched {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        inner.trouble = None;
        let id = fact.provider_id.as_deref().map(instance_key);
        let differs = inner.rest.insert(fact.name.clone(), rest) != Some(rest);
        let by_fact = inner.put(fact);
        let mut by_anything = by_fact.clone();
        if differs {
            by_anything.extend(id);
        }
        Touched {
            by_fact,
            by_anything,
        }
    }

    /// Forgets a Node; returns the provider IDs whose pools may want to know.
    pub(crate) fn remove(&self, name: &str) -> BTreeSet<String> {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        inner.trouble = None;
        inner.rest.remove(name);
        inner.remove(name)
    }

    /// Replaces everything by a complete list; returns the provider IDs whose Nodes differ.
    pub(crate) fn replace(&self, facts: Vec<(NodeFact, u64)>) -> BTreeSet<String> {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        let names: BTreeSet<&str> = facts.iter().map(|(fact, _)| fact.name.as_str()).collect();
        let gone: Vec<String> = inner
            .by_name
            .keys()
            .filter(|name| !names.contains(name.as_str()))
            .cloned()
            .collect();
        let mut touched = BTreeSet::new();
        for name in gone {
            inner.rest.remove(&name);
            touched.extend(inner.remove(&name));
        }
        for (fact, rest) in facts {
            inner.rest.insert(fact.name.clone(), rest);
            touched.extend(inner.put(fact));
        }
        inner.listed = true;
        inner.trouble = None;
        touched
    }

    /// The watch failed; what is known may be old.
    pub(crate) fn broken(&self, why: String) {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        inner.trouble = Some(why);
    }
}

impl Inner {
    fn put(&mut self, fact: NodeFact) -> BTreeSet<String> {
        if self
            .by_name
            .get(&fact.name)
            .is_some_and(|old| **old == fact)
        {
            return BTreeSet::new();
        }
        let mut touched = self.remove(&fact.name);
        let fact = Arc::new(fact);
        if let Some(id) = fact.provider_id.as_deref().map(instance_key) {
            let nodes = self.by_provider_id.entry(id.clone()).or_default();
            nodes.push(fact.clone());
            nodes.sort_by(|left, right| left.name.cmp(&right.name));
            touched.insert(id);
        }
        self.by_name.insert(fact.name.clone(), fact);
        touched
    }

    fn remove(&mut self, name: &str) -> BTreeSet<String> {
        let Some(old) = self.by_name.remove(name) else {
            return BTreeSet::new();
        };
        let Some(id) = old.provider_id.as_deref().map(instance_key) else {
            return BTreeSet::new();
        };
        if let Some(nodes) = self.by_provider_id.get_mut(&id) {
            nodes.retain(|node| node.name != name);
            if nodes.is_empty() {
                self.by_provider_id.remove(&id);
            }
        }
        BTreeSet::from([id])
    }
}
