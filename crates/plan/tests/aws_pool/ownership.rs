//! Whose a group is, and what happens to one that is not ours.

use remuda_plan::{
    aws::ownership::of_group,
    pool::{
        action::{Outlook, PlanStop},
        ownership::Ownership,
    },
};

use super::{
    cloud::{Cloud, applied},
    demo::{Demo, INSTALLATION, demo},
};

fn set(cloud: &mut Cloud, key: &str, value: Option<&str>) {
    let tags = &mut cloud.group_mut().tags;
    match value {
        Some(value) => drop(tags.insert(key.to_owned(), (value.to_owned(), false))),
        None => drop(tags.remove(key)),
    }
}

fn is_ours(cloud: &Cloud, demo: &Demo, known: bool) -> bool {
    let record = demo.remembered();
    let record = known.then_some(&record);
    of_group(cloud.group(), record, &demo.context()) == Ownership::Ours
}

/// Proves: AWS-29.
#[test]
fn a_group_of_another_cluster_is_refused_with_its_tags() {
    let (mut cloud, _) = applied(demo());
    set(&mut cloud, "captf.io/cluster", Some("other"));
    set(&mut cloud, "remuda.dev/installation", None);
    let Err(PlanStop::Refused(refusals)) = cloud.plan(&demo()) else {
        panic!("R-9 is refused");
    };
    assert_eq!(refusals[0].code, "R-9");
    assert!(
        refusals[0].message.contains("captf.io/cluster=other"),
        "{}",
        refusals[0]
    );
}

#[test]
fn a_stranger_needs_every_ownership_tag_and_no_foreign_installation() {
    let (good, demo) = applied(demo());
    assert!(is_ours(&good, &demo, false));
    let mut adopted = good.clone();
    set(&mut adopted, "remuda.dev/installation", None);
    assert!(
        is_ours(&adopted, &demo, false),
        "a group made by the module"
    );
    for key in demo.ownership.keys() {
        for value in [None, Some("other")] {
            let mut spoilt = good.clone();
            set(&mut spoilt, key, value);
            assert!(!is_ours(&spoilt, &demo, false), "{key} {value:?}");
        }
    }
    let mut foreign = good.clone();
    set(&mut foreign, "remuda.dev/installation", Some("inst-other"));
    assert!(!is_ours(&foreign, &demo, false));
    assert!(
        !is_ours(&foreign, &demo, true),
        "not even where the record knows the name"
    );
}

#[test]
fn a_group_the_record_knows_may_have_lost_tags_by_hand() {
    let (good, mut demo) = applied(demo());
    let mut spoilt = good.clone();
    for key in demo.ownership.keys() {
        set(&mut spoilt, key, None);
    }
    assert!(
        is_ours(&spoilt, &demo, true),
        "the installation id still says so"
    );
    set(&mut spoilt, "remuda.dev/installation", None);
    assert!(!is_ours(&spoilt, &demo, true), "nothing says so any more");
    set(&mut spoilt, "captf.io/name", Some("demo-pool-0"));
    assert!(is_ours(&spoilt, &demo, true));
    set(&mut spoilt, "captf.io/cluster", Some("other"));
    assert!(!is_ours(&spoilt, &demo, true));

    let mut repaired = good;
    for key in demo.ownership.keys() {
        set(&mut repaired, key, None);
    }
    assert_eq!(repaired.settle(&mut demo), ["CreateOrUpdateTags"]);
    assert!(is_ours(&repaired, &demo, false));
}

/// A pool as the Terraform module leaves it: its own template name and stub, no installation tag,
/// no record.
pub(crate) fn made_by_the_module() -> (Cloud, Demo) {
    let (mut cloud, mut demo) = applied(demo());
    let (name, mut template) = {
        let (name, template) = cloud.template();
        (name.to_owned(), template.clone())
    };
    cloud.templates.remove(&name);
    "#cloud-boothook\n#!/bin/sh\n# the module's own stub\n"
        .clone_into(&mut template.versions[0].user_data);
    let module = format!("{}-20251009120000000000000001", super::demo::GROUP);
    cloud.templates.insert(module.clone(), template);
    cloud.group_mut().template_name = Some(module);
    set(&mut cloud, "remuda.dev/installation", None);
    demo.record = None;
    (cloud, demo)
}

/// Proves: CAPTF-83.
#[test]
fn a_pool_made_by_the_module_is_taken_over_without_touching_a_member() {
    let (mut cloud, mut demo) = made_by_the_module();
    let (id, instances) = (
        cloud.template().1.id.clone(),
        cloud.group().instances.clone(),
    );
    let mut calls = cloud.settle(&mut demo);
    calls.sort();
    assert_eq!(
        calls,
        [
            "CreateLaunchTemplateVersion",
            "CreateOrUpdateTags",
            "ModifyLaunchTemplate",
            "PutObject",
        ]
    );
    assert_eq!(cloud.template().1.id, id);
    assert_eq!(cloud.group().instances, instances);
    assert!(cloud.refreshes.is_empty());
    assert_eq!(
        cloud.group().tags["remuda.dev/installation"].0,
        INSTALLATION
    );
    assert!(cloud.settle(&mut demo).is_empty());

    // Equal captf tags and another installation: no write, on deletion either.
    let mut theirs = cloud.clone();
    set(&mut theirs, "remuda.dev/installation", Some("inst-other"));
    assert!(matches!(theirs.plan(&demo), Err(PlanStop::Refused(_))));
    demo.record.as_mut().expect("a record").installation = INSTALLATION.to_owned();
    let plan = theirs.teardown(&demo);
    assert_eq!(plan.outlook, Outlook::Settled);
    let before = theirs.group().clone();
    theirs.run(&mut demo, &plan, usize::MAX);
    assert_eq!(*theirs.group(), before);
    assert!(
        theirs
            .templates
            .contains_key(before.template_name.as_deref().unwrap_or_default())
    );
}

/// Proves: AWS-50.
#[test]
fn a_lost_record_is_rebuilt_without_a_new_template_or_a_roll() {
    let (mut cloud, mut demo) = applied(demo().zones(["us-east-1b"]));
    let before = (cloud.template().1.id.clone(), cloud.group().clone());
    demo.record = None;
    assert_eq!(cloud.settle(&mut demo), ["PutObject"]);
    assert_eq!(
        (cloud.template().1.id.clone(), cloud.group().clone()),
        before
    );
    assert_eq!(cloud.template().1.versions.len(), 1);
    let record = demo.remembered();
    assert_eq!(record.roll_key, Some(demo.good().roll_key));
    assert_eq!(record.template_name.as_deref(), Some(cloud.template().0));
    let zones: Vec<&String> = record.inherited_zones.keys().collect();
    assert_eq!(zones, ["us-east-1b"]);
}

#[test]
fn a_rebuilt_record_moves_nobody_even_if_the_cluster_changed_meanwhile() {
    let (mut cloud, mut demo) = applied(demo());
    demo.record = None;
    let mut demo = demo.exports(|e| {
        let zones = e["failure_domains"].as_object_mut().expect("an object");
        zones.remove("us-east-1c");
        zones.insert(
            "us-east-1d".to_owned(),
            serde_json::json!({ "subnet_id": "subnet-0ddd" }),
        );
    });
    let before = cloud.group().subnets.clone();
    assert_eq!(cloud.settle(&mut demo), ["PutObject"]);
    assert_eq!(cloud.group().subnets, before);
}

#[test]
fn a_changed_version_with_a_lost_record_does_not_roll() {
    let (mut cloud, mut demo) = applied(demo());
    demo.record = None;
    let mut demo = demo.version("v1.35.0");
    cloud.settle(&mut demo);
    assert!(cloud.refreshes.is_empty());
}

#[test]
fn a_version_that_changes_after_the_record_was_rebuilt_rolls() {
    let (mut cloud, mut demo) = applied(demo());
    demo.record = None;
    let plan = cloud.plan(&demo).expect("a plan can be made");
    cloud.run(&mut demo, &plan, 1); // the record is written, and the process dies
    let mut demo = demo.version("v1.35.0");
    cloud.settle(&mut demo);
    assert_eq!(cloud.refreshes.len(), 1);
}
