//! Condition types, reasons and events of a MachineHealthCheck. Strings appear only where they are
//! serialized.

/// Condition types of a MachineHealthCheck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConditionType {
    RemediationAllowed,
    Paused,
}

/// Reasons of these conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    RemediationAllowed,
    TooManyUnhealthy,
    Paused,
    NotPaused,
}

/// Reasons of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventReason {
    /// About the check: nothing follows, too many are unhealthy.
    RemediationRestricted,
    /// About a Machine: something follows.
    MachineMarkedUnhealthy,
}
