//! When to look again: the soonest of everything that becomes due without a watch saying so.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::{draft::Draft, publication::Requeue, wire::Operation};
use crate::{
    limits,
    pool::{
        findings::{Findings, Hold, IdentityFinding, StateFinding, Wait},
        gate::{self, Next},
        record::Record,
        schedule::{self, Timing},
    },
};

/// Decides when to look again. The draft is complete.
pub(super) fn decide(draft: &Draft<'_>, now: Timestamp, settled: bool) -> Requeue {
    match &draft.pass.gate.next {
        Next::Ignore | Next::Release(_) => return Requeue::OnChange,
        Next::AddFinalizer | Next::Prepare(_) => return Requeue::After(Duration::ZERO),
        Next::Go(_) | Next::Rest => {}
    }
    if settled {
        return Requeue::OnChange;
    }
    let mut due = vec![after(now, limits::RESYNC_SECONDS)];
    due.extend(waits(&draft.pass.gate.findings, now));
    due.extend(draft.memory.look_again_at);
    due.extend(draft.memory.machines_at.filter(|at| *at > now));
    if draft.pass.gate.findings.deleting {
        due.extend(draft.memory.read_failures.retry_at.filter(|at| *at > now));
    }
    due.extend(draft.memory.operation_retry_at.filter(|at| *at > now));
    operation_due(draft, now, &mut due);
    looks_due(draft, now, &mut due);
    let soonest = due.into_iter().min().unwrap_or(now);
    let wait = soonest.duration_since(now).max(SignedDuration::ZERO);
    Requeue::After(wait.unsigned_abs())
}

fn after(now: Timestamp, seconds: u32) -> Timestamp {
    now + SignedDuration::from_secs(i64::from(seconds))
}

/// Waits for what no watch covers, and for reads that failed.
fn waits(findings: &Findings, now: Timestamp) -> Vec<Timestamp> {
    let failed_read = matches!(findings.dependencies, Some(Err(Wait::Unreadable(_))))
        || matches!(findings.state, Some(StateFinding::Unreadable(_)))
        || matches!(findings.identity, Some(IdentityFinding::CheckFailed(_)))
        || matches!(findings.hold, Some(Hold::Unreadable(_)));
    let unwatched = matches!(
        findings.dependencies,
        Some(Err(Wait::BootstrapData(_) | Wait::VariablesSource(_)))
    ) || findings
        .identity
        .as_ref()
        .is_some_and(|identity| !identity.usable())
        || matches!(findings.hold, Some(Hold::Credentials(_)));
    let mut due = Vec::new();
    if failed_read {
        due.push(after(now, limits::KUBERNETES_RETRY_SECONDS));
    }
    if unwatched {
        due.push(after(now, limits::UNWATCHED_RETRY_SECONDS));
    }
    due
}

/// The next try of an apply or destroy.
fn operation_due(draft: &Draft<'_>, now: Timestamp, due: &mut Vec<Timestamp>) {
    let findings = &draft.pass.gate.findings;
    let Some(goal) = draft.goal() else {
        match &findings.hold {
            Some(Hold::Backoff { until } | Hold::LookAgain { until }) => due.push(*until),
            Some(Hold::DeadlineExceeded(operation)) => {
                due.extend(retry_at(draft.record.as_ref(), *operation));
            }
            _ => {}
        }
        return;
    };
    if goal.operation == Operation::Refresh || goal.operation == Operation::Drift {
        if let Some(Hold::Backoff { until } | Hold::LookAgain { until }) = &findings.hold {
            due.push(*until);
        }
        if goal.recovering && draft.record.is_some() {
            due.push(now);
        }
        if remediation_due(draft) {
            let retry = retry_at(draft.record.as_ref(), Operation::Apply)
                .max(draft.memory.operation_retry_at);
            due.push(retry.unwrap_or(now).max(now));
        }
        return;
    }
    if draft.status.active_job.is_some() {
        return;
    }
    let retry =
        retry_at(draft.record.as_ref(), goal.operation).max(draft.memory.operation_retry_at);
    match retry {
        Some(retry) => due.push(retry),
        // Interrupted: at once.
        None if draft.record.as_ref().is_none_or(|record| !record.applied) => due.push(now),
        None => {}
    }
}

fn retry_at(record: Option<&Record>, operation: Operation) -> Option<Timestamp> {
    let history = &record?.history;
    match operation {
        Operation::Destroy => history.destroy.retry_at,
        Operation::Apply
        | Operation::Drift
        | Operation::Refresh
        | Operation::Restore
        | Operation::Plan => history.apply.retry_at,
    }
}

fn timing<'a>(draft: &'a Draft<'_>, record: &'a Record) -> Timing<'a> {
    let listed = draft.spec.provider_id_list.as_ref();
    let listed = listed.unwrap_or(&draft.world.pool.spec.provider_id_list);
    Timing::new(
        &draft.world.pool.metadata.uid,
        &draft.status,
        listed.len(),
        record,
        &draft.pass.gate.findings.policies,
        &draft.memory,
    )
}

fn remediation_due(draft: &Draft<'_>) -> bool {
    draft
        .record
        .as_ref()
        .is_some_and(|record| timing(draft, record).remediation_due())
}

/// The next drift check of a pool that has applied what it is asked for.
pub(super) fn drift_due(draft: &Draft<'_>) -> Option<Timestamp> {
    let findings = &draft.pass.gate.findings;
    let record = draft.record.as_ref().filter(|record| record.applied)?;
    let comparable = matches!(findings.dependencies, Some(Ok(())));
    let applied = record.inputs_hash == findings.inputs_hash && !record.history.apply_is_owed();
    (comparable && applied).then(|| timing(draft, record).drift_due())
}

/// The next refresh and drift check of a pool that has applied, and the bound within which a
/// rotated bootstrap Secret must be seen (captf document, BOOT-2).
fn looks_due(draft: &Draft<'_>, now: Timestamp, due: &mut Vec<Timestamp>) {
    let findings = &draft.pass.gate.findings;
    let usable = findings
        .identity
        .as_ref()
        .is_some_and(IdentityFinding::usable);
    let readable = gate::state_usable(findings.state.as_ref());
    let blocked = findings.paused
        || !readable
        || findings.deleting
        || !usable
        || matches!(
            findings.hold,
            Some(Hold::Image(_) | Hold::JobPolicy(_) | Hold::Credentials(_))
        );
    let Some(record) = draft.record.as_ref().filter(|record| record.applied) else {
        return;
    };
    if blocked {
        return;
    }
    due.push(timing(draft, record).refresh_due());
    due.extend(drift_due(draft));
    let membership = schedule::interval(
        findings.policies.membership_seconds,
        &draft.world.pool.metadata.uid,
    );
    due.push(now + membership);
}
