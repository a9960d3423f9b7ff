//! Deletion (captf document 2.12): what stands between a deleting pool and its end. Needs the
//! record only; owner, Cluster, inputs and bootstrap data may be gone.

use jiff::Timestamp;

use super::{
    findings::{Findings, Hold, StateFinding},
    gate::{self, Next, Release},
    goal::{self, Goal, Wish},
    identity,
    inherit::{self, DeletionChoice},
    keys, machines,
    objects::DeletionPolicy,
    operation, owner,
    read::Depth,
    record::{DriverRecord, Record},
    render::{self, Rendered},
    world::{Lookup, RecordRead, World},
};
use crate::{driver::Driver, machines::pool::is_drained, status::wire::Operation};

/// Decides what a deleting pool does; its finalizer is stored and it is ours.
pub(super) fn decide(world: &World, now: Timestamp, findings: &mut Findings) -> Next {
    let pool = &world.pool;
    if pool
        .metadata
        .annotations
        .contains_key(keys::DELETE_FOR_MOVE)
    {
        return Next::Release(Release::Moved);
    }
    let untouched = never_applied(world);
    if untouched && world.record == RecordRead::Missing && pool.metadata.owner_references.is_empty()
    {
        return Next::Release(Release::NeverApplied);
    }
    if findings.paused {
        return Next::Rest;
    }
    if let Lookup::Failed(why) = &world.cluster {
        // Whether the cluster is paused is not known.
        return held(findings, Hold::Unreadable(why.clone()));
    }
    let state = gate::state(world);
    findings.state = Some(state.clone());
    if matches!(state, StateFinding::Retained(_)) {
        return Next::Release(Release::HeldAtRetainedState);
    }
    if untouched
        && !matches!(
            state,
            StateFinding::Corrupt(_) | StateFinding::Unreadable(_)
        )
    {
        return Next::Release(Release::NeverApplied);
    }
    match inherit::deletion_policy(pool, &world.infra_cluster) {
        DeletionChoice::Known(DeletionPolicy::Retain) => {
            return Next::Release(Release::Retained);
        }
        DeletionChoice::Known(DeletionPolicy::Destroy) => {}
        DeletionChoice::Unresolved => {
            findings.policy_unresolved = true;
            return abandoned(world).unwrap_or(Next::Rest);
        }
        DeletionChoice::Unreadable(why) => return held(findings, Hold::Unreadable(why)),
    }
    destroy(world, now, findings, &state)
}

fn held(findings: &mut Findings, hold: Hold) -> Next {
    findings.hold = Some(hold);
    Next::Rest
}

/// Nothing was ever applied and nothing can have been made: a record is written before the first
/// cloud call, and a driver writes into it before that call.
fn never_applied(world: &World) -> bool {
    if gate::applied_before(world) {
        return false;
    }
    match &world.record {
        RecordRead::Missing => true,
        RecordRead::Found { record, .. } => !record.applied && record.driver == DriverRecord::None,
        RecordRead::Corrupt(_) | RecordRead::Failed(_) => false,
    }
}

/// The annotation that gives the infrastructure up, when it names this very object.
fn abandoned(world: &World) -> Option<Next> {
    let pool = &world.pool.metadata;
    (pool.annotations.get(keys::ABANDON) == Some(&pool.uid))
        .then_some(Next::Release(Release::Abandoned))
}

/// The pool has applied, and yet no driver has written into its record: the first one was lost, and
/// what should rebuild it has not come to an end.
fn is_begun_anew(world: &World, record: &Record) -> bool {
    record.driver == DriverRecord::None && gate::applied_before(world)
}

fn destroy(world: &World, now: Timestamp, findings: &mut Findings, state: &StateFinding) -> Next {
    match state {
        StateFinding::Corrupt(_) | StateFinding::Unreadable(_) => {
            return abandoned(world).unwrap_or(Next::Rest);
        }
        StateFinding::NotFound
        | StateFinding::Read(_)
        | StateFinding::Lost
        | StateFinding::LostForGood
        | StateFinding::Retained(_)
        | StateFinding::Adopting(_) => {}
    }
    let identity = identity::check(world);
    findings.identity = Some(identity.clone());
    if !identity.usable() {
        return abandoned(world).unwrap_or_else(|| held(findings, Hold::Identity(identity)));
    }
    let record = world.record.found();
    let Some(driver) = driver(world, record) else {
        return abandoned(world).unwrap_or(Next::Rest);
    };
    if let Some(problem) = gate::credentials_problem(world, driver) {
        return abandoned(world).unwrap_or_else(|| held(findings, Hold::Credentials(problem)));
    }
    let Some(record) = record.filter(|record| !is_begun_anew(world, record)) else {
        return look_for_record(world, now, findings, driver);
    };
    if record.history.destroy.failed > 0
        && let Some(release) = abandoned(world)
    {
        return release;
    }
    if let Some(next) = drain(world, now, findings, driver) {
        return next;
    }
    let wish = Wish {
        because: "the pool is being deleted",
        ..operation::wish(now, Operation::Destroy, driver, None, findings)
    };
    let goal = goal::build(world, wish);
    if driver.handle_from_record(&goal.context()).is_none() {
        return Next::Release(Release::NeverApplied);
    }
    let memory = gate::memory(world, now);
    if let Err(hold) = operation::can_begin(world, now, findings, Operation::Destroy, None, &memory)
    {
        return held(findings, hold);
    }
    if !operation::blocks_move(world) {
        return Next::Prepare(Operation::Destroy);
    }
    Next::Go(Box::new(goal))
}

/// Machines go first, each through its drain, however long that takes: this is no part of the
/// destroy, whose deadline begins when they are through. `None`: nothing is left to wait for.
fn drain(world: &World, now: Timestamp, findings: &mut Findings, driver: Driver) -> Option<Next> {
    if let Some(why) = gate::unread_machines(world) {
        return Some(held(findings, Hold::Unreadable(why)));
    }
    let objects = machines::objects(world)?;
    if machines::cluster_goes(world) || is_drained(objects) {
        return None;
    }
    let wish = Wish {
        because: "Machines of the deleting pool are drained",
        ..operation::wish(now, Operation::Refresh, driver, None, findings)
    };
    let goal = Goal {
        depth: Depth::Leaving,
        ..goal::build(world, wish)
    };
    driver.handle_from_record(&goal.context())?;
    let memory = gate::memory(world, now);
    if let Some(until) = memory.read_failures.retry_at.filter(|at| *at > now) {
        return Some(held(findings, Hold::Backoff { until }));
    }
    Some(Next::Go(Box::new(goal)))
}

/// The record's driver; the image's when the record is lost.
fn driver(world: &World, record: Option<&Record>) -> Option<Driver> {
    record
        .and_then(|record| record.driver.driver())
        .or_else(|| super::image::driver(&world.pool.spec.source.image).ok())
}

/// The record is lost: a look at the cloud that changes nothing tells what it held, if the inputs
/// still say where to look. The destroy follows from the rebuilt record.
fn look_for_record(world: &World, now: Timestamp, findings: &mut Findings, driver: Driver) -> Next {
    let Some(rendered) = rebuilt(world) else {
        findings.state = Some(StateFinding::LostForGood);
        return abandoned(world).unwrap_or(Next::Rest);
    };
    let wish = Wish {
        because: "the record is lost and must be rebuilt before anything can be destroyed",
        recovering: true,
        ..operation::wish(now, Operation::Drift, driver, Some(&rendered), findings)
    };
    let goal = goal::build(world, wish);
    let inputs = &rendered.inputs;
    let variables = &rendered.variables.values;
    if let Err(refusals) = driver.desired(inputs, variables, &goal.context()) {
        return abandoned(world).unwrap_or_else(|| held(findings, Hold::Refused(refusals)));
    }
    let memory = gate::memory(world, now);
    if let Err(hold) = operation::can_begin(world, now, findings, Operation::Drift, None, &memory) {
        return abandoned(world).unwrap_or_else(|| held(findings, hold));
    }
    Next::Go(Box::new(goal))
}

/// Inputs to find the group by when the record is lost.
fn rebuilt(world: &World) -> Option<Rendered> {
    let owners = owner::check(world).ok()?;
    render::render(world, owners).ok()
}
