//! `TerraformMachinePool`: a group of machines a cloud keeps at a size.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::drift::DriftPolicy;
use super::instance::Instance;
use super::jobs::JobPolicy;
use super::rollout::RolloutPolicy;
use super::run::{ActiveJob, AppliedSource, LastRun, PlanReference, StateBackup};
use super::workspace::{DeletionPolicy, IdentityReference, Source, Variables, VariablesSource};
use crate::capi::InfrastructureInitialization;

/// Desired state of a machine pool; every field may change at any time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, CustomResource)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1alpha1",
    kind = "TerraformMachinePool",
    plural = "terraformmachinepools",
    namespaced,
    category = "cluster-api",
    doc = "A group of machines a cloud keeps at a size.",
    status = "TerraformMachinePoolStatus",
    derive = "Default",
    derive = "PartialEq",
    printcolumn(
        name = "Cluster",
        type_ = "string",
        description = "Cluster of the pool",
        json_path = r".metadata.labels['cluster\.x-k8s\.io/cluster-name']"
    ),
    printcolumn(
        name = "MachinePool",
        type_ = "string",
        description = "MachinePool that owns the pool",
        json_path = r#".metadata.ownerReferences[?(@.kind=="MachinePool")].name"#
    ),
    printcolumn(
        name = "Replicas",
        type_ = "integer",
        description = "Observed desired capacity",
        json_path = ".status.replicas"
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        description = "Whether the pool is ready",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        description = "Time since creation",
        json_path = ".metadata.creationTimestamp"
    )
)]
pub struct TerraformMachinePoolSpec {
    /// Take over the state an earlier object of this name left behind with `Retain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adopt_retained_state: Option<bool>,
    /// What happens to the machines when the pool is deleted; unset takes the cluster's policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_policy: Option<DeletionPolicy>,
    /// How drift is looked for and answered; unset fields take the cluster's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<DriftPolicy>,
    /// Credentials of the pool; unset takes the cluster's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity_ref: Option<IdentityReference>,
    /// Limits of operations; unset fields take the cluster's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<JobPolicy>,
    /// Seconds between two looks at the members; unset takes the cluster's interval, else 60.
    #[schemars(range(min = 15, max = 86400))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub membership_refresh_interval_seconds: Option<i32>,
    /// Provider ID of the group; the controller writes it.
    #[schemars(length(min = 1, max = 512))]
    #[serde(
        rename = "providerID",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub provider_id: Option<String>,
    /// Provider IDs of the members, sorted and without duplicates; the controller writes them.
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
    /// How members of an older model are replaced while the pool has Machines; unset fields take
    /// their defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<RolloutPolicy>,
    /// The module that describes the pool.
    pub source: Source,
    /// User variables with any JSON as value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<Variables>,
    /// Further variables from ConfigMaps and Secrets; a later source wins.
    #[schemars(length(min = 1, max = 16), extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables_from: Option<Vec<VariablesSource>>,
}

/// Observed state of a machine pool; all of it can be observed again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct TerraformMachinePoolStatus {
    /// The operation that runs now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_job: Option<ActiveJob>,
    /// What holds for the pool, one condition of each type.
    #[schemars(schema_with = "crate::condition::list")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
    /// Kind of the object that stands for one member; unset when pool Machines are off.
    #[schemars(length(min = 1, max = 256))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infrastructure_machine_kind: Option<String>,
    /// What has been reached once and does not turn back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initialization: Option<InfrastructureInitialization>,
    /// Members of the pool; the list is left out when there are none.
    #[schemars(length(min = 1, max = 1000), extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instances: Option<Vec<Instance>>,
    /// When drift was last looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_drift_check: Option<Time>,
    /// When members and outputs were last read.
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
    /// Revision of the pool's record.
    #[schemars(range(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_state_serial: Option<i64>,
    /// The plan that waits for approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_plan_ref: Option<PlanReference>,
    /// Consecutive looks that found members pending.
    #[schemars(range(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_refreshes: Option<i32>,
    /// The v1beta1 form of `initialization.provisioned`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// Observed desired capacity. 0 is a value of its own and is written.
    #[schemars(range(min = 0))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
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
