//! Operations that write to the cloud: how an apply or destroy began, went on and ended.

use super::{
    condition::{ConditionStatus, ConditionType, Reason},
    draft::Draft,
    event::EventReason,
    failure,
    pass::PassEnd,
    publication::FinalizerChange,
    run::{self, Run},
    wire::{ActiveJob, Operation},
};
use crate::{
    error::CloudFailure,
    limits,
    pool::{
        action::Outlook,
        findings::{ApplyReason, Hold},
        gate::Next,
        goal::{self, Goal},
        keys,
        record::{Record, Tries},
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
    let due = draft.pass.gate.findings.apply_due;
    let remedy = due == Some(ApplyReason::DriftRemediation);
    if operation == Operation::Apply
        && !remedy
        && let Some(record) = draft.record.as_mut()
        && record.inputs_hash.is_some()
    {
        record.history.apply_unfinished = true;
    }
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
        Some(Hold::DeadlineExceeded(operation)) => failure::overdue(draft, operation),
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
                | Hold::Credentials(_)
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
    } else if record.is_some_and(|record| record.history.apply_is_owed()) {
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

fn failed(draft: &mut Draft<'_>, goal: &Goal, run: &Run, cause: &CloudFailure) {
    if let Some(wait) = failure::throttled_wait(draft, cause) {
        go_on(draft, goal, wait);
    } else {
        failure::call_failed(draft, run, cause);
    }
}

fn ended(draft: &mut Draft<'_>, goal: &Goal) {
    let run = Run::of(goal);
    match &draft.pass.end {
        PassEnd::AtGate => go_on(draft, goal, 0),
        PassEnd::RecordUnwritable(_) => go_on(draft, goal, limits::KUBERNETES_RETRY_SECONDS),
        PassEnd::Done => match draft.pass.plan.as_ref().map(|plan| &plan.outlook) {
            Some(Outlook::LookAgain { after_seconds, .. }) => go_on(draft, goal, *after_seconds),
            // Without a plan nothing was looked at, so nothing is known to be done.
            None => go_on(draft, goal, limits::KUBERNETES_RETRY_SECONDS),
            Some(Outlook::Settled) if goal.operation == Operation::Destroy => {
                destroyed(draft, &run);
            }
            Some(Outlook::Settled) => applied(draft, goal, &run),
            Some(Outlook::Failed(cause)) => failed(draft, goal, &run, cause),
        },
        PassEnd::Failed(cause) => failed(draft, goal, &run, cause),
        PassEnd::Refused(refusals) => failure::refused(draft, &run, refusals),
        PassEnd::DeadlineExceeded => failure::deadline_exceeded(draft, &run),
        PassEnd::Interrupted => failure::interrupted(draft, &run),
        PassEnd::Unrecoverable(why) => failure::unrecoverable(draft, *why),
    }
}

/// The operation is not done: it keeps its name and goes on later.
fn go_on(draft: &mut Draft<'_>, goal: &Goal, after_seconds: u32) {
    draft.memory.look_again_at = Some(failure::later(draft.now, after_seconds));
    let known = draft.status.active_job.as_ref();
    if known.is_none_or(|job| job.name != goal.job) {
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

fn destroyed(draft: &mut Draft<'_>, run: &Run) {
    run::finish(draft, run, None);
    draft.conditions.set(
        ConditionType::ApplyJobSucceeded,
        True,
        Reason::DestroySucceeded,
        "nothing of the pool is left in the cloud",
    );
    draft.tell_once(EventReason::JobSucceeded, success_note(draft, run));
    draft.tell_once(EventReason::Destroyed, "nothing of the pool is left");
    release_finalizer(draft);
}

fn success_note(draft: &Draft<'_>, run: &Run) -> String {
    format!(
        "{} {}: {} steps",
        run.operation.as_str(),
        run.job,
        draft.pass.carried_out
    )
}

fn applied(draft: &mut Draft<'_>, goal: &Goal, run: &Run) {
    draft.memory.refresh_wanted = true;
    let message = remember_applied(draft, goal);
    run::finish(draft, run, None);
    draft.conditions.set(
        ConditionType::ApplyJobSucceeded,
        True,
        Reason::ApplySucceeded,
        message,
    );
    draft.tell_once(EventReason::JobSucceeded, success_note(draft, run));
    if goal.recovering {
        draft.tell_once(EventReason::StateAdopted, RECORD_REBUILT);
    }
    if draft.conditions.status(ConditionType::DriftDetected) == Some(True) {
        draft.conditions.set(
            ConditionType::DriftDetected,
            False,
            Reason::NoDrift,
            "an apply put everything as desired",
        );
    }
}

/// Writes a success into the record; gives the message of the condition.
fn remember_applied(draft: &mut Draft<'_>, goal: &Goal) -> String {
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
    let history = &mut record.history;
    history.applied_at = Some(applied_at);
    history.apply_failed = false;
    history.apply_unfinished = false;
    history.apply = Tries::default();
    history.remediations = 0;
    let newly_dropped = history.dropped_node_labels != goal.dropped_node_labels
        && !goal.dropped_node_labels.is_empty();
    history
        .dropped_node_labels
        .clone_from(&goal.dropped_node_labels);
    let message = applied_message(record);
    if newly_dropped {
        let note = dropped_text(&goal.dropped_node_labels);
        draft.tell_once(EventReason::NodeLabelsDropped, note);
    }
    message
}

/// Note of the event of a rebuilt record.
pub(super) const RECORD_REBUILT: &str = "the record was made from the group that carries the tags";

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

/// The finalizer and, unless it is kept, the record go.
pub(super) fn release_finalizer(draft: &mut Draft<'_>) {
    let finalizers = &draft.world.pool.metadata.finalizers;
    if finalizers.iter().any(|it| it == keys::FINALIZER) {
        draft.metadata.finalizer = Some(FinalizerChange::Remove);
        draft.tell(EventReason::FinalizerRemoved, "the pool is released");
    }
}
