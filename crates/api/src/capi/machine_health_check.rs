//! `MachineHealthCheck`: which Machines count as unhealthy, and what follows.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::deprecated::DeprecatedMachineHealthCheckStatus;
use super::health_check::{HealthChecks, MachineHealthCheckRemediation};

/// Which Machines are checked, for what, and what follows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, CustomResource)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta2",
    kind = "MachineHealthCheck",
    plural = "machinehealthchecks",
    namespaced,
    shortname = "mhc",
    shortname = "mhcs",
    category = "cluster-api",
    doc = "Checks the Machines of a cluster, and has the unhealthy ones replaced.",
    status = "MachineHealthCheckStatus",
    derive = "Default",
    derive = "PartialEq",
    printcolumn(
        name = "Cluster",
        type_ = "string",
        description = "Cluster of the Machines",
        json_path = ".spec.clusterName"
    ),
    printcolumn(
        name = "Replicas",
        type_ = "integer",
        description = "Machines under the check",
        json_path = ".status.expectedMachines"
    ),
    printcolumn(
        name = "Healthy",
        type_ = "integer",
        description = "Machines that are healthy",
        json_path = ".status.currentHealthy"
    ),
    printcolumn(
        name = "Paused",
        type_ = "string",
        description = "Whether reconciliation is paused",
        json_path = r#".status.conditions[?(@.type=="Paused")].status"#,
        priority = 10
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        description = "Time since creation",
        json_path = ".metadata.creationTimestamp"
    )
)]
pub struct MachineHealthCheckSpec {
    /// What counts as unhealthy.
    #[schemars(extend("x-kubernetes-validations" = [{
        "rule": "!has(self.nodeStartupTimeoutSeconds) || self.nodeStartupTimeoutSeconds == 0 || self.nodeStartupTimeoutSeconds >= 30",
        "message": "nodeStartupTimeoutSeconds must be 0, which turns the check off, or at least 30",
    }]))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<HealthChecks>,
    /// Cluster of the Machines, in the same namespace.
    #[schemars(length(min = 1, max = 63))]
    pub cluster_name: String,
    /// What follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remediation: Option<MachineHealthCheckRemediation>,
    /// Which Machines of the cluster; it must not be empty.
    #[schemars(extend("x-kubernetes-validations" = [{
        "rule": "(has(self.matchLabels) && size(self.matchLabels) > 0) || (has(self.matchExpressions) && size(self.matchExpressions) > 0)",
        "message": "selector must not be empty",
    }]))]
    pub selector: LabelSelector,
}

/// What the last check found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineHealthCheckStatus {
    /// What holds for the check, one condition of each type.
    #[schemars(schema_with = "crate::condition::list")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
    /// Machines that are healthy.
    #[schemars(range(min = 0))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_healthy: Option<i32>,
    /// What older versions reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<DeprecatedMachineHealthCheckStatus>,
    /// Machines under the check.
    #[schemars(range(min = 0))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_machines: Option<i32>,
    /// Generation of the spec the status speaks about.
    #[schemars(range(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// How many more Machines may become unhealthy until nothing follows.
    #[schemars(range(min = 0))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remediations_allowed: Option<i32>,
    /// Names of the Machines under the check, in order.
    #[schemars(
        length(max = 10000),
        inner(length(min = 1, max = 253)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<String>>,
}
