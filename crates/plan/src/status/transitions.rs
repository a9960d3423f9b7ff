//! Events of conditions that changed: one a transition (captf document 3.3).

use super::{
    condition::{Condition, ConditionStatus, ConditionType, Reason},
    draft::Draft,
    event::{Event, EventReason},
    wire::Operation,
};
use ConditionStatus::{False, True};

/// Adds the events of every transition of this pass.
pub(super) fn tell(draft: &mut Draft<'_>) {
    let ran = draft
        .goal()
        .is_some_and(|goal| matches!(goal.operation, Operation::Apply | Operation::Destroy));
    // What the gate found made the pass take its course, so it is told first.
    let mut causes = Vec::new();
    let mut effects = Vec::new();
    for (before, after) in draft.conditions.transitions() {
        let Some(event) = event(before, after, ran) else {
            continue;
        };
        match after.kind {
            ConditionType::Paused
            | ConditionType::Deleting
            | ConditionType::DependenciesReady
            | ConditionType::IdentityAllowed
            | ConditionType::AutoscalingActive => causes.push(event),
            _ => effects.push(event),
        }
    }
    draft.events.splice(0..0, causes);
    draft.events.extend(effects);
}

/// The event of one transition; `ran`: the outcome of an operation has its own event.
fn event(before: Option<&Condition>, after: &Condition, ran: bool) -> Option<Event> {
    let was = before.map(|before| before.status);
    let was_reason = before.map(|before| before.reason);
    let moved = was != Some(after.status);
    let named = |reason: EventReason| Some(Event::new(reason, after.message.as_str()));
    match after.kind {
        ConditionType::Paused => match (was, after.status) {
            (_, True) if moved => named(EventReason::Paused),
            (Some(True), _) if moved => Some(Event::new(EventReason::Resumed, "no longer paused")),
            _ => None,
        },
        ConditionType::Deleting if moved && after.status == True => {
            named(EventReason::DeletionStarted)
        }
        ConditionType::Deleting if after.reason == Reason::DeletionPolicyUnresolved => {
            changed(before, after)
        }
        ConditionType::DriftDetected => drift(was, after, moved),
        ConditionType::InfrastructureHealthy => health(was, after, moved),
        ConditionType::IdentityAllowed if moved && after.status == False => {
            named(EventReason::IdentityNotAllowed)
        }
        ConditionType::AutoscalingActive if after.reason == Reason::ReplicasManagedExternally => {
            named(EventReason::ReplicasManagedExternally)
        }
        ConditionType::OutputsValid if moved && after.status == False => {
            named(EventReason::OutputsInvalid)
        }
        ConditionType::StateReadable => state(was_reason, after),
        ConditionType::ApplyJobSucceeded => match after.reason {
            Reason::WaitingForClusterOperation => named(EventReason::WaitingForClusterOperation),
            _ if ran || after.status != False => None,
            _ => changed(before, after),
        },
        ConditionType::RollingOut if after.reason == Reason::NewMachineFailed => {
            named(EventReason::RollFailed)
        }
        ConditionType::DependenciesReady
        | ConditionType::MachinesPublished
        | ConditionType::IdentityAllowed
        | ConditionType::OutputsValid
        | ConditionType::DriftJobSucceeded
        | ConditionType::RestoreJobSucceeded
        | ConditionType::AutoscalingActive => changed(before, after),
        // A summary repeats what its inputs said; the others never turn bad.
        ConditionType::Deleting
        | ConditionType::Ready
        | ConditionType::RollingOut
        | ConditionType::InputsApplied
        | ConditionType::CredentialsMirrored
        | ConditionType::RunnerRBACReady => None,
    }
}

/// `ConditionChanged`: into a bad state, or out of one. A condition that first appears emits only
/// if it starts bad.
fn changed(before: Option<&Condition>, after: &Condition) -> Option<Event> {
    let note = if after.message.is_empty() {
        format!("{}: {}", after.kind, after.reason)
    } else {
        format!("{}: {}: {}", after.kind, after.reason, after.message)
    };
    let event = Event::new(EventReason::ConditionChanged, note);
    // That a pool has a fixed size, or is not being deleted, is no bad state.
    let bad = after.status == False
        && !matches!(
            after.reason,
            Reason::AutoscalingDisabled | Reason::NotDeleting
        )
        || after.reason == Reason::DeletionPolicyUnresolved;
    if bad {
        return Some(event.warning());
    }
    let recovered = before.is_some_and(|before| before.status == False) && after.status == True;
    recovered.then_some(event)
}

fn drift(was: Option<ConditionStatus>, after: &Condition, moved: bool) -> Option<Event> {
    match after.status {
        True if after.reason == Reason::DriftRemediating => Some(Event::new(
            EventReason::DriftRemediationStarted,
            after.message.as_str(),
        )),
        True if moved => Some(Event::new(
            EventReason::DriftDetected,
            after.message.as_str(),
        )),
        False if was == Some(True) => Some(Event::new(
            EventReason::DriftResolved,
            after.message.as_str(),
        )),
        True | False | ConditionStatus::Unknown => None,
    }
}

fn health(was: Option<ConditionStatus>, after: &Condition, moved: bool) -> Option<Event> {
    let starting = matches!(after.reason, Reason::Provisioning | Reason::InstancePending);
    match after.status {
        True if moved && was.is_some() => Some(Event::new(
            EventReason::InstanceHealthy,
            after.message.as_str(),
        )),
        False if was == Some(True) || (was.is_none() && !starting) => Some(Event::new(
            EventReason::InstanceUnhealthy,
            after.message.as_str(),
        )),
        True | False | ConditionStatus::Unknown => None,
    }
}

fn state(was: Option<Reason>, after: &Condition) -> Option<Event> {
    let reason = match after.reason {
        Reason::StateLost | Reason::StateInconsistent => EventReason::StateLost,
        Reason::StateCorrupt => EventReason::StateUnreadable,
        Reason::RetainedStateFound => EventReason::RetainedStateFound,
        Reason::StateRead if was == Some(Reason::RetainedStateFound) => {
            EventReason::RetainedStateAdopted
        }
        _ => return None,
    };
    Some(Event::new(reason, after.message.as_str()))
}
