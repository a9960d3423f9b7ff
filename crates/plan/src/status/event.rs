//! Events of a `TerraformMachinePool` (captf document 3.3).

use std::fmt;

/// Event reasons that keep their meaning without Jobs and state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(
    missing_docs,
    reason = "the names are the contract's own; the document explains them"
)]
pub enum EventReason {
    Provisioned,
    InputsChanged,
    ProviderIDSet,
    Paused,
    Resumed,
    ConditionChanged,
    OutputsInvalid,
    JobCreated,
    JobSucceeded,
    JobFailed,
    JobDeadlineExceeded,
    JobInterrupted,
    WaitingForClusterOperation,
    RetainedStateAdopted,
    RetainedStateFound,
    OwnerReferencesRepaired,
    StateUnreadable,
    StateLost,
    StateAdopted,
    DriftRemediationStarted,
    DriftResolved,
    DriftDetected,
    InstanceHealthy,
    InstanceUnhealthy,
    IdentityNotAllowed,
    DeletionStarted,
    Destroyed,
    FinalizerRemoved,
    InfrastructureRetained,
    InfrastructureAbandoned,
    ExternallyManagedReleased,
    ReplicasWrittenBack,
    ReplicasManagedExternally,
    NodeLabelsDropped,
    InstanceLaunchFailed,
    RollFailed,
    ZoneNotExported,
    MachineDeleted,
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
