//! Steps: what a pass will do, in order, each with its reason and its effect on machines.
//!
//! `remuda plan` prints these; `carry_out` executes them; the first failure stops. A record write
//! is a step like any other, put by the plan right before the call that relies on it.

use serde::Serialize;
use serde_json::Value;

use super::record::Record;
use crate::aws;

/// One step of a pass.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// What is done: one cloud call, or one record write.
    pub action: Action,
    /// Why, in one deterministic line: `replicas 3 -> 5`.
    pub because: String,
    /// What it does to running machines.
    pub effect: Effect,
    /// Fields that differ.
    pub changes: Vec<FieldChange>,
}

/// What is done in one step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Action {
    /// Write the pool record.
    Remember(Box<Record>),
    /// One AWS call.
    Aws(aws::action::Action),
}

/// Effect of a step on running machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// No machine notices.
    None,
    /// Machines launched from now on.
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
    /// Logical name of the object: `autoscaling_group/captf-team-a-demo-pool-0-43c6d828`.
    pub object: String,
    /// Field: `max_size`.
    pub field: String,
    /// Old value; `None` when absent. Secret values are `"[redacted]"`.
    pub old: Option<Value>,
    /// New value; `None` when it goes.
    pub new: Option<Value>,
}
