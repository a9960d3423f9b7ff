//! captf's own metrics (captf document 3.4), so that dashboards and alerts made for captf go on.
//!
//! | file | what |
//! | --- | --- |
//! | `table` | names, types, labels |
//! | `job` | a pass in captf's words |
//! | `pools` | how pools stand at the moment of a scrape |
//!
//! Only what a pass, its publication or a stored object really says: a metric of captf's that would
//! need a made-up value is not there (docs/reference/conformance.md).

mod job;
mod pools;
pub(super) mod table;

use jiff::Timestamp;
use prometheus_client::registry::Registry;
use remuda_plan::{
    pool::world::World,
    status::{
        condition::ConditionType, event::EventReason, pass::Pass, publication::Publication,
        wire::DriftSummary,
    },
};

use self::job::Job;
pub(super) use self::pools::{Shown, Told, encode, encode_active};
use super::series::{Counters, Gauges, Histograms, Value};

/// The only kind that Remuda looks after in captf's place.
const KIND: &str = "TerraformMachinePool";
/// The module contract (captf document 2.1).
const CONTRACT: &str = "v1alpha1";

/// What is counted under captf's names.
pub(super) struct Captf {
    jobs: Counters<3>,
    job_seconds: Histograms<3>,
    job_errors: Counters<4>,
    job_attempts: Histograms<2>,
    resources_changed: Counters<3>,
    decisions: Counters<3>,
    outputs_invalid: Counters<2>,
    hash_changes: Counters<1>,
    drift_resources: Counters<2>,
    identity_denied: Counters<1>,
}

impl Captf {
    /// Nothing counted yet.
    pub(super) fn new(all: &mut Registry, version: &str) -> Self {
        let build = Gauges::new(all, &table::BUILD);
        build.set([version.to_owned().into(), "".into(), CONTRACT.into()], 1);
        Self {
            jobs: Counters::new(all, &table::JOBS),
            job_seconds: Histograms::new(all, &table::JOB_SECONDS_TAKEN),
            job_errors: Counters::new(all, &table::JOB_ERRORS),
            job_attempts: Histograms::new(all, &table::JOB_ATTEMPTS),
            resources_changed: Counters::new(all, &table::RESOURCES_CHANGED),
            decisions: Counters::new(all, &table::DECISIONS),
            outputs_invalid: Counters::new(all, &table::OUTPUTS_INVALID),
            hash_changes: Counters::new(all, &table::HASH_CHANGES),
            drift_resources: Counters::new(all, &table::DRIFT_RESOURCES),
            identity_denied: Counters::new(all, &table::IDENTITY_DENIED),
        }
    }

    /// A pass was made, whether or not its outcome can be stored.
    pub(super) fn passed(&self, world: &World, pass: &Pass) {
        if let Some((op, reason)) = job::decision(world, &pass.gate) {
            self.decisions
                .count([KIND.into(), op.into(), reason.into()]);
        }
        if let Some((op, changed)) = job::changed(pass) {
            count(&changed, |action, by| {
                let labels = [KIND.into(), op.into(), action];
                self.resources_changed.add(labels, by);
            });
        }
    }

    /// The outcome of a pass is stored: one that could not be is judged again, and counts then.
    pub(super) fn published(
        &self,
        world: &World,
        pass: &Pass,
        publication: &Publication,
        now: Timestamp,
    ) {
        if let Some(job) = job::ended(world, pass, publication, now) {
            self.ended(&job);
        }
        if let Some(found) = job::found(pass) {
            count(&found, |action, by| {
                self.drift_resources.add([KIND.into(), action], by);
            });
        }
        for event in &publication.events {
            if event.reason == EventReason::InputsChanged {
                self.hash_changes.count([KIND.into()]);
            }
        }
        let turned = |kind| job::turned_false(world, publication, kind);
        if let Some(reason) = turned(ConditionType::OutputsValid) {
            self.outputs_invalid
                .count([KIND.into(), reason.to_string().into()]);
        }
        if let Some(reason) = turned(ConditionType::IdentityAllowed).and_then(job::denied) {
            self.identity_denied.count([reason.into()]);
        }
    }

    fn ended(&self, job: &Job) {
        let labels = || [KIND.into(), job.op.into(), job.end.result().into()];
        self.jobs.count(labels());
        self.job_seconds.observe(labels(), job.took);
        match (job.end.error_kind(), job.failed_before) {
            (Some(kind), _) => {
                let labels = [KIND.into(), job.op.into(), kind.into(), job.step.into()];
                self.job_errors.count(labels);
            }
            (None, Some(failed)) => {
                let tries = f64::from(failed) + 1.0;
                self.job_attempts
                    .observe_number([KIND.into(), job.op.into()], tries);
            }
            (None, None) => {}
        }
    }
}

/// Counts what differs from nothing.
fn count(found: &DriftSummary, add: impl Fn(Value, u64)) {
    for (action, by) in job::by_action(found) {
        if by > 0 {
            add(action.into(), by);
        }
    }
}
