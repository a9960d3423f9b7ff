//! A Machine and its Cluster as their JSON shows them, as far as the Machine controller decides.

use jiff::Timestamp;
use remuda_plan::{
    machines::{conditions::ReadinessGate, node_sync::Taint, view::ConditionView},
    pool::objects::Metadata,
};
use serde::Deserialize;

/// A `Machine`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Machine {
    pub metadata: Metadata,
    pub spec: Spec,
    pub status: Status,
}

/// `spec`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Spec {
    pub cluster_name: String,
    pub bootstrap: Bootstrap,
    pub infrastructure_ref: Reference,
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
    pub min_ready_seconds: Option<i64>,
    pub readiness_gates: Vec<ReadinessGate>,
    pub deletion: Deletion,
    pub taints: Vec<Taint>,
}

/// `spec.bootstrap`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Bootstrap {
    pub data_secret_name: Option<String>,
    pub config_ref: Option<Reference>,
}

/// `spec.deletion`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(clippy::struct_field_names, reason = "the names on the wire")]
pub(crate) struct Deletion {
    pub node_drain_timeout_seconds: Option<i64>,
    pub node_volume_detach_timeout_seconds: Option<i64>,
    pub node_deletion_timeout_seconds: Option<i64>,
}

/// A reference by group, kind and name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Reference {
    pub api_group: String,
    pub kind: String,
    pub name: String,
}

/// `status`, as far as the next pass builds on it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Status {
    pub conditions: Vec<ConditionView>,
    pub deletion: DeletionTimes,
    pub initialization: Initialization,
    pub node_ref: Option<NodeReference>,
    pub phase: Option<String>,
}

/// `status.deletion`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(clippy::struct_field_names, reason = "the names on the wire")]
pub(crate) struct DeletionTimes {
    pub wait_for_pre_drain_hook_start_time: Option<Timestamp>,
    pub node_drain_start_time: Option<Timestamp>,
    pub wait_for_node_volume_detach_start_time: Option<Timestamp>,
    pub wait_for_pre_terminate_hook_start_time: Option<Timestamp>,
}

/// `status.initialization`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Initialization {
    pub infrastructure_provisioned: bool,
    pub bootstrap_data_secret_created: bool,
}

/// `status.nodeRef`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct NodeReference {
    pub name: String,
}

/// A `Cluster`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Cluster {
    pub metadata: Metadata,
    pub spec: ClusterSpec,
}

/// `Cluster.spec`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClusterSpec {
    pub paused: bool,
    pub control_plane_ref: Option<Reference>,
}
