//! Unhealthy Machines: who is, when something follows, and what the owner does (cluster-api
//! document 6.4, 6.5).
//!
//! | file | what |
//! | --- | --- |
//! | `health` | whether one Machine is healthy |
//! | `limit` | how many may be unhealthy before nothing follows |
//! | `check` | one pass of a health check over all its Machines |
//! | `owner` | which Machines their owner replaces now |
//!
//! Health checks write conditions; owners delete. Neither knows the other.

pub mod check;
pub mod health;
pub mod limit;
pub mod owner;

crate::documented! {
    /// Reasons that health checks and owners give in the conditions of a Machine.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Reason {
        /// Nothing speaks against it.
        HealthCheckSucceeded,
        /// A person asks for its replacement.
        HasRemediateAnnotation,
        /// One of its conditions is bad for too long.
        UnhealthyMachine,
        /// Its Node is gone.
        NodeDeleted,
        /// Its Node has not come.
        NodeStartupTimeout,
        /// One of its Node's conditions is bad for too long.
        UnhealthyNode,
        /// The owner should replace it.
        WaitingForRemediation,
        /// The owner deletes it.
        MachineDeleting,
        /// Others go first.
        RemediationDeferred,
        /// The template of external remediation does not exist.
        RemediationTemplateNotFound,
        /// The request for external remediation could not be made.
        RemediationRequestCreationFailed,
    }
}

impl Reason {
    /// The name on the wire: the variant's.
    pub fn as_str(self) -> String {
        format!("{self:?}")
    }
}

/// A condition that a Machine should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Name of the Machine.
    pub machine: String,
    /// Which condition.
    pub condition: &'static str,
    /// Whether it holds.
    pub holds: bool,
    /// Why.
    pub reason: Reason,
    /// For people; deterministic.
    pub message: String,
}
