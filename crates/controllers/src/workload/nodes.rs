//! What a pool needs to know of the Nodes of one workload cluster, indexed by provider ID.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, PoisonError, RwLock},
};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use remuda_api::keys::taint;

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
    pub back_pointers: BTreeMap<String, String>,
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

/// The Nodes of one workload cluster as its watch last showed them.
#[derive(Debug, Default)]
pub struct NodeCache {
    inner: RwLock<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    by_name: HashMap<String, Arc<NodeFact>>,
    by_provider_id: HashMap<String, BTreeSet<String>>,
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
        let name = inner.by_provider_id.get(provider_id)?.first()?;
        inner.by_name.get(name).cloned()
    }

    /// The Node of a name.
    pub fn by_name(&self, name: &str) -> Option<Arc<NodeFact>> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        inner.by_name.get(name).cloned()
    }

    /// Takes a Node as it is now; returns the provider IDs whose pools may want to know.
    pub(crate) fn put(&self, fact: NodeFact) -> BTreeSet<String> {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        inner.trouble = None;
        inner.put(fact)
    }

    /// Forgets a Node; returns the provider IDs whose pools may want to know.
    pub(crate) fn remove(&self, name: &str) -> BTreeSet<String> {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        inner.trouble = None;
        inner.remove(name)
    }

    /// Replaces everything by a complete list; returns the provider IDs whose Nodes differ.
    pub(crate) fn replace(&self, facts: Vec<NodeFact>) -> BTreeSet<String> {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        let names: BTreeSet<&str> = facts.iter().map(|fact| fact.name.as_str()).collect();
        let gone: Vec<String> = inner
            .by_name
            .keys()
            .filter(|name| !names.contains(name.as_str()))
            .cloned()
            .collect();
        let mut touched = BTreeSet::new();
        for name in gone {
            touched.extend(inner.remove(&name));
        }
        for fact in facts {
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
        if let Some(id) = &fact.provider_id {
            self.by_provider_id
                .entry(id.clone())
                .or_default()
                .insert(fact.name.clone());
            touched.insert(id.clone());
        }
        self.by_name.insert(fact.name.clone(), Arc::new(fact));
        touched
    }

    fn remove(&mut self, name: &str) -> BTreeSet<String> {
        let Some(old) = self.by_name.remove(name) else {
            return BTreeSet::new();
        };
        let Some(id) = old.provider_id.clone() else {
            return BTreeSet::new();
        };
        if let Some(names) = self.by_provider_id.get_mut(&id) {
            names.remove(name);
            if names.is_empty() {
                self.by_provider_id.remove(&id);
            }
        }
        BTreeSet::from([id])
    }
}
