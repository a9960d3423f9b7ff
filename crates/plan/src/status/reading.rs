//! Refreshes and drift checks: what was read, checked against the contract, as status, spec and
//! conditions. A failed read changes nothing that was published.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::{
    condition::{ConditionStatus, ConditionType, Reason},
    draft::Draft,
    event::EventReason,
    failure, outcome,
    pass::PassEnd,
    wire::{DriftSummary, InstanceStatus, LastRun, Operation, RunStep},
};
use crate::{
    error::{CloudFailure, FailureClass},
    limits,
    pool::{
        action::Action,
        contract::{self, Verdict},
        drift,
        findings::ApplyReason,
        gate::refusals_text,
        goal::Goal,
        health::Health,
        members::{Member, MemberState},
        membership::{self, Membership, Reading},
        objects::DriftAction,
        outputs::Outputs,
        record::Record,
        schedule,
        world::Failures,
    },
};
use ConditionStatus::{False, True, Unknown};

/// Judges what the pass read.
pub(super) fn read(draft: &mut Draft<'_>) {
    let Some(goal) = draft.goal() else { return };
    if goal.recovering && goal.operation == Operation::Drift {
        record_looked_for(draft);
        return;
    }
    let looks = matches!(goal.operation, Operation::Refresh | Operation::Drift);
    if let Some(outputs) = &draft.pass.outputs
        && draft.pass.end == PassEnd::Done
        && goal.operation != Operation::Destroy
    {
        observed(draft, goal, outputs);
    } else if goal.operation == Operation::Refresh && draft.pass.end == PassEnd::Done {
        draft.conditions.set(
            ConditionType::OutputsValid,
            False,
            Reason::OutputsMissing,
            "the driver gave no outputs",
        );
    }
    if !looks {
        return;
    }
    let failed = Reason::DriftJobFailed;
    match &draft.pass.end {
        PassEnd::Done if goal.operation == Operation::Drift => compared(draft, goal),
        PassEnd::Failed(cause) => read_failed(draft, failed, cause.to_string(), Some(cause)),
        PassEnd::Refused(refusals) => read_failed(draft, failed, refusals_text(refusals), None),
        PassEnd::DeadlineExceeded => read_failed(
            draft,
            Reason::DriftJobDeadlineExceeded,
            "the read took longer than jobs.activeDeadlineSeconds".to_owned(),
            None,
        ),
        PassEnd::Done
        | PassEnd::AtGate
        | PassEnd::Unrecoverable(_)
        | PassEnd::RecordUnwritable(_)
        | PassEnd::Interrupted => {}
    }
}

/// A deleting pool looked for what its lost record held: the plan's first record write tells.
fn record_looked_for(draft: &mut Draft<'_>) {
    let mut steps = draft.pass.plan.iter().flat_map(|plan| &plan.steps);
    let record = steps.find_map(|step| match &step.action {
        Action::Remember(record) => Some(record),
        Action::Aws(_) | Action::Azure(_) => None,
    });
    match (&draft.pass.end, record) {
        (PassEnd::Done, Some(record)) => {
            if draft.world.record.found().is_none() {
                draft.tell(EventReason::StateAdopted, outcome::RECORD_REBUILT);
            }
            draft.record = Some(Record {
                applied: true,
                ..(**record).clone()
            });
        }
        (PassEnd::Unrecoverable(why), _) => failure::unrecoverable(draft, *why),
        _ => {
            let retry_at = failure::later(draft.now, limits::RETRY_FIRST_SECONDS);
            draft.memory.operation_retry_at = Some(retry_at);
        }
    }
}

fn read_failed(
    draft: &mut Draft<'_>,
    reason: Reason,
    message: String,
    cause: Option<&CloudFailure>,
) {
    let count = draft.memory.read_failures.count.saturating_add(1);
    let limit = draft.pass.gate.findings.policies.failed_limit;
    let uid = &draft.world.pool.metadata.uid;
    let seconds = match cause {
        Some(cause) => schedule::failure_seconds(cause, count, limit, uid),
        None => schedule::retry_seconds(count, limit),
    };
    draft.memory.read_failures = Failures {
        count,
        retry_at: Some(draft.now + SignedDuration::from_secs(i64::from(seconds))),
        last: cause.cloned(),
    };
    if cause.is_some_and(|cause| cause.class == FailureClass::Throttled) {
        let since = *draft.memory.reads_throttled_since.get_or_insert(draft.now);
        let grace = SignedDuration::from_secs(i64::from(limits::THROTTLE_GRACE_SECONDS));
        if since + grace > draft.now {
            return;
        }
    }
    draft
        .conditions
        .set(ConditionType::DriftJobSucceeded, False, reason, message);
}

fn observed(draft: &mut Draft<'_>, goal: &Goal, outputs: &Outputs) {
    draft.memory.refreshed_at = Some(draft.pass.started);
    draft.memory.refresh_wanted = false;
    draft.memory.nodes_changed = false;
    draft.memory.read_failures = Failures::default();
    draft.memory.reads_throttled_since = None;
    if draft.conditions.status(ConditionType::DriftJobSucceeded) == Some(False) {
        read_recovered(draft);
    }
    let verdict = contract::check(outputs);
    let (status, reason, message) = match &verdict {
        Verdict::Valid => (True, Reason::OutputsValid, String::new()),
        Verdict::Truncated => (
            True,
            Reason::InstancesTruncated,
            format!(
                "status.instances shows the first {} of {}",
                limits::INSTANCES,
                outputs.instances.len()
            ),
        ),
        Verdict::Pending(why) => (Unknown, Reason::OutputsPending, why.clone()),
        Verdict::Invalid(problems) => (False, Reason::OutputsInvalid, problems.join("; ")),
    };
    draft
        .conditions
        .set(ConditionType::OutputsValid, status, reason, message);
    if matches!(verdict, Verdict::Invalid(_)) {
        return;
    }
    if let Some(replicas) = membership::capacity(outputs) {
        draft.status.replicas = Some(replicas);
        if let Some(record) = draft.record.as_mut() {
            record.driver.remember_capacity(replicas);
        }
    }
    provider_id(draft, outputs);
    let reading = Reading {
        outputs,
        at: draft.pass.started,
        freshness: goal.freshness,
    };
    let published = &draft.world.pool.spec.provider_id_list;
    match membership::decide(published, reading, draft.memory.unseen) {
        Membership::Keep(unseen) => draft.memory.unseen = Some(unseen),
        Membership::Publish(list) => {
            draft.memory.unseen = None;
            if list != *published {
                draft.spec.provider_id_list = Some(list);
            }
            draft.status.instances = instances(&outputs.instances);
        }
    }
    pending(draft, outputs);
    health(draft, &outputs.health);
}

fn read_recovered(draft: &mut Draft<'_>) {
    let checked = draft
        .conditions
        .status(ConditionType::DriftDetected)
        .is_some_and(|status| status != Unknown);
    let (status, reason, message) = if checked {
        (True, Reason::DriftChecked, DRIFT_CHECKED)
    } else {
        (
            Unknown,
            Reason::DriftNotChecked,
            "drift was not checked yet",
        )
    };
    draft
        .conditions
        .set(ConditionType::DriftJobSucceeded, status, reason, message);
}

fn provider_id(draft: &mut Draft<'_>, outputs: &Outputs) {
    let Some(id) = &outputs.provider_id else {
        return;
    };
    if draft.world.pool.spec.provider_id.as_ref() != Some(id) {
        draft.spec.provider_id = Some(id.clone());
        draft.tell(EventReason::ProviderIDSet, id.as_str());
    }
}

/// Distinct, in byte order, the first 1,000.
fn instances(members: &[Member]) -> Vec<InstanceStatus> {
    let by_id: BTreeMap<&str, &Member> = members
        .iter()
        .map(|member| (member.provider_id.as_str(), member))
        .collect();
    by_id
        .into_values()
        .take(limits::INSTANCES)
        .map(|member| InstanceStatus {
            provider_id: member.provider_id.clone(),
            instance_id: member.instance_id.clone(),
            addresses: member.addresses.clone(),
            failure_domain: member.failure_domain.clone(),
            state: Some(state_word(member.state).to_owned()),
        })
        .collect()
}

fn state_word(state: MemberState) -> &'static str {
    match state {
        MemberState::Pending => "pending",
        MemberState::Running => "running",
        MemberState::Degraded => "degraded",
        MemberState::Stopped => "stopped",
        MemberState::Terminated => "terminated",
        MemberState::Unknown => "unknown",
    }
}

/// Counts `pending` samples in a row, each once.
fn pending(draft: &mut Draft<'_>, outputs: &Outputs) {
    let sample = Some(draft.pass.started);
    if outputs.health.state != MemberState::Pending {
        draft.status.pending_refreshes = None;
    } else if draft.memory.counted_at != sample {
        let counted = draft.status.pending_refreshes.unwrap_or(0);
        draft.status.pending_refreshes = Some(counted.saturating_add(1));
    }
    draft.memory.counted_at = sample;
}

/// `InfrastructureHealthy` of a verdict (captf document 2.3).
fn health(draft: &mut Draft<'_>, health: &Health) {
    let (status, reason) = match (health.state, health.healthy) {
        (MemberState::Pending, _) => (False, Reason::InstancePending),
        (MemberState::Running, true) => (True, Reason::Healthy),
        (MemberState::Running, false) => (False, Reason::InstanceUnhealthy),
        (MemberState::Degraded, _) => (False, Reason::InstanceDegraded),
        (MemberState::Stopped, _) => (False, Reason::InstanceStopped),
        (MemberState::Terminated, _) => (False, Reason::InstanceTerminated),
        (MemberState::Unknown, _) => (Unknown, Reason::HealthUnknown),
    };
    let mut parts = Vec::new();
    if let Some(message) = health.message.as_deref().filter(|it| !it.is_empty()) {
        parts.push(message.to_owned());
    }
    if !health.reasons.is_empty() {
        parts.push(format!("reasons: {}", health.reasons.join(", ")));
    }
    let message = if parts.is_empty() {
        reason.to_string()
    } else {
        parts.join("; ")
    };
    draft.conditions.set(
        ConditionType::InfrastructureHealthy,
        status,
        reason,
        message,
    );
}

const DRIFT_CHECKED: &str = "the cloud was compared with the inputs";

/// A drift check came to its end.
fn compared(draft: &mut Draft<'_>, goal: &Goal) {
    draft.memory.drift_checked_at = Some(draft.pass.started);
    draft.memory.read_failures = Failures::default();
    draft.conditions.set(
        ConditionType::DriftJobSucceeded,
        True,
        Reason::DriftChecked,
        DRIFT_CHECKED,
    );
    if let Some(record) = draft.record.as_mut() {
        record.history.remediations = 0;
    }
    let Some(found) = draft.pass.plan.as_ref().and_then(drift::summary) else {
        draft.conditions.set(
            ConditionType::DriftDetected,
            False,
            Reason::NoDrift,
            "the cloud is as desired",
        );
        return;
    };
    draft.conditions.set(
        ConditionType::DriftDetected,
        True,
        Reason::DriftReported,
        drift_text(&found),
    );
    let known = draft
        .status
        .last_run
        .as_ref()
        .is_some_and(|run| run.drift.as_ref() == Some(&found));
    if !known {
        if let Some(record) = draft.record.as_mut() {
            record.attempts.insert("drift".to_owned(), goal.attempt);
        }
        draft.status.last_run = Some(LastRun {
            job: goal.job.clone(),
            operation: Operation::Drift,
            steps: vec![RunStep {
                name: "plan".to_owned(),
                exit_code: 0,
                duration_milliseconds: None,
            }],
            error: None,
            drift: Some(found),
        });
    }
}

fn drift_text(found: &DriftSummary) -> String {
    let counts = [
        ("create", found.create),
        ("update", found.update),
        ("replace", found.replace),
        ("delete", found.delete),
    ];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(word, count)| format!("{word} {count}"))
        .collect();
    format!("{}: {}", counts.join(", "), found.resources.join(", "))
}

/// The reason of a standing finding follows the policy and what is being done about it.
pub(super) fn drift_standing(draft: &mut Draft<'_>) {
    let Some(condition) = draft.conditions.get(ConditionType::DriftDetected) else {
        return;
    };
    if condition.status != True {
        return;
    }
    let message = condition.message.clone();
    let findings = &draft.pass.gate.findings;
    let remedied = draft
        .status
        .active_job
        .as_ref()
        .is_some_and(|job| job.operation == Operation::Apply)
        && findings.apply_due == Some(ApplyReason::DriftRemediation);
    let reason = match findings.policies.drift_action {
        DriftAction::Report => Reason::DriftReported,
        DriftAction::Remediate if remedied => Reason::DriftRemediating,
        DriftAction::Remediate => Reason::DriftPending,
    };
    draft
        .conditions
        .set(ConditionType::DriftDetected, True, reason, message);
}
