//! The parts of a MachinePool and its Cluster that this controller reads, in their JSON shape.

use std::collections::BTreeMap;

use remuda_plan::pool::objects::Metadata;
use serde::{Deserialize, Serialize};

/// A `MachinePool`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct MachinePool {
    pub metadata: Metadata,
    pub spec: Spec,
    pub status: Status,
}

/// `spec`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Spec {
    pub cluster_name: String,
    pub replicas: Option<i32>,
    #[serde(rename = "providerIDList")]
    pub provider_id_list: Vec<String>,
    pub template: Template,
}

/// `spec.template`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Template {
    pub metadata: TemplateMetadata,
    pub spec: TemplateSpec,
}

/// `spec.template.metadata`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct TemplateMetadata {
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
}

/// `spec.template.spec`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TemplateSpec {
    pub version: Option<String>,
    pub min_ready_seconds: Option<i64>,
    pub bootstrap: Bootstrap,
    pub infrastructure_ref: Reference,
    pub deletion: Deletion,
}

/// `spec.template.spec.bootstrap`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Bootstrap {
    pub data_secret_name: Option<String>,
    pub config_ref: Option<Reference>,
}

/// `spec.template.spec.deletion`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Deletion {
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
    pub phase: Option<String>,
    pub replicas: Option<i32>,
    pub ready_replicas: Option<i32>,
    pub available_replicas: Option<i32>,
    pub up_to_date_replicas: Option<i32>,
    pub node_refs: Vec<NodeReference>,
    pub versions: Vec<Version>,
    pub initialization: Initialization,
}

/// `status.initialization`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Initialization {
    pub infrastructure_provisioned: bool,
}

/// One entry of `status.nodeRefs`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct NodeReference {
    pub name: String,
    pub uid: String,
}

/// One entry of `status.versions`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Version {
    pub version: String,
    pub replicas: i32,
}

/// A `Cluster`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Cluster {
    pub metadata: Metadata,
    pub spec: ClusterSpec,
}

/// `Cluster.spec`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct ClusterSpec {
    pub paused: bool,
}
