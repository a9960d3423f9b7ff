//! The template of a machine inside MachinePool and its like.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::gate::ConditionGate;
use super::reference::ContractReference;
use super::taint::MachineTaint;
use super::template::TemplateMetadata;

/// What machines of a set have in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineTemplateSpec {
    /// Labels and annotations of the machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// Spec of the machines.
    pub spec: MachineSpec,
}

/// Desired state of a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
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
