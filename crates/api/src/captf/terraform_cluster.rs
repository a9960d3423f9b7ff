//! `TerraformCluster`: the cluster infrastructure whose outputs and policies pools read.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::drift::ClusterDriftPolicy;
use super::jobs::JobPolicy;
use super::run::{ActiveJob, AppliedSource, LastRun, PlanReference, StateBackup};
use super::workspace::{DeletionPolicy, IdentityReference, Source, Variables, VariablesSource};
use crate::capi::{FailureDomain, InfrastructureInitialization};

/// Desired state of a cluster's infrastructure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, CustomResource)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1alpha1",
    kind = "TerraformCluster",
    plural = "terraformclusters",
    namespaced,
    shortname = "tfc",
    category = "cluster-api",
    doc = "The infrastructure of a cluster, whose outputs and policies pools read.",
    status = "TerraformClusterStatus",
    derive = "Default",
    derive = "PartialEq",
    printcolumn(
        name = "Cluster",
        type_ = "string",
        description = "Cluster the infrastructure belongs to",
        json_path = r".metadata.labels['cluster\.x-k8s\.io/cluster-name']"
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        description = "Whether the infrastructure is ready",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    ),
    printcolumn(
        name = "Provisioned",
        type_ = "boolean",
        description = "Whether the infrastructure was provisioned",
        json_path = ".status.initialization.provisioned"
    ),
    printcolumn(
        name = "Endpoint",
        type_ = "string",
        description = "Host of the control plane",
        json_path = ".spec.controlPlaneEndpoint.host"
    ),
    printcolumn(
        name = "Image",
        type_ = "string",
        description = "Image of the module",
        json_path = ".spec.source.image",
        priority = 1
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        description = "Time since creation",
        json_path = ".metadata.creationTimestamp"
    )
)]
pub struct TerraformClusterSpec {
    /// Take over the state an earlier object of this name left behind with `Retain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adopt_retained_state: Option<bool>,
    /// Whether changes wait for approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apply_policy: Option<ApplyPolicy>,
    /// Where the control plane answers; fixed once complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<ClusterEndpoint>,
    /// Policies that pools and machines inherit before the cluster's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defaults: Option<ClusterDefaults>,
    /// What happens to the infrastructure when the object is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_policy: Option<DeletionPolicy>,
    /// How drift is looked for and answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<ClusterDriftPolicy>,
    /// Credentials of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity_ref: Option<IdentityReference>,
    /// Limits of operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<JobPolicy>,
    /// How many operations of this cluster's objects may run at once.
    #[schemars(range(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_active_jobs: Option<i32>,
    /// The module that describes the infrastructure.
    pub source: Source,
    /// User variables with any JSON as value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<Variables>,
    /// Further variables from ConfigMaps and Secrets; a later source wins.
    #[schemars(length(min = 1, max = 16), extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables_from: Option<Vec<VariablesSource>>,
}

/// Whether changes wait for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::crd::describe_by_field)]
pub enum ApplyPolicy {
    /// Changes are applied as they come.
    Automatic,
    /// Changes wait for approval.
    Manual,
}

/// Host and port of a control plane, both or neither.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.host) == has(self.port)",
    "message": "host and port must be set together",
}]))]
pub struct ClusterEndpoint {
    /// Host name or address.
    #[schemars(length(min = 1, max = 512))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// TCP port.
    #[schemars(range(min = 1, max = 65535))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<i32>,
}

/// Policies that pools and machines inherit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterDefaults {
    /// What happens to infrastructure when its object is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_policy: Option<DeletionPolicy>,
    /// How drift is looked for and answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<ClusterDriftPolicy>,
    /// Credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity_ref: Option<IdentityReference>,
    /// Limits of operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<JobPolicy>,
    /// Seconds between two looks at the members of a pool.
    #[schemars(range(min = 15, max = 86400))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub membership_refresh_interval_seconds: Option<i32>,
    /// What follows when a machine is unhealthy; pools do not read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remediation: Option<RemediationPolicy>,
}

/// What follows when a machine is unhealthy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemediationPolicy {
    /// Whether the Machine is marked for remediation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotate_machine: Option<bool>,
    /// Seconds between two health checks.
    #[schemars(range(min = 60, max = 86400))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_check_interval_seconds: Option<i32>,
    /// Unhealthy checks in a row that count as unhealthy.
    #[schemars(range(min = 1, max = 100))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unhealthy_threshold: Option<i32>,
}

/// Observed state of a cluster's infrastructure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct TerraformClusterStatus {
    /// The operation that runs now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_job: Option<ActiveJob>,
    /// What holds for the infrastructure, one condition of each type.
    #[schemars(schema_with = "crate::condition::list")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
    /// What the module hands to pools and machines, any JSON of at most 65536 bytes.
    #[schemars(schema_with = "crate::crd::any_json")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exports: Option<Value>,
    /// Failure domains of the cluster.
    #[schemars(
        length(min = 1, max = 100),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_domains: Option<Vec<FailureDomain>>,
    /// What has been reached once and does not turn back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initialization: Option<InfrastructureInitialization>,
    /// When drift was last looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_drift_check: Option<Time>,
    /// When outputs were last read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_refresh: Option<Time>,
    /// Serial of the last restored state.
    #[schemars(range(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_restored_serial: Option<i64>,
    /// Outcome of the newest finished operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<LastRun>,
    /// Generation of the spec the status speaks about.
    #[schemars(range(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Serial of the state the status was made from.
    #[schemars(range(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_state_serial: Option<i64>,
    /// The plan that waits for approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_plan_ref: Option<PlanReference>,
    /// Consecutive refreshes that found something pending.
    #[schemars(range(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_refreshes: Option<i32>,
    /// Image and runtime that ran last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<AppliedSource>,
    /// Kept copies of earlier states.
    #[schemars(length(min = 1, max = 16), extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_backups: Option<Vec<StateBackup>>,
    /// Suffix of the state Secret's name, 16 hexadecimal digits and the kind's abbreviation.
    #[schemars(length(min = 1, max = 63))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_secret_suffix: Option<String>,
}
