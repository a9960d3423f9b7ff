//! `TerraformMachinePool.status` as written (captf document 1.5).

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::condition::{Condition, ConditionType};
use crate::pool::{members::Address, objects::Initialization};

/// The whole status. Unset fields are left out; `replicas: 0` is written.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PoolStatus {
    /// Sorted by type. Conditions of types unknown here are dropped.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "known")]
    pub conditions: Vec<Condition>,
    /// What core of the baseline reads; equals `initialization.provisioned`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// Latched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initialization: Option<Initialization>,
    /// Desired capacity as observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i64>,
    /// At most 1,000.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<InstanceStatus>,
    /// Absent while there are no pool Machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infrastructure_machine_kind: Option<String>,
    /// Generation this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The running operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_job: Option<ActiveJob>,
    /// The newest finished operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_run: Option<LastRun>,
    /// Last drift check at the time of the last write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_drift_check: Option<Timestamp>,
    /// Last refresh at the time of the last write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_refresh: Option<Timestamp>,
    /// `pending` samples in a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_refreshes: Option<i64>,
    /// Record revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_state_serial: Option<i64>,
    /// Informational.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_secret_suffix: Option<String>,
    /// What ran last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceStatus>,
}

impl PoolStatus {
    /// The condition of a type.
    pub fn condition(&self, kind: ConditionType) -> Option<&Condition> {
        self.conditions
            .iter()
            .find(|condition| condition.kind == kind)
    }

    /// The latch.
    pub fn provisioned(&self) -> bool {
        self.initialization.is_some_and(|it| it.provisioned)
    }
}

/// Reads the conditions whose type is known; a foreign or broken one never stops a pass.
fn known<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Condition>, D::Error> {
    let values = Vec::<Value>::deserialize(deserializer)?;
    Ok(values
        .into_iter()
        .filter_map(|value| serde_json::from_value(value).ok())
        .collect())
}

/// One entry of `status.instances`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InstanceStatus {
    /// Equals the Node's provider id.
    #[serde(rename = "providerID")]
    pub provider_id: String,
    /// The cloud's own id.
    #[serde(rename = "instanceID", skip_serializing_if = "String::is_empty")]
    pub instance_id: String,
    /// Addresses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<Address>,
    /// Zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_domain: Option<String>,
    /// `running`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

/// Operations in captf's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Make it so.
    Apply,
    /// Make it nothing.
    Destroy,
    /// Compare, change nothing.
    Drift,
    /// Read members and health.
    Refresh,
    /// captf's; never run here.
    Restore,
    /// captf's; never run here.
    Plan,
}

impl Operation {
    /// `apply`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::Destroy => "destroy",
            Self::Drift => "drift",
            Self::Refresh => "refresh",
            Self::Restore => "restore",
            Self::Plan => "plan",
        }
    }
}

/// `status.activeJob`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActiveJob {
    /// `captf-mp-<pool>-apply-a3`.
    pub name: String,
    /// Operation.
    pub operation: Operation,
    /// Counts from 1.
    pub attempt: i64,
    /// When it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Timestamp>,
}

/// `status.lastRun`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastRun {
    /// Name of the operation's run.
    pub job: String,
    /// Operation.
    pub operation: Operation,
    /// What it did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<RunStep>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
    /// What differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<DriftSummary>,
}

/// One step of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunStep {
    /// `plan`, `apply`, `apply-refresh-only`, `destroy`.
    pub name: String,
    /// 0 or 1.
    pub exit_code: i32,
    /// Duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_milliseconds: Option<i64>,
}

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunError {
    /// Kind.
    pub kind: RunErrorKind,
    /// Which step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// At most 512 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// Kinds of run errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunErrorKind {
    /// captf's.
    ImageLayout,
    /// A step failed.
    Step,
    /// Cancelled, or past its deadline.
    Interrupted,
    /// captf's.
    Blocked,
    /// captf's.
    PlanChanged,
}

/// Counts of a drift finding.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DriftSummary {
    /// Missing objects.
    pub create: i32,
    /// Objects that change in place.
    pub update: i32,
    /// Objects that must be made anew.
    pub replace: i32,
    /// Owned objects that are not desired.
    pub delete: i32,
    /// At most 20 logical names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
}

/// `status.source`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SourceStatus {
    /// As written in `spec.source.image`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Remuda's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_version: Option<String>,
}
