//! Operations that went wrong: refused, failed, overdue, interrupted. What is counted, when the
//! next try is, and what people are told.

use jiff::{SignedDuration, Timestamp};

use super::{
    condition::{ConditionStatus, ConditionType, Reason},
    draft::Draft,
    event::EventReason,
    pass::Unrecoverable,
    run::{self, Run},
    wire::{Operation, RunError, RunErrorKind},
};
use crate::{
    error::{CloudFailure, FailureClass, Refusal},
    limits,
    pool::{
        findings::ApplyReason,
        gate::refusals_text,
        record::{Record, Tries},
        schedule,
    },
};
use ConditionStatus::{False, Unknown};

/// How it failed.
struct Failure {
    reason: Reason,
    event: EventReason,
    kind: RunErrorKind,
    step: &'static str,
    message: String,
    wait_seconds: u32,
    /// Other inputs may help: they are tried without a wait.
    blames_inputs: bool,
}

/// A cloud call failed.
pub(super) fn call_failed(draft: &mut Draft<'_>, run: &Run, cause: &CloudFailure) {
    let wait_seconds = next_wait(draft, run, Some(cause));
    let step = if draft.pass.plan.is_some() {
        run.operation.as_str()
    } else {
        "plan"
    };
    let blames_inputs = matches!(
        cause.class,
        FailureClass::Quota | FailureClass::Constraint | FailureClass::Rejected
    );
    let failure = Failure {
        step,
        blames_inputs,
        ..step_failure(run, cause.to_string(), wait_seconds)
    };
    failed(draft, run, failure);
}

/// The inputs were refused after a look at the cloud.
pub(super) fn refused(draft: &mut Draft<'_>, run: &Run, refusals: &[Refusal]) {
    let wait_seconds = next_wait(draft, run, None);
    let failure = Failure {
        blames_inputs: true,
        ..step_failure(run, refusals_text(refusals), wait_seconds)
    };
    failed(draft, run, failure);
}

/// The operation ran too long.
pub(super) fn deadline_exceeded(draft: &mut Draft<'_>, run: &Run) {
    let wait_seconds = next_wait(draft, run, None);
    let message = "the operation ran longer than jobs.activeDeadlineSeconds".to_owned();
    let failure = Failure {
        reason: Reason::JobDeadlineExceeded,
        event: EventReason::JobDeadlineExceeded,
        kind: RunErrorKind::Interrupted,
        step: run.operation.as_str(),
        ..step_failure(run, message, wait_seconds)
    };
    failed(draft, run, failure);
}

fn step_failure(run: &Run, message: String, wait_seconds: u32) -> Failure {
    Failure {
        reason: if run.operation == Operation::Destroy {
            Reason::DestroyFailed
        } else {
            Reason::ApplyFailed
        },
        event: EventReason::JobFailed,
        kind: RunErrorKind::Step,
        step: "plan",
        message,
        wait_seconds,
        blames_inputs: false,
    }
}

/// Throttling is nobody's failure for five minutes; the waits double meanwhile.
pub(super) fn throttled_wait(draft: &mut Draft<'_>, cause: &CloudFailure) -> Option<u32> {
    if cause.class != FailureClass::Throttled {
        draft.memory.writes_throttled_since = None;
        return None;
    }
    let since = *draft.memory.writes_throttled_since.get_or_insert(draft.now);
    let elapsed = u32::try_from(draft.now.duration_since(since).as_secs()).unwrap_or(u32::MAX);
    (elapsed < limits::THROTTLE_GRACE_SECONDS).then(|| {
        elapsed
            .clamp(1, limits::THROTTLE_CAP_SECONDS)
            .max(cause.retry_after_seconds.unwrap_or(0))
    })
}

/// Found at the gate: the operation announced in the status is past its deadline.
pub(super) fn overdue(draft: &mut Draft<'_>, operation: Operation) {
    let Some(job) = draft.status.active_job.take() else {
        return;
    };
    let run = Run {
        operation,
        job: job.name,
        attempt: job.attempt,
    };
    deadline_exceeded(draft, &run);
}

/// Seconds until the next try after one more failure.
fn next_wait(draft: &Draft<'_>, run: &Run, cause: Option<&CloudFailure>) -> u32 {
    let failed = tries_before(draft, run.operation).failed.saturating_add(1);
    let limit = draft.pass.gate.findings.policies.failed_limit;
    match cause {
        Some(cause) => {
            schedule::failure_seconds(cause, failed, limit, &draft.world.pool.metadata.uid)
        }
        None => schedule::retry_seconds(failed, limit),
    }
}

/// Failures before this pass: from the record the pass began with, so that judging it twice counts
/// it once.
fn tries_before(draft: &Draft<'_>, operation: Operation) -> Tries {
    let began_with = match draft.goal() {
        Some(goal) => goal.record.as_ref(),
        None => draft.world.record.found(),
    };
    began_with
        .map(|record| tries(record, operation).clone())
        .unwrap_or_default()
}

fn tries(record: &Record, operation: Operation) -> &Tries {
    if operation == Operation::Destroy {
        &record.history.destroy
    } else {
        &record.history.apply
    }
}

fn failed(draft: &mut Draft<'_>, run: &Run, failure: Failure) {
    let retry_at = later(draft.now, failure.wait_seconds);
    count(draft, run, retry_at, failure.blames_inputs);
    let error = RunError {
        kind: failure.kind,
        step: Some(failure.step.to_owned()),
        summary: Some(clip(&failure.message)),
    };
    run::finish(draft, run, Some(error));
    let note = format!(
        "{} {}: {}",
        run.operation.as_str(),
        run.job,
        failure.message
    );
    draft.tell_once(failure.event, note);
    draft.conditions.set(
        ConditionType::ApplyJobSucceeded,
        False,
        failure.reason,
        failure.message,
    );
}

/// Counts a failure in the record.
fn count(draft: &mut Draft<'_>, run: &Run, retry_at: Timestamp, blames_inputs: bool) {
    if draft.record.is_none() && draft.goal().is_some_and(|goal| goal.recovering) {
        // A new record would claim that nothing was ever applied, under a new installation id.
        draft.memory.operation_retry_at = Some(retry_at);
        return;
    }
    let failures = tries_before(draft, run.operation).failed.saturating_add(1);
    let tries = Tries {
        failed: failures,
        retry_at: Some(retry_at),
        blames: draft
            .goal()
            .filter(|_| blames_inputs)
            .and_then(|goal| goal.inputs_hash.clone()),
    };
    let remedy = draft.pass.gate.findings.apply_due == Some(ApplyReason::DriftRemediation);
    let record = draft.record_mut();
    record
        .attempts
        .insert(run.operation.as_str().to_owned(), run.attempt);
    if run.operation == Operation::Destroy {
        record.history.destroy = tries;
        return;
    }
    record.history.apply = tries;
    if remedy {
        // Bounded by itself: a finding that cannot be remedied waits for the next check.
        record.history.remediations = failures;
    } else {
        record.history.apply_failed = true;
        record.history.apply_unfinished = false;
    }
}

/// Shutdown or lost leadership: nothing is counted.
pub(super) fn interrupted(draft: &mut Draft<'_>, run: &Run) {
    let message = "the manager stopped or lost leadership; the operation is repeated".to_owned();
    // The number is used up; a first run without a record keeps it for the repetition.
    if let Some(record) = draft.record.as_mut() {
        record
            .attempts
            .insert(run.operation.as_str().to_owned(), run.attempt);
    }
    let error = RunError {
        kind: RunErrorKind::Interrupted,
        step: Some(run.operation.as_str().to_owned()),
        summary: Some(message.clone()),
    };
    run::finish(draft, run, Some(error));
    draft.tell_once(
        EventReason::JobInterrupted,
        format!("{}: {message}", run.job),
    );
    draft.conditions.set_first(
        ConditionType::ApplyJobSucceeded,
        Unknown,
        Reason::NoApplyYet,
        "nothing was applied yet",
    );
}

/// Nothing was done to the cloud and nothing is counted; looked at again every ten minutes.
pub(super) fn unrecoverable(draft: &mut Draft<'_>, why: Unrecoverable) {
    draft.status.active_job = None;
    draft.memory.look_again_at = None;
    draft.memory.operation_retry_at = Some(later(draft.now, limits::RETRY_CAP_SECONDS));
    let (reason, message) = match why {
        Unrecoverable::NothingFound => (
            Reason::StateLost,
            "the record is gone and no group carries this pool's tags and name; restore the \
             record Secret, or delete the pool with the annotation captf.io/abandon-infrastructure",
        ),
        Unrecoverable::Inconsistent => (
            Reason::StateInconsistent,
            "the record is gone and the group of the expected name does not carry this pool's \
             tags; restore the record Secret",
        ),
    };
    draft
        .conditions
        .set(ConditionType::StateReadable, False, reason, message);
    draft.conditions.set_first(
        ConditionType::ApplyJobSucceeded,
        Unknown,
        Reason::NoApplyYet,
        "nothing can be applied without the record",
    );
}

/// At most 512 bytes, cut between characters.
fn clip(text: &str) -> String {
    let mut end = text.len().min(limits::ERROR_SUMMARY_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}

/// So many seconds later.
pub(super) fn later(now: Timestamp, seconds: u32) -> Timestamp {
    now + SignedDuration::from_secs(i64::from(seconds))
}
