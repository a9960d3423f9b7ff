//! Events of a `TerraformMachinePool` (captf document 3.3).

use std::fmt;

crate::documented! {
    /// Event reasons that keep their meaning without Jobs and state.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum EventReason {
        /// The pool is complete for the first time.
        Provisioned,
        /// What the objects ask for has changed.
        InputsChanged,
        /// The group in the cloud is known by its id.
        ProviderIDSet,
        /// Someone paused the pool or its cluster.
        Paused,
        /// The pause was lifted.
        Resumed,
        /// A condition changed its status.
        ConditionChanged,
        /// What was found breaks the contract.
        OutputsInvalid,
        /// An apply or a teardown began.
        JobCreated,
        /// An apply or a teardown ended well.
        JobSucceeded,
        /// A step of an apply or a teardown was refused.
        JobFailed,
        /// An operation took longer than its deadline.
        JobDeadlineExceeded,
        /// An operation was found unfinished, and is taken up again.
        JobInterrupted,
        /// Another operation on the cluster comes first.
        WaitingForClusterOperation,
        /// A kept record was taken over.
        RetainedStateAdopted,
        /// A record of an earlier pool of this name was found.
        RetainedStateFound,
        /// Owner references were missing and were set again.
        OwnerReferencesRepaired,
        /// The record could not be read.
        StateUnreadable,
        /// The record is gone while the cloud still has the pool.
        StateLost,
        /// A pool made by captf's module was taken over.
        StateAdopted,
        /// The repair of drift began.
        DriftRemediationStarted,
        /// The cloud is as it was applied again.
        DriftResolved,
        /// The cloud differs from what was applied.
        DriftDetected,
        /// All members are healthy again.
        InstanceHealthy,
        /// A member is unhealthy; the note names it.
        InstanceUnhealthy,
        /// The identity may not be used from this namespace.
        IdentityNotAllowed,
        /// The teardown began.
        DeletionStarted,
        /// All that the pool had in the cloud is gone.
        Destroyed,
        /// The object may go.
        FinalizerRemoved,
        /// The pool goes, what it had in the cloud stays, as its deletion policy says.
        InfrastructureRetained,
        /// The pool goes though its cloud resources may still be there.
        InfrastructureAbandoned,
        /// The count belongs to the pool again.
        ExternallyManagedReleased,
        /// The cloud's count was written to the MachinePool.
        ReplicasWrittenBack,
        /// The cloud scales, yet another controller owns the count.
        ReplicasManagedExternally,
        /// Labels that a kubelet may not set itself were left out of the bootstrap data.
        NodeLabelsDropped,
        /// The cloud could not launch an instance; the note holds the cloud's words.
        InstanceLaunchFailed,
        /// A roll in the cloud failed or was cancelled.
        RollFailed,
        /// The pool keeps a zone that the cluster no longer exports.
        ZoneNotExported,
        /// A member was ended by its name.
        MachineDeleted,
    }
}

impl EventReason {
    /// Whether people should look.
    pub fn severity(self) -> Severity {
        match self {
            Self::OutputsInvalid
            | Self::JobFailed
            | Self::JobDeadlineExceeded
            | Self::JobInterrupted
            | Self::RetainedStateFound
            | Self::StateUnreadable
            | Self::StateLost
            | Self::DriftDetected
            | Self::InstanceUnhealthy
            | Self::IdentityNotAllowed
            | Self::InfrastructureAbandoned
            | Self::ReplicasManagedExternally
            | Self::NodeLabelsDropped
            | Self::InstanceLaunchFailed
            | Self::RollFailed
            | Self::ZoneNotExported => Severity::Warning,
            Self::Provisioned
            | Self::InputsChanged
            | Self::ProviderIDSet
            | Self::Paused
            | Self::Resumed
            | Self::ConditionChanged
            | Self::JobCreated
            | Self::JobSucceeded
            | Self::WaitingForClusterOperation
            | Self::RetainedStateAdopted
            | Self::OwnerReferencesRepaired
            | Self::StateAdopted
            | Self::DriftRemediationStarted
            | Self::DriftResolved
            | Self::InstanceHealthy
            | Self::DeletionStarted
            | Self::Destroyed
            | Self::FinalizerRemoved
            | Self::InfrastructureRetained
            | Self::ExternallyManagedReleased
            | Self::ReplicasWrittenBack
            | Self::MachineDeleted => Severity::Normal,
        }
    }
}

impl fmt::Display for EventReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// `type` of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// For the record.
    Normal,
    /// Someone should look.
    Warning,
}

/// One event on the pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Normal or Warning.
    pub severity: Severity,
    /// Reason.
    pub reason: EventReason,
    /// For people; no secrets.
    pub note: String,
}

impl Event {
    /// An event of the reason's own severity.
    pub fn new(reason: EventReason, note: impl Into<String>) -> Self {
        Self {
            severity: reason.severity(),
            reason,
            note: note.into(),
        }
    }

    /// The same with another severity (`ConditionChanged` into a bad state).
    #[must_use]
    pub fn warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }
}
