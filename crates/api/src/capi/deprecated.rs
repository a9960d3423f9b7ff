//! What v1beta1 reported and v1beta2 keeps under `status.deprecated`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A condition in the v1beta1 shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeprecatedCondition {
    /// When the status last changed.
    pub last_transition_time: Time,
    /// Details for a person.
    #[schemars(length(min = 1, max = 10240))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Why the status is what it is.
    #[schemars(length(min = 1, max = 256))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How bad a False is; empty for True.
    #[schemars(length(max = 32))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// Whether the condition holds.
    pub status: String,
    /// Name of the condition.
    #[schemars(length(min = 1, max = 256))]
    #[serde(rename = "type")]
    pub type_: String,
}

/// Deprecated part of a MachinePool's status, by version.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeprecatedMachinePoolStatus {
    /// What v1beta1 reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub v1beta1: Option<DeprecatedMachinePoolV1Beta1>,
}

/// What v1beta1 reported of a MachinePool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeprecatedMachinePoolV1Beta1 {
    /// Machines available for the minimum time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_replicas: Option<i32>,
    /// Conditions in the old shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<DeprecatedCondition>>,
    /// Message of a final failure.
    #[schemars(length(min = 1, max = 10240))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_message: Option<String>,
    /// Reason of a final failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
    /// Machines that are ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// Machines short of the desired count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable_replicas: Option<i32>,
}

/// Deprecated part of a Cluster's status, by version.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeprecatedClusterStatus {
    /// What v1beta1 reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub v1beta1: Option<DeprecatedClusterV1Beta1>,
}

/// What v1beta1 reported of a Cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeprecatedClusterV1Beta1 {
    /// Conditions in the old shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<DeprecatedCondition>>,
    /// Message of a final failure.
    #[schemars(length(min = 1, max = 10240))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_message: Option<String>,
    /// Reason of a final failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
}

/// Deprecated part of a Machine's status, by version.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeprecatedMachineStatus {
    /// What v1beta1 reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub v1beta1: Option<DeprecatedMachineV1Beta1>,
}

/// What v1beta1 reported of a Machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeprecatedMachineV1Beta1 {
    /// Conditions in the old shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<DeprecatedCondition>>,
    /// Message of a final failure.
    #[schemars(length(min = 1, max = 10240))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_message: Option<String>,
    /// Reason of a final failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
}

/// Deprecated part of a MachineHealthCheck's status, by version.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeprecatedMachineHealthCheckStatus {
    /// What v1beta1 reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub v1beta1: Option<DeprecatedMachineHealthCheckV1Beta1>,
}

/// What v1beta1 reported of a MachineHealthCheck.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeprecatedMachineHealthCheckV1Beta1 {
    /// Conditions in the old shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<DeprecatedCondition>>,
}
