//! Kinds of the infrastructure group as captf defines them: the pool, its template, the identity
//! and the cluster a pool reads.
//!
//! Invariants: no field has a schema default; whatever a field falls back to is decided at
//! reconcile time and never stored.

mod drift;
mod environment;
mod instance;
mod jobs;
mod rollout;
mod run;
mod terraform_cluster;
mod terraform_cluster_identity;
mod terraform_machine_pool;
mod terraform_machine_pool_machine;
mod terraform_machine_pool_template;
mod workspace;

pub use drift::{ClusterDriftPolicy, DriftAction, DriftPolicy};
pub use environment::{EnvVar, EnvVarSource, FileKeySelector};
pub use instance::{Instance, InstanceState};
pub use jobs::JobPolicy;
pub use rollout::{RolloutPolicy, RolloutStrategy};
pub use run::{
    ActiveJob, AppliedSource, DriftFinding, LastRun, Operation, PlanReference, RunError,
    RunErrorKind, RunStep, StateBackup,
};
pub use terraform_cluster::{
    ApplyPolicy, ClusterDefaults, ClusterEndpoint, RemediationPolicy, TerraformCluster,
    TerraformClusterSpec, TerraformClusterStatus,
};
pub use terraform_cluster_identity::{
    AllowedNamespaces, CredentialsType, SecretReference, TerraformClusterIdentity,
    TerraformClusterIdentitySpec, TerraformClusterIdentityStatus,
};
pub use terraform_machine_pool::{
    TerraformMachinePool, TerraformMachinePoolSpec, TerraformMachinePoolStatus,
};
pub use terraform_machine_pool_machine::{
    TerraformMachinePoolMachine, TerraformMachinePoolMachineSpec, TerraformMachinePoolMachineStatus,
};
pub use terraform_machine_pool_template::{
    TerraformMachinePoolTemplate, TerraformMachinePoolTemplateResource,
    TerraformMachinePoolTemplateSpec,
};
pub use workspace::{
    DeletionPolicy, IdentityKind, IdentityReference, ImagePullPolicy, ObjectName, Source,
    VariableFormat, Variables, VariablesSource,
};
