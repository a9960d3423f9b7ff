//! What a pass says in captf's words: which job ended and how, what was decided, what changed.

use std::time::Duration;

use jiff::Timestamp;
use remuda_plan::{
    pool::{
        action::{Outlook, Plan},
        drift,
        findings::{ApplyReason, Findings, Hold, IdentityFinding, StateFinding},
        gate::{Gate, Goal, Next},
        world::World,
    },
    status::{
        condition::{ConditionStatus, ConditionType, Reason},
        event::EventReason,
        pass::{Pass, PassEnd},
        publication::Publication,
        wire::{DriftSummary, Operation},
    },
};

/// An operation that ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Job {
    pub(super) op: &'static str,
    pub(super) end: End,
    pub(super) took: Duration,
    /// The step that failed.
    pub(super) step: &'static str,
    /// Failed tries since the last success; `None`: not counted for this operation.
    pub(super) failed_before: Option<u32>,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Succeeded,
    Failed,
    Deadline,
    Interrupted,
}

impl End {
    pub(super) fn result(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Deadline => "deadline",
            Self::Interrupted => "interrupted",
        }
    }

    /// `None`: there is no error.
    pub(super) fn error_kind(self) -> Option<&'static str> {
        match self {
            Self::Succeeded => None,
            Self::Failed => Some("step"),
            Self::Deadline => Some("deadline"),
            Self::Interrupted => Some("interrupted"),
        }
    }
}

/// The job that ended with this pass.
pub(super) fn ended(
    world: &World,
    pass: &Pass,
    publication: &Publication,
    now: Timestamp,
) -> Option<Job> {
    if drift_check(pass).is_some() {
        checked(pass, now)
    } else {
        operated(world, pass, publication, now)
    }
}

fn goal(pass: &Pass) -> Option<&Goal> {
    match &pass.gate.next {
        Next::Go(goal) => Some(goal),
        Next::Ignore | Next::AddFinalizer | Next::Prepare(_) | Next::Release(_) | Next::Rest => {
            None
        }
    }
}

/// The goal of a pass that checks for drift. To look for a lost record is none.
fn drift_check(pass: &Pass) -> Option<&Goal> {
    goal(pass).filter(|goal| goal.operation == Operation::Drift && !goal.recovering)
}

fn checked(pass: &Pass, now: Timestamp) -> Option<Job> {
    let end = match pass.end {
        PassEnd::Done => End::Succeeded,
        PassEnd::Failed(_) | PassEnd::Refused(_) => End::Failed,
        PassEnd::DeadlineExceeded => End::Deadline,
        PassEnd::Interrupted => End::Interrupted,
        PassEnd::AtGate | PassEnd::Unrecoverable(_) | PassEnd::RecordUnwritable(_) => return None,
    };
    Some(Job {
        op: Operation::Drift.as_str(),
        end,
        took: between(pass.started, now),
        step: "plan",
        failed_before: None,
    })
}

/// An apply or destroy. `fold` alone knows when one has ended: it tells an event then, once.
fn operated(world: &World, pass: &Pass, publication: &Publication, now: Timestamp) -> Option<Job> {
    let mut events = publication.events.iter();
    let end = events.find_map(|event| match event.reason {
        EventReason::JobSucceeded => Some(End::Succeeded),
        EventReason::JobFailed => Some(End::Failed),
        EventReason::JobDeadlineExceeded => Some(End::Deadline),
        EventReason::JobInterrupted => Some(End::Interrupted),
        _ => None,
    })?;
    let operation = match &pass.gate.findings.hold {
        // A refresh may run in the pass that finds an apply to be overdue.
        Some(Hold::DeadlineExceeded(operation)) => *operation,
        _ => goal(pass)?.operation,
    };
    let active = world.pool.status.active_job.as_ref();
    let began = active
        .filter(|job| job.operation == operation)
        .and_then(|job| job.start_time);
    let tries = world.record.found().map(|record| match operation {
        Operation::Destroy => record.history.destroy.failed,
        _ => record.history.apply.failed,
    });
    Some(Job {
        op: operation.as_str(),
        end,
        took: between(began.unwrap_or(pass.started), now),
        step: step(publication),
        failed_before: Some(tries.unwrap_or_default()),
    })
}

fn between(began: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(began)).unwrap_or_default()
}

/// The step that `status.lastRun` blames, one of a few.
fn step(publication: &Publication) -> &'static str {
    let status = publication.status.as_ref();
    let run = status.and_then(|status| status.last_run.as_ref());
    let blamed = run
        .and_then(|run| run.error.as_ref())
        .and_then(|error| error.step.as_deref());
    ["plan", "apply", "destroy"]
        .into_iter()
        .find(|step| blamed == Some(step))
        .unwrap_or("none")
}

/// What the pass decided: the operation, and why.
pub(super) fn decision(world: &World, gate: &Gate) -> Option<(&'static str, &'static str)> {
    let findings = &gate.findings;
    let begins = |operation: Operation| {
        let active = world.pool.status.active_job.as_ref();
        if active.is_some_and(|job| job.operation == operation) {
            return Some(("none", "JobActive"));
        }
        let reason = match operation {
            Operation::Destroy => "Deleting",
            _ => because(findings.apply_due?),
        };
        Some((operation.as_str(), reason))
    };
    match &gate.next {
        Next::Prepare(operation) => begins(*operation),
        Next::Go(goal) => match goal.operation {
            operation @ (Operation::Apply | Operation::Destroy) => begins(operation),
            Operation::Drift if goal.recovering => None,
            Operation::Drift => Some((Operation::Drift.as_str(), "DriftDue")),
            Operation::Refresh | Operation::Restore | Operation::Plan => waits(findings),
        },
        Next::Rest => waits(findings).or_else(|| up_to_date(world, findings)),
        Next::Ignore | Next::AddFinalizer | Next::Release(_) => None,
    }
}

fn because(due: ApplyReason) -> &'static str {
    match due {
        ApplyReason::NoState | ApplyReason::Recovery => "NoState",
        ApplyReason::InputsChanged => "InputsChanged",
        ApplyReason::Retry => "LastApplyFailed",
        ApplyReason::DriftRemediation => "DriftRemediation",
    }
}

fn waits(findings: &Findings) -> Option<(&'static str, &'static str)> {
    let reason = match &findings.hold {
        Some(Hold::Backoff { .. }) if findings.deleting => "DeletingBackoff",
        Some(Hold::Backoff { .. }) => "LastApplyFailedBackoff",
        Some(Hold::LookAgain { .. }) => "JobActive",
        _ => return None,
    };
    Some(("none", reason))
}

/// The gate came to its end and found nothing due.
fn up_to_date(world: &World, findings: &Findings) -> Option<(&'static str, &'static str)> {
    let usable = findings
        .identity
        .as_ref()
        .is_some_and(IdentityFinding::usable);
    let readable = matches!(findings.state, Some(StateFinding::Read(_)));
    let applied = world.record.found().is_some_and(|record| record.applied);
    let at_rest = findings.hold.is_none() && findings.apply_due.is_none() && !findings.deleting;
    let compared = findings.inputs_hash.is_some();
    (usable && readable && applied && at_rest && compared).then_some(("none", "UpToDate"))
}

/// What the steps of an apply or destroy changed in this pass.
pub(super) fn changed(pass: &Pass) -> Option<(&'static str, DriftSummary)> {
    let operation = goal(pass)?.operation;
    if !matches!(operation, Operation::Apply | Operation::Destroy) {
        return None;
    }
    let steps = pass.plan.as_ref()?.steps.get(..pass.carried_out)?;
    let done = Plan {
        steps: steps.to_vec(),
        outlook: Outlook::Settled,
    };
    Some((operation.as_str(), drift::summary(&done)?))
}

/// What a drift check found.
pub(super) fn found(pass: &Pass) -> Option<DriftSummary> {
    drift_check(pass).filter(|_| pass.end == PassEnd::Done)?;
    drift::summary(pass.plan.as_ref()?)
}

/// Counts by action, as captf counts: what is made anew is added and destroyed.
pub(super) fn by_action(found: &DriftSummary) -> [(&'static str, u64); 3] {
    let sum = |one: i32, other: i32| u64::try_from(one.saturating_add(other)).unwrap_or_default();
    [
        ("add", sum(found.create, found.replace)),
        ("change", sum(found.update, 0)),
        ("destroy", sum(found.delete, found.replace)),
    ]
}

/// The reason of a condition that this pass turned False.
pub(super) fn turned_false(
    world: &World,
    publication: &Publication,
    kind: ConditionType,
) -> Option<Reason> {
    let after = publication.status.as_ref()?.condition(kind)?;
    let before = world.pool.status.condition(kind);
    let was = before.map(|condition| condition.status);
    let is = after.status == ConditionStatus::False;
    (is && was != Some(ConditionStatus::False)).then_some(after.reason)
}

/// Why an identity was denied, as captf groups it; what is a matter of its keys has no group.
pub(super) fn denied(reason: Reason) -> Option<&'static str> {
    match reason {
        Reason::IdentityNotFound | Reason::SecretNotFound => Some("notfound"),
        Reason::NamespaceNotAllowed => Some("namespace"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use remuda_plan::{
        pool::record::Record,
        status::{
            condition::Condition,
            event::Event,
            publication::{MetadataWrite, Requeue, SpecWrite},
            wire::{ActiveJob, LastRun, PoolStatus, RunError, RunErrorKind},
        },
    };

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap_or_default()
    }

    fn rests(findings: Findings) -> Gate {
        Gate {
            findings,
            next: Next::Rest,
        }
    }

    fn publication(status: PoolStatus, events: Vec<Event>) -> Publication {
        Publication {
            status: Some(status),
            spec: SpecWrite::default(),
            metadata: MetadataWrite::default(),
            owner: None,
            record: None,
            events,
            requeue: Requeue::OnChange,
            memory: None,
            rest: None,
        }
    }

    fn says(status: ConditionStatus, reason: Reason) -> PoolStatus {
        PoolStatus {
            conditions: vec![Condition {
                kind: ConditionType::OutputsValid,
                status,
                reason,
                message: String::new(),
                last_transition_time: at(0),
                observed_generation: None,
            }],
            ..PoolStatus::default()
        }
    }

    #[test]
    fn what_waits_is_told_apart_from_what_is_up_to_date() {
        let world = World::default();
        let decided = |hold: Hold, deleting: bool| {
            let findings = Findings {
                hold: Some(hold),
                deleting,
                ..Findings::default()
            };
            decision(&world, &rests(findings))
        };
        let until = at(9);
        let backoff = || Hold::Backoff { until };
        let none = |reason| Some(("none", reason));
        assert_eq!(decided(backoff(), false), none("LastApplyFailedBackoff"));
        assert_eq!(decided(backoff(), true), none("DeletingBackoff"));
        let goes_on = Hold::LookAgain { until };
        assert_eq!(decided(goes_on, false), none("JobActive"));
        let unreadable = Hold::Unreadable(String::new());
        assert_eq!(decided(unreadable, false), None);
        assert_eq!(decision(&world, &rests(Findings::default())), None);
    }

    #[test]
    fn up_to_date_is_what_was_compared_and_is_applied() {
        let mut world = World::default();
        let findings = |hash: Option<&str>| Findings {
            inputs_hash: hash.map(str::to_owned),
            identity: Some(IdentityFinding::Allowed),
            state: Some(StateFinding::Read(1)),
            ..Findings::default()
        };
        let record = |applied| Record {
            applied,
            ..Record::new("i")
        };
        for (applied, hash, is_so) in [
            (true, Some("h"), true),
            (true, None, false),
            (false, Some("h"), false),
        ] {
            world.record = remuda_plan::pool::world::RecordRead::Found {
                record: Box::new(record(applied)),
                retained_from: None,
                owned: true,
            };
            let decided = decision(&world, &rests(findings(hash)));
            assert_eq!(decided == Some(("none", "UpToDate")), is_so, "{hash:?}");
        }
    }

    /// Found at the gate, long after the operation was announced.
    #[test]
    fn an_overdue_apply_ended_at_its_deadline_since_its_announcement() {
        let mut world = World::default();
        world.pool.status.active_job = Some(ActiveJob {
            name: "a".to_owned(),
            operation: Operation::Apply,
            attempt: 1,
            start_time: Some(at(100)),
        });
        let findings = Findings {
            hold: Some(Hold::DeadlineExceeded(Operation::Apply)),
            ..Findings::default()
        };
        let pass = Pass::at_gate(rests(findings), at(3_700));
        let status = PoolStatus {
            last_run: Some(LastRun {
                job: "a".to_owned(),
                operation: Operation::Apply,
                steps: Vec::new(),
                error: Some(RunError {
                    kind: RunErrorKind::Interrupted,
                    step: Some("apply".to_owned()),
                    summary: None,
                }),
                drift: None,
            }),
            ..PoolStatus::default()
        };
        let event = Event::new(EventReason::JobDeadlineExceeded, "");
        let overdue = publication(status, vec![event]);
        let job = ended(&world, &pass, &overdue, at(3_701));
        let expected = Job {
            op: "apply",
            end: End::Deadline,
            took: Duration::from_secs(3_601),
            step: "apply",
            failed_before: Some(0),
        };
        assert_eq!(job, Some(expected));
        let silent = publication(PoolStatus::default(), Vec::new());
        assert_eq!(ended(&world, &pass, &silent, at(3_701)), None);
    }

    #[test]
    fn outputs_that_stay_invalid_turned_so_once() {
        let mut world = World::default();
        let invalid = || says(ConditionStatus::False, Reason::OutputsInvalid);
        let now = publication(invalid(), Vec::new());
        let turned = |world: &World| turned_false(world, &now, ConditionType::OutputsValid);
        assert_eq!(turned(&world), Some(Reason::OutputsInvalid));
        world.pool.status = says(ConditionStatus::True, Reason::OutputsValid);
        assert_eq!(turned(&world), Some(Reason::OutputsInvalid));
        world.pool.status = invalid();
        assert_eq!(turned(&world), None);
    }

    #[test]
    fn what_is_made_anew_is_added_and_destroyed() {
        let found = DriftSummary {
            create: 1,
            update: 2,
            replace: 4,
            delete: 8,
            ..DriftSummary::default()
        };
        let counts = [("add", 5), ("change", 2), ("destroy", 12)];
        assert_eq!(by_action(&found), counts);
    }

    #[test]
    fn an_identity_without_a_key_is_not_denied() {
        assert_eq!(denied(Reason::SecretNotFound), Some("notfound"));
        assert_eq!(denied(Reason::NamespaceNotAllowed), Some("namespace"));
        assert_eq!(denied(Reason::CredentialsIncomplete), None);
    }
}
