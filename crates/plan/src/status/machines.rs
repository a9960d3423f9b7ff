//! What is told of the pool's Machines: conditions, events, and when the group is looked at again
//! for them.

use jiff::Timestamp;

use super::{
    condition::{ConditionStatus, ConditionType, Reason},
    draft::Draft,
    event::EventReason,
    failure,
};
use crate::{
    limits,
    machines::{
        objects::MachineObjects,
        pool::{Awaited, PoolDecision, awaited},
        rollout::Rolling,
    },
    pool::{action::Outlook, machines, world::World},
};
use ConditionStatus::{False, True};

/// Names that a message gives before it counts.
const NAMED: usize = 3;

/// Tells of the pool's Machines.
pub(super) fn told(draft: &mut Draft<'_>) {
    let world = draft.world;
    if !machines::are_on(world) {
        draft.conditions.forget(ConditionType::MachinesPublished);
        draft.conditions.forget(ConditionType::RollingOut);
        draft.memory.machines_at = None;
        return;
    }
    published(draft);
    deleting(draft);
    let Some(decision) = &draft.pass.machines else {
        return;
    };
    rolling(draft, decision);
    for deletion in &decision.deletions {
        let note = format!("Machine {}: {}", deletion.machine, deletion.because);
        draft.tell(EventReason::MachineDeleted, note);
    }
    draft.memory.machines_at = look_again(draft, decision);
}

fn published(draft: &mut Draft<'_>) {
    let kind = ConditionType::MachinesPublished;
    let world = draft.world;
    if machines::are_turning_off(world) {
        let message = format!(
            "remuda.dev/machines is \"false\", which waits for {}",
            world.machines.found().map(names).unwrap_or_default()
        );
        draft
            .conditions
            .set(kind, True, Reason::WaitingForMachines, message);
        return;
    }
    // What the cloud showed stays told until it is looked at again.
    let Some(decision) = &draft.pass.machines else {
        draft
            .conditions
            .set_first(kind, True, Reason::MachinesPublished, "");
        return;
    };
    if decision.clashes.is_empty() {
        let message = zones(decision);
        draft
            .conditions
            .set(kind, True, Reason::MachinesPublished, message);
        return;
    }
    let clashes: Vec<String> = decision
        .clashes
        .iter()
        .map(|(id, pool)| format!("{id} has the last part of an id of MachinePool {pool}"))
        .collect();
    let message = format!(
        "not published, because autoscalers could not tell them apart: {}",
        clashes.join("; ")
    );
    draft
        .conditions
        .set(kind, False, Reason::ProviderIDClash, message);
}

/// `us-east-1a: 2, us-east-1b: 1`; the cloud keeps the balance, people see it.
fn zones(decision: &PoolDecision) -> String {
    let zones: Vec<String> = decision
        .zones
        .iter()
        .map(|(zone, count)| match zone.as_str() {
            "" => format!("no zone: {count}"),
            zone => format!("{zone}: {count}"),
        })
        .collect();
    zones.join(", ")
}

/// A deleting pool waits for its Machines, however long that takes.
fn deleting(draft: &mut Draft<'_>) {
    let world: &World = draft.world;
    let findings = &draft.pass.gate.findings;
    let Some(objects) = world.machines.found() else {
        return;
    };
    if !findings.deleting || findings.policy_unresolved || objects.infra.is_empty() {
        return;
    }
    let message = format!("the pool is being deleted; waits for {}", names(objects));
    draft
        .conditions
        .set(ConditionType::Deleting, True, Reason::Deleting, message);
}

/// At most three objects by name with since when they have been going, then a count.
fn names(objects: &MachineObjects) -> String {
    let awaited = awaited(objects);
    let one = |it: &Awaited| match it.since {
        Some(since) => format!("{} (going since {since})", it.name),
        None => it.name.clone(),
    };
    let mut text: Vec<String> = awaited.iter().take(NAMED).map(one).collect();
    if awaited.len() > NAMED {
        text.push(format!("{} more", awaited.len() - NAMED));
    }
    text.join(", ")
}

fn rolling(draft: &mut Draft<'_>, decision: &PoolDecision) {
    let kind = ConditionType::RollingOut;
    let (status, reason, message) = match &decision.rolling {
        Rolling::No => (False, Reason::NotRollingOut, String::new()),
        Rolling::OnDelete { outdated } => (
            False,
            Reason::WaitingForMachineDeletion,
            format!("{outdated} members of an older model wait for their Machines to be deleted"),
        ),
        Rolling::Yes { outdated } => (
            True,
            Reason::RollingOut,
            format!("{outdated} members of an older model are left"),
        ),
        Rolling::Stopped {
            outdated,
            machine,
            why,
        } => (
            True,
            Reason::NewMachineFailed,
            format!(
                "stopped with {outdated} members of an older model left: {machine} is new and {why}"
            ),
        ),
    };
    draft.conditions.set(kind, status, reason, message);
}

/// While something comes or goes nobody else says when it is done: a look is due soon, or when the
/// plan says so. What this pass wrote may have made members outdated, which only the next look tells.
fn look_again(draft: &Draft<'_>, decision: &PoolDecision) -> Option<Timestamp> {
    let plan = draft.pass.plan.as_ref();
    let planned = plan.and_then(|plan| match &plan.outlook {
        Outlook::LookAgain { after_seconds, .. } => Some(*after_seconds),
        Outlook::Settled | Outlook::Failed(_) => None,
    });
    let wrote = plan.is_some_and(|plan| !plan.steps.is_empty());
    let soon = (decision.is_under_way || wrote).then_some(limits::MACHINES_SECONDS);
    let seconds = match (planned, soon) {
        (Some(planned), Some(soon)) => Some(planned.min(soon)),
        (planned, soon) => planned.or(soon),
    };
    seconds.map(|seconds| failure::later(draft.now, seconds))
}
