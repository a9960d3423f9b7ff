//! Rolls: the new set first, then the old one goes; resumed, turned back, never doubled.

use remuda_plan::{
    azure::action::Action as Call,
    error::FailureClass,
    pool::action::{Action, ChangeKind, Effect, Outlook},
};
use serde_json::json;

use super::{
    cloud::{Cloud, End, applied, failure},
    demo::{Demo, PID, SET, SETTING, demo},
};

const NEW: &str = "workers-64df8f7b";
const NEW_SETTING: &str = "workers-64df8f7b-autoscale";

fn new_pid() -> String {
    PID.replace(SET, NEW)
}

fn rolled(demo: Demo) -> Demo {
    demo.version("v1.34.2")
}

/// Capacities of all creates.
fn capacities(cloud: &Cloud) -> Vec<i64> {
    let calls = cloud.journal.iter();
    calls
        .filter_map(|call| match call {
            Call::CreateSet { capacity, .. } => Some(*capacity),
            _ => None,
        })
        .collect()
}

/// Proves: AZURE-52, AZURE-55.
#[test]
fn a_new_version_makes_its_set_first_and_the_old_one_goes_in_order() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = rolled(demo);
    assert_eq!(
        cloud.settle(&mut demo),
        [
            format!("PUT {NEW}"),
            format!("DELETE {SETTING}"),
            format!("PUT {NEW_SETTING}"),
            format!("EMPTY {SET}"),
            format!("DELETE {SET}"),
        ]
    );
    assert_eq!(cloud.sets.keys().collect::<Vec<_>>(), [NEW]);
    let image = cloud.set(NEW).set.model.image.text().to_owned();
    assert!(image.ends_with("/versions/1.34.2"), "{image}");
    assert!(cloud.settle(&mut demo).is_empty());
    let record = demo.remembered();
    assert!(record.retiring.is_empty() && record.predecessor.is_none());
    assert!(record.next.is_none() && record.operation.is_none());
}

/// Proves: AZURE-53.
#[test]
fn a_distributions_suffix_rolls_and_keeps_the_image() {
    let (mut cloud, demo) = applied(rolled(demo()));
    let mut demo = demo.version("v1.34.2+rke2r1");
    cloud.settle(&mut demo);
    assert_eq!(cloud.sets.keys().collect::<Vec<_>>(), ["workers-069c77e7"]);
    let image = &cloud.set("workers-069c77e7").set.model.image;
    assert!(image.text().ends_with("/versions/1.34.2"));
}

/// Proves: AZURE-54.
#[test]
fn the_new_set_has_as_many_machines_as_the_old_one_had() {
    let (mut cloud, demo) = applied(demo().replicas(2).autoscaled(2, 9));
    cloud.sets.get_mut(SET).expect("the set").fill(5);
    let mut demo = rolled(demo);
    cloud.settle(&mut demo);
    assert_eq!(capacities(&cloud), [5]);
}

#[test]
fn a_pool_of_zero_rolls_with_zero() {
    let (mut cloud, demo) = applied(demo().replicas(0));
    let mut demo = rolled(demo);
    let calls = cloud.settle(&mut demo);
    assert_eq!(capacities(&cloud), [0]);
    assert!(!calls.contains(&format!("EMPTY {SET}")), "it is empty");
}

#[test]
fn a_count_that_changes_in_the_same_apply_is_the_new_settings() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = rolled(demo).replicas(5);
    cloud.settle(&mut demo);
    assert_eq!(capacities(&cloud), [3], "the old set's");
    let setting = cloud.settings[NEW_SETTING].profile.clone();
    assert_eq!(setting.expect("our profile").minimum, 5);
}

/// Proves: AZURE-56.
#[test]
fn without_quota_the_old_set_stays_as_it_is() {
    let (mut cloud, demo) = applied(demo());
    let before = (
        cloud.sets.clone(),
        cloud.settings.clone(),
        cloud.outputs(&demo),
    );
    let mut demo = rolled(demo);
    cloud.refusing = Some("OperationNotAllowed");
    let plan = cloud.plan(&demo).expect("a plan can be made");
    let end = cloud.run(&mut demo, &plan, usize::MAX);
    assert_eq!(end, End::Refused("OperationNotAllowed".to_owned()));
    assert_eq!(cloud.sets, before.0);
    assert_eq!(cloud.settings, before.1);
    let outputs = cloud.outputs(&demo);
    assert_eq!(outputs, before.2);
}

#[test]
fn a_create_that_fails_is_told_once_and_then_completed() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = rolled(demo);
    let cause = failure(FailureClass::Transient, "AllocationFailed");
    cloud.next_failure = Some(cause.clone());
    cloud.pass(&mut demo);
    cloud.tick();
    demo.now += 10;
    let plan = cloud.plan(&demo).expect("a plan can be made");
    assert_eq!(plan.outlook, Outlook::Failed(cause));
    assert!(
        plan.steps
            .iter()
            .all(|step| step.kind == ChangeKind::Bookkeeping)
    );
    cloud.run(&mut demo, &plan, usize::MAX);
    assert_eq!(cloud.set(SET).instances.len(), 3, "the old set works on");
    assert!(cloud.settings.contains_key(SETTING));
    let calls = cloud.settle(&mut demo);
    assert_eq!(calls[0], format!("PATCH {NEW}"), "not made twice");
    assert_eq!(cloud.sets.keys().collect::<Vec<_>>(), [NEW]);
    assert_eq!(cloud.set(NEW).instances.len(), 3);
}

#[test]
fn a_failed_create_that_nobody_wants_any_more_retires() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = rolled(demo);
    cloud.next_failure = Some(failure(FailureClass::Transient, "AllocationFailed"));
    cloud.pass(&mut demo);
    cloud.tick();
    let mut demo = demo.version("v1.34.1");
    let calls = cloud.settle(&mut demo);
    assert_eq!(calls, [format!("EMPTY {NEW}"), format!("DELETE {NEW}")]);
    assert_eq!(cloud.sets.keys().collect::<Vec<_>>(), [SET]);
    assert_eq!(cloud.set(SET).instances.len(), 3);
}

#[test]
fn turning_back_before_the_new_set_serves_keeps_the_old_one() {
    let (mut cloud, demo) = applied(demo());
    let before = cloud.set(SET).clone();
    let mut demo = rolled(demo);
    cloud.pass(&mut demo);
    let mut demo = demo.version("v1.34.1");
    cloud.settle(&mut demo);
    assert_eq!(cloud.sets.keys().collect::<Vec<_>>(), [SET]);
    assert_eq!(*cloud.set(SET), before, "it was never touched");
}

#[test]
fn turning_back_halfway_fills_the_old_set_again() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = rolled(demo);
    while !cloud.calls.contains(&format!("EMPTY {SET}")) {
        cloud.pass(&mut demo);
        cloud.tick();
    }
    let mut demo = demo.version("v1.34.1");
    cloud.settle(&mut demo);
    assert_eq!(cloud.sets.keys().collect::<Vec<_>>(), [SET]);
    assert_eq!(cloud.set(SET).instances.len(), 3);
    assert_eq!(cloud.settings.keys().collect::<Vec<_>>(), [SETTING]);
    assert_eq!(demo.remembered().current.expect("one serves").set_name, SET);
    assert!(cloud.settle(&mut demo).is_empty());
}

#[test]
fn a_third_generation_takes_over_from_a_second_that_is_on_its_way() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = rolled(demo);
    cloud.pass(&mut demo);
    let mut demo = demo.version("v1.34.3");
    cloud.settle(&mut demo);
    let name = demo.good().set.name;
    assert_eq!(cloud.sets.keys().collect::<Vec<_>>(), [&name]);
    assert_eq!(cloud.set(&name).instances.len(), 3);
}

/// Proves: AZURE-104.
#[test]
fn each_part_of_the_generation_rolls_alone() {
    let rows = [
        (demo().zones(["2"]), "workers-9723f6c7"),
        (demo().var("spot", json!(true)), "workers-a98e8e19"),
        (
            demo().var("trusted_launch", json!(true)),
            "workers-b42f2ae5",
        ),
        (
            demo().var("os_disk_storage_account_type", json!("StandardSSD_LRS")),
            "workers-07f44a84",
        ),
    ];
    for (changed, name) in rows {
        let (mut cloud, settled) = applied(demo());
        let mut demo = Demo {
            record: settled.record,
            now: settled.now,
            ..changed
        };
        let calls = cloud.settle(&mut demo);
        let old: Vec<&String> = calls
            .iter()
            .filter(|call| call.ends_with(&format!(" {SET}")))
            .collect();
        assert_eq!(old, [&format!("EMPTY {SET}"), &format!("DELETE {SET}")]);
        assert_eq!(cloud.sets.keys().collect::<Vec<_>>(), [name]);
    }
}

#[test]
fn a_preview_shows_the_whole_roll() {
    let (cloud, demo) = applied(demo());
    let plan = cloud.plan(&rolled(demo)).expect("a plan can be made");
    let steps: Vec<(&str, ChangeKind, Effect)> = plan
        .steps
        .iter()
        .filter(|step| step.kind != ChangeKind::Bookkeeping)
        .map(|step| (step.object.as_str(), step.kind, step.effect))
        .collect();
    assert_eq!(
        steps,
        [
            (
                "scale_set/workers-64df8f7b",
                ChangeKind::Replace,
                Effect::Rolls
            ),
            (
                "autoscale_setting/workers-7d91b187-autoscale",
                ChangeKind::Delete,
                Effect::None
            ),
            (
                "autoscale_setting/workers-64df8f7b-autoscale",
                ChangeKind::Create,
                Effect::None
            ),
            (
                "scale_set/workers-7d91b187",
                ChangeKind::Update,
                Effect::Removes
            ),
            (
                "scale_set/workers-7d91b187",
                ChangeKind::Delete,
                Effect::Removes
            ),
        ]
    );
    assert_eq!(
        plan.steps[1].because,
        "kubernetes_version v1.34.1 -> v1.34.2"
    );
}

/// Proves: AZURE-111.
#[test]
fn during_a_roll_the_old_members_are_published() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = rolled(demo);
    while cloud.calls.last() != Some(&format!("EMPTY {SET}")) {
        cloud.pass(&mut demo);
        if cloud.calls.last() != Some(&format!("EMPTY {SET}")) {
            cloud.tick();
        }
    }
    let outputs = cloud.outputs(&demo);
    let expected: Vec<String> = (0..3)
        .map(|id| format!("{PID}/virtualMachines/{id}"))
        .collect();
    assert_eq!(outputs.provider_id_list, expected);
    assert_eq!(outputs.replicas, Some(3));
    cloud.tick();
    let outputs = cloud.outputs(&demo);
    assert_eq!(outputs.replicas, Some(3), "never 0 in between");
    assert_eq!(outputs.provider_id.as_deref(), Some(PID));
    cloud.settle(&mut demo);
    let outputs = cloud.outputs(&demo);
    assert_eq!(outputs.provider_id, Some(new_pid()));
    assert!(
        outputs
            .provider_id_list
            .iter()
            .all(|id| id.starts_with(&new_pid()))
    );
}

/// Proves: AZURE-58.
#[test]
fn after_a_roll_no_old_member_is_listed() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = rolled(demo);
    cloud.settle(&mut demo);
    let outputs = cloud.outputs(&demo);
    assert_eq!(outputs.provider_id, Some(new_pid()));
    assert_eq!(outputs.provider_id_list.len(), 3);
    assert!(
        outputs
            .provider_id_list
            .iter()
            .all(|id| id.starts_with(&new_pid()))
    );
    assert!(outputs.health.healthy);
}

#[test]
fn when_the_old_set_is_gone_the_new_one_starts_with_the_desired_count() {
    let (mut cloud, demo) = applied(demo());
    cloud.sets.clear();
    let mut demo = rolled(demo).replicas(4);
    let calls = cloud.settle(&mut demo);
    assert_eq!(calls[0], format!("PUT {NEW}"));
    assert!(
        calls.contains(&format!("DELETE {SETTING}")),
        "its setting goes"
    );
    assert_eq!(capacities(&cloud), [4]);
}

/// Proves: AZURE-118.
#[test]
fn a_roll_needs_twice_its_machines_and_touches_nothing_but_the_cloud() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = rolled(demo);
    let mut most = 0;
    for _ in 0..40 {
        demo.now += 10;
        let plan = cloud.plan(&demo).expect("a plan can be made");
        if plan.steps.is_empty() && cloud.running.is_none() {
            break;
        }
        let only_cloud_and_record = plan
            .steps
            .iter()
            .all(|step| matches!(step.action, Action::Azure(_) | Action::Remember(_)));
        assert!(only_cloud_and_record, "{plan:?}");
        cloud.run(&mut demo, &plan, usize::MAX);
        cloud.tick();
        let machines = cloud.sets.values().map(|held| held.instances.len()).sum();
        most = most.max(machines);
    }
    assert_eq!(most, 6);
    assert_eq!(cloud.set(NEW).instances.len(), 3);
}
