//! captf's metrics, once each: its names, types and labels (captf document 3.4).

use crate::metrics::table::{Metric, MetricKind};

/// From a change of tags to a roll; captf's begin at the 15 seconds that its Jobs need to start.
const JOB_SECONDS: &[f64] = &[
    1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_200.0, 1_800.0, 3_600.0, 7_200.0,
];
const ATTEMPTS: &[f64] = &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0];
const OF_A_POOL: &[&str] = &["kind", "namespace", "name"];
const GONE_WITH_THE_POOL: &str = "1 a pool; gone with the pool";

pub(crate) static JOBS: Metric = Metric {
    name: "captf_jobs_total",
    kind: MetricKind::Counter,
    labels: &["kind", "op", "result"],
    help: "Operations that ended, by op (apply, destroy, drift) and result: succeeded, failed, \
           deadline, interrupted. An apply or destroy that goes on over several passes counts once, \
           a drift check is one pass; refreshes are not counted",
    series: "4 an op; 3 ops",
};

pub(crate) static JOB_SECONDS_TAKEN: Metric = Metric {
    name: "captf_job_duration_seconds",
    kind: MetricKind::Histogram(JOB_SECONDS),
    labels: &["kind", "op", "result"],
    help: "How long the operations of captf_jobs_total took: an apply or destroy from its \
           announcement in status.activeJob to its end, a drift check its pass",
    series: "4 histograms an op; 3 ops",
};

pub(crate) static JOB_ERRORS: Metric = Metric {
    name: "captf_job_errors_total",
    kind: MetricKind::Counter,
    labels: &["kind", "op", "error_kind", "step"],
    help: "Operations of captf_jobs_total that did not succeed, by error_kind (step, deadline, \
           interrupted) and step: plan (before anything was changed), apply, destroy, or none",
    series: "at most 6 an op; 3 ops",
};

pub(crate) static JOBS_ACTIVE: Metric = Metric {
    name: "captf_jobs_active",
    kind: MetricKind::Gauge,
    labels: &["kind", "op"],
    help: "Pools whose status.activeJob names an operation of this op (apply, destroy) that has not \
           ended; drift checks end in the pass that begins them and are not shown",
    series: "2",
};

pub(crate) static JOB_ATTEMPTS: Metric = Metric {
    name: "captf_job_attempts",
    kind: MetricKind::Histogram(ATTEMPTS),
    labels: &["kind", "op"],
    help: "Tries that an apply or destroy took until it succeeded: 1 and those that failed since the \
           last success",
    series: "2 histograms",
};

pub(crate) static RESOURCES_CHANGED: Metric = Metric {
    name: "captf_resources_changed_total",
    kind: MetricKind::Counter,
    labels: &["kind", "op", "action"],
    help: "Cloud objects that passes of an apply or destroy changed, by action (add, change, \
           destroy): once a pass, by the gravest change; one that is made anew counts as add and \
           destroy. Also of operations that failed later",
    series: "3 an op; 2 ops",
};

pub(crate) static DECISIONS: Metric = Metric {
    name: "captf_reconcile_op_decisions_total",
    kind: MetricKind::Counter,
    labels: &["kind", "op", "reason"],
    help: "What passes decided. Begun: apply (NoState, InputsChanged, LastApplyFailed, \
           DriftRemediation), destroy (Deleting), drift (DriftDue). With op none: UpToDate, JobActive \
           (the operation goes on), LastApplyFailedBackoff, DeletingBackoff. Not counted: routine \
           refreshes, and passes that wait for something else",
    series: "10",
};

pub(crate) static OUTPUTS_INVALID: Metric = Metric {
    name: "captf_outputs_invalid_total",
    kind: MetricKind::Counter,
    labels: &["kind", "reason"],
    help: "Times that the condition OutputsValid of a pool became False, by its reason",
    series: "2",
};

pub(crate) static HASH_CHANGES: Metric = Metric {
    name: "captf_inputs_hash_changes_total",
    kind: MetricKind::Counter,
    labels: &["kind"],
    help: "Applies that were begun because the inputs are not those last applied",
    series: "1",
};

pub(crate) static INPUTS_BYTES: Metric = Metric {
    name: "captf_inputs_bytes",
    kind: MetricKind::Gauge,
    labels: OF_A_POOL,
    help: "Size of the pool's inputs as last rendered; nothing is applied above 1000000",
    series: GONE_WITH_THE_POOL,
};

pub(crate) static READY: Metric = Metric {
    name: "captf_ready",
    kind: MetricKind::Gauge,
    labels: OF_A_POOL,
    help: "The pool's condition Ready: 1 True, 0 False, -1 Unknown or not there yet",
    series: GONE_WITH_THE_POOL,
};

pub(crate) static HEALTHY: Metric = Metric {
    name: "captf_infrastructure_healthy",
    kind: MetricKind::Gauge,
    labels: OF_A_POOL,
    help: "The pool's condition InfrastructureHealthy: 1 True, 0 False, -1 Unknown or not there yet",
    series: GONE_WITH_THE_POOL,
};

pub(crate) static DRIFTED: Metric = Metric {
    name: "captf_drift_detected",
    kind: MetricKind::Gauge,
    labels: OF_A_POOL,
    help: "1 while the pool's condition DriftDetected is True, else 0",
    series: GONE_WITH_THE_POOL,
};

pub(crate) static DRIFT_RESOURCES: Metric = Metric {
    name: "captf_drift_resources_total",
    kind: MetricKind::Counter,
    labels: &["kind", "action"],
    help: "Cloud objects that drift checks found to add, change or destroy, at each check; one to be \
           made anew counts as add and destroy",
    series: "3",
};

pub(crate) static LAST_SUCCESS: Metric = Metric {
    name: "captf_last_success_timestamp_seconds",
    kind: MetricKind::Gauge,
    labels: &["kind", "namespace", "name", "op"],
    help: "When the pool's newest successful apply ended, or its newest successful drift check or \
           refresh began, in seconds since 1970; drift and refresh not while the pool is paused or \
           being deleted",
    series: "3 a pool; gone with the pool",
};

pub(crate) static IDENTITY_DENIED: Metric = Metric {
    name: "captf_identity_denied_total",
    kind: MetricKind::Counter,
    labels: &["reason"],
    help: "Times that a pool's identity became unusable, by reason: notfound (the identity or its \
           Secret is missing), namespace (not allowed there)",
    series: "2",
};

pub(crate) static BUILD: Metric = Metric {
    name: "captf_build_info",
    kind: MetricKind::Gauge,
    labels: &["version", "commit", "contract"],
    help: "Always 1; says which version of Remuda runs and the module contract it keeps. commit is \
           empty: the build does not know it",
    series: "1",
};
