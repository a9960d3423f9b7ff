//! Condition types and reasons of a `TerraformMachinePool` (captf document 3.1). Strings appear
//! only at serialization.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

crate::documented! {
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

crate::documented! {
    /// Reasons. One enum for all types: which reason goes with which type is decided in `fold` alone.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Reason {
        /// All that counts holds.
        Ready,
        /// Something that counts does not hold; the message names it.
        NotReady,
        /// Something that counts is not known yet; the message names it.
        ReadyUnknown,
        /// Owner, cluster, exports, variables and bootstrap data are there.
        DependenciesReady,
        /// The cluster's infrastructure publishes no exports.
        ClusterNotTerraform,
        /// The MachinePool that owns this pool names another one.
        OwnerMismatch,
        /// The MachinePool that owns this pool does not exist.
        OwnerNotFound,
        /// A variable is unknown, of the wrong type or out of bounds; the message lists all of them.
        VariablesInvalid,
        /// A ConfigMap or Secret named in `variablesFrom` is missing.
        VariablesSourceNotFound,
        /// No MachinePool owns this pool yet.
        WaitingForOwnerMachinePool,
        /// The cluster is not there yet.
        WaitingForOwner,
        /// The cluster's infrastructure is not provisioned yet.
        WaitingForClusterInfrastructure,
        /// The cluster publishes no exports for machine pools yet.
        WaitingForClusterExports,
        /// The bootstrap provider has not written its Secret yet.
        WaitingForBootstrapData,
        /// The identity may be used from this namespace and its Secret is complete.
        IdentityAllowed,
        /// The credentials are a Secret of the pool's own namespace.
        LocalSecret,
        /// The identity named does not exist.
        IdentityNotFound,
        /// The identity does not allow this namespace.
        NamespaceNotAllowed,
        /// The identity's Secret does not exist.
        SecretNotFound,
        /// A key is missing in the identity's Secret; the message names it.
        CredentialsIncomplete,
        /// The identity could not be read.
        IdentityCheckFailed,
        /// The credentials are at hand.
        Mirrored,
        /// The credentials are not at hand yet.
        MirrorPending,
        /// Nothing is needed: there is no runner.
        RBACReady,
        /// The last apply went through.
        ApplySucceeded,
        /// All that the pool had in the cloud is gone.
        DestroySucceeded,
        /// The cloud refused a step of the apply; the message holds the cloud's words.
        ApplyFailed,
        /// The cloud refused a step of the teardown; the message holds the cloud's words.
        DestroyFailed,
        /// The identity may not be used: nothing was sent.
        IdentityNotAllowed,
        /// The pool's image names no driver that Remuda has.
        ImageInvalid,
        /// The inputs are larger than a record can hold.
        InputsTooLarge,
        /// The operation took longer than its deadline.
        JobDeadlineExceeded,
        /// An annotation on deadlines or retries cannot be read.
        JobPolicyInvalid,
        /// Nothing has been applied yet.
        NoApplyYet,
        /// Another operation on the cluster comes first.
        WaitingForClusterOperation,
        /// The record was read.
        StateRead,
        /// The record cannot be parsed.
        StateCorrupt,
        /// The record is of another pool or of another place.
        StateInconsistent,
        /// The record is gone while the cloud still has the pool.
        StateLost,
        /// A record of an earlier pool of this name was kept; it is not taken over by itself.
        RetainedStateFound,
        /// There is no record yet.
        StateNotFound,
        /// There is no backup to restore: Remuda keeps no state that could need one.
        RestoreBackupNotFound,
        /// The outputs are published.
        OutputsValid,
        /// The pool has more members than the list can hold; the count is true, the list is cut.
        InstancesTruncated,
        /// Nothing to publish was found.
        OutputsMissing,
        /// What was found breaks the contract; the message says where.
        OutputsInvalid,
        /// Nothing has been read yet.
        OutputsPending,
        /// Every member is in service, and there are as many as wanted.
        Healthy,
        /// Members are still coming up.
        Provisioning,
        /// An instance has not started yet.
        InstancePending,
        /// An instance fails the cloud's health check.
        InstanceUnhealthy,
        /// An instance runs with a fault.
        InstanceDegraded,
        /// An instance was stopped.
        InstanceStopped,
        /// An instance is gone and not yet replaced.
        InstanceTerminated,
        /// Nothing has been created yet.
        WaitingForProvisioning,
        /// The cloud could not be read.
        HealthUnknown,
        /// What runs is what the objects ask for.
        InputsApplied,
        /// A change has not been applied yet.
        ApplyPending,
        /// A change is being applied.
        ApplyRunning,
        /// A change could not be applied.
        InputsApplyFailed,
        /// What the objects ask for cannot be worked out now.
        InputsUnavailable,
        /// The last look at the cloud succeeded.
        DriftChecked,
        /// The last look at the cloud failed.
        DriftJobFailed,
        /// The last look at the cloud took too long.
        DriftJobDeadlineExceeded,
        /// The cloud has not been looked at for drift yet.
        DriftNotChecked,
        /// What was applied is not recorded, so drift cannot be told from change.
        DurableInputsMissing,
        /// The cloud differs from what was applied, and the policy is to report it.
        DriftReported,
        /// The cloud differs from what was applied; the repair has not begun.
        DriftPending,
        /// The cloud differs from what was applied and is being repaired.
        DriftRemediating,
        /// The cloud is as it was applied.
        NoDrift,
        /// The cloud's autoscaling decides the count, within the bounds.
        ReplicasManagedByModule,
        /// `spec.replicas` decides the count.
        AutoscalingDisabled,
        /// The bounds in the annotations cannot be read.
        AutoscalingAnnotationsInvalid,
        /// Another controller decides the count.
        ReplicasManagedExternally,
        /// The object or its cluster is paused: nothing is changed.
        Paused,
        /// Nobody paused it.
        NotPaused,
        /// Its deletion is under way; the message says what it waits for.
        Deleting,
        /// Whether to keep or delete the cloud resources cannot be decided yet.
        DeletionPolicyUnresolved,
        /// Nobody asked for its deletion.
        NotDeleting,
        /// Each member is an object of its own.
        MachinesPublished,
        /// Some members are not objects of their own yet.
        WaitingForMachines,
        /// Two members end in the same name: neither becomes a Machine.
        ProviderIDClash,
        /// Members of an older model are being replaced.
        RollingOut,
        /// Every member is of the newest model.
        NotRollingOut,
        /// A member of an older model is on its way out.
        WaitingForMachineDeletion,
        /// A member of the newest model failed: the roll stands still until it is well or gone.
        NewMachineFailed,
        @other
        /// A reason that another controller, or an older captf, wrote and that has no meaning here.
        #[serde(other)]
        Foreign,
    }
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
