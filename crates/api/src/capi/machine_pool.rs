//! `MachinePool`: the provider-independent half of a pool.

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::deprecated::DeprecatedMachinePoolStatus;
use super::machine_template::MachineTemplateSpec;
use super::status::StatusVersion;

/// Desired state of a pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, CustomResource)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta2",
    kind = "MachinePool",
    plural = "machinepools",
    namespaced,
    shortname = "mp",
    category = "cluster-api",
    doc = "A pool of machines, whatever cloud they run on.",
    status = "MachinePoolStatus",
    derive = "Default",
    derive = "PartialEq",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas"
    ),
    printcolumn(
        name = "Cluster",
        type_ = "string",
        description = "Cluster of the pool",
        json_path = ".spec.clusterName"
    ),
    printcolumn(
        name = "Desired",
        type_ = "integer",
        description = "Desired machines",
        json_path = ".spec.replicas"
    ),
    printcolumn(
        name = "Current",
        type_ = "integer",
        description = "Machines that exist",
        json_path = ".status.replicas"
    ),
    printcolumn(
        name = "Ready",
        type_ = "integer",
        description = "Machines that are ready",
        json_path = ".status.readyReplicas"
    ),
    printcolumn(
        name = "Available",
        type_ = "integer",
        description = "Machines that are available",
        json_path = ".status.availableReplicas"
    ),
    printcolumn(
        name = "Up-to-date",
        type_ = "integer",
        description = "Machines that match the spec",
        json_path = ".status.upToDateReplicas"
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
        description = "Phase of the pool",
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
        description = "Desired Kubernetes version",
        json_path = ".spec.template.spec.version"
    )
)]
pub struct MachinePoolSpec {
    /// Cluster the pool belongs to, in the same namespace.
    #[schemars(length(min = 1, max = 63))]
    pub cluster_name: String,
    /// Failure domains the pool may use.
    #[schemars(
        length(max = 100),
        inner(length(min = 1, max = 256)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_domains: Option<Vec<String>>,
    /// Provider IDs of all machines of the pool.
    #[schemars(
        length(max = 10000),
        inner(length(min = 1, max = 512)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    #[serde(
        rename = "providerIDList",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub provider_id_list: Option<Vec<String>>,
    /// Desired machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// What the machines have in common.
    pub template: MachineTemplateSpec,
}

/// Observed state of a pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachinePoolStatus {
    /// Machines that are available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_replicas: Option<i32>,
    /// What holds for the pool, one condition of each type.
    #[schemars(schema_with = "crate::condition::list")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
    /// What older versions reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<DeprecatedMachinePoolStatus>,
    /// Whether infrastructure and bootstrap data are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initialization: Option<MachinePoolInitialization>,
    /// Nodes of the pool, in the order of the provider IDs.
    #[schemars(length(max = 10000), extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_refs: Option<Vec<ObjectReference>>,
    /// Generation of the spec the status speaks about.
    #[schemars(range(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Phase of the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<MachinePoolPhase>,
    /// Machines that are ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// Machines that exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Machines that match the spec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to_date_replicas: Option<i32>,
    /// Versions the machines run.
    #[schemars(
        length(min = 1, max = 100),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["version"])
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<Vec<StatusVersion>>,
}

/// Whether infrastructure and bootstrap data of a pool are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachinePoolInitialization {
    /// Whether the Secret with bootstrap data exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap_data_secret_created: Option<bool>,
    /// Whether the infrastructure is provisioned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infrastructure_provisioned: Option<bool>,
}

/// Phase of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::crd::describe_by_field)]
pub enum MachinePoolPhase {
    /// Bootstrap data is missing.
    Pending,
    /// Infrastructure is being made.
    Provisioning,
    /// Infrastructure is there.
    Provisioned,
    /// All desired machines have a Node.
    Running,
    /// Machines are being added.
    ScalingUp,
    /// Machines are being removed.
    ScalingDown,
    /// The count is changing.
    Scaling,
    /// The pool is being deleted.
    Deleting,
    /// Something failed for good.
    Failed,
    /// None of the above, or a word of a newer version.
    #[serde(other)]
    Unknown,
}
