//! `Publication`: everything one pass writes to Kubernetes, and when to look again.
//!
//! Order of writing: record, metadata that an operation needs (finalizer and block-move are added),
//! owner patch, spec, status, events, metadata that goes, the finalizer last. A failed write ends
//! the publication; the next pass computes it again.

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value;

use super::{event::Event, rest::Rest, wire::PoolStatus};
use crate::pool::{record::Record, world::Memory};

/// Everything one pass writes. On unchanged input every optional part is `None` or empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Publication {
    /// The complete new status; `None`: leave it.
    pub status: Option<PoolStatus>,
    /// What changes in `spec`.
    pub spec: SpecWrite,
    /// What changes in the pool's metadata.
    pub metadata: MetadataWrite,
    /// Patch of the owning MachinePool.
    pub owner: Option<OwnerPatch>,
    /// What happens to the record Secret.
    pub record: Option<RecordWrite>,
    /// Events, in order.
    pub events: Vec<Event>,
    /// When to look again.
    pub requeue: Requeue,
    /// To hand back in `World::memory`; `None`: forget the pool.
    pub memory: Option<Memory>,
    /// The pool rests: looking at the cloud alone is enough for a while.
    pub rest: Option<Rest>,
}

impl Publication {
    /// Something is written to Kubernetes.
    pub fn writes(&self) -> bool {
        self.status.is_some()
            || self.spec != SpecWrite::default()
            || self.metadata != MetadataWrite::default()
            || self.owner.is_some()
            || self.record.is_some()
            || !self.events.is_empty()
    }
}

/// Changes of the pool's `spec`, each field on its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpecWrite {
    /// New `spec.providerID`.
    pub provider_id: Option<String>,
    /// New `spec.providerIDList`.
    pub provider_id_list: Option<Vec<String>>,
    /// Precondition: the status of the same publication counts on this write being the only
    /// change of `spec` in between.
    pub resource_version: Option<String>,
}

impl SpecWrite {
    /// A merge patch, or nothing to write.
    pub fn merge_patch(&self) -> Option<Value> {
        let mut spec = serde_json::Map::new();
        if let Some(id) = &self.provider_id {
            spec.insert("providerID".into(), Value::from(id.as_str()));
        }
        if let Some(list) = &self.provider_id_list {
            spec.insert("providerIDList".into(), Value::from(list.clone()));
        }
        if spec.is_empty() {
            return None;
        }
        let mut patch = serde_json::json!({ "spec": spec });
        if let (Some(version), Some(patch)) = (&self.resource_version, patch.as_object_mut()) {
            patch.insert(
                "metadata".into(),
                serde_json::json!({ "resourceVersion": version }),
            );
        }
        Some(patch)
    }
}

/// Changes of the pool's metadata.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetadataWrite {
    /// Add or remove the pool finalizer.
    pub finalizer: Option<FinalizerChange>,
    /// Annotations to set (`Some`) or remove (`None`).
    pub annotations: BTreeMap<String, Option<String>>,
}

/// What happens to the finalizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinalizerChange {
    /// Add it.
    Add,
    /// Remove it.
    Remove,
}

/// A merge patch on the owning MachinePool, limited to the claim and `spec.replicas`.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnerPatch {
    /// Merge patch body; holds the resourceVersion as precondition.
    pub body: Value,
}

/// What happens to the record Secret.
#[derive(Debug, Clone, PartialEq)]
pub enum RecordWrite {
    /// Store it, owned by the pool, without the retained label.
    Save(Box<Record>),
    /// Drop the owner reference and label it with the pool's UID.
    Retain,
    /// Delete it.
    Delete,
}

/// When to look again. A change of any watched object always wakes the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requeue {
    /// Only when something changes.
    OnChange,
    /// After this long; zero: at once.
    After(Duration),
}
