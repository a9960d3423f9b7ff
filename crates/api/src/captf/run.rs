//! What an object's status tells about operations: the running one, the last one and what it
//! found.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::crd::describe_by_field)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Bring the cloud to the desired state.
    Apply,
    /// Remove everything.
    Destroy,
    /// Look for differences.
    Drift,
    /// Read members and outputs again.
    Refresh,
    /// Put a kept state back.
    Restore,
    /// Compute changes for approval.
    Plan,
}

/// The operation that runs now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActiveJob {
    /// How many times this operation was started, from 1.
    #[schemars(range(min = 1))]
    pub attempt: i32,
    /// Name of the operation's run.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    /// What it does.
    pub operation: Operation,
    /// When it started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
}

/// Outcome of the newest finished operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastRun {
    /// What a drift check found; unset when it found nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<DriftFinding>,
    /// Why the operation failed; unset when it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
    /// Name of the run.
    #[schemars(length(min = 1, max = 63))]
    pub job: String,
    /// What it did.
    pub operation: Operation,
    /// Its steps in order.
    #[schemars(length(min = 1, max = 16), extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<RunStep>>,
}

/// One step of an operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunStep {
    /// How long the step took.
    #[schemars(range(min = 0))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_milliseconds: Option<i64>,
    /// 0 for success.
    pub exit_code: i32,
    /// Name of the step.
    #[schemars(length(min = 1, max = 64))]
    pub name: String,
}

/// Why an operation failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunError {
    /// Which sort of failure this is.
    pub kind: RunErrorKind,
    /// Resources the failure concerns.
    #[schemars(
        length(min = 1, max = 10),
        inner(length(min = 1, max = 512)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Vec<String>>,
    /// Step that failed.
    #[schemars(length(min = 1, max = 64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// What went wrong, at most 512 bytes and free of secrets.
    #[schemars(length(min = 1, max = 512))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// Sorts of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::crd::describe_by_field)]
#[serde(rename_all = "kebab-case")]
pub enum RunErrorKind {
    /// The image does not hold what it must.
    ImageLayout,
    /// A step failed.
    Step,
    /// The operation vanished before it ended.
    Interrupted,
    /// The change would destroy something and was held back.
    Blocked,
    /// The change was no longer the approved one.
    PlanChanged,
}

/// Counts and names of what differs from the desired state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct DriftFinding {
    /// Resources that are missing.
    #[schemars(range(min = 0))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create: Option<i32>,
    /// Resources that are too many.
    #[schemars(range(min = 0))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delete: Option<i32>,
    /// Resources that would be made anew.
    #[schemars(range(min = 0))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace: Option<i32>,
    /// Some of the resources by name.
    #[schemars(
        length(min = 1, max = 20),
        inner(length(min = 1, max = 512)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Vec<String>>,
    /// Resources that would be changed in place.
    #[schemars(range(min = 0))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<i32>,
}

/// The image and runtime that ran last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct AppliedSource {
    /// Image reference.
    #[schemars(length(min = 1, max = 512))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Digest the reference resolved to.
    #[schemars(length(min = 1, max = 512))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_digest: Option<String>,
    /// Version of what ran it.
    #[schemars(length(min = 1, max = 64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_version: Option<String>,
}

/// A kept copy of an earlier state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StateBackup {
    /// Size of the copy.
    #[schemars(range(min = 1))]
    pub bytes: i64,
    /// Serial of the copied state.
    #[schemars(range(min = 1))]
    pub serial: i64,
    /// When the copy was made.
    pub taken_at: Time,
}

/// Name of the plan that waits for approval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanReference {
    /// Name of a TerraformPlan in the same namespace.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}
