//! Condition types and reasons of a `TerraformMachinePool` (captf document 3.1). Strings appear
//! only at serialization.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Types, in the order in which they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ConditionType {
    /// Summary: the only one Cluster API reads.
    Ready,
    /// Everything to render from is there.
    DependenciesReady,
    /// The identity may be used from this namespace and its Secret is complete.
    IdentityAllowed,
    /// Kept for captf's summary: credentials are read in place.
    CredentialsMirrored,
    /// Kept for captf's summary: there is no runner.
    RunnerRBACReady,
    /// Outcome of the last apply or destroy.
    ApplyJobSucceeded,
    /// The record can be read.
    StateReadable,
    /// Answer to a restore request.
    RestoreJobSucceeded,
    /// The outputs pass the contract.
    OutputsValid,
    /// Health of the group.
    InfrastructureHealthy,
    /// What is applied equals the current inputs.
    InputsApplied,
    /// Outcome of the last refresh or drift check.
    DriftJobSucceeded,
    /// The cloud differs from the inputs. Negative polarity.
    DriftDetected,
    /// The count belongs to the cloud.
    AutoscalingActive,
    /// Someone paused the pool or its cluster.
    Paused,
    /// The pool is being deleted. Negative polarity.
    Deleting,
    /// Each member is an object of its own. Only while the pool has Machines.
    MachinesPublished,
    /// Members of an older model are being replaced. Only while the pool has Machines.
    RollingOut,
}

/// Status of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// Nobody knows.
    Unknown,
}

/// Reasons. One enum for all types: which reason goes with which type is decided in `fold` alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[allow(
    missing_docs,
    reason = "the names are the contract's own; the document explains them"
)]
pub enum Reason {
    Ready,
    NotReady,
    ReadyUnknown,
    DependenciesReady,
    ClusterNotTerraform,
    OwnerMismatch,
    OwnerNotFound,
    VariablesInvalid,
    VariablesSourceNotFound,
    WaitingForOwnerMachinePool,
    WaitingForOwner,
    WaitingForClusterInfrastructure,
    WaitingForClusterExports,
    WaitingForBootstrapData,
    IdentityAllowed,
    LocalSecret,
    IdentityNotFound,
    NamespaceNotAllowed,
    SecretNotFound,
    CredentialsIncomplete,
    IdentityCheckFailed,
    Mirrored,
    MirrorPending,
    RBACReady,
    ApplySucceeded,
    DestroySucceeded,
    ApplyFailed,
    DestroyFailed,
    IdentityNotAllowed,
    ImageInvalid,
    InputsTooLarge,
    JobDeadlineExceeded,
    JobPolicyInvalid,
    NoApplyYet,
    WaitingForClusterOperation,
    StateRead,
    StateCorrupt,
    StateInconsistent,
    StateLost,
    RetainedStateFound,
    StateNotFound,
    RestoreBackupNotFound,
    OutputsValid,
    InstancesTruncated,
    OutputsMissing,
    OutputsInvalid,
    OutputsPending,
    Healthy,
    Provisioning,
    InstancePending,
    InstanceUnhealthy,
    InstanceDegraded,
    InstanceStopped,
    InstanceTerminated,
    WaitingForProvisioning,
    HealthUnknown,
    InputsApplied,
    ApplyPending,
    ApplyRunning,
    InputsApplyFailed,
    InputsUnavailable,
    DriftChecked,
    DriftJobFailed,
    DriftJobDeadlineExceeded,
    DriftNotChecked,
    DurableInputsMissing,
    DriftReported,
    DriftPending,
    DriftRemediating,
    NoDrift,
    ReplicasManagedByModule,
    AutoscalingDisabled,
    AutoscalingAnnotationsInvalid,
    ReplicasManagedExternally,
    Paused,
    NotPaused,
    Deleting,
    DeletionPolicyUnresolved,
    NotDeleting,
    MachinesPublished,
    WaitingForMachines,
    ProviderIDClash,
    RollingOut,
    NotRollingOut,
    WaitingForMachineDeletion,
    NewMachineFailed,
    /// A reason that another controller, or an older captf, wrote and that has no meaning here.
    #[serde(other)]
    Foreign,
}

impl fmt::Display for ConditionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// One condition as written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Type.
    #[serde(rename = "type")]
    pub kind: ConditionType,
    /// Status.
    pub status: ConditionStatus,
    /// Reason.
    pub reason: Reason,
    /// For people; deterministic, no secrets.
    pub message: String,
    /// Generation of the pool it was decided on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Moves only when `status` changes.
    pub last_transition_time: Timestamp,
}
