//! Condition types and reasons of a MachinePool. Strings appear only where they are serialized.

/// Condition types of a MachinePool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ConditionType {
    Available,
    BootstrapConfigReady,
    InfrastructureReady,
    MachinesReady,
    MachinesUpToDate,
    RollingOut,
    ScalingUp,
    ScalingDown,
    Remediating,
    Deleting,
    Paused,
}

/// Reasons of these conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    Available,
    NotAvailable,
    WaitingForReplicasSet,
    InternalError,
    DataSecretProvided,
    Ready,
    NotReady,
    ReadyUnknown,
    ObjectDoesNotExist,
    ObjectDeleted,
    NoReplicas,
    UpToDate,
    NotUpToDate,
    UpToDateUnknown,
    RollingOut,
    NotRollingOut,
    ScalingUp,
    NotScalingUp,
    ScalingDown,
    NotScalingDown,
    Remediating,
    NotRemediating,
    Deleting,
    NotDeleting,
    Paused,
    NotPaused,
}

/// Reasons of events about a MachinePool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventReason {
    MachineRemediation,
}

impl ConditionType {
    /// The name on the wire: the variant's.
    pub(crate) fn as_str(self) -> String {
        format!("{self:?}")
    }
}

/// One condition as a pass finds it, without times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Which condition.
    pub kind: ConditionType,
    /// `True`, `False` or `Unknown`.
    pub status: &'static str,
    /// Why.
    pub reason: String,
    /// For people; deterministic.
    pub message: String,
}

impl Finding {
    pub(crate) fn yes(kind: ConditionType, reason: Reason, message: impl Into<String>) -> Self {
        Self::new(kind, "True", reason, message)
    }

    pub(crate) fn no(kind: ConditionType, reason: Reason, message: impl Into<String>) -> Self {
        Self::new(kind, "False", reason, message)
    }

    pub(crate) fn unknown(kind: ConditionType, reason: Reason, message: impl Into<String>) -> Self {
        Self::new(kind, "Unknown", reason, message)
    }

    /// Another object's condition under our name.
    pub(crate) fn mirrored(
        kind: ConditionType,
        status: &str,
        reason: &str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            status: match status {
                "True" => "True",
                "False" => "False",
                _ => "Unknown",
            },
            reason: reason.to_owned(),
            message: message.into(),
        }
    }

    fn new(
        kind: ConditionType,
        status: &'static str,
        reason: Reason,
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
