//! How often an object is compared with the cloud, and what a difference leads to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Drift checks of one machine pool; a pool cannot turn them off.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DriftPolicy {
    /// What to do about drift once it is found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<DriftAction>,
    /// Seconds between two drift checks, at least 1; unset takes the cluster's interval.
    #[schemars(range(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_seconds: Option<i32>,
}

/// Drift checks of a cluster, and what its pools inherit; 0 leaves the interval to the manager.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterDriftPolicy {
    /// What to do about drift once it is found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<DriftAction>,
    /// Seconds between two drift checks; 0 stands for the manager's own interval.
    #[schemars(range(min = 0))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_seconds: Option<i32>,
}

/// What follows from drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::crd::describe_by_field)]
pub enum DriftAction {
    /// Say so in conditions and events, change nothing.
    Report,
    /// Apply again.
    Remediate,
}
