//! From what is to what should be: the change table of the Azure document 5.1 as ordered steps.
//!
//! In go the desired state, one observation and the record; out come steps. Invariants: nothing is
//! written to a set that is not ours; a record write stands before the call that relies on it; one
//! long-running operation at a time; an existing set's capacity is written only to retire it (never
//! with pool Machines on), or as it was read; a crash after any step is repaired by the next pass, without a second set.

use super::{
    desired::Desired,
    model,
    observed::{Observed, ScaleSet},
    operation::is_busy,
    roll::{self, Because},
    scene::{self, Scene},
    setting,
    steps::{self, Steps, wait_for},
};
use crate::{
    driver::PoolContext,
    pool::{
        action::{Plan, PlanStop},
        record::{AzureRecord, Generation, OperationKind},
    },
};

/// The steps from what is to what should be.
///
/// # Errors
/// E-NAME-TAKEN, E-IMAGE-NOT-FOUND, or the read that failed.
pub fn diff(
    desired: &Desired,
    observed: &Observed,
    context: &PoolContext<'_>,
) -> Result<Plan, PlanStop> {
    let (scene, mut steps) = scene::look(desired, observed, context)?;
    if go_on(&mut steps, &scene, observed)? {
        converge(&mut steps, &scene);
    }
    Ok(steps.into_plan())
}

/// Deals with the recorded operation. `false`: nothing else may be done to the sets now; the setting
/// of a set that serves does not wait.
fn go_on(steps: &mut Steps<'_>, scene: &Scene<'_>, observed: &Observed) -> Result<bool, PlanStop> {
    let wanted = &scene.desired.set.name;
    let is_free = steps::go_on(
        steps,
        scene.sets,
        &observed.operation,
        |operation| match operation.kind {
            OperationKind::Create | OperationKind::Update => operation.set_name == *wanted,
            OperationKind::Empty | OperationKind::Delete => true,
        },
    )?;
    let current = steps.record.current.as_ref();
    let serves = current.is_some_and(|it| it.created && it.set_name == *wanted);
    if steps.record.operation.is_some() && serves && scene.found(wanted).is_some() {
        setting::converge(steps, scene);
    }
    Ok(is_free)
}

/// Brings everything to the desired state; as much of it as can be done in one pass.
fn converge(steps: &mut Steps<'_>, scene: &Scene<'_>) {
    if serve(steps, scene) {
        roll::retire_settings(steps, scene);
        setting::converge(steps, scene);
        roll::retire_sets(steps, scene);
        settle(steps, scene);
    } else {
        steps.remember("what was reached so far", |_| {});
    }
}

/// The wanted set serves, up to date. `false`: that takes time.
fn serve(steps: &mut Steps<'_>, scene: &Scene<'_>) -> bool {
    let name = &scene.desired.set.name;
    let Some(current) = steps.record.current.clone() else {
        return make_first(steps, scene, "the pool has no set");
    };
    if current.set_name == *name {
        abandon(&mut steps.record, name);
        return match scene.found(name) {
            Some(found) if current.created => keep(steps, scene, &current, found),
            Some(_) => make_first(steps, scene, "the set was not made completely"),
            None if current.created => make_first(steps, scene, "the set does not exist any more"),
            None => make_first(steps, scene, "the pool has no set"),
        };
    }
    match scene.found(&current.set_name) {
        Some(old) if !roll::is_going(scene.presence(&current.set_name)) => {
            roll::forward(steps, scene, &current, old)
        }
        Some(_) | None => make_first(steps, scene, "the set of the older generation is gone"),
    }
}

/// A set on its way that nobody wants any more retires.
fn abandon(record: &mut AzureRecord, name: &str) {
    roll::aim_at(record, None, name);
}

/// Makes the wanted set without a predecessor.
fn make_first(steps: &mut Steps<'_>, scene: &Scene<'_>, because: &str) -> bool {
    let desired = scene.desired;
    let name = &desired.set.name;
    let wanted = Generation {
        set_name: name.clone(),
        key: Some(desired.generation.clone()),
        created: false,
        sent: None,
    };
    let because = Because::missing(because);
    roll::make(steps, scene, desired.first_capacity, &because, |record| {
        roll::aim_at(record, None, name);
        let old = record.current.replace(wanted);
        if let Some(old) = old.filter(|old| old.set_name != *name) {
            record.retire(old);
        }
        record.has_setting = false;
    })
}

/// Keeps a set that serves up to date. A set that Azure is busy with waits, its setting does not.
fn keep(steps: &mut Steps<'_>, scene: &Scene<'_>, current: &Generation, found: &ScaleSet) -> bool {
    let spec = &scene.desired.set;
    let has_machines = scene.share.is_some();
    let Some(call) = model::update(spec, found, current.sent.as_ref(), has_machines) else {
        return true;
    };
    let presence = scene.presence(&spec.name);
    if is_busy(presence) {
        setting::converge(steps, scene);
        wait_for(steps, &spec.name, presence);
        return false;
    }
    let sends = Some(model::sent(spec));
    steps::start(
        steps,
        OperationKind::Update,
        &spec.name,
        sends,
        call,
        |_| {},
    );
    true
}

/// Writes what was reached.
fn settle(steps: &mut Steps<'_>, scene: &Scene<'_>) {
    let has_setting = scene.desired.setting.is_some();
    let capacity = scene
        .found(&scene.desired.set.name)
        .map(|found| found.capacity);
    let is_rolling = !steps.context().machines.off() && !steps.record.retiring.is_empty();
    let capacity = if is_rolling {
        // Where somebody sets the count it is the pool's at once; autoscaling goes on from what it
        // was before the roll.
        let is_set = scene
            .desired
            .setting
            .as_ref()
            .is_some_and(|setting| setting.profile.cpu.is_none());
        is_set.then_some(scene.desired.first_capacity)
    } else {
        capacity
    };
    steps.remember("what this apply reached", |record| {
        if let Some(current) = &mut record.current {
            // What an older record did not know of it.
            current.key = Some(scene.desired.generation.clone());
        }
        record.has_setting = has_setting;
        record.last_capacity = capacity.or(record.last_capacity);
    });
}
