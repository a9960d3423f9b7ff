//! `gate`: paused? mine? finalizer stored? waiting for whom? And if nothing stands in the way:
//! which operation is due.
//!
//! In: a [`World`] and the time. Out: [`Findings`] for the conditions and [`Next`]. Makes no call
//! and reads nothing else, so `remuda plan` gets the controller's own answer. Deletion is decided
//! in `deletion`, the choice of an operation in `operation`.

use jiff::Timestamp;

use super::{
    autoscaling, deletion, identity, inherit, keys, machines, operation,
    owner::{self, Owners},
    render::{self, Rendered},
    world::{Lookup, Memory, RecordRead, World},
};
pub use super::{
    findings::{
        ApplyReason, AutoscalingFinding, Findings, Hold, IdentityFinding, Policies, StateFinding,
        Wait,
    },
    goal::Goal,
    owner::owner_reference,
};
use crate::{
    driver::{Driver, Observed, Traces},
    status::{pass::Unrecoverable, wire::Operation},
};

/// What the gate says.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// What was found on the way, for the conditions.
    pub findings: Findings,
    /// What happens now.
    pub next: Next,
}

/// What happens now.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Not ours: nothing is written at all.
    Ignore,
    /// The finalizer must be stored first; this pass ends.
    AddFinalizer,
    /// The block-move annotation must be stored before the operation; this pass ends.
    Prepare(Operation),
    /// The finalizer goes; the pool is done.
    Release(Release),
    /// Nothing starts now: something is awaited, refused or not due yet.
    Rest,
    /// Carry out this operation.
    Go(Box<Goal>),
}

/// Why the finalizer goes without (further) cloud calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// Nothing was ever applied.
    NeverApplied,
    /// `deletionPolicy: Retain`.
    Retained,
    /// `captf.io/abandon-infrastructure` names this pool's UID.
    Abandoned,
    /// The pool is managed by someone else.
    ExternallyManaged,
    /// `clusterctl move` deletes the pool from its old home: it lives on in the new one.
    Moved,
    /// The pool held at another pool's retained state, which stays.
    HeldAtRetainedState,
}

/// Decides what this pass does.
pub fn gate(world: &World, now: Timestamp) -> Gate {
    let mut findings = Findings::default();
    let next = decide(world, now, &mut findings);
    Gate { findings, next }
}

fn decide(world: &World, now: Timestamp, findings: &mut Findings) -> Next {
    let pool = &world.pool.metadata;
    let filter = &world.manager.watch_filter;
    if !filter.is_empty() && pool.labels.get(keys::WATCH_FILTER) != Some(filter) {
        return Next::Ignore;
    }
    findings.deleting = pool.deletion_timestamp.is_some();
    let stored = pool.finalizers.iter().any(|it| it == keys::FINALIZER);
    if findings.deleting && !stored {
        return Next::Ignore;
    }
    if pool.annotations.contains_key(keys::MANAGED_BY) {
        return if findings.deleting {
            Next::Release(Release::ExternallyManaged)
        } else {
            Next::Ignore
        };
    }
    let (policies, job_policy) = inherit::policies(world);
    findings.policies = policies;
    findings.paused = paused(world);
    if findings.deleting {
        return deletion::decide(world, now, findings);
    }
    let owners = match owner::check(world) {
        Ok(owners) => owners,
        Err(wait) => {
            findings.dependencies = Some(Err(wait));
            return Next::Rest;
        }
    };
    if !stored {
        return Next::AddFinalizer;
    }
    if findings.paused {
        return Next::Rest;
    }
    findings.autoscaling = Some(autoscaling::finding(owners.machine_pool));
    findings.state = Some(state(world));
    findings.identity = Some(identity::check(world));
    let recorded = world
        .record
        .found()
        .and_then(|record| record.driver.driver());
    let driver = super::image::driver(&world.pool.spec.source.image)
        .and_then(|driver| super::image::same_driver(driver, recorded));
    let rendered = dependencies(world, owners, driver.as_ref().ok().copied());
    findings.dependencies = Some(rendered.as_ref().map(|_| ()).map_err(Clone::clone));
    let driver = match (driver, job_policy) {
        (Ok(driver), Ok(())) => driver,
        (Err(refusal), _) => return held(findings, Hold::Image(refusal)),
        (Ok(_), Err(why)) => return held(findings, Hold::JobPolicy(why)),
    };
    let usable = findings
        .identity
        .as_ref()
        .is_some_and(IdentityFinding::usable);
    findings.inputs_hash = rendered.as_ref().ok().map(|it| it.hash.hash.clone());
    findings.inputs_bytes = rendered.as_ref().ok().map(|it| it.hash.bytes);
    if !usable || !state_usable(findings.state.as_ref()) {
        return Next::Rest;
    }
    if let Some(problem) = credentials_problem(world, driver) {
        return held(findings, Hold::Credentials(problem));
    }
    if let Some(why) = unread_machines(world) {
        return held(findings, Hold::Unreadable(why));
    }
    operation::choose(world, now, findings, driver, rendered.as_ref().ok())
}

/// The pool's Machines could not be read: who is to stay and who may go is not known.
pub(super) fn unread_machines(world: &World) -> Option<String> {
    match &world.machines {
        Lookup::Failed(why) if machines::are_worth_reading(world) => {
            Some(format!("the pool's Machines could not be read: {why}"))
        }
        Lookup::Failed(_) | Lookup::Found(_) | Lookup::Missing => None,
    }
}

/// What the credential Secret of a usable identity lacks.
pub(super) fn credentials_problem(world: &World, driver: Driver) -> Option<String> {
    let secret = world.identity.secret.found()?;
    let cluster = world.infra_cluster.found();
    let reference = identity::resolve(&world.pool, cluster, world.record.found())?;
    identity::credentials_problem(driver, &reference, secret)
}

fn held(findings: &mut Findings, hold: Hold) -> Next {
    findings.hold = Some(hold);
    Next::Rest
}

/// Renders the inputs and lets the driver check the variables (DEP-6 to DEP-10).
fn dependencies(
    world: &World,
    owners: Owners<'_>,
    driver: Option<Driver>,
) -> Result<Rendered, Wait> {
    let rendered = render::render(world, owners)?;
    if let Some(driver) = driver {
        driver
            .check_variables(&rendered.variables.values)
            .map_err(|refusals| Wait::Variables(refusals_text(&refusals)))?;
    }
    Ok(rendered)
}

/// All refusals in one line.
pub(crate) fn refusals_text(refusals: &[crate::error::Refusal]) -> String {
    let lines: Vec<String> = refusals.iter().map(ToString::to_string).collect();
    lines.join("; ")
}

/// The pool's annotation or its Cluster says so.
fn paused(world: &World) -> bool {
    world.pool.metadata.annotations.contains_key(keys::PAUSED)
        || world
            .cluster
            .found()
            .is_some_and(|cluster| cluster.spec.paused)
}

/// The pool has applied before, whatever became of its record.
pub(super) fn applied_before(world: &World) -> bool {
    world.pool.status.provisioned() || world.pool.status.ready == Some(true)
}

/// What became of the record.
pub(super) fn state(world: &World) -> StateFinding {
    let foreign = match &world.record {
        RecordRead::Corrupt(why) => return StateFinding::Corrupt(why.clone()),
        RecordRead::Failed(why) => return StateFinding::Unreadable(why.clone()),
        RecordRead::Found {
            retained_from: Some(uid),
            ..
        } if *uid != world.pool.metadata.uid => Some(format!(
            "Secret {} is left from a deleted pool of this name (UID {uid})",
            super::record::secret_name(&world.pool.metadata.name)
        )),
        RecordRead::Found { .. } | RecordRead::Missing => match &world.retained {
            Lookup::Found(names) if !names.is_empty() && world.record.found().is_none() => {
                Some(format!(
                    "Secrets left from a deleted pool of this name: {}",
                    names.join(", ")
                ))
            }
            Lookup::Found(_) | Lookup::Missing => None,
            Lookup::Failed(why) => return StateFinding::Unreadable(why.clone()),
        },
    };
    if let Some(what) = foreign {
        return if world.pool.spec.adopt_retained_state {
            StateFinding::Adopting(what)
        } else {
            StateFinding::Retained(what)
        };
    }
    match world.record.found() {
        Some(record) => StateFinding::Read(record.revision),
        None if applied_before(world) => StateFinding::Lost,
        None => StateFinding::NotFound,
    }
}

/// Whether the record lets an operation start.
pub(crate) fn state_usable(state: Option<&StateFinding>) -> bool {
    match state {
        Some(
            StateFinding::NotFound
            | StateFinding::Read(_)
            | StateFinding::Lost
            | StateFinding::Adopting(_),
        ) => true,
        Some(
            StateFinding::Corrupt(_)
            | StateFinding::Unreadable(_)
            | StateFinding::Retained(_)
            | StateFinding::LostForGood,
        )
        | None => false,
    }
}

/// Memory of the previous pass, or a new one.
pub(crate) fn memory(world: &World, now: Timestamp) -> Memory {
    world.memory.clone().unwrap_or_else(|| Memory::new(now))
}

/// Whether what was observed allows a lost record to be rebuilt: exactly one group with the
/// ownership tags and the expected name. A failed read is not an answer and passes: the plan that
/// needs it fails by itself.
///
/// # Errors
/// Nothing may be done to the cloud.
pub fn confirm_recovery(goal: &Goal, observed: &Observed) -> Result<(), Unrecoverable> {
    if !goal.recovering {
        return Ok(());
    }
    match Driver::traces(observed, &goal.context()) {
        None | Some(Traces::Ours) => Ok(()),
        Some(Traces::None) => Err(Unrecoverable::NothingFound),
        Some(Traces::Foreign) => Err(Unrecoverable::Inconsistent),
    }
}
