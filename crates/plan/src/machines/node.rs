//! A Node of a workload cluster, as far as its Machine decides on it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::{
    condition::Status,
    pod::{list, strings, text},
};

/// A Node.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeView {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`: the precondition of a write.
    pub resource_version: String,
    /// `spec.providerID`; empty when unset.
    pub provider_id: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// `spec.taints`, as they are written.
    pub taints: Vec<Value>,
    /// `spec.unschedulable`.
    pub cordoned: bool,
    /// Conditions by type.
    pub conditions: BTreeMap<String, NodeCondition>,
    /// `status.nodeInfo`, as it is written.
    pub info: Option<Value>,
    /// Names in `status.volumesAttached`.
    pub volumes_attached: Vec<String>,
}

/// One condition of a Node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeCondition {
    /// Whether it holds.
    pub status: Status,
    /// The kubelet's words.
    pub message: String,
    /// Since when.
    pub since: Option<Timestamp>,
}

impl NodeView {
    /// Reads a Node's JSON.
    pub fn read(object: &Value) -> Self {
        let conditions = list(object, "/status/conditions").iter().map(|condition| {
            let seen = NodeCondition {
                status: Status::read(&text(condition, "/status")),
                message: text(condition, "/message"),
                since: text(condition, "/lastTransitionTime").parse().ok(),
            };
            (text(condition, "/type"), seen)
        });
        Self {
            name: text(object, "/metadata/name"),
            uid: text(object, "/metadata/uid"),
            resource_version: text(object, "/metadata/resourceVersion"),
            provider_id: text(object, "/spec/providerID"),
            labels: strings(object, "/metadata/labels"),
            annotations: strings(object, "/metadata/annotations"),
            taints: list(object, "/spec/taints").to_vec(),
            cordoned: object.pointer("/spec/unschedulable") == Some(&Value::Bool(true)),
            conditions: conditions.collect(),
            info: object.pointer("/status/nodeInfo").cloned(),
            volumes_attached: list(object, "/status/volumesAttached")
                .iter()
                .map(|volume| text(volume, "/name"))
                .collect(),
        }
    }

    /// Status of a condition; one that is missing is Unknown.
    pub fn status_of(&self, kind: &str) -> Status {
        let condition = self.conditions.get(kind);
        condition.map_or(Status::Unknown, |condition| condition.status)
    }

    /// The kubelet has not been heard of: `Ready` is there and says Unknown.
    pub fn is_unreachable(&self) -> bool {
        let ready = self.conditions.get("Ready");
        ready.is_some_and(|ready| ready.status == Status::Unknown)
    }

    /// The kubelet's version.
    pub fn kubelet_version(&self) -> Option<&str> {
        let version = self.info.as_ref()?.get("kubeletVersion")?.as_str()?;
        (!version.is_empty()).then_some(version)
    }
}
