//! Condition types and reasons of a Machine. Strings appear only where they are serialized.

crate::documented! {
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

crate::documented! {
    /// Reasons of these conditions.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum MachineReason {
        /// It has been ready for as long as `minReadySeconds` asks.
        Available,
        /// The workload cluster has not answered for a while.
        ConnectionDown,
        /// The bootstrap data is there.
        DataSecretProvided,
        /// Its deletion is under way; the message says what it waits for.
        Deleting,
        /// The Node is being removed.
        DeletingNode,
        /// All that its deletion waits for is done.
        DeletionCompleted,
        /// Its Node is being drained; the message names pods that do not go and why.
        DrainingNode,
        /// Something that should not happen did; the log has it.
        InternalError,
        /// The Node could not be read.
        InspectionFailed,
        /// The Node was there and is gone.
        NodeDeleted,
        /// There is no Node with this provider ID yet.
        NodeDoesNotExist,
        /// The Node is Ready and under no pressure.
        NodeHealthy,
        /// The Node's conditions are not known.
        NodeHealthyUnknown,
        /// The Node is not Ready or is under pressure.
        NodeNotHealthy,
        /// The Node is not Ready.
        NodeNotReady,
        /// The Node is Ready.
        NodeReady,
        /// Whether the Node is Ready is not known.
        NodeReadyUnknown,
        /// Nobody asked for its deletion.
        NotDeleting,
        /// Nobody paused it.
        NotPaused,
        /// Something that counts does not hold; the message names it.
        NotReady,
        /// It differs from what a new one would be; the message says in what.
        NotUpToDate,
        /// It is not being changed in place.
        NotUpdating,
        /// Its infrastructure object was there and is gone.
        ObjectDeleted,
        /// Its infrastructure object is not there yet.
        ObjectDoesNotExist,
        /// The object or its cluster is paused: nothing is changed.
        Paused,
        /// All that counts holds.
        Ready,
        /// Something that counts is not known yet; the message names it.
        ReadyUnknown,
        /// It is as a new one would be.
        UpToDate,
        /// Whether it is as a new one would be is not known.
        UpToDateUnknown,
        /// Its bootstrap object is still going.
        WaitingForBootstrapDeletion,
        /// Its instance is still going.
        WaitingForInfrastructureDeletion,
        /// It is ready, but not for long enough yet.
        WaitingForMinReadySeconds,
        /// A pre-drain hook holds it back; the message names the annotation.
        WaitingForPreDrainHook,
        /// A pre-terminate hook holds it back; the message names the annotation.
        WaitingForPreTerminateHook,
        /// Volumes are still attached to its Node; the message names them.
        WaitingForVolumeDetach,
    }
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
