//! Steps: what a pass will do, in order, each with its reason and its effect on machines.
//!
//! `remuda plan` prints these; `carry_out` executes them; the first failure stops. A record write
//! is a step like any other, put by the plan right before the call that relies on it.

use serde::Serialize;
use serde_json::Value;

use super::record::Record;
use crate::{aws, azure, error::CloudFailure};

/// One step of a pass.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// What is done: one cloud call, or one record write.
    pub action: Action,
    /// Why, in one deterministic line: `replicas 3 -> 5`.
    pub because: String,
    /// What it does to running machines.
    pub effect: Effect,
    /// The object it is about, by its stable logical name (captf document, DRF-2):
    /// `autoscaling_group/captf-team-a-demo-pool-0-43c6d828`.
    pub object: String,
    /// How the step counts as drift.
    pub kind: ChangeKind,
    /// Fields that differ.
    pub changes: Vec<FieldChange>,
}

/// How a step counts in `status.lastRun.drift` (captf document, DRF-2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// A missing object is made.
    Create,
    /// An object changes in place.
    Update,
    /// An object is made anew because it cannot change in place.
    Replace,
    /// An owned object that is not desired goes.
    Delete,
    /// A record write or a step of a protocol already under way: not drift.
    Bookkeeping,
}

/// The ordered steps of one pass and what comes after them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// Steps in order; empty when everything is as desired.
    pub steps: Vec<Step>,
    /// What follows when every step succeeded.
    pub outlook: Outlook,
}

/// What follows when every step of a plan succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Outlook {
    /// The world is as desired (for deletion: nothing is left).
    Settled,
    /// Something takes time; the next pass goes on.
    LookAgain {
        /// What is awaited, for people: `instance refresh r-1 to be cancelled`.
        what: String,
        /// When to look again.
        after_seconds: u32,
    },
    /// An operation that an earlier pass started came to a bad end. The steps before put the record
    /// right; the pass fails with this.
    Failed(CloudFailure),
}

/// Why no plan can be made.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum PlanStop {
    /// The user must act; all refusals, sorted.
    Refused(Vec<crate::error::Refusal>),
    /// A read that the plan needs failed; nothing is guessed.
    Unreadable(CloudFailure),
}

/// What is done in one step.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(
    clippy::large_enum_variant,
    reason = "a plan holds a handful of actions, and most are cloud calls"
)]
pub enum Action {
    /// Write the pool record.
    Remember(Box<Record>),
    /// One AWS call.
    Aws(aws::action::Action),
    /// One ARM call.
    Azure(azure::action::Action),
}

impl From<aws::action::Action> for Action {
    fn from(action: aws::action::Action) -> Self {
        Self::Aws(action)
    }
}

impl From<azure::action::Action> for Action {
    fn from(action: azure::action::Action) -> Self {
        Self::Azure(action)
    }
}

/// Effect of a step on running machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// No machine notices.
    None,
    /// Machines launched from now on. A variable of this effect rolls where there are pool Machines.
    NewMachinesOnly,
    /// Machines are replaced one after the other, each replacement first.
    Rolls,
    /// Machines are replaced, some before their replacement is there.
    Replaces,
    /// Machines go.
    Removes,
}

/// One differing field.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldChange {
    /// Field: `max_size`.
    pub field: String,
    /// Old value; `None` when absent. Secret values are `"[redacted]"`.
    pub old: Option<Value>,
    /// New value; `None` when it goes.
    pub new: Option<Value>,
}
