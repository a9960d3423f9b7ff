//! Members as Machines see them, and what these ask for: instances end by name, the count follows,
//! and Azure never chooses.

use std::collections::BTreeSet;

use remuda_plan::{
    azure::observed::ProvisioningState,
    error::FailureClass,
    machines::group::{GroupWish, Leaving},
    pool::{
        action::{ChangeKind, PlanStop},
        read::Read,
    },
};
use serde_json::json;

use super::{
    cloud::failure,
    demo::{PID, SET, SETTING, demo},
    ranch::{Operation, Ranch},
};

fn id(number: u32) -> String {
    format!("{PID}/virtualMachines/{number}")
}

fn ids<const N: usize>(numbers: [u32; N]) -> Vec<String> {
    numbers.into_iter().map(id).collect()
}

fn bounds(ranch: &Ranch) -> (i64, i64, i64) {
    let profile = ranch.cloud.settings[SETTING].profile.as_ref();
    let profile = profile.expect("our profile");
    (profile.minimum, profile.default, profile.maximum)
}

#[test]
fn members_say_what_they_are_made_from_and_how_they_leave() {
    let mut ranch = Ranch::new(demo().var("spot", json!(true)));
    let set = ranch.demo.good().set.name;
    let held = ranch.cloud.sets.get_mut(&set).expect("the set");
    held.instances.get_mut(&1).expect("one").is_deleting = true;
    let going = held.instances.get_mut(&2).expect("one");
    going.is_deleting = true;
    going.power = Some("deallocating".to_owned());
    let members = ranch.members();
    assert_eq!(members.len(), 3);
    assert!(members.iter().all(|it| it.revision.as_ref() == Some(&set)));
    assert!(members.iter().all(|it| it.interruptible && !it.outdated));
    let leaving: Vec<_> = members.into_iter().map(|it| it.leaving).collect();
    assert_eq!(leaving[0], None);
    assert!(
        matches!(leaving[1], Some(Leaving::Held { .. })),
        "Azure waits"
    );
    assert_eq!(leaving[2], Some(Leaving::Ending));
}

#[test]
fn a_lower_count_ends_whom_machines_chose() {
    let mut ranch = Ranch::new(demo()).changed(|demo| demo.replicas(2));
    let calls = ranch.settle();
    assert_eq!(calls, [format!("PUT {SETTING}"), format!("END {SET} 0")]);
    assert_eq!(ranch.staying(), ids([1, 2]), "Azure would have taken 2");
    assert_eq!(ranch.cloud.set(SET).set.capacity, 2);
    assert!(ranch.taken().is_empty());
    assert!(ranch.settle().is_empty());
}

#[test]
fn a_higher_count_is_asked_for_at_once() {
    let mut ranch = Ranch::new(demo()).changed(|demo| demo.replicas(5));
    let calls = ranch.settle();
    assert_eq!(
        calls,
        [format!("PUT {SETTING}"), format!("SIZE {SET} 3 -> 5")]
    );
    assert_eq!(ranch.staying().len(), 5);
}

#[test]
fn one_that_is_deleted_is_ended_and_replaced() {
    for operation in [Operation::Apply, Operation::Refresh] {
        let mut ranch = Ranch::new(demo());
        ranch.delete(&id(1));
        let (plan, _) = ranch.pass(operation, usize::MAX);
        assert_eq!(
            ranch.cloud.calls,
            [format!("END {SET} 1"), format!("SIZE {SET} 2 -> 3")]
        );
        assert_eq!(Ranch::removals(&plan), ["drained: instances 1"]);
        assert!(
            plan.steps
                .iter()
                .all(|step| step.kind == ChangeKind::Bookkeeping),
            "no drift"
        );
        ranch.cloud.tick();
        assert_eq!(ranch.staying(), ids([0, 2, 3]));
        assert!(ranch.settle().is_empty());
        assert!(ranch.taken().is_empty());
    }
}

#[test]
fn one_call_ends_all_that_are_drained_and_nobody_is_ended_twice() {
    let mut ranch = Ranch::new(demo());
    ranch.delete(&id(0));
    ranch.delete(&id(2));
    ranch.delete(&id(7));
    ranch.pass(Operation::Refresh, usize::MAX);
    ranch.pass(Operation::Refresh, usize::MAX);
    assert_eq!(
        ranch.cloud.calls,
        [format!("END {SET} 0,2"), format!("SIZE {SET} 1 -> 3")]
    );
}

#[test]
fn what_is_missing_after_a_crash_is_made_good() {
    for crash_after in 0..3 {
        let mut ranch = Ranch::new(demo());
        ranch.delete(&id(1));
        ranch.pass(Operation::Refresh, crash_after);
        ranch.settle();
        assert_eq!(ranch.staying(), ids([0, 2, 3]), "after {crash_after}");
        assert!(ranch.taken().is_empty());
    }
}

#[test]
fn a_setting_never_makes_azure_take_an_instance() {
    let mut ranch = Ranch::new(demo());
    assert_eq!(bounds(&ranch), (3, 3, 1000));
    ranch = ranch.changed(|demo| demo.replicas(1));
    ranch.pass(Operation::Apply, usize::MAX);
    assert_eq!(bounds(&ranch), (1, 1, 1000));
    ranch.cloud.tick();
    assert!(ranch.taken().is_empty());

    let mut ranch = Ranch::new(demo().replicas(5).autoscaled(1, 6));
    assert_eq!(bounds(&ranch), (1, 1, 6));
    ranch = ranch.changed(|demo| demo.autoscaled(1, 3));
    ranch.pass(Operation::Apply, usize::MAX);
    assert_eq!(bounds(&ranch), (1, 1, 5), "five are there");
    ranch.cloud.tick();
    assert!(ranch.taken().is_empty());
    ranch.settle();
    assert_eq!(bounds(&ranch), (1, 1, 3));
    assert_eq!(ranch.staying(), ids([2, 3, 4]));
    assert!(ranch.taken().is_empty());
}

#[test]
fn without_a_setting_machines_hold_the_count_alone() {
    let demo = demo()
        .var("autoscaler", json!("external"))
        .replicas(4)
        .autoscaled(1, 9);
    let mut ranch = Ranch::new(demo);
    ranch.delete(&id(0));
    ranch.settle();
    assert!(ranch.cloud.settings.is_empty());
    assert_eq!(ranch.staying(), ids([1, 2, 3, 4]));
}

#[test]
fn instances_that_azure_gave_up_are_asked_for_again_or_no_more() {
    let mut ranch = Ranch::new(demo());
    ranch.cloud.has_no_room = true;
    ranch = ranch.changed(|demo| demo.replicas(5));
    ranch.pass(Operation::Apply, usize::MAX);
    ranch.pass(Operation::Refresh, usize::MAX);
    assert_eq!(
        ranch.cloud.calls[1..],
        [format!("SIZE {SET} 3 -> 5"), format!("SIZE {SET} 5 -> 5")]
    );
    let mut given_up = ranch.clone().changed(|demo| demo.replicas(3));
    let (plan, _) = given_up.pass(Operation::Apply, usize::MAX);
    let because = "replicas 5 -> 3: 3 instances exist";
    assert_eq!(Ranch::removals(&plan), [because], "decided on a fresh read");
    assert_eq!(given_up.cloud.set(SET).set.capacity, 3);
    assert_eq!(given_up.staying(), ids([0, 1, 2]));
    ranch.cloud.has_no_room = false;
    ranch.settle();
    assert_eq!(ranch.staying().len(), 5);
    assert!(ranch.taken().is_empty() && given_up.taken().is_empty());
}

#[test]
fn a_set_that_azure_works_on_is_only_asked_for_more() {
    let mut ranch = Ranch::new(demo());
    let held = ranch.cloud.sets.get_mut(SET).expect("the set");
    held.set.state = ProvisioningState::Running;
    held.set.capacity = 5;
    let (plan, _) = ranch.pass(Operation::Refresh, usize::MAX);
    assert!(plan.steps.is_empty(), "instances may be on their way");
    ranch.demo.inputs.replicas = 6;
    ranch.pass(Operation::Refresh, usize::MAX);
    assert_eq!(ranch.cloud.calls, [format!("SIZE {SET} 5 -> 6")]);
}

#[test]
fn nothing_is_done_on_a_guess_or_to_a_strangers_set() {
    let mut ranch = Ranch::new(demo());
    let cause = failure(FailureClass::Throttled, "TooManyRequests");
    let read = ranch.members_seeing(|observed| {
        observed
            .members
            .insert(SET.to_owned(), Read::Unknown(cause.clone()));
    });
    assert_eq!(read, Err(cause));

    ranch.delete(&id(1));
    ranch.decide();
    let held = ranch.cloud.sets.get_mut(SET).expect("the set");
    held.set
        .tags
        .insert("remuda.dev_installation".to_owned(), "another".to_owned());
    let plan = ranch.plan(Operation::Refresh).expect("a plan can be made");
    assert!(plan.steps.is_empty());
    assert!(matches!(
        ranch.plan(Operation::Apply),
        Err(PlanStop::Refused(_))
    ));
}

#[test]
fn a_listing_that_lags_makes_nothing_grow() {
    let mut ranch = Ranch::new(demo()).changed(|demo| demo.replicas(5));
    ranch.cloud.lagging.insert(SET.to_owned());
    ranch.demo.wish = Some(GroupWish {
        capacity: 5,
        ends: BTreeSet::from([id(0)]),
        ..GroupWish::default()
    });
    let plan = ranch.plan(Operation::Refresh).expect("a plan can be made");
    assert!(plan.steps.is_empty());
}

#[test]
fn machines_that_leave_do_not_make_the_pool_unhealthy() {
    let mut ranch = Ranch::new(demo()).changed(|demo| demo.replicas(2));
    ranch.pass(Operation::Apply, usize::MAX);
    let held = ranch.cloud.sets.get_mut(SET).expect("the set");
    held.instances.get_mut(&0).expect("it is listed").power = Some("stopping".to_owned());
    let outputs = ranch.cloud.outputs(&ranch.demo);
    assert_eq!(outputs.provider_id_list, ids([0, 1, 2]), "it is listed");
    assert_eq!(outputs.replicas, Some(2));
    assert!(outputs.health.healthy, "{:?}", outputs.health);
}

#[test]
fn whoever_is_drained_late_ends_while_azure_still_works_on_the_set() {
    let mut ranch = Ranch::new(demo());
    ranch.demo.wish = Some(GroupWish {
        ends: ids([0, 1]).into_iter().collect(),
        ..GroupWish::default()
    });
    ranch.pass_as_decided(Operation::Refresh, usize::MAX);
    let held = ranch.cloud.sets.get_mut(SET).expect("the set");
    held.set.state = ProvisioningState::Running;
    ranch.demo.wish = Some(GroupWish {
        ends: ids([0, 1, 2]).into_iter().collect(),
        ..GroupWish::default()
    });
    ranch.cloud.calls.clear();
    let plan = ranch.cloud.teardown(&ranch.demo);
    ranch.cloud.run(&mut ranch.demo, &plan, usize::MAX);
    let ended = format!("END {SET} 2");
    assert!(
        ranch.cloud.calls.contains(&ended),
        "{:?}",
        ranch.cloud.calls
    );
    assert!(ranch.staying().is_empty());
    let again = ranch.cloud.teardown(&ranch.demo);
    assert!(Ranch::removals(&again).is_empty(), "nobody is ended twice");
}

/// Autoscale puts back what it misses, and nobody would drain that.
#[test]
fn a_pool_that_goes_gives_up_its_setting_before_its_first_instance() {
    let mut ranch = Ranch::new(demo());
    ranch.demo.wish = Some(GroupWish {
        goes: true,
        ends: BTreeSet::from([id(0)]),
        ..GroupWish::default()
    });
    ranch.cloud.calls.clear();
    ranch.pass_as_decided(Operation::Refresh, usize::MAX);
    let expected = [format!("DELETE {SET}-autoscale"), format!("END {SET} 0")];
    assert_eq!(ranch.cloud.calls, expected);
    ranch.demo.wish = Some(GroupWish {
        goes: true,
        ends: BTreeSet::from([id(1)]),
        ..GroupWish::default()
    });
    ranch.cloud.calls.clear();
    ranch.pass_as_decided(Operation::Refresh, usize::MAX);
    assert_eq!(ranch.cloud.calls, [format!("END {SET} 1")]);
}
