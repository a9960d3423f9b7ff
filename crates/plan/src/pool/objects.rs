//! The Kubernetes objects a pool reads, as plain data in the shape of their JSON.
//!
//! In: any object's JSON (`serde_json::from_value`); fields nobody decides on are ignored. These
//! types know no client and decide nothing. Secret values never pass through here.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{machines::rollout::RolloutSpec, status::wire::PoolStatus};

/// `metadata` of any object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// Name.
    pub name: String,
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: String,
    /// UID.
    pub uid: String,
    /// Rises with every change of `spec`.
    pub generation: Option<i64>,
    /// Precondition of patches.
    pub resource_version: Option<String>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// Finalizers.
    pub finalizers: Vec<String>,
    /// Set while the object is being deleted.
    pub deletion_timestamp: Option<Timestamp>,
    /// Time of creation.
    pub creation_timestamp: Option<Timestamp>,
    /// Owners.
    pub owner_references: Vec<OwnerReference>,
}

/// One owner reference.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// `cluster.x-k8s.io/v1beta2`.
    pub api_version: String,
    /// `MachinePool`.
    pub kind: String,
    /// Name.
    pub name: String,
    /// UID of the owner this reference means.
    pub uid: String,
    /// The owner is the one that controls the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<bool>,
    /// The owner waits for the object's end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_owner_deletion: Option<bool>,
}

impl Metadata {
    /// The owner that controls the object.
    pub fn controller(&self) -> Option<&OwnerReference> {
        let mut owners = self.owner_references.iter();
        owners.find(|owner| owner.controller == Some(true))
    }
}

/// A `TerraformMachinePool`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PoolObject {
    /// Metadata.
    pub metadata: Metadata,
    /// Spec.
    pub spec: PoolSpec,
    /// The status as last written.
    pub status: PoolStatus,
}

/// `TerraformMachinePool.spec` (captf document 1.3).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PoolSpec {
    /// The module image; names the driver.
    pub source: ImageSource,
    /// Own identity.
    pub identity_ref: Option<IdentityRef>,
    /// Operational policy.
    pub jobs: Option<JobPolicy>,
    /// Inline user variables.
    pub variables: Option<Map<String, Value>>,
    /// Variable sources in order; the later wins.
    pub variables_from: Vec<VariableSourceRef>,
    /// Drift policy.
    pub drift: Option<DriftPolicy>,
    /// Seconds between two membership refreshes.
    pub membership_refresh_interval_seconds: Option<i64>,
    /// What deletion does to the cloud.
    pub deletion_policy: Option<DeletionPolicy>,
    /// Take over state that a deleted pool of this name kept.
    pub adopt_retained_state: bool,
    /// How members of an older model go while the pool has Machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollout: Option<RolloutSpec>,
    /// Written by the controller.
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
    /// Written by the controller.
    #[serde(rename = "providerIDList")]
    pub provider_id_list: Vec<String>,
}

/// `spec.source`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ImageSource {
    /// `ghcr.io/captf-io/aws-machinepool:v0.3.0`.
    pub image: String,
    /// Accepted and ignored.
    pub image_pull_policy: Option<String>,
}

/// Reference to an identity.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IdentityRef {
    /// `TerraformClusterIdentity` (also when absent) or `Secret`.
    pub kind: Option<String>,
    /// Name.
    pub name: String,
}

/// `spec.jobs`, as far as a native driver heeds it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobPolicy {
    /// Overall deadline of an operation.
    pub active_deadline_seconds: Option<i64>,
    /// Kept for validation only: there is no lock.
    pub lock_timeout_seconds: Option<i64>,
    /// Failed attempts before the longest wait.
    pub failed_jobs_history_limit: Option<i64>,
}

/// `spec.drift`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DriftPolicy {
    /// Seconds between two checks; 0 counts as unset.
    pub interval_seconds: Option<i64>,
    /// What follows a finding.
    pub action: Option<DriftAction>,
}

/// What follows a drift finding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DriftAction {
    /// Say so.
    #[default]
    Report,
    /// Apply the current inputs.
    Remediate,
}

/// What deletion does to the cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeletionPolicy {
    /// Delete what the pool owns.
    Destroy,
    /// Leave it and keep the record.
    Retain,
}

/// One entry of `spec.variablesFrom`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VariableSourceRef {
    /// A ConfigMap of the pool's namespace.
    pub config_map_ref: Option<LocalRef>,
    /// A Secret of the pool's namespace.
    pub secret_ref: Option<LocalRef>,
    /// A missing source contributes nothing.
    pub optional: bool,
    /// How values are read.
    pub format: SourceFormat,
}

/// How the values of a source are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SourceFormat {
    /// Text, converted to the declared type.
    #[default]
    String,
    /// One JSON value each.
    #[serde(rename = "JSON")]
    Json,
}

/// A name in the same namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LocalRef {
    /// Name.
    pub name: String,
}

/// A Cluster API `MachinePool`, the owner.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MachinePoolObject {
    /// Metadata.
    pub metadata: Metadata,
    /// Spec.
    pub spec: MachinePoolSpec,
}

/// `MachinePool.spec`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachinePoolSpec {
    /// Name of the Cluster.
    pub cluster_name: String,
    /// Wished count; absent counts as 1.
    pub replicas: Option<i64>,
    /// Zones; empty lets the pool choose.
    pub failure_domains: Vec<String>,
    /// Machine template.
    pub template: MachineTemplate,
}

/// `MachinePool.spec.template`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineTemplate {
    /// Only labels are read.
    pub metadata: TemplateMetadata,
    /// Machine spec.
    pub spec: MachineTemplateSpec,
}

/// `MachinePool.spec.template.metadata`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TemplateMetadata {
    /// Node labels.
    pub labels: BTreeMap<String, String>,
}

/// `MachinePool.spec.template.spec`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineTemplateSpec {
    /// `v1.31.4+rke2r1`.
    pub version: Option<String>,
    /// Bootstrap data.
    pub bootstrap: BootstrapRef,
    /// Must point back at the pool.
    pub infrastructure_ref: ContractRef,
}

/// `MachinePool.spec.template.spec.bootstrap`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BootstrapRef {
    /// Name of the bootstrap Secret.
    pub data_secret_name: Option<String>,
}

/// A reference by group, kind and name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContractRef {
    /// `infrastructure.cluster.x-k8s.io`.
    pub api_group: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
}

/// A Cluster API `Cluster`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterObject {
    /// Metadata.
    pub metadata: Metadata,
    /// Spec.
    pub spec: ClusterSpec,
}

/// `Cluster.spec`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterSpec {
    /// Stops every controller of the cluster.
    pub paused: bool,
    /// The infrastructure cluster.
    pub infrastructure_ref: ContractRef,
}

/// A `TerraformCluster`: what a pool reads (captf document 1.8).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InfraClusterObject {
    /// Metadata.
    pub metadata: Metadata,
    /// Spec.
    pub spec: InfraClusterSpec,
    /// Status.
    pub status: InfraClusterStatus,
}

/// `TerraformCluster.spec`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InfraClusterSpec {
    /// The cluster's own identity.
    pub identity_ref: Option<IdentityRef>,
    /// Defaults for pools and machines.
    pub defaults: PolicyDefaults,
    /// Own operational policy.
    pub jobs: Option<JobPolicy>,
    /// Own drift policy.
    pub drift: Option<DriftPolicy>,
    /// Own deletion policy.
    pub deletion_policy: Option<DeletionPolicy>,
}

/// `TerraformCluster.spec.defaults`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicyDefaults {
    /// Identity.
    pub identity_ref: Option<IdentityRef>,
    /// Operational policy.
    pub jobs: Option<JobPolicy>,
    /// Drift policy.
    pub drift: Option<DriftPolicy>,
    /// Deletion policy.
    pub deletion_policy: Option<DeletionPolicy>,
    /// Seconds between two membership refreshes.
    pub membership_refresh_interval_seconds: Option<i64>,
}

/// `TerraformCluster.status`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InfraClusterStatus {
    /// Gate of every pool.
    pub initialization: Initialization,
    /// Exports; absent above 64 KiB and for an externally managed cluster.
    pub exports: Option<Value>,
    /// Failure domains.
    pub failure_domains: Vec<FailureDomain>,
    /// A running operation of the cluster.
    pub active_job: Option<ClusterJob>,
}

/// `status.initialization`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Initialization {
    /// Latched.
    pub provisioned: bool,
}

/// One failure domain of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FailureDomain {
    /// `us-east-1a`.
    pub name: String,
}

/// `TerraformCluster.status.activeJob`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterJob {
    /// `apply`, `destroy`, `drift`, `refresh`, `restore`, `plan`.
    pub operation: String,
}

/// A `TerraformClusterIdentity`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct IdentityObject {
    /// Metadata.
    pub metadata: Metadata,
    /// Spec.
    pub spec: IdentitySpec,
}

/// `TerraformClusterIdentity.spec`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IdentitySpec {
    /// Source Secret.
    pub secret_ref: Option<SecretRef>,
    /// Keys that must be there.
    pub required_keys: Vec<String>,
    /// Who may use it; unset: no one.
    pub allowed_namespaces: Option<AllowedNamespaces>,
}

/// A Secret in a namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SecretRef {
    /// Name.
    pub name: String,
    /// Namespace; never defaulted.
    pub namespace: String,
}

/// `spec.allowedNamespaces`: the union of both.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AllowedNamespaces {
    /// Exactly these.
    pub list: Vec<String>,
    /// Namespaces with these labels; an empty selector matches every namespace.
    pub selector: Option<LabelSelector>,
}

/// A label selector.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Exact values.
    pub match_labels: BTreeMap<String, String>,
    /// Further requirements, all of which must hold.
    pub match_expressions: Vec<SelectorRequirement>,
}

/// One requirement of a selector.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SelectorRequirement {
    /// Label key.
    pub key: String,
    /// `In`, `NotIn`, `Exists`, `DoesNotExist`.
    pub operator: String,
    /// Values.
    pub values: Vec<String>,
}
