//! Zones and subnets.

use std::collections::BTreeSet;

use remuda_plan::pool::action::Effect;
use serde_json::json;

use super::{
    cloud::{Cloud, applied, member},
    demo::{Demo, SUBNET_A, SUBNET_B, SUBNET_C, SUBNET_D, demo, names},
};

fn subnets(cloud: &Cloud) -> Vec<&str> {
    cloud.group().subnets.iter().map(String::as_str).collect()
}

fn recorded(demo: &Demo) -> Vec<String> {
    demo.remembered().inherited_zones.into_keys().collect()
}

fn gains_1d(demo: Demo) -> Demo {
    demo.exports(|e| e["failure_domains"]["us-east-1d"] = json!({ "subnet_id": SUBNET_D }))
}

/// Proves: AWS-5.
#[test]
fn the_clusters_failure_domains_are_recorded_at_the_first_apply() {
    let all = names(["us-east-1a", "us-east-1b", "us-east-1c"]);
    let (_, demo) = applied(demo().with(|inputs| inputs.cluster_failure_domains = all.clone()));
    assert_eq!(recorded(&demo), all);
    let two = names(["us-east-1c", "us-east-1a"]);
    let (cloud, demo) = applied(super::demo::demo().with(|i| i.cluster_failure_domains = two));
    assert_eq!(recorded(&demo), ["us-east-1a", "us-east-1c"]);
    assert_eq!(subnets(&cloud), [SUBNET_A, SUBNET_C]);
}

/// Proves: AWS-6.
#[test]
fn without_any_wish_the_exports_zones_are_recorded() {
    let (_, demo) = applied(demo());
    assert_eq!(recorded(&demo), ["us-east-1a", "us-east-1b", "us-east-1c"]);
}

/// Proves: AWS-7.
#[test]
fn a_requested_zone_is_the_only_subnet_and_members_elsewhere_are_still_listed() {
    let (mut cloud, demo) = applied(demo().zones(["us-east-1b"]));
    assert_eq!(subnets(&cloud), [SUBNET_B]);
    let zones = ["us-east-1a", "us-east-1b", "us-east-1c"];
    cloud.group_mut().instances.clear();
    cloud.extra_members = zones
        .iter()
        .zip(["i-1", "i-2", "i-3"])
        .map(|(zone, id)| member(id, zone, "running"))
        .collect();
    let listed: Vec<Option<String>> = cloud
        .outputs(&demo)
        .instances
        .into_iter()
        .map(|member| member.failure_domain)
        .collect();
    assert_eq!(listed, zones.map(|zone| Some(zone.to_owned())));
}

/// Proves: AWS-8.
#[test]
fn an_unknown_zone_is_refused_with_the_zones_there_are() {
    let demo = demo().zones(["us-west-2a"]);
    assert_eq!(demo.refused(), [("R-3", "failure_domains".to_owned())]);
    let text = demo.refusals()[0].to_string();
    for zone in ["us-west-2a", "us-east-1a", "us-east-1b", "us-east-1c"] {
        assert!(text.contains(zone), "{text}");
    }
}

/// Proves: AWS-9.
#[test]
fn a_zone_the_cluster_gains_moves_nobody() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = gains_1d(demo);
    assert!(cloud.settle(&mut demo).is_empty());
    assert_eq!(subnets(&cloud), [SUBNET_A, SUBNET_B, SUBNET_C]);
    cloud
        .extra_members
        .push(member("i-0ddd", "us-east-1d", "running"));
    let listed = cloud.outputs(&demo).provider_id_list;
    assert!(listed.contains(&"aws:///us-east-1d/i-0ddd".to_owned()));
}

/// Proves: AWS-10.
#[test]
fn an_added_zone_is_a_subnet_more_and_no_termination() {
    let (mut cloud, demo) = applied(demo().zones(["us-east-1a"]));
    let before = cloud.group().instances.clone();
    let mut demo = demo.zones(["us-east-1a", "us-east-1b"]);
    let plan = cloud.plan(&demo).expect("a plan can be made");
    assert!(
        plan.steps.iter().all(|step| step.effect == Effect::None),
        "{plan:?}"
    );
    assert_eq!(cloud.settle(&mut demo), ["UpdateAutoScalingGroup"]);
    assert_eq!(subnets(&cloud), [SUBNET_A, SUBNET_B]);
    assert_eq!(cloud.group().instances, before);
}

/// Proves: AWS-96.
#[test]
fn a_removed_zone_is_one_update_and_says_that_machines_are_replaced() {
    let (mut cloud, demo) = applied(demo().zones(["us-east-1a", "us-east-1b"]));
    let mut demo = demo.zones(["us-east-1a"]);
    let plan = cloud.plan(&demo).expect("a plan can be made");
    let worst = plan.steps.iter().map(|step| step.effect).max();
    assert_eq!(worst, Some(Effect::Replaces));
    assert_eq!(cloud.settle(&mut demo), ["UpdateAutoScalingGroup"]);
    assert_eq!(subnets(&cloud), [SUBNET_A]);
}

/// Proves: AWS-16.
#[test]
fn a_zone_asked_for_twice_is_one_subnet() {
    let zones = ["us-east-1b", "us-east-1a", "us-east-1b", "us-east-1a"];
    let desired = demo().zones(zones).good();
    assert_eq!(
        desired.group.subnets,
        BTreeSet::from([SUBNET_A.to_owned(), SUBNET_B.to_owned()])
    );
}

/// Proves: AWS-94.
#[test]
fn an_emptied_list_returns_to_the_zones_of_the_first_apply() {
    let (mut cloud, demo) = applied(demo().zones(["us-east-1b"]));
    let mut demo = gains_1d(demo);
    cloud.settle(&mut demo);
    let mut demo = demo.zones([]);
    cloud.settle(&mut demo);
    assert_eq!(subnets(&cloud), [SUBNET_A, SUBNET_B, SUBNET_C]);
}

/// Proves: AWS-95.
#[test]
fn a_zone_the_cluster_drops_keeps_its_subnet_and_members() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.exports(|e| {
        drop(
            e["failure_domains"]
                .as_object_mut()
                .expect("an object")
                .remove("us-east-1c"),
        );
    });
    assert!(demo.desired().is_ok(), "no R-3");
    assert!(cloud.settle(&mut demo).is_empty());
    assert_eq!(subnets(&cloud), [SUBNET_A, SUBNET_B, SUBNET_C]);
    cloud
        .extra_members
        .push(member("i-0ccc", "us-east-1c", "running"));
    let listed = cloud.outputs(&demo).provider_id_list;
    assert!(listed.contains(&"aws:///us-east-1c/i-0ccc".to_owned()));
}

/// Proves: AWS-97.
#[test]
fn zones_are_recorded_before_the_first_call_so_that_a_crash_changes_nothing() {
    let mut cloud = Cloud::new();
    let mut demo = demo();
    let plan = cloud.plan(&demo).expect("a plan can be made");
    let create = plan
        .steps
        .iter()
        .position(|step| super::cloud::name_of(&step.action) == "CreateAutoScalingGroup")
        .expect("the group is made");
    cloud.run(&mut demo, &plan, create + 1);
    let mut demo = gains_1d(demo);
    cloud.settle(&mut demo);
    assert_eq!(recorded(&demo), ["us-east-1a", "us-east-1b", "us-east-1c"]);
    assert_eq!(subnets(&cloud), [SUBNET_A, SUBNET_B, SUBNET_C]);
}

#[test]
fn a_used_zones_new_subnet_replaces_the_old_one() {
    let (mut cloud, demo) = applied(demo());
    let mut demo =
        demo.exports(|e| e["failure_domains"]["us-east-1c"]["subnet_id"] = json!(SUBNET_D));
    assert_eq!(cloud.settle(&mut demo), ["UpdateAutoScalingGroup"]);
    assert_eq!(subnets(&cloud), [SUBNET_A, SUBNET_B, SUBNET_D]);
}

#[test]
fn no_usable_subnet_is_refused_before_any_call() {
    let demo = demo().with(|i| i.cluster_failure_domains = names(["us-east-1x"]));
    assert_eq!(demo.refused(), [("R-8", "failure_domains".to_owned())]);
    let text = demo.refusals()[0].to_string();
    assert!(
        text.contains("us-east-1x") && text.contains("us-east-1a"),
        "{text}"
    );
}

/// Proves: AWS-112.
#[test]
fn bad_zones_are_told_before_any_image_is_looked_up() {
    let demo = demo().zones(["us-west-2a"]).var(
        "machine_image",
        json!({ "name_format": "nothing-{semver}" }),
    );
    let codes: Vec<&str> = demo.refused().into_iter().map(|(code, _)| code).collect();
    assert_eq!(codes, ["R-3"]);
}
