//! Deletion: settings first, then each set to 0 and away; foreign ones never.

use remuda_plan::{
    azure::observed::ProvisioningState,
    error::FailureClass,
    pool::action::{Effect, Outlook},
};

use super::{
    cloud::{Cloud, End, applied, failure},
    demo::{SET, SETTING, demo},
};

const NEW: &str = "workers-64df8f7b";

/// Proves: AZURE-96.
#[test]
fn the_setting_goes_then_the_machines_then_the_set() {
    let (mut cloud, mut demo) = applied(demo());
    assert_eq!(
        cloud.destroy(&mut demo),
        [
            format!("DELETE {SETTING}"),
            format!("EMPTY {SET}"),
            format!("DELETE {SET}"),
        ]
    );
    assert!(cloud.sets.is_empty() && cloud.settings.is_empty());
}

#[test]
fn deletion_is_done_when_a_read_shows_that_the_set_is_gone() {
    let (mut cloud, mut demo) = applied(demo());
    while cloud.calls.last() != Some(&format!("DELETE {SET}")) {
        let plan = cloud.teardown(&demo);
        assert_ne!(plan.outlook, Outlook::Settled);
        cloud.run(&mut demo, &plan, usize::MAX);
        if cloud.calls.last() != Some(&format!("DELETE {SET}")) {
            cloud.tick();
        }
    }
    let waiting = cloud.teardown(&demo);
    assert!(waiting.steps.is_empty(), "{waiting:?}");
    assert!(matches!(waiting.outlook, Outlook::LookAgain { .. }));
    cloud.tick();
    assert_eq!(cloud.teardown(&demo).outlook, Outlook::Settled);
}

/// Proves: AZURE-97.
#[test]
fn a_set_that_is_gone_already_is_no_error() {
    let (mut cloud, mut demo) = applied(demo());
    cloud.sets.clear();
    assert_eq!(cloud.destroy(&mut demo), [format!("DELETE {SETTING}")]);
}

#[test]
fn deleting_during_a_roll_leaves_neither_generation() {
    for passes in 0..8 {
        let (mut cloud, demo) = applied(demo());
        let mut demo = demo.version("v1.34.2");
        for _ in 0..passes {
            cloud.pass(&mut demo);
            cloud.tick();
        }
        cloud.destroy(&mut demo);
        assert!(cloud.sets.is_empty(), "{passes}: {:?}", cloud.sets.keys());
        assert!(cloud.settings.is_empty(), "{passes}");
    }
}

#[test]
fn deleting_while_the_first_set_is_made_waits_for_it() {
    let mut cloud = Cloud::new();
    let mut demo = demo();
    cloud.pass(&mut demo);
    let plan = cloud.teardown(&demo);
    assert!(plan.steps.is_empty());
    assert!(matches!(plan.outlook, Outlook::LookAgain { .. }));
    cloud.tick();
    cloud.destroy(&mut demo);
    assert!(cloud.sets.is_empty());
}

#[test]
fn a_foreign_set_of_our_name_stays() {
    let (mut cloud, mut demo) = applied(demo());
    let held = cloud.sets.get_mut(SET).expect("the set");
    let key = "remuda.dev_installation".to_owned();
    held.set.tags.insert(key, "another".to_owned());
    let before = cloud.sets.clone();
    cloud.destroy(&mut demo);
    assert_eq!(cloud.sets, before);
}

#[test]
fn a_set_that_is_being_deleted_is_waited_for() {
    let (mut cloud, demo) = applied(demo());
    cloud.settings.clear();
    cloud.sets.get_mut(SET).expect("the set").set.state = ProvisioningState::Deleting;
    let plan = cloud.teardown(&demo);
    assert!(plan.steps.is_empty());
    assert!(matches!(plan.outlook, Outlook::LookAgain { .. }));
}

/// Proves: AZURE-90.
#[test]
fn a_lock_is_told_and_deletion_goes_on_once_it_is_gone() {
    let (mut cloud, mut demo) = applied(demo());
    let plan = cloud.teardown(&demo);
    cloud.run(&mut demo, &plan, usize::MAX);
    cloud.tick();
    cloud.refusing = Some("ScopeLocked");
    let plan = cloud.teardown(&demo);
    let end = cloud.run(&mut demo, &plan, usize::MAX);
    assert_eq!(end, End::Refused("ScopeLocked".to_owned()));
    assert!(cloud.sets.contains_key(SET));
    cloud.destroy(&mut demo);
    assert!(cloud.sets.is_empty());
}

#[test]
fn a_delete_that_fails_is_told_and_tried_again() {
    let (mut cloud, mut demo) = applied(demo());
    let plan = cloud.teardown(&demo);
    cloud.run(&mut demo, &plan, usize::MAX);
    let cause = failure(FailureClass::Transient, "InternalServerError");
    cloud.next_failure = Some(cause.clone());
    cloud.tick();
    let plan = cloud.teardown(&demo);
    assert_eq!(plan.outlook, Outlook::Failed(cause));
    cloud.run(&mut demo, &plan, usize::MAX);
    cloud.destroy(&mut demo);
    assert!(cloud.sets.is_empty());
}

#[test]
fn a_preview_says_that_machines_go() {
    let (cloud, demo) = applied(demo());
    let plan = cloud.teardown(&demo);
    let removing = plan
        .steps
        .iter()
        .filter(|step| step.effect == Effect::Removes);
    assert_eq!(removing.count(), 2);
    assert!(!cloud.sets.contains_key(NEW));
}
