//! What is told of every cloud call: for metrics, and for anyone who counts.
//!
//! Backends measure at one place, where a call leaves; whoever wires a process decides where the
//! figures go. A record holds no parameter of a call, hence no secret.

use std::{fmt, sync::Arc, time::Duration};

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

/// A pool was told of its group, from a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SweepAnswer<'a> {
    /// Region or location.
    pub region: &'a str,
    /// Since the reading began.
    pub age: Duration,
}

/// Receives a record of every call, retries included. Called on the caller's task: must not block.
pub trait CallMeter: fmt::Debug + Send + Sync {
    /// A call was answered, or failed.
    fn record(&self, call: &CallRecord);

    /// A call was not sent: its turn is too far away to wait for.
    fn held_back(&self, _region: &str) {}

    /// A sweep that could be read told a pool of its group.
    fn answered(&self, _answer: &SweepAnswer<'_>) {}
}

/// Tells several.
#[derive(Debug)]
pub struct Meters(pub Vec<Arc<dyn CallMeter>>);

impl CallMeter for Meters {
    fn record(&self, call: &CallRecord) {
        for meter in &self.0 {
            meter.record(call);
        }
    }

    fn held_back(&self, region: &str) {
        for meter in &self.0 {
            meter.held_back(region);
        }
    }

    fn answered(&self, answer: &SweepAnswer<'_>) {
        for meter in &self.0 {
            meter.answered(answer);
        }
    }
}
