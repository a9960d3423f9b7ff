//! The health verdict of a pool (AWS document 9, captf document 2.3).

use serde::{Deserialize, Serialize};

use super::members::MemberState;

/// What a pool says of its health.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// The contract state.
    pub state: MemberState,
    /// Counts only with `state = running`.
    pub healthy: bool,
    /// For people.
    pub message: Option<String>,
    /// Machine-readable reasons, for example `InstancePending:i-0ccc0000000000003`.
    pub reasons: Vec<String>,
}
