//! Simulated nodes.

use serde::Serialize;

/// Why the node of an instance did not come up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BootFailure {
    /// Instance.
    pub instance_id: String,
    /// What went wrong; holds no bootstrap data.
    pub reason: String,
}
