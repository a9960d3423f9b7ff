//! `Pass`: what happened in one pass, as data. Controllers fill it; `fold` alone judges it.

use jiff::Timestamp;

use crate::{
    error::{CloudFailure, Refusal},
    machines::pool::PoolDecision,
    pool::{action::Plan, gate::Gate, notice::Notice, outputs::Outputs, record::Record},
};

/// What happened between `gate` and `fold`.
#[derive(Debug, Clone, PartialEq)]
pub struct Pass {
    /// What the gate said.
    pub gate: Gate,
    /// When the pass began.
    pub started: Timestamp,
    /// The plan, once there was one.
    pub plan: Option<Plan>,
    /// How many of its steps succeeded.
    pub carried_out: usize,
    /// The newest record that a `Remember` step stored in this pass.
    pub record: Option<Record>,
    /// What the cloud showed; set by refreshes and drift checks, and by an apply or destroy that
    /// observed once more after its steps.
    pub outputs: Option<Outputs>,
    /// What was decided about the pool's Machines; `None`: it has none, or they were not looked at.
    pub machines: Option<Box<PoolDecision>>,
    /// Failures that the cloud told beside its answers.
    pub notices: Vec<Notice>,
    /// How it ended.
    pub end: PassEnd,
}

impl Pass {
    /// A pass that stopped at the gate.
    pub fn at_gate(gate: Gate, started: Timestamp) -> Self {
        Self {
            gate,
            started,
            plan: None,
            carried_out: 0,
            record: None,
            outputs: None,
            machines: None,
            notices: Vec::new(),
            end: PassEnd::AtGate,
        }
    }
}

/// How a pass ended.
#[derive(Debug, Clone, PartialEq)]
pub enum PassEnd {
    /// The gate let nothing start.
    AtGate,
    /// Everything that was to be done was done.
    Done,
    /// The inputs were refused after a look at the cloud.
    Refused(Vec<Refusal>),
    /// A cloud call, or the read before it, failed.
    Failed(CloudFailure),
    /// [`crate::pool::gate::confirm_recovery`] said no.
    Unrecoverable(Unrecoverable),
    /// A `Remember` step could not be stored; the text carries no times or request ids.
    RecordUnwritable(String),
    /// The operation ran longer than its deadline.
    DeadlineExceeded,
    /// Shutdown or lost leadership.
    Interrupted,
}

/// Why a lost record could not be rebuilt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unrecoverable {
    /// No group carries the ownership tags and the expected name.
    NothingFound,
    /// A group of the expected name is not certainly ours.
    Inconsistent,
}
