//! What is told of every cloud call: for metrics, and for anyone who counts.
//!
//! Backends measure at one place, where a call leaves; whoever wires a process decides where the
//! figures go. A record holds no parameter of a call, hence no secret.

use std::{fmt, time::Duration};

use remuda_plan::error::FailureClass;

/// One call that was sent and answered, or failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRecord {
    /// In the cloud's words: `autoscaling:UpdateAutoScalingGroup`.
    pub call: &'static str,
    /// Region or location.
    pub region: String,
    /// The call changes something.
    pub mutating: bool,
    /// From sending to the whole answer.
    pub latency: Duration,
    /// How it failed; `None` when it succeeded.
    pub failed: Option<FailureClass>,
}

/// Receives a record of every call, retries included.
pub trait CallMeter: fmt::Debug + Send + Sync {
    /// Called after the answer, on the caller's task: must not block.
    fn record(&self, call: &CallRecord);
}
