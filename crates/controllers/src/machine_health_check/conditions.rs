//! Condition types, reasons and events of a MachineHealthCheck. Strings appear only where they are
//! serialized.

remuda_plan::documented! {
    /// Condition types of a MachineHealthCheck.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum ConditionType {
        /// Few enough Machines are unhealthy for them to be replaced.
        RemediationAllowed,
        /// It or its cluster is paused.
        Paused,
    }
}

remuda_plan::documented! {
    /// Reasons of these conditions.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Reason {
        /// Unhealthy Machines may be replaced.
        RemediationAllowed,
        /// More Machines are unhealthy than allowed: nothing is replaced.
        TooManyUnhealthy,
        /// The object or its cluster is paused: nothing is changed.
        Paused,
        /// Nobody paused it.
        NotPaused,
    }
}

remuda_plan::documented! {
    /// Reasons of events.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum EventReason {
        /// About the check: nothing follows, too many are unhealthy.
        RemediationRestricted,
        /// About a Machine: something follows.
        MachineMarkedUnhealthy,
    }
}
