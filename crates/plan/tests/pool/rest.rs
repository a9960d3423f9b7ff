//! When a pool rests, and until when.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use remuda_plan::{
    error::FailureClass,
    limits,
    pool::{
        gate::Next,
        schedule::interval,
        world::{Lookup, Memory},
    },
    status::{publication::Publication, wire::Operation},
};

use super::{
    lab::Lab,
    schedule::failure,
    world::{Edit as _, UID, writes_nothing},
};

/// A quiet pool whose namespace is allowed whatever its labels are.
fn quiet() -> Lab {
    let mut lab = Lab::ready();
    lab.edit(|mut world| {
        world.identity.namespace_labels = Lookup::Missing;
        world
    });
    lab
}

/// The pass of the next refresh that is due.
fn refreshed(lab: &mut Lab) -> Publication {
    for _ in 0..200 {
        if matches!(&lab.gate().next, Next::Go(goal) if goal.operation == Operation::Refresh) {
            return lab.pass();
        }
        lab.settle();
        lab.wait(1);
    }
    panic!("no refresh is due: {:#?}", lab.gate().next);
}

#[test]
fn a_refresh_that_finds_nothing_to_do_leaves_a_pool_at_rest_until_everything_is_due_again() {
    let mut lab = quiet();
    let publication = refreshed(&mut lab);
    assert!(writes_nothing(&publication));
    let rest = publication.rest.expect("nothing is to be done");
    let between = interval(60, UID);
    assert_eq!(rest.interval, between.unsigned_abs());
    let resync = SignedDuration::from_secs(i64::from(limits::RESYNC_SECONDS));
    assert_eq!(
        rest.until,
        lab.now + resync,
        "the next drift check is later"
    );
    assert!(rest.lasts(lab.now + between));
    let last = rest.until - between;
    assert!(rest.lasts(last));
    assert!(!rest.lasts(last + SignedDuration::from_secs(1)));
}

#[test]
fn a_drift_check_ends_the_rest() {
    let mut lab = quiet();
    let drift = lab.gate().findings.policies.drift_seconds;
    let due = lab.now + interval(drift, UID);
    lab.wait(i64::from(drift) - 240);
    let rest = refreshed(&mut lab).rest.expect("nothing is to be done");
    assert!(rest.until <= due, "{} is after {due}", rest.until);
}

fn memory(lab: &mut Lab) -> &mut Memory {
    lab.world.memory.as_mut().expect("there were passes")
}

#[test]
fn whoever_waits_for_something_does_not_rest() {
    type Change = fn(&mut Lab);
    let changes: [(&str, Change); 7] = [
        ("a member is short", |lab| {
            let group = lab.cloud.group.as_mut().expect("a group");
            group.instances.pop();
        }),
        ("Nodes came", |lab| memory(lab).nodes_changed = true),
        ("another look is due", |lab| {
            let later = lab.now + SignedDuration::from_hours(1);
            memory(lab).look_again_at = Some(later);
        }),
        ("an operation waits", |lab| {
            let later = lab.now + SignedDuration::from_hours(1);
            memory(lab).operation_retry_at = Some(later);
        }),
        ("the cloud does not answer", |lab| {
            lab.reads_fail = Some(failure(FailureClass::Transient));
        }),
        ("the bootstrap Secret is missing", |lab| {
            lab.world.bootstrap = Lookup::Missing;
            // The condition that says so is written once.
            lab.settle();
        }),
        ("labels of the namespace decide", |lab| {
            lab.edit(|mut world| {
                world.identity.namespace_labels = Lookup::Found(BTreeMap::new());
                world
            });
        }),
    ];
    for (what, change) in changes {
        let mut lab = quiet();
        change(&mut lab);
        assert_eq!(refreshed(&mut lab).rest, None, "{what}");
    }
}

#[test]
fn what_is_written_is_looked_at_once_more() {
    let mut lab = quiet();
    lab.edit(|world| world.pool(|pool| pool.status.replicas = Some(3)));
    lab.edit(|world| world.pool(|pool| pool.status.instances.clear()));
    let publication = refreshed(&mut lab);
    assert!(!writes_nothing(&publication));
    assert_eq!(publication.rest, None);
    assert!(refreshed(&mut lab).rest.is_some());
}
