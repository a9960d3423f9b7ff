//! One run of an operation, as the status shows it.

use super::{
    draft::Draft,
    wire::{LastRun, Operation, RunError, RunStep, SourceStatus},
};
use crate::pool::goal::Goal;

/// Which run ended.
pub(super) struct Run {
    pub(super) operation: Operation,
    pub(super) job: String,
    pub(super) attempt: i64,
}

impl Run {
    /// The run of a goal.
    pub(super) fn of(goal: &Goal) -> Self {
        Self {
            operation: goal.operation,
            job: goal.job.clone(),
            attempt: goal.attempt,
        }
    }
}

/// The run is over: nothing is active, and the newest run is this one.
pub(super) fn finish(draft: &mut Draft<'_>, run: &Run, error: Option<RunError>) {
    draft.status.active_job = None;
    draft.memory.look_again_at = None;
    let image = &draft.world.pool.spec.source.image;
    let version = &draft.world.manager.version;
    draft.status.source = Some(SourceStatus {
        image: Some(image.clone()),
        runtime_version: Some(version.clone()).filter(|it| !it.is_empty()),
    });
    let planning = error
        .as_ref()
        .is_some_and(|error| error.step.as_deref() == Some("plan"));
    let mut steps = vec![RunStep {
        name: "plan".to_owned(),
        exit_code: i32::from(planning),
        duration_milliseconds: None,
    }];
    if !planning {
        let elapsed = draft.now.duration_since(draft.pass.started).as_millis();
        steps.push(RunStep {
            name: run.operation.as_str().to_owned(),
            exit_code: i32::from(error.is_some()),
            duration_milliseconds: i64::try_from(elapsed.max(0)).ok(),
        });
    }
    draft.status.last_run = Some(LastRun {
        job: run.job.clone(),
        operation: run.operation,
        steps,
        error,
        drift: None,
    });
}
