//! Every metric, once: name, labels, what it says and how many series it can have.
//!
//! What is counted, `docs/reference/metrics.md`, the dashboard and the alert rules all go by this
//! table; tests compare them.

use super::captf::table as captf;

/// One metric.
#[derive(Debug, PartialEq)]
pub struct Metric {
    /// As it is scraped; a histogram's samples add `_bucket`, `_sum` and `_count`.
    pub name: &'static str,
    /// What it is.
    pub kind: MetricKind,
    /// Its labels, in order.
    pub labels: &'static [&'static str],
    /// What it says, in one line without a full stop.
    pub help: &'static str,
    /// How many series there can be.
    pub series: &'static str,
}

/// What a metric is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MetricKind {
    /// Only grows, until the process ends.
    Counter,
    /// As it is at the moment.
    Gauge,
    /// Counts by upper bound.
    Histogram(&'static [f64]),
}

impl MetricKind {
    /// The word of the exposition formats.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram(_) => "histogram",
        }
    }
}

/// From a pass that finds nothing to do to one that waits for a cloud.
const PASS_SECONDS: &[f64] = &[
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
];
/// From a simulator in the process to an answer that is given up.
const CALL_SECONDS: &[f64] = &[
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];
/// Around the ages that sweeps allow (AWS document 11.2).
const AGE_SECONDS: &[f64] = &[0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0];
/// From an empty Node to one whose budgets hold.
const DRAIN_SECONDS: &[f64] = &[
    1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_800.0, 3_600.0, 14_400.0,
];

pub(super) static RECONCILES: Metric = Metric {
    name: "remuda_reconciles_total",
    kind: MetricKind::Counter,
    labels: &["kind", "result"],
    help: "Passes that ended, by kind of object and result: success, conflict (somebody else wrote \
           in between; it starts over), error, panic",
    series: "4 a kind; 6 kinds",
};

pub(super) static RECONCILE_SECONDS: Metric = Metric {
    name: "remuda_reconcile_duration_seconds",
    kind: MetricKind::Histogram(PASS_SECONDS),
    labels: &["kind"],
    help: "How long passes took",
    series: "1 histogram a kind; 6 kinds",
};

pub(super) static RUNNING: Metric = Metric {
    name: "remuda_reconciles_running",
    kind: MetricKind::Gauge,
    labels: &["kind"],
    help: "Passes at work",
    series: "1 a kind; 6 kinds",
};

pub(super) static QUEUE_DEPTH: Metric = Metric {
    name: "remuda_workqueue_depth",
    kind: MetricKind::Gauge,
    labels: &["kind"],
    help: "Objects that something woke and whose pass has not begun",
    series: "1 a kind; 6 kinds",
};

pub(super) static QUEUE_SECONDS: Metric = Metric {
    name: "remuda_workqueue_wait_duration_seconds",
    kind: MetricKind::Histogram(PASS_SECONDS),
    labels: &["kind"],
    help: "How long objects waited from being woken until their pass began",
    series: "1 histogram a kind; 6 kinds",
};

pub(super) static OPERATIONS: Metric = Metric {
    name: "remuda_pool_operations_total",
    kind: MetricKind::Counter,
    labels: &["cloud", "operation", "result"],
    help: "Passes over pools that looked at the cloud, by operation and how they ended: done, \
           refused, unrecoverable, record_unwritable, deadline_exceeded, interrupted, or the class \
           of the call that failed",
    series: "20 an operation and cloud; 4 operations, 2 clouds",
};

pub(super) static STEPS: Metric = Metric {
    name: "remuda_pool_steps_total",
    kind: MetricKind::Counter,
    labels: &["cloud", "effect", "result"],
    help: "Steps of plans, by their effect on running machines and result: done, pending (accepted, \
           takes time), failed",
    series: "3 an effect and cloud; 5 effects, 2 clouds",
};

pub(super) static CALLS: Metric = Metric {
    name: "remuda_cloud_calls_total",
    kind: MetricKind::Counter,
    labels: &["cloud", "region", "action", "result"],
    help: "Calls that were sent, repetitions included, by the cloud's name of the action and \
           result: success or the class of the failure",
    series: "at most 15 an action and region; about 25 actions a cloud, regions in use",
};

pub(super) static CALL_DURATION: Metric = Metric {
    name: "remuda_cloud_call_duration_seconds",
    kind: MetricKind::Histogram(CALL_SECONDS),
    labels: &["cloud", "action"],
    help: "How long calls took, from sending to the whole answer",
    series: "1 histogram an action; about 25 actions a cloud",
};

pub(super) static THROTTLES: Metric = Metric {
    name: "remuda_cloud_throttles_total",
    kind: MetricKind::Counter,
    labels: &["cloud", "region", "by"],
    help: "Times that a call had to be held back: by the cloud, which asked for fewer calls, or by \
           the process' own budget, when a call's turn was too far away to wait for",
    series: "2 a region in use",
};

pub(super) static SWEEP_AGE: Metric = Metric {
    name: "remuda_sweep_answer_age_seconds",
    kind: MetricKind::Histogram(AGE_SECONDS),
    labels: &["cloud"],
    help: "How old what a pool was told of its group was when it was told",
    series: "1 histogram a cloud",
};

pub(super) static SWEEP_LAST: Metric = Metric {
    name: "remuda_sweep_last_success_timestamp_seconds",
    kind: MetricKind::Gauge,
    labels: &["cloud", "region"],
    help: "When the newest reading began that a pool was told of its group, in seconds since 1970",
    series: "1 a region in use",
};

pub(super) static POOL_WANTED: Metric = Metric {
    name: "remuda_pool_machines_wanted",
    kind: MetricKind::Gauge,
    labels: &["namespace", "pool"],
    help: "Machines that the pool's MachinePool asks for",
    series: "1 a pool; gone with the pool",
};

pub(super) static POOL_MACHINES: Metric = Metric {
    name: "remuda_pool_machines",
    kind: MetricKind::Gauge,
    labels: &["namespace", "pool"],
    help: "Machines that the pool has, by its MachinePool's list of provider ids",
    series: "1 a pool; gone with the pool",
};

pub(super) static POOL_READY_MACHINES: Metric = Metric {
    name: "remuda_pool_machines_ready",
    kind: MetricKind::Gauge,
    labels: &["namespace", "pool"],
    help: "Machines of the pool whose Node is Ready, by its MachinePool's status",
    series: "1 a pool; gone with the pool",
};

pub(super) static POOL_READY: Metric = Metric {
    name: "remuda_pool_ready",
    kind: MetricKind::Gauge,
    labels: &["namespace", "pool"],
    help: "1 when the pool's condition Ready is True, else 0",
    series: "1 a pool; gone with the pool",
};

pub(super) static DRAINS: Metric = Metric {
    name: "remuda_drains_total",
    kind: MetricKind::Counter,
    labels: &["result"],
    help: "Drains that ended: done, timed_out (Pods were still there), given_up (an annotation, a \
           hook or the end of the instance came in between)",
    series: "3",
};

pub(super) static DRAIN_DURATION: Metric = Metric {
    name: "remuda_drain_duration_seconds",
    kind: MetricKind::Histogram(DRAIN_SECONDS),
    labels: &["result"],
    help: "How long drains took",
    series: "3 histograms",
};

pub(super) static DRAINS_RUNNING: Metric = Metric {
    name: "remuda_drains_running",
    kind: MetricKind::Gauge,
    labels: &[],
    help: "Machines whose Node is being drained",
    series: "1",
};

pub(super) static EVENTS: Metric = Metric {
    name: "remuda_events_total",
    kind: MetricKind::Counter,
    labels: &["type", "result"],
    help: "Kubernetes events, by type (Normal, Warning) and result: written, dropped (the object's \
           rate was used up), failed",
    series: "6",
};

pub(super) static LEADER: Metric = Metric {
    name: "remuda_leader",
    kind: MetricKind::Gauge,
    labels: &[],
    help: "1 while the controllers run in this process, else 0",
    series: "1",
};

pub(super) static BUILD: Metric = Metric {
    name: "remuda_build_info",
    kind: MetricKind::Gauge,
    labels: &["version"],
    help: "Always 1; says which version runs",
    series: "1",
};

/// Every metric, in the order of the reference page.
pub static METRICS: [&Metric; 39] = [
    &RECONCILES,
    &RECONCILE_SECONDS,
    &RUNNING,
    &QUEUE_DEPTH,
    &QUEUE_SECONDS,
    &OPERATIONS,
    &STEPS,
    &CALLS,
    &CALL_DURATION,
    &THROTTLES,
    &SWEEP_AGE,
    &SWEEP_LAST,
    &POOL_WANTED,
    &POOL_MACHINES,
    &POOL_READY_MACHINES,
    &POOL_READY,
    &DRAINS,
    &DRAIN_DURATION,
    &DRAINS_RUNNING,
    &EVENTS,
    &LEADER,
    &BUILD,
    &captf::JOBS,
    &captf::JOB_SECONDS_TAKEN,
    &captf::JOB_ERRORS,
    &captf::JOBS_ACTIVE,
    &captf::JOB_ATTEMPTS,
    &captf::RESOURCES_CHANGED,
    &captf::DECISIONS,
    &captf::OUTPUTS_INVALID,
    &captf::HASH_CHANGES,
    &captf::INPUTS_BYTES,
    &captf::READY,
    &captf::HEALTHY,
    &captf::DRIFTED,
    &captf::DRIFT_RESOURCES,
    &captf::LAST_SUCCESS,
    &captf::IDENTITY_DENIED,
    &captf::BUILD,
];
