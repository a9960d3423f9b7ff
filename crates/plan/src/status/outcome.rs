//! Operations that write to the cloud: how an apply or destroy began, went on and ended.

use jiff::{SignedDuration, Timestamp};

use super::{
    condition::{ConditionStatus, ConditionType, Reason},
    draft::Draft,
    event::EventReason,
    pass::{PassEnd, Unrecoverable},
    publication::FinalizerChange,
    wire::{ActiveJob, LastRun, Operation, RunError, RunErrorKind, RunStep, SourceStatus},
};
use crate::{
    error::{CloudFailure, FailureClass},
    limits,
    pool::{
        action::Outlook,
        findings::{ApplyReason, Hold},
        gate::{Next, refusals_text},
        goal::{self, Goal},
        keys,
        record::{Record, Tries},
        schedule,
    },
};
use ConditionStatus::{False, True, Unknown};

/// Judges what the pass did about an apply or destroy.
pub(super) fn operations(draft: &mut Draft<'_>) {
    match &draft.pass.gate.next {
        Next::Prepare(operation) => prepare(draft, *operation),
        Next::Go(goal) => match goal.operation {
            Operation::Apply | Operation::Destroy => ended(draft, goal),
            Operation::Drift | Operation::Refresh | Operation::Restore | Operation::Plan => {
                idle(draft);
            }
        },
        Next::Ignore | Next::AddFinalizer | Next::Release(_) | Next::Rest => idle(draft),
    }
}

/// The operation is announced; the next pass starts it once the announcement is stored.
fn prepare(draft: &mut Draft<'_>, operation: Operation) {
    let attempt = goal::attempt(draft.record.as_ref(), operation);
    let name = goal::job_name(&draft.world.pool.metadata.name, operation, attempt);
    let announced = draft
        .status
        .active_job
        .as_ref()
        .is_some_and(|job| job.name == name);
    if !announced {
        draft.status.active_job = Some(ActiveJob {
            name: name.clone(),
            operation,
            attempt,
            start_time: Some(draft.now),
        });
        let due = draft.pass.gate.findings.apply_due;
        if operation == Operation::Apply && due == Some(ApplyReason::InputsChanged) {
            draft.tell(EventReason::InputsChanged, "the rendered inputs changed");
        }
        let because = match (operation, due) {
            (Operation::Apply, Some(due)) => due.because(),
            _ => "the pool is being deleted",
        };
        draft.tell(
            EventReason::JobCreated,
            format!("{} {name}: {because}", operation.as_str()),
        );
    }
    let waited = draft
        .conditions
        .get(ConditionType::ApplyJobSucceeded)
        .is_none_or(|condition| {
            matches!(
                condition.reason,
                Reason::ImageInvalid
                    | Reason::JobPolicyInvalid
                    | Reason::InputsTooLarge
                    | Reason::WaitingForClusterOperation
                    | Reason::NoApplyYet
            )
        });
    if waited {
        draft.conditions.set(
            ConditionType::ApplyJobSucceeded,
            Unknown,
            Reason::NoApplyYet,
            format!("{} starts", operation.as_str()),
        );
    }
}

/// No apply or destroy ran in this pass.
fn idle(draft: &mut Draft<'_>) {
    match draft.pass.gate.findings.hold {
        Some(Hold::LookAgain { .. }) => {}
        Some(Hold::DeadlineExceeded(operation)) => overdue(draft, operation),
        _ => draft.status.active_job = None,
    }
    let findings = &draft.pass.gate.findings;
    let kind = ConditionType::ApplyJobSucceeded;
    let decided = matches!(
        findings.hold,
        Some(
            Hold::Image(_)
                | Hold::JobPolicy(_)
                | Hold::InputsTooLarge { .. }
                | Hold::Refused(_)
                | Hold::ClusterOperation(_)
                | Hold::Identity(_)
                | Hold::DeadlineExceeded(_)
        )
    );
    if decided {
        return;
    }
    let record = draft.record.as_ref();
    let applied = record.filter(|record| {
        record.applied && findings.inputs_hash.is_some() && findings.apply_due.is_none()
    });
    if let Some(record) = applied {
        let message = applied_message(record);
        draft
            .conditions
            .set(kind, True, Reason::ApplySucceeded, message);
    } else if record.is_some_and(|record| record.history.apply_failed) {
        draft.conditions.set_first(
            kind,
            False,
            Reason::ApplyFailed,
            "the last apply did not finish",
        );
    } else {
        draft
            .conditions
            .set_first(kind, Unknown, Reason::NoApplyYet, "nothing was applied yet");
    }
}

/// Found at the gate: the operation announced in the status is past its deadline.
fn overdue(draft: &mut Draft<'_>, operation: Operation) {
    let Some(job) = draft.status.active_job.take() else {
        return;
    };
    let run = Run {
        operation,
        job: job.name,
        attempt: job.attempt,
    };
    let wait = next_wait(draft, &run, None);
    failed(draft, &run, Failure::deadline(wait));
}

/// Which run ended.
struct Run {
    operation: Operation,
    job: String,
    attempt: i64,
}

/// How it failed.
struct Failure {
    reason: Reason,
    event: EventReason,
    kind: RunErrorKind,
    planning: bool,
    message: String,
    wait_seconds: u32,
}

impl Failure {
    fn deadline(wait_seconds: u32) -> Self {
        Self {
            reason: Reason::JobDeadlineExceeded,
            event: EventReason::JobDeadlineExceeded,
            kind: RunErrorKind::Interrupted,
            planning: false,
            message: "the operation ran longer than jobs.activeDeadlineSeconds".to_owned(),
            wait_seconds,
        }
    }
}

fn ended(draft: &mut Draft<'_>, goal: &Goal) {
    let run = Run {
        operation: goal.operation,
        job: goal.job.clone(),
        attempt: goal.attempt,
    };
    let base = match goal.operation {
        Operation::Destroy => Reason::DestroyFailed,
        Operation::Apply
        | Operation::Drift
        | Operation::Refresh
        | Operation::Restore
        | Operation::Plan => Reason::ApplyFailed,
    };
    let failure = |planning: bool, message: String, wait_seconds: u32| Failure {
        reason: base,
        event: EventReason::JobFailed,
        kind: RunErrorKind::Step,
        planning,
        message,
        wait_seconds,
    };
    match &draft.pass.end {
        PassEnd::AtGate => go_on(draft, goal, 0),
        PassEnd::RecordUnwritable(_) => go_on(draft, goal, limits::KUBERNETES_RETRY_SECONDS),
        PassEnd::Done => match draft.pass.plan.as_ref().map(|plan| &plan.outlook) {
            Some(Outlook::LookAgain { after_seconds, .. }) => go_on(draft, goal, *after_seconds),
            Some(Outlook::Settled) | None => succeeded(draft, goal, &run),
        },
        PassEnd::Refused(refusals) => {
            let wait = next_wait(draft, &run, None);
            failed(draft, &run, failure(true, refusals_text(refusals), wait));
        }
        PassEnd::Failed(cause) => match throttled_wait(draft, cause) {
            Some(wait) => go_on(draft, goal, wait),
            None => {
                let wait = next_wait(draft, &run, Some(cause));
                let planning = draft.pass.plan.is_none();
                failed(draft, &run, failure(planning, cause.to_string(), wait));
            }
        },
        PassEnd::DeadlineExceeded => {
            let wait = next_wait(draft, &run, None);
            failed(draft, &run, Failure::deadline(wait));
        }
        PassEnd::Interrupted => interrupted(draft, &run),
        PassEnd::Unrecoverable(why) => unrecoverable(draft, *why),
    }
}

/// Throttling is nobody's failure for five minutes; the waits double meanwhile.
fn throttled_wait(draft: &mut Draft<'_>, cause: &CloudFailure) -> Option<u32> {
    if cause.class != FailureClass::Throttled {
        draft.memory.throttled_since = None;
        return None;
    }
    let since = *draft.memory.throttled_since.get_or_insert(draft.now);
    let elapsed = u32::try_from(draft.now.duration_since(since).as_secs()).unwrap_or(u32::MAX);
    (elapsed < limits::THROTTLE_GRACE_SECONDS).then(|| {
        elapsed
            .clamp(1, limits::THROTTLE_CAP_SECONDS)
            .max(cause.retry_after_seconds.unwrap_or(0))
    })
}

/// The operation is not done: it keeps its name and goes on later.
fn go_on(draft: &mut Draft<'_>, goal: &Goal, after_seconds: u32) {
    draft.memory.look_again_at = Some(later(draft.now, after_seconds));
    if draft.status.active_job.is_none() {
        draft.status.active_job = Some(ActiveJob {
            name: goal.job.clone(),
            operation: goal.operation,
            attempt: goal.attempt,
            start_time: Some(draft.now),
        });
    }
    draft.conditions.set_first(
        ConditionType::ApplyJobSucceeded,
        Unknown,
        Reason::NoApplyYet,
        "nothing was applied yet",
    );
}

fn later(now: Timestamp, seconds: u32) -> Timestamp {
    now + SignedDuration::from_secs(i64::from(seconds))
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
    let failures = tries_before(draft, run.operation).failed.saturating_add(1);
    let tries = Tries {
        failed: failures,
        retry_at: Some(later(draft.now, failure.wait_seconds)),
    };
    let remedy = draft.pass.gate.findings.apply_due == Some(ApplyReason::DriftRemediation);
    let record = draft.record_mut();
    record
        .attempts
        .insert(run.operation.as_str().to_owned(), run.attempt);
    if run.operation == Operation::Destroy {
        record.history.destroy = tries;
    } else {
        record.history.apply = tries;
        if remedy {
            record.history.remediations = failures;
        } else {
            record.history.apply_failed = true;
        }
    }
    finish(draft, run);
    let mut steps = vec![step("plan", i32::from(failure.planning), draft)];
    if !failure.planning {
        steps.push(step(run.operation.as_str(), 1, draft));
    }
    let failed_step = steps.last().map(|step| step.name.clone());
    last_run(
        draft,
        run,
        steps,
        Some(RunError {
            kind: failure.kind,
            step: failed_step,
            summary: Some(clip(&failure.message)),
        }),
    );
    draft.tell_once(
        failure.event,
        format!(
            "{} {}: {}",
            run.operation.as_str(),
            run.job,
            failure.message
        ),
    );
    draft.conditions.set(
        ConditionType::ApplyJobSucceeded,
        False,
        failure.reason,
        failure.message,
    );
}

fn succeeded(draft: &mut Draft<'_>, goal: &Goal, run: &Run) {
    draft.memory.throttled_since = None;
    let changed = draft.pass.carried_out;
    let note = format!("{} {}: {changed} steps", run.operation.as_str(), run.job);
    if run.operation == Operation::Destroy {
        finish(draft, run);
        let steps = vec![step("plan", 0, draft), step("destroy", 0, draft)];
        last_run(draft, run, steps, None);
        draft.conditions.set(
            ConditionType::ApplyJobSucceeded,
            True,
            Reason::DestroySucceeded,
            "nothing of the pool is left in the cloud",
        );
        draft.tell_once(EventReason::JobSucceeded, note);
        draft.tell_once(EventReason::Destroyed, "nothing of the pool is left");
        release_finalizer(draft);
        return;
    }
    let applied_at = draft.now;
    let record = draft.record_mut();
    record.applied = true;
    record.inputs_hash.clone_from(&goal.inputs_hash);
    record.applied_exports = goal
        .inputs
        .as_ref()
        .map(|inputs| inputs.captf_cluster_outputs.clone());
    record.identity = Some(goal.identity.clone());
    record.attempts.insert("apply".to_owned(), goal.attempt);
    record.history.applied_at = Some(applied_at);
    record.history.apply_failed = false;
    record.history.apply = Tries::default();
    record.history.remediations = 0;
    let newly_dropped = !goal.dropped_node_labels.is_empty()
        && record.history.dropped_node_labels != goal.dropped_node_labels;
    record
        .history
        .dropped_node_labels
        .clone_from(&goal.dropped_node_labels);
    let message = applied_message(record);
    if newly_dropped {
        draft.tell_once(
            EventReason::NodeLabelsDropped,
            dropped_text(&goal.dropped_node_labels),
        );
    }
    finish(draft, run);
    let steps = vec![step("plan", 0, draft), step("apply", 0, draft)];
    last_run(draft, run, steps, None);
    draft.conditions.set(
        ConditionType::ApplyJobSucceeded,
        True,
        Reason::ApplySucceeded,
        message,
    );
    draft.tell_once(EventReason::JobSucceeded, note);
    if draft.conditions.status(ConditionType::DriftDetected) == Some(True) {
        draft.conditions.set(
            ConditionType::DriftDetected,
            False,
            Reason::NoDrift,
            "an apply put everything as desired",
        );
    }
}

fn applied_message(record: &Record) -> String {
    let dropped = &record.history.dropped_node_labels;
    if dropped.is_empty() {
        "the inputs are applied".to_owned()
    } else {
        format!("the inputs are applied; {}", dropped_text(dropped))
    }
}

fn dropped_text(labels: &[String]) -> String {
    format!(
        "a kubelet may not set these node labels on itself, so nodes lack them: {}",
        labels.join(", ")
    )
}

fn interrupted(draft: &mut Draft<'_>, run: &Run) {
    let message = "the manager stopped or lost leadership; the operation is repeated".to_owned();
    // The number is used up; a first run without a record keeps it for the repetition.
    if let Some(record) = draft.record.as_mut() {
        record
            .attempts
            .insert(run.operation.as_str().to_owned(), run.attempt);
    }
    finish(draft, run);
    let steps = vec![step(run.operation.as_str(), 1, draft)];
    last_run(
        draft,
        run,
        steps,
        Some(RunError {
            kind: RunErrorKind::Interrupted,
            step: Some(run.operation.as_str().to_owned()),
            summary: Some(message.clone()),
        }),
    );
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
fn unrecoverable(draft: &mut Draft<'_>, why: Unrecoverable) {
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

/// The finalizer and, unless it is kept, the record go.
pub(super) fn release_finalizer(draft: &mut Draft<'_>) {
    let finalizers = &draft.world.pool.metadata.finalizers;
    if finalizers.iter().any(|it| it == keys::FINALIZER) {
        draft.metadata.finalizer = Some(FinalizerChange::Remove);
        draft.tell(EventReason::FinalizerRemoved, "the pool is released");
    }
}

fn finish(draft: &mut Draft<'_>, run: &Run) {
    let _ = run;
    draft.status.active_job = None;
    draft.memory.look_again_at = None;
    let source = &draft.world.pool.spec.source.image;
    draft.status.source = Some(SourceStatus {
        image: Some(source.clone()),
        runtime_version: Some(draft.world.manager.version.clone()).filter(|it| !it.is_empty()),
    });
}

fn step(name: &str, exit_code: i32, draft: &Draft<'_>) -> RunStep {
    let elapsed = draft.now.duration_since(draft.pass.started).as_millis();
    RunStep {
        name: name.to_owned(),
        exit_code,
        duration_milliseconds: (name != "plan")
            .then(|| i64::try_from(elapsed.max(0)).unwrap_or(i64::MAX)),
    }
}

fn last_run(draft: &mut Draft<'_>, run: &Run, steps: Vec<RunStep>, error: Option<RunError>) {
    draft.status.last_run = Some(LastRun {
        job: run.job.clone(),
        operation: run.operation,
        steps,
        error,
        drift: None,
    });
}

/// At most 512 bytes, cut between characters.
fn clip(text: &str) -> String {
    let mut end = text.len().min(limits::ERROR_SUMMARY_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}
