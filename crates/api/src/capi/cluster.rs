//! `Cluster`: what all machines of a cluster have in common.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::deprecated::DeprecatedClusterStatus;
use super::gate::ConditionGate;
use super::reference::ContractReference;
use super::status::{FailureDomain, StatusVersion};
use super::topology::Topology;

/// Desired state of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, CustomResource)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Cluster",
    plural = "clusters",
    namespaced,
    shortname = "cl",
    category = "cluster-api",
    doc = "A Kubernetes cluster and what all its machines have in common.",
    status = "ClusterStatus",
    derive = "Default",
    derive = "PartialEq",
    printcolumn(
        name = "ClusterClass",
        type_ = "string",
        description = "ClusterClass the cluster is made from, if any",
        json_path = ".spec.topology.classRef.name"
    ),
    printcolumn(
        name = "Available",
        type_ = "string",
        description = "Whether the cluster is available",
        json_path = r#".status.conditions[?(@.type=="Available")].status"#
    ),
    printcolumn(
        name = "CP Desired",
        type_ = "integer",
        description = "Desired control plane machines",
        json_path = ".status.controlPlane.desiredReplicas"
    ),
    printcolumn(
        name = "CP Current",
        type_ = "integer",
        description = "Control plane machines that exist",
        json_path = ".status.controlPlane.replicas",
        priority = 10
    ),
    printcolumn(
        name = "CP Ready",
        type_ = "integer",
        description = "Control plane machines that are ready",
        json_path = ".status.controlPlane.readyReplicas",
        priority = 10
    ),
    printcolumn(
        name = "CP Available",
        type_ = "integer",
        description = "Control plane machines that are available",
        json_path = ".status.controlPlane.availableReplicas"
    ),
    printcolumn(
        name = "CP Up-to-date",
        type_ = "integer",
        description = "Control plane machines that match the spec",
        json_path = ".status.controlPlane.upToDateReplicas"
    ),
    printcolumn(
        name = "W Desired",
        type_ = "integer",
        description = "Desired worker machines",
        json_path = ".status.workers.desiredReplicas"
    ),
    printcolumn(
        name = "W Current",
        type_ = "integer",
        description = "Worker machines that exist",
        json_path = ".status.workers.replicas",
        priority = 10
    ),
    printcolumn(
        name = "W Ready",
        type_ = "integer",
        description = "Worker machines that are ready",
        json_path = ".status.workers.readyReplicas",
        priority = 10
    ),
    printcolumn(
        name = "W Available",
        type_ = "integer",
        description = "Worker machines that are available",
        json_path = ".status.workers.availableReplicas"
    ),
    printcolumn(
        name = "W Up-to-date",
        type_ = "integer",
        description = "Worker machines that match the spec",
        json_path = ".status.workers.upToDateReplicas"
    ),
    printcolumn(
        name = "Paused",
        type_ = "string",
        description = "Whether reconciliation is paused",
        json_path = r#".status.conditions[?(@.type=="Paused")].status"#,
        priority = 10
    ),
    printcolumn(
        name = "Phase",
        type_ = "string",
        description = "Phase of the cluster",
        json_path = ".status.phase"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        description = "Time since creation",
        json_path = ".metadata.creationTimestamp"
    ),
    printcolumn(
        name = "Version",
        type_ = "string",
        description = "Desired Kubernetes version of the topology",
        json_path = ".spec.topology.version"
    )
)]
pub struct ClusterSpec {
    /// Further conditions of availability.
    #[schemars(
        length(min = 1, max = 32),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["conditionType"])
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub availability_gates: Option<Vec<ConditionGate>>,
    /// Network of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_network: Option<ClusterNetwork>,
    /// Where the control plane answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<ApiEndpoint>,
    /// The control plane provider's object, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_ref: Option<ContractReference>,
    /// The infrastructure provider's object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infrastructure_ref: Option<ContractReference>,
    /// Whether everything of the cluster is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// The cluster as a ClusterClass makes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
}

/// Network of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct ClusterNetwork {
    /// Port of the API server.
    #[schemars(range(min = 1, max = 65535))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_server_port: Option<i32>,
    /// Ranges of Pod addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<NetworkRanges>,
    /// DNS domain of Services.
    #[schemars(length(min = 1, max = 253))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_domain: Option<String>,
    /// Ranges of Service addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub services: Option<NetworkRanges>,
}

/// Address ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkRanges {
    /// Ranges in CIDR notation.
    #[schemars(
        length(min = 1, max = 100),
        inner(length(min = 1, max = 43)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub cidr_blocks: Vec<String>,
}

/// Host and port of a control plane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct ApiEndpoint {
    /// Host name or address.
    #[schemars(length(min = 1, max = 512))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// TCP port.
    #[schemars(range(min = 1, max = 65535))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<i32>,
}

/// Observed state of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct ClusterStatus {
    /// What holds for the cluster, one condition of each type.
    #[schemars(schema_with = "crate::condition::list")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
    /// Counters of the control plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<ClusterControlPlaneStatus>,
    /// What older versions reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<DeprecatedClusterStatus>,
    /// Failure domains the infrastructure reports.
    #[schemars(
        length(min = 1, max = 100),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_domains: Option<Vec<FailureDomain>>,
    /// What has been reached once and does not turn back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initialization: Option<ClusterInitialization>,
    /// Generation of the spec the status speaks about.
    #[schemars(range(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Phase of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<ClusterPhase>,
    /// Counters of the workers, pools included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<ClusterWorkersStatus>,
}

/// What a cluster has reached once and for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct ClusterInitialization {
    /// Whether the control plane has answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_initialized: Option<bool>,
    /// Whether the infrastructure has been provisioned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infrastructure_provisioned: Option<bool>,
}

/// Phase of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::crd::describe_by_field)]
pub enum ClusterPhase {
    /// Nothing has been made.
    Pending,
    /// Infrastructure is being made.
    Provisioning,
    /// Infrastructure and endpoint are there.
    Provisioned,
    /// The cluster is being deleted.
    Deleting,
    /// Something failed for good.
    Failed,
    /// None of the above, or a word of a newer version.
    #[serde(other)]
    Unknown,
}

/// Counters of control plane machines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterControlPlaneStatus {
    /// Machines that are available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_replicas: Option<i32>,
    /// Desired machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_replicas: Option<i32>,
    /// Machines that are ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// Machines that exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Machines that match the spec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to_date_replicas: Option<i32>,
    /// Versions an upgrade still goes through.
    #[schemars(length(min = 1, max = 32), extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrade_plan: Option<Vec<ClusterUpgradeStep>>,
    /// Versions the machines run.
    #[schemars(length(min = 1, max = 32), extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<Vec<StatusVersion>>,
}

/// Counters of worker machines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterWorkersStatus {
    /// Machines that are available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_replicas: Option<i32>,
    /// Desired machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_replicas: Option<i32>,
    /// Machines that are ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// Machines that exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Machines that match the spec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to_date_replicas: Option<i32>,
    /// Versions an upgrade still goes through.
    #[schemars(length(min = 1, max = 32), extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrade_plan: Option<Vec<ClusterUpgradeStep>>,
    /// Versions the machines run.
    #[schemars(length(min = 1, max = 32), extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<Vec<StatusVersion>>,
}

/// One version an upgrade goes through.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterUpgradeStep {
    /// The version.
    #[schemars(length(min = 1, max = 256))]
    pub version: String,
}
