//! Bounds, desired count and the CPU policy.

use remuda_plan::aws::action::{Action, GroupUpdate};
use serde_json::json;

use super::{
    cloud::{Cloud, applied},
    demo::{GROUP, demo},
};

fn sizes(cloud: &Cloud) -> (i64, i64, i64) {
    let group = cloud.group();
    (group.min_size, group.max_size, group.desired_capacity)
}

fn updates(cloud: &Cloud) -> Vec<GroupUpdate> {
    cloud
        .journal
        .iter()
        .filter_map(|call| match call {
            Action::UpdateGroup(update) => Some(update.clone()),
            _ => None,
        })
        .collect()
}

/// Proves: AWS-1.
#[test]
fn without_autoscaling_the_bounds_pin_the_size_and_no_policy_exists() {
    let (cloud, _) = applied(demo());
    assert_eq!(sizes(&cloud), (3, 3, 3));
    assert_eq!(cloud.policy, None);
}

/// Proves: AWS-2.
#[test]
fn with_autoscaling_the_annotations_bound_the_size_and_a_cpu_policy_scales() {
    let (cloud, _) = applied(demo().autoscaled(2, 5));
    assert_eq!(sizes(&cloud), (2, 5, 3));
    let policy = cloud.policy.as_ref().expect("a policy");
    assert_eq!(policy.policy_type, "TargetTrackingScaling");
    assert_eq!(policy.metric, "ASGAverageCPUUtilization");
    assert!((policy.target_value - 60.0).abs() < f64::EPSILON);
    assert_eq!(remuda_plan::aws::names::POLICY, "captf-cpu-target-tracking");
}

/// Proves: AWS-3.
#[test]
fn an_external_autoscaler_gets_the_bounds_and_no_policy() {
    let (cloud, _) = applied(demo().autoscaled(2, 5).var("autoscaler", json!("external")));
    assert_eq!(sizes(&cloud), (2, 5, 3));
    assert_eq!(cloud.policy, None);
}

#[test]
fn the_first_count_is_clamped_into_the_bounds() {
    for (replicas, expected) in [(1, 2), (3, 3), (9, 5), (0, 2)] {
        let desired = demo()
            .autoscaled(2, 5)
            .with(|i| i.replicas = replicas)
            .good();
        assert_eq!(desired.group.desired_capacity, expected, "{replicas}");
    }
}

/// Proves: AWS-11.
#[test]
fn more_replicas_are_one_group_update() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.with(|inputs| inputs.replicas = 5);
    let calls = cloud.settle(&mut demo);
    assert_eq!(calls, ["UpdateAutoScalingGroup"]);
    let update = &updates(&cloud)[0];
    assert_eq!((update.min_size, update.max_size), (Some(5), Some(5)));
    assert_eq!(update.template_name, None);
    assert_eq!(cloud.outputs(&demo).replicas, Some(5));
}

/// Proves: AWS-12.
#[test]
fn fewer_replicas_move_all_three_sizes() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.with(|inputs| inputs.replicas = 2);
    assert_eq!(cloud.settle(&mut demo), ["UpdateAutoScalingGroup"]);
    assert_eq!(
        updates(&cloud),
        [GroupUpdate {
            group: GROUP.to_owned(),
            min_size: Some(2),
            max_size: Some(2),
            desired_capacity: Some(2),
            ..GroupUpdate::default()
        }]
    );
    assert_eq!(sizes(&cloud), (2, 2, 2));
}

/// Proves: AWS-13.
#[test]
fn an_autoscaled_count_is_nobodys_but_the_scalers() {
    let (mut cloud, demo) = applied(demo().autoscaled(1, 5));
    cloud.group_mut().desired_capacity = 4;
    let mut demo = demo.with(|inputs| inputs.replicas = 2);
    assert!(cloud.settle(&mut demo).is_empty());
    assert_eq!(sizes(&cloud), (1, 5, 4));
    assert_eq!(cloud.outputs(&demo).replicas, Some(4));
}

/// Proves: AWS-14.
#[test]
fn turning_autoscaling_off_deletes_the_policy_before_it_pins_the_size() {
    let (mut cloud, demo) = applied(demo().autoscaled(1, 5));
    let mut demo =
        demo.with(|inputs| inputs.autoscaling = remuda_plan::pool::inputs::Autoscaling::OFF);
    assert_eq!(
        cloud.settle(&mut demo),
        ["DeletePolicy", "UpdateAutoScalingGroup"]
    );
    assert_eq!(sizes(&cloud), (3, 3, 3));
    assert_eq!(cloud.policy, None);
}

/// Proves: AWS-15.
#[test]
fn turning_autoscaling_on_sets_the_bounds_then_the_policy_and_no_count() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.autoscaled(1, 5);
    assert_eq!(
        cloud.settle(&mut demo),
        ["UpdateAutoScalingGroup", "PutScalingPolicy"]
    );
    assert_eq!(updates(&cloud)[0].desired_capacity, None);
    assert_eq!(sizes(&cloud), (1, 5, 3));
    assert!(cloud.policy.is_some());
}

#[test]
fn changed_bounds_are_an_update_without_a_count() {
    let (mut cloud, demo) = applied(demo().autoscaled(1, 5));
    let mut demo = demo.autoscaled(4, 6);
    assert_eq!(cloud.settle(&mut demo), ["UpdateAutoScalingGroup"]);
    assert_eq!(
        updates(&cloud),
        [GroupUpdate {
            group: GROUP.to_owned(),
            min_size: Some(4),
            max_size: Some(6),
            ..GroupUpdate::default()
        }]
    );
    // AWS raises the count to the new bound by itself.
    assert_eq!(sizes(&cloud), (4, 6, 4));
}

/// Proves: AWS-44.
#[test]
fn another_cpu_target_is_one_policy_write() {
    let (mut cloud, demo) = applied(demo().autoscaled(1, 5));
    let mut demo = demo.var("autoscaling_target_cpu_percent", json!(70));
    assert_eq!(cloud.settle(&mut demo), ["PutScalingPolicy"]);
    let target = cloud.policy.as_ref().map(|policy| policy.target_value);
    assert_eq!(target, Some(70.0));
}

#[test]
fn switching_the_autoscaler_touches_the_policy_alone() {
    let (mut cloud, demo) = applied(demo().autoscaled(1, 5));
    let mut external = demo.clone().var("autoscaler", json!("external"));
    assert_eq!(cloud.settle(&mut external), ["DeletePolicy"]);
    let mut native = external.var("autoscaler", json!("native"));
    assert_eq!(cloud.settle(&mut native), ["PutScalingPolicy"]);
    assert_eq!(sizes(&cloud), (1, 5, 3));
}

/// Proves: AWS-46.
#[test]
fn a_bound_changed_by_hand_is_put_back_without_a_refresh() {
    let (mut cloud, mut demo) = applied(demo());
    cloud.group_mut().min_size = 1;
    assert_eq!(cloud.settle(&mut demo), ["UpdateAutoScalingGroup"]);
    assert_eq!(sizes(&cloud), (3, 3, 3));
    assert!(cloud.refreshes.is_empty());
}

#[test]
fn a_policy_changed_or_deleted_by_hand_is_put_back() {
    let (mut cloud, mut demo) = applied(demo().autoscaled(1, 5));
    for spoil in [
        |cloud: &mut Cloud| cloud.policy.as_mut().expect("a policy").target_value = 90.0,
        |cloud: &mut Cloud| cloud.policy.as_mut().expect("a policy").metric = "Other".to_owned(),
        |cloud: &mut Cloud| cloud.policy = None,
    ] {
        let good = cloud.policy.clone();
        spoil(&mut cloud);
        assert_eq!(cloud.settle(&mut demo), ["PutScalingPolicy"]);
        assert_eq!(cloud.policy, good);
    }
}
