//! Condition types and reasons of a Machine. Strings appear only where they are serialized.

/// Condition types of a Machine that its controller writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MachineCondition {
    /// Ready for long enough.
    Available,
    /// The bootstrap data is there.
    BootstrapConfigReady,
    /// It is being deleted; False is good.
    Deleting,
    /// The instance is there.
    InfrastructureReady,
    /// The Node is Ready and under no pressure.
    NodeHealthy,
    /// The Node is Ready.
    NodeReady,
    /// Nothing is reconciled.
    Paused,
    /// All that counts holds.
    Ready,
    /// It is as a new one would be.
    UpToDate,
    /// It is being changed in place; False is good.
    Updating,
}

/// All of them.
pub const MACHINE_CONDITIONS: [MachineCondition; 10] = [
    MachineCondition::Available,
    MachineCondition::BootstrapConfigReady,
    MachineCondition::Deleting,
    MachineCondition::InfrastructureReady,
    MachineCondition::NodeHealthy,
    MachineCondition::NodeReady,
    MachineCondition::Paused,
    MachineCondition::Ready,
    MachineCondition::UpToDate,
    MachineCondition::Updating,
];

/// Reasons of these conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the field's own")]
pub enum MachineReason {
    Available,
    ConnectionDown,
    DataSecretProvided,
    Deleting,
    DeletingNode,
    DeletionCompleted,
    DrainingNode,
    InternalError,
    InspectionFailed,
    NodeDeleted,
    NodeDoesNotExist,
    NodeHealthy,
    NodeHealthyUnknown,
    NodeNotHealthy,
    NodeNotReady,
    NodeReady,
    NodeReadyUnknown,
    NotDeleting,
    NotPaused,
    NotReady,
    NotUpToDate,
    NotUpdating,
    ObjectDeleted,
    ObjectDoesNotExist,
    Paused,
    Ready,
    ReadyUnknown,
    UpToDate,
    UpToDateUnknown,
    WaitingForBootstrapDeletion,
    WaitingForInfrastructureDeletion,
    WaitingForMinReadySeconds,
    WaitingForPreDrainHook,
    WaitingForPreTerminateHook,
    WaitingForVolumeDetach,
}

impl MachineCondition {
    /// The name on the wire: the variant's.
    pub fn as_str(self) -> String {
        format!("{self:?}")
    }
}

/// Status of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// Nobody knows.
    Unknown,
}

impl Status {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }

    /// Reads the word on the wire; any other is Unknown.
    pub fn read(word: &str) -> Self {
        match word {
            "True" => Self::True,
            "False" => Self::False,
            _ => Self::Unknown,
        }
    }
}

/// One condition as a pass finds it, without times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Which condition.
    pub kind: MachineCondition,
    /// Whether it holds.
    pub status: Status,
    /// Why.
    pub reason: String,
    /// For people; deterministic.
    pub message: String,
}

impl Finding {
    /// It holds.
    pub fn yes(kind: MachineCondition, reason: MachineReason, message: impl Into<String>) -> Self {
        Self::new(kind, Status::True, reason, message)
    }

    /// It does not hold.
    pub fn no(kind: MachineCondition, reason: MachineReason, message: impl Into<String>) -> Self {
        Self::new(kind, Status::False, reason, message)
    }

    /// Nobody knows.
    pub fn unknown(
        kind: MachineCondition,
        reason: MachineReason,
        message: impl Into<String>,
    ) -> Self {
        Self::new(kind, Status::Unknown, reason, message)
    }

    /// With a reason of this list.
    pub fn new(
        kind: MachineCondition,
        status: Status,
        reason: MachineReason,
        message: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            status,
            reason: format!("{reason:?}"),
            message: message.into(),
        }
    }
}
