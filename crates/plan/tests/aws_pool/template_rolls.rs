//! With pool Machines on, members made from another instance template are outdated (Cluster API
//! document 4.10); with them off they stay.

use remuda_plan::{
    aws::vars::listed,
    pool::action::{Effect, Plan},
};
use serde_json::{Value, json};

use super::{
    cloud::{Cloud, applied},
    demo::{Demo, demo},
    machines::pool,
};

/// Another value for every variable that only new machines get.
fn changes() -> Vec<(&'static str, Value)> {
    vec![
        ("additional_security_group_ids", json!(["sg-0a"])),
        ("additional_tags", json!({ "team": "other" })),
        ("instance_metadata_hop_limit", json!(2)),
        ("instance_type", json!("m6i.xlarge")),
        ("machine_image.architecture", json!("arm64")),
        ("machine_image.name_format", json!("mine-{semver}")),
        ("machine_image.owner", json!("self")),
        ("machine_image.root_device_name", json!("/dev/xvda")),
        ("public_ip", json!(true)),
        (
            "root_volume_kms_key_id",
            json!("arn:aws:kms:us-east-1:123456789012:key/a"),
        ),
        ("root_volume_size_gib", json!(80)),
        ("root_volume_type", json!("gp2")),
        ("spot", json!(true)),
        ("ssh_key_name", json!("ops")),
    ]
}

fn with(demo: Demo, name: &str, value: Value) -> Demo {
    match name.split_once('.') {
        Some((object, field)) => demo.var(object, json!({ field: value })),
        None => demo.var(name, value),
    }
}

fn outdated(cloud: &Cloud, demo: &Demo) -> usize {
    let members = cloud.group_members(demo);
    members.iter().filter(|seen| seen.outdated).count()
}

/// The step that points the group at another template, by what it does to machines.
fn effect(plan: &Plan) -> Effect {
    let effects = plan.steps.iter().map(|step| step.effect);
    effects.max().unwrap_or(Effect::None)
}

#[test]
fn every_variable_of_new_machines_rolls_where_there_are_machines_and_says_so() {
    let known: Vec<String> = listed()
        .into_iter()
        .filter(|(_, row)| row.effect == Effect::NewMachinesOnly)
        .map(|(name, _)| name)
        .collect();
    let mut tried: Vec<&str> = changes().iter().map(|(name, _)| *name).collect();
    tried.sort_unstable();
    assert_eq!(known, tried, "another value for each of them is tried");
    for (name, value) in changes() {
        let (mut cloud, demo) = applied(pool(demo()));
        let first = cloud.template().0.to_owned();
        let old = demo.variables.clone();
        let mut demo = with(demo, name, value.clone());
        let plan = cloud.plan(&demo).expect("a plan can be made");
        assert_eq!(effect(&plan), Effect::Rolls, "{name}");
        let told: Vec<&str> = plan
            .steps
            .iter()
            .map(|step| step.because.as_str())
            .collect();
        assert!(
            told.iter().any(|because| because.starts_with(name)),
            "{name}: {told:?}"
        );
        cloud.settle(&mut demo);
        assert_eq!(outdated(&cloud, &demo), 3, "{name}");
        assert_ne!(cloud.template().0, first);
        assert_eq!(cloud.count("StartInstanceRefresh"), 0);
        // Back again, before anybody went: nobody has to go.
        demo.variables = old;
        cloud.settle(&mut demo);
        assert_eq!(outdated(&cloud, &demo), 0, "{name} back");
        assert_eq!(cloud.template().0, first);
        assert_eq!(cloud.templates.len(), 1, "the other one is tidied up");
    }
}

#[test]
fn without_machines_new_members_get_it_and_nothing_rolls() {
    for (name, value) in changes() {
        let (mut cloud, demo) = applied(demo());
        let first = cloud.template().0.to_owned();
        let mut demo = with(demo, name, value);
        let plan = cloud.plan(&demo).expect("a plan can be made");
        assert!(effect(&plan) < Effect::Rolls, "{name}");
        cloud.settle(&mut demo);
        assert_eq!(cloud.count("StartInstanceRefresh"), 0);
        assert_eq!(cloud.template().0, first);
    }
}

#[test]
fn another_bootstrap_secret_rolls_and_other_content_does_not() {
    let (mut cloud, demo) = applied(pool(demo()));
    let mut demo = demo.document(b"#cloud-config\nruncmd: [rotated]\n");
    cloud.settle(&mut demo);
    assert_eq!(
        outdated(&cloud, &demo),
        0,
        "its content changes all the time"
    );
    let mut demo = demo.labels([("a", "b")]);
    cloud.settle(&mut demo);
    assert_eq!(outdated(&cloud, &demo), 0, "labels reach Nodes as they are");
    demo.bootstrap_secret = "another".to_owned();
    let plan = cloud.plan(&demo).expect("a plan can be made");
    assert_eq!(effect(&plan), Effect::Rolls);
    cloud.settle(&mut demo);
    assert_eq!(outdated(&cloud, &demo), 3);
}

#[test]
fn machines_that_are_turned_on_and_a_record_from_before_roll_nothing() {
    // Off at first: nothing is remembered of the template, and nothing is made of that.
    let (mut cloud, demo) = applied(demo());
    let first = cloud.template().0.to_owned();
    let mut demo = pool(demo);
    cloud.settle(&mut demo);
    assert_eq!(outdated(&cloud, &demo), 0);
    assert_eq!(cloud.template().0, first);
    assert!(
        demo.remembered()
            .roll_key
            .expect("applied")
            .template
            .is_some()
    );
    // From now on a change is one.
    let mut demo = demo.var("instance_type", json!("m6i.xlarge"));
    cloud.settle(&mut demo);
    assert_eq!(outdated(&cloud, &demo), 3);
    // Off again: whatever is different is no reason for a refresh.
    demo.wish = None;
    cloud.settle(&mut demo);
    assert_eq!(cloud.count("StartInstanceRefresh"), 0);
}

#[test]
fn a_crash_after_any_step_of_such_a_roll_changes_nothing_at_the_end() {
    let mut crashes = 0;
    for crash_after in 0..20 {
        let (mut cloud, demo) = applied(pool(demo()));
        let first = cloud.template().0.to_owned();
        let mut demo = demo.var("root_volume_size_gib", json!(80));
        let plan = cloud.plan(&demo).expect("a plan can be made");
        crashes += usize::from(crash_after < plan.steps.len());
        cloud.run(&mut demo, &plan, crash_after);
        cloud.settle(&mut demo);
        assert_eq!(outdated(&cloud, &demo), 3, "step {crash_after}");
        assert_eq!(cloud.templates.len(), 2, "step {crash_after}");
        assert!(cloud.templates.contains_key(&first), "members run it");
        let made = cloud.count("CreateLaunchTemplate");
        assert_eq!(made, 1, "no template is made twice");
    }
    assert!(crashes > 3, "{crashes}");
}
