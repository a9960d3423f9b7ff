//! Replicas and autoscaling: the setting holds the capacity, the set is left alone.

use remuda_plan::{
    azure::{action::Action as Call, desired::Profile},
    pool::{
        action::{Effect, Outlook},
        inputs::Autoscaling,
    },
};
use serde_json::{Value, json};

use super::{
    cloud::{Cloud, applied},
    demo::{Demo, SET, SETTING, demo},
};

fn profile(cloud: &Cloud) -> Profile {
    cloud.settings[SETTING]
        .profile
        .clone()
        .expect("our profile")
}

fn bounds(cloud: &Cloud) -> (i64, i64, i64) {
    let profile = profile(cloud);
    (profile.minimum, profile.maximum, profile.default)
}

fn only_setting(cloud: &mut Cloud, demo: &mut Demo) {
    assert_eq!(cloud.settle(demo), [format!("PUT {SETTING}")]);
}

/// Proves: AZURE-24.
#[test]
fn replicas_are_one_put_of_the_setting() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.replicas(5);
    assert_eq!(cloud.pass(&mut demo), [format!("PUT {SETTING}")]);
    assert_eq!(bounds(&cloud), (5, 5, 5));
    assert_eq!(profile(&cloud).cpu, None);
    assert_eq!(cloud.set(SET).set.capacity, 3, "Autoscale moves the set");
    cloud.tick();
    assert_eq!(cloud.set(SET).set.capacity, 5);
    assert!(cloud.settle(&mut demo).is_empty());
}

/// Proves: AZURE-26.
#[test]
fn autoscaling_sets_bounds_and_two_rules_and_leaves_the_set() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.replicas(4).autoscaled(2, 6);
    only_setting(&mut cloud, &mut demo);
    assert_eq!(bounds(&cloud), (2, 6, 2));
    let cpu = profile(&cloud).cpu.expect("CPU rules");
    assert_eq!((cpu.scale_out_percent, cpu.scale_in_percent), (75, 25));
    let target = &cloud.settings[SETTING].target;
    assert!(target.ends_with(&format!("virtualMachineScaleSets/{SET}")));
    assert_eq!(cloud.set(SET).set.capacity, 3);
}

/// Proves: AZURE-27.
#[test]
fn thresholds_are_the_rules_own() {
    let (mut cloud, demo) = applied(demo().autoscaled(2, 6));
    let mut demo = demo
        .var("autoscaling_scale_out_cpu_percent", json!(60))
        .var("autoscaling_scale_in_cpu_percent", json!(20));
    only_setting(&mut cloud, &mut demo);
    let cpu = profile(&cloud).cpu.expect("CPU rules");
    assert_eq!((cpu.scale_out_percent, cpu.scale_in_percent), (60, 20));
}

/// Proves: AZURE-28.
#[test]
fn while_autoscaled_the_rendered_count_writes_nothing() {
    let (mut cloud, demo) = applied(demo().replicas(4).autoscaled(2, 6));
    let mut demo = demo.replicas(5);
    assert!(cloud.settle(&mut demo).is_empty());
}

/// Proves: AZURE-32.
#[test]
fn a_first_count_of_zero() {
    let (cloud, demo) = applied(demo().replicas(0));
    assert_eq!(cloud.set(SET).set.capacity, 0);
    assert_eq!(bounds(&cloud), (0, 0, 0));
    let outputs = cloud.outputs(&demo);
    assert_eq!(outputs.replicas, Some(0));
    assert!(outputs.health.healthy && outputs.provider_id_list.is_empty());
    let mut fresh = Cloud::new();
    let mut demo = super::demo::demo().replicas(0);
    fresh.settle(&mut demo);
    assert!(matches!(
        fresh.journal.first(),
        Some(Call::CreateSet { capacity: 0, .. })
    ));
}

/// Proves: CAPTF-81.
#[test]
fn a_capacity_changed_by_hand_is_no_drift_and_a_setting_changed_by_hand_is() {
    for demo in [demo(), demo().autoscaled(2, 9)] {
        let (mut cloud, demo) = applied(demo);
        let drift = |cloud: &Cloud| {
            let plan = cloud.plan(&demo).expect("a plan can be made");
            remuda_plan::pool::drift::summary(&plan)
        };
        cloud.sets.get_mut(SET).expect("the set").fill(7);
        assert_eq!(drift(&cloud), None);
        let setting = cloud.settings.get_mut(SETTING).expect("the setting");
        setting.profile.as_mut().expect("our profile").maximum = 50;
        let found = drift(&cloud).expect("drift");
        assert_eq!((found.update, found.create, found.delete), (1, 0, 0));
        assert_eq!(found.resources, [format!("autoscale_setting/{SETTING}")]);
    }
}

/// Proves: AZURE-33, AZURE-112.
#[test]
fn a_capacity_changed_by_hand_is_no_drift() {
    for demo in [demo(), demo().autoscaled(2, 9)] {
        let (mut cloud, mut demo) = applied(demo);
        cloud.sets.get_mut(SET).expect("the set").fill(7);
        let plan = cloud.plan(&demo).expect("a plan can be made");
        let calls = plan
            .steps
            .iter()
            .filter(|step| step.object != "record/workers");
        assert_eq!(calls.count(), 0, "{plan:?}");
        assert_eq!(plan.outlook, Outlook::Settled);
        cloud.settle(&mut demo);
        assert!(cloud.calls.is_empty());
    }
    let (mut cloud, mut demo) = applied(demo());
    cloud.sets.get_mut(SET).expect("the set").fill(7);
    cloud.tick();
    cloud.settle(&mut demo);
    assert_eq!(cloud.set(SET).set.capacity, 3, "Autoscale restores it");
}

/// Proves: AZURE-34.
#[test]
fn what_autoscale_does_within_the_bounds_is_observed_only() {
    let (mut cloud, mut demo) = applied(demo().autoscaled(2, 6));
    for capacity in [4, 5, 6] {
        cloud.sets.get_mut(SET).expect("the set").fill(capacity);
        cloud.settle(&mut demo);
        assert_eq!(cloud.outputs(&demo).replicas, Some(capacity));
    }
    assert!(cloud.calls.is_empty(), "{:?}", cloud.calls);
}

/// Proves: AZURE-35.
#[test]
fn a_scaler_outside_has_no_setting_while_autoscaling_is_on() {
    let (mut cloud, demo) = applied(demo().autoscaled(2, 6));
    let mut demo = demo
        .var("autoscaler", json!("external"))
        .var("autoscaling_scale_out_cpu_percent", json!(30))
        .var("autoscaling_scale_in_cpu_percent", json!(40));
    assert_eq!(cloud.settle(&mut demo), [format!("DELETE {SETTING}")]);
    assert_eq!(cloud.set(SET).set.capacity, 3, "the capacity stays");
    let extra = cloud.outputs(&demo).extra;
    assert_eq!(extra["autoscale_setting_id"], Value::Null);
    let mut demo = demo
        .with(|inputs| inputs.autoscaling = Autoscaling::OFF)
        .var("autoscaling_scale_in_cpu_percent", json!(20));
    assert_eq!(cloud.settle(&mut demo), [format!("PUT {SETTING}")]);
    let extra = cloud.outputs(&demo).extra;
    assert_ne!(extra["autoscale_setting_id"], Value::Null);
}

#[test]
fn a_setting_that_is_gone_or_edited_is_put_back() {
    let (mut cloud, mut demo) = applied(demo());
    cloud.settings.clear();
    only_setting(&mut cloud, &mut demo);
    let setting = cloud.settings.get_mut(SETTING).expect("the setting");
    setting.foreign_fields = vec!["enabled".to_owned()];
    only_setting(&mut cloud, &mut demo);
    let setting = cloud.settings.get_mut(SETTING).expect("the setting");
    setting.profile = None;
    only_setting(&mut cloud, &mut demo);
    assert_eq!(bounds(&cloud), (3, 3, 3));
}

#[test]
fn an_upper_bound_below_what_runs_removes_machines() {
    let (cloud, demo) = applied(demo());
    let effect = |replicas: i64| {
        let plan = cloud
            .plan(&demo.clone().replicas(replicas))
            .expect("a plan can be made");
        plan.steps[0].effect
    };
    assert_eq!(effect(2), Effect::Removes);
    assert_eq!(effect(4), Effect::None);
}

#[test]
fn the_setting_does_not_wait_for_a_set_that_is_busy() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.bootstrap(super::demo::ROTATED);
    assert_eq!(cloud.pass(&mut demo), [format!("PATCH {SET}")]);
    let mut demo = demo.replicas(5);
    assert_eq!(cloud.pass(&mut demo), [format!("PUT {SETTING}")]);
    assert!(cloud.running.is_some(), "the PATCH still runs");
}
