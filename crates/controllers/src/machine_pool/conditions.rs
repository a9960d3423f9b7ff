//! Condition types and reasons of a MachinePool. Strings appear only where they are serialized.

remuda_plan::documented! {
    /// Condition types of a MachinePool.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub(crate) enum ConditionType {
        /// Enough replicas are available.
        Available,
        /// The bootstrap data is there.
        BootstrapConfigReady,
        /// Mirrors the infrastructure pool's `Ready`.
        InfrastructureReady,
        /// Every Machine is Ready.
        MachinesReady,
        /// Every Machine is as a new one would be.
        MachinesUpToDate,
        /// Members of an older model are being replaced. Negative polarity.
        RollingOut,
        /// There are fewer machines than wanted. Negative polarity.
        ScalingUp,
        /// There are more machines than wanted. Negative polarity.
        ScalingDown,
        /// An unhealthy machine is being replaced. Negative polarity.
        Remediating,
        /// It is being deleted. Negative polarity.
        Deleting,
        /// It or its cluster is paused.
        Paused,
    }
}

remuda_plan::documented! {
    /// Reasons of these conditions.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Reason {
        /// Enough replicas are available.
        Available,
        /// Fewer replicas are available than the pool may have.
        NotAvailable,
        /// `spec.replicas` is not set yet.
        WaitingForReplicasSet,
        /// Something that should not happen did; the log has it.
        InternalError,
        /// The bootstrap data is there.
        DataSecretProvided,
        /// All that counts holds.
        Ready,
        /// Something that counts does not hold; the message names it.
        NotReady,
        /// Something that counts is not known yet; the message names it.
        ReadyUnknown,
        /// Its infrastructure object is not there yet.
        ObjectDoesNotExist,
        /// Its infrastructure object was there and is gone.
        ObjectDeleted,
        /// The pool has no machines.
        NoReplicas,
        /// It is as a new one would be.
        UpToDate,
        /// It differs from what a new one would be; the message says in what.
        NotUpToDate,
        /// Whether it is as a new one would be is not known.
        UpToDateUnknown,
        /// Members of an older model are being replaced.
        RollingOut,
        /// Every member is of the newest model.
        NotRollingOut,
        /// There are fewer machines than wanted.
        ScalingUp,
        /// There are at least as many machines as wanted.
        NotScalingUp,
        /// There are more machines than wanted.
        ScalingDown,
        /// There are at most as many machines as wanted.
        NotScalingDown,
        /// An unhealthy machine is being replaced.
        Remediating,
        /// No machine is being replaced for its health.
        NotRemediating,
        /// Its deletion is under way; the message says what it waits for.
        Deleting,
        /// Nobody asked for its deletion.
        NotDeleting,
        /// The object or its cluster is paused: nothing is changed.
        Paused,
        /// Nobody paused it.
        NotPaused,
    }
}

remuda_plan::documented! {
    /// Reasons of events about a MachinePool.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum EventReason {
        /// An unhealthy Machine is replaced, or is not, and why.
        MachineRemediation,
    }
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
