//! `Machine`: one machine, whatever made it.

use k8s_openapi::api::core::v1::NodeSystemInfo;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::deprecated::DeprecatedMachineStatus;
use super::gate::ConditionGate;
use super::machine_address::MachineAddress;
use super::reference::ContractReference;
use super::taint::MachineTaint;
use crate::pattern::DNS_SUBDOMAIN;

/// Desired state of a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, CustomResource)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Machine",
    plural = "machines",
    namespaced,
    shortname = "ma",
    category = "cluster-api",
    doc = "One machine of a cluster: an instance, and the Node that runs on it.",
    status = "MachineStatus",
    derive = "Default",
    derive = "PartialEq",
    printcolumn(
        name = "Cluster",
        type_ = "string",
        description = "Cluster of the machine",
        json_path = ".spec.clusterName"
    ),
    printcolumn(
        name = "Node Name",
        type_ = "string",
        description = "Node of the machine",
        json_path = ".status.nodeRef.name"
    ),
    printcolumn(
        name = "Provider ID",
        type_ = "string",
        description = "ID of the instance",
        json_path = ".spec.providerID",
        priority = 10
    ),
    printcolumn(
        name = "Failure domain",
        type_ = "string",
        description = "Failure domain the machine runs in",
        json_path = ".status.failureDomain"
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        description = "Whether the machine is ready",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    ),
    printcolumn(
        name = "Available",
        type_ = "string",
        description = "Whether the machine has been ready long enough",
        json_path = r#".status.conditions[?(@.type=="Available")].status"#
    ),
    printcolumn(
        name = "Up-to-date",
        type_ = "string",
        description = "Whether the machine matches the spec",
        json_path = r#".status.conditions[?(@.type=="UpToDate")].status"#
    ),
    printcolumn(
        name = "Internal-IP",
        type_ = "string",
        description = "Address inside the network",
        json_path = r#".status.addresses[?(@.type=="InternalIP")].address"#,
        priority = 10
    ),
    printcolumn(
        name = "External-IP",
        type_ = "string",
        description = "Address reachable from outside",
        json_path = r#".status.addresses[?(@.type=="ExternalIP")].address"#,
        priority = 10
    ),
    printcolumn(
        name = "OS-Image",
        type_ = "string",
        description = "Operating system of the Node",
        json_path = ".status.nodeInfo.osImage",
        priority = 10
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
        description = "Phase of the machine",
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
        description = "Kubernetes version of the machine",
        json_path = ".spec.version"
    )
)]
pub struct MachineSpec {
    /// Where the bootstrap data comes from.
    pub bootstrap: Bootstrap,
    /// Cluster the machine belongs to, in the same namespace.
    #[schemars(length(min = 1, max = 63))]
    pub cluster_name: String,
    /// How long the steps of a deletion may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion: Option<MachineDeletion>,
    /// Failure domain the machine should run in.
    #[schemars(length(min = 1, max = 256))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_domain: Option<String>,
    /// The infrastructure object.
    pub infrastructure_ref: ContractReference,
    /// Seconds a Node is ready before the machine counts as available.
    #[schemars(range(min = 0))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_ready_seconds: Option<i32>,
    /// Provider ID of the machine.
    #[schemars(length(min = 1, max = 512))]
    #[serde(
        rename = "providerID",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub provider_id: Option<String>,
    /// Further conditions of readiness.
    #[schemars(
        length(min = 1, max = 32),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["conditionType"])
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readiness_gates: Option<Vec<ConditionGate>>,
    /// Taints of the Node.
    #[schemars(
        length(min = 1, max = 64),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key", "effect"])
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taints: Option<Vec<MachineTaint>>,
    /// Kubernetes version the machine should run.
    #[schemars(length(min = 1, max = 256))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Where the bootstrap data of a machine comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bootstrap {
    /// The bootstrap provider's object; unset when the Secret is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_ref: Option<ContractReference>,
    /// Secret with the data. The empty string is a value of its own.
    #[schemars(length(min = 0, max = 253))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_secret_name: Option<String>,
}

/// How long the steps of a deletion may take; unset and 0 differ from step to step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineDeletion {
    /// Seconds the deletion of the Node is tried; 0 stands for no limit.
    #[schemars(range(min = 0))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_deletion_timeout_seconds: Option<i32>,
    /// Seconds a drain may take; unset and 0 stand for no limit.
    #[schemars(range(min = 0))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_drain_timeout_seconds: Option<i32>,
    /// Seconds the detaching of volumes may take; unset and 0 stand for no limit.
    #[schemars(range(min = 0))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_volume_detach_timeout_seconds: Option<i32>,
}

/// Observed state of a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineStatus {
    /// Addresses of the machine.
    #[schemars(length(max = 256), extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addresses: Option<Vec<MachineAddress>>,
    /// When the certificates of a control plane machine expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificates_expiry_date: Option<Time>,
    /// What holds for the machine, one condition of each type.
    #[schemars(schema_with = "crate::condition::list")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
    /// When the steps of a deletion began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion: Option<MachineDeletionStatus>,
    /// What older versions reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<DeprecatedMachineStatus>,
    /// Failure domain the machine runs in.
    #[schemars(length(min = 1, max = 256))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_domain: Option<String>,
    /// Whether infrastructure and bootstrap data are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initialization: Option<MachineInitialization>,
    /// When the phase last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<Time>,
    /// What the Node says about its system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_info: Option<NodeSystemInfo>,
    /// Node of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_ref: Option<MachineNodeReference>,
    /// Generation of the spec the status speaks about.
    #[schemars(range(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Phase of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<MachinePhase>,
}

/// When the steps of a machine's deletion began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineDeletionStatus {
    /// When the drain of the Node began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_drain_start_time: Option<Time>,
    /// When the wait for the Node's volumes began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_for_node_volume_detach_start_time: Option<Time>,
    /// When the wait for hooks before the drain began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_for_pre_drain_hook_start_time: Option<Time>,
    /// When the wait for hooks before the infrastructure goes began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_for_pre_terminate_hook_start_time: Option<Time>,
}

/// Whether infrastructure and bootstrap data of a machine are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineInitialization {
    /// Whether the Secret with bootstrap data exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap_data_secret_created: Option<bool>,
    /// Whether the infrastructure is provisioned; it does not turn back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infrastructure_provisioned: Option<bool>,
}

/// The Node of a machine, in the workload cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineNodeReference {
    /// Name of the Node.
    #[schemars(length(min = 1, max = 253), regex(pattern = DNS_SUBDOMAIN))]
    pub name: String,
}

/// Phase of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::crd::describe_by_field)]
pub enum MachinePhase {
    /// Nothing is there yet.
    Pending,
    /// Infrastructure is being made.
    Provisioning,
    /// The instance is there.
    Provisioned,
    /// The Node is there.
    Running,
    /// The machine is being changed in place.
    Updating,
    /// The machine is being deleted.
    Deleting,
    /// The machine is gone.
    Deleted,
    /// Something failed for good.
    Failed,
    /// None of the above, or a word of a newer version.
    #[serde(other)]
    Unknown,
}
