//! Health checks and remediation as a cluster's topology declares them.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reference::TemplateReference;
use crate::pattern::{CONDITION_TYPE, COUNT_RANGE};

/// Health check of the control plane's machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct ControlPlaneHealthCheck {
    /// What counts as unhealthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<HealthChecks>,
    /// Whether the check runs; unset leaves it to the class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// What follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remediation: Option<ControlPlaneRemediation>,
}

/// Health check of a MachineDeployment's machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineDeploymentHealthCheck {
    /// What counts as unhealthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<HealthChecks>,
    /// Whether the check runs; unset leaves it to the class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// What follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remediation: Option<MachineDeploymentRemediation>,
}

/// What counts as unhealthy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct HealthChecks {
    /// Seconds a machine may take until its Node appears; 0 turns this check off.
    #[schemars(range(min = 0))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_startup_timeout_seconds: Option<i32>,
    /// Conditions of the Machine that mean unhealthy.
    #[schemars(length(min = 1, max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unhealthy_machine_conditions: Option<Vec<UnhealthyMachineCondition>>,
    /// Conditions of the Node that mean unhealthy.
    #[schemars(length(min = 1, max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unhealthy_node_conditions: Option<Vec<UnhealthyNodeCondition>>,
}

/// A condition of a Machine that means unhealthy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnhealthyMachineCondition {
    /// The status that means unhealthy.
    #[schemars(extend("enum" = ["True", "False", "Unknown"]))]
    pub status: String,
    /// Seconds the status must last.
    #[schemars(range(min = 0))]
    pub timeout_seconds: i32,
    /// Type of the condition; those that health checks themselves write are refused.
    #[schemars(
        length(min = 1, max = 316),
        regex(pattern = CONDITION_TYPE),
        extend("x-kubernetes-validations" = [{
            "rule": "!(self in ['Ready','Available','HealthCheckSucceeded','OwnerRemediated','ExternallyRemediated'])",
            "message": "type must not be one of: Ready, Available, HealthCheckSucceeded, OwnerRemediated, ExternallyRemediated",
        }])
    )]
    #[serde(rename = "type")]
    pub type_: String,
}

/// A condition of a Node that means unhealthy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnhealthyNodeCondition {
    /// The status that means unhealthy.
    #[schemars(length(min = 1))]
    pub status: String,
    /// Seconds the status must last.
    #[schemars(range(min = 0))]
    pub timeout_seconds: i32,
    /// Type of the condition.
    #[schemars(length(min = 1))]
    #[serde(rename = "type")]
    pub type_: String,
}

/// What follows when a control plane machine is unhealthy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct ControlPlaneRemediation {
    /// Template of an external remediation request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template_ref: Option<TemplateReference>,
    /// How many may be unhealthy before remediation stops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger_if: Option<RemediationTrigger>,
}

/// What follows when a machine of a MachineDeployment is unhealthy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineDeploymentRemediation {
    /// How many remediations may run at once, a count or a percentage.
    #[schemars(schema_with = "crate::crd::int_or_string")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<IntOrString>,
    /// Template of an external remediation request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template_ref: Option<TemplateReference>,
    /// How many may be unhealthy before remediation stops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger_if: Option<RemediationTrigger>,
}

/// What follows when a Machine under a health check of its own kind is unhealthy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineHealthCheckRemediation {
    /// Template of an external remediation request; without it the Machine's owner replaces it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template_ref: Option<TemplateReference>,
    /// How many may be unhealthy before remediation stops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger_if: Option<RemediationTrigger>,
}

/// How many machines may be unhealthy for remediation to run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct RemediationTrigger {
    /// Only within this range, such as `[1-3]`; replaces the limit below.
    #[schemars(length(min = 1, max = 32), regex(pattern = COUNT_RANGE))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unhealthy_in_range: Option<String>,
    /// Only up to this count or percentage.
    #[schemars(schema_with = "crate::crd::int_or_string")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unhealthy_less_than_or_equal_to: Option<IntOrString>,
}
