//! Launch template data and versions.

use remuda_plan::{
    aws::{action::Action, template},
    pool::action::{Action as Any, ChangeKind},
};
use serde_json::{Value, json};

use super::{
    cloud::{Cloud, applied},
    demo::{GROUP, demo},
};

const VERSION: [&str; 2] = ["CreateLaunchTemplateVersion", "ModifyLaunchTemplate"];

/// Proves: AWS-19, AWS-20.
#[test]
fn the_group_names_its_template_and_follows_the_latest_version() {
    let (mut cloud, demo) = applied(demo());
    let (name, template) = cloud.template();
    assert!(
        name.starts_with("captf-team-a-demo-pool-0-43c6d828-"),
        "{name}"
    );
    assert!(name.len() <= 128);
    assert_eq!(template.default, template.versions.len());
    assert_eq!(cloud.group().template_version.as_deref(), Some("$Latest"));
    let mut demo = demo.var("instance_type", json!("m6i.xlarge"));
    cloud.settle(&mut demo);
    let (_, template) = cloud.template();
    assert_eq!((template.default, template.versions.len()), (2, 2));
}

/// Proves: AWS-26.
#[test]
fn template_data_of_demo() {
    let (cloud, _) = applied(demo());
    let data = cloud.template().1.latest();
    assert_eq!(data.image_id, "ami-0123456789abcdef0");
    assert_eq!(data.instance_type, "m6i.large");
    assert_eq!(data.instance_profile, "captf-team-a-demo-1960e37c-worker");
    assert_eq!(data.metadata_hop_limit, 1);
    assert_eq!(data.root_device_name, "/dev/sda1");
    assert_eq!(data.root_volume_size_gib, 40);
    assert_eq!(data.root_volume_type, "gp3");
    assert!(!data.associate_public_ip);
    assert!(!data.spot);
}

/// Proves: AWS-27.
#[test]
fn template_data_of_a_spot_pool_with_its_own_image() {
    let image = json!({ "id": "ami-0aaaaaaaaaaaaaaaa", "root_device_name": "/dev/xvda" });
    let (cloud, _) = applied(
        demo()
            .var("spot", json!(true))
            .var("public_ip", json!(true))
            .var(
                "additional_security_group_ids",
                json!(["sg-0abc000000000000a"]),
            )
            .var("machine_image", image),
    );
    let data = cloud.template().1.latest();
    assert!(data.spot && data.associate_public_ip);
    assert!(cloud.group().capacity_rebalance);
    let groups: Vec<&str> = data.security_groups.iter().map(String::as_str).collect();
    assert_eq!(groups, ["sg-0abc000000000000a", "sg-0e0000000000000e1"]);
    assert_eq!(data.image_id, "ami-0aaaaaaaaaaaaaaaa");
    assert_eq!(data.root_device_name, "/dev/xvda");
}

/// Proves: AWS-99.
#[test]
fn key_and_key_name_are_there_or_absent() {
    let arn = "arn:aws:kms:us-east-1:123456789012:key/0000-1111";
    let with = demo()
        .var("root_volume_kms_key_id", json!(arn))
        .var("ssh_key_name", json!("ops"))
        .good()
        .template;
    assert_eq!(with.root_volume_kms_key_id.as_deref(), Some(arn));
    assert_eq!(with.key_name.as_deref(), Some("ops"));
    let without = demo()
        .var("root_volume_kms_key_id", Value::Null)
        .var("ssh_key_name", Value::Null)
        .good()
        .template;
    assert_eq!(
        (without.root_volume_kms_key_id, without.key_name),
        (None, None)
    );
    assert_eq!(
        demo()
            .var("ssh_key_name", json!(""))
            .good()
            .template
            .key_name,
        None
    );
}

/// Proves: AWS-34, AWS-98.
#[test]
fn template_inputs_make_one_version_and_touch_nothing_that_runs() {
    let rows = [
        ("instance_type", json!("m6i.xlarge")),
        ("root_volume_size_gib", json!(80)),
        ("root_volume_type", json!("gp2")),
        (
            "additional_security_group_ids",
            json!(["sg-0abc000000000000a"]),
        ),
        ("public_ip", json!(true)),
        ("instance_metadata_hop_limit", json!(2)),
        ("ssh_key_name", json!("ops")),
        (
            "root_volume_kms_key_id",
            json!("arn:aws:kms:us-east-1:123456789012:key/0000"),
        ),
        ("machine_image", json!({ "root_device_name": "/dev/xvda" })),
    ];
    for (name, value) in rows {
        let (mut cloud, demo) = applied(demo());
        let before = (cloud.template().1.id.clone(), cloud.group().clone());
        let mut demo = demo.var(name, value);
        assert_eq!(cloud.settle(&mut demo), VERSION, "{name}");
        assert_eq!(
            (cloud.template().1.id.clone(), cloud.group().clone()),
            before,
            "{name}"
        );
        assert_eq!(cloud.template().1.versions.len(), 2, "{name}");
        assert!(cloud.refreshes.is_empty(), "{name}");
    }
    let (mut cloud, demo) = applied(demo());
    let instances = cloud.group().instances.clone();
    let mut demo = demo.var("spot", json!(true));
    assert_eq!(
        cloud.settle(&mut demo),
        [VERSION[0], VERSION[1], "UpdateAutoScalingGroup"]
    );
    assert!(cloud.group().capacity_rebalance);
    assert_eq!(cloud.group().instances, instances);
    assert!(cloud.refreshes.is_empty());
}

/// Proves: AWS-33.
#[test]
fn labels_make_a_version_of_the_same_template() {
    let (mut cloud, demo) = applied(demo());
    let before = cloud.template().1.id.clone();
    let mut demo = demo.labels([("team", "data")]);
    assert_eq!(cloud.settle(&mut demo), VERSION);
    assert_eq!(cloud.template().1.id, before);
    assert!(
        cloud
            .template()
            .1
            .latest()
            .user_data
            .contains("node_labels='team=data'")
    );
    assert!(cloud.refreshes.is_empty());
}

#[test]
fn exported_worker_groups_and_profile_make_a_version() {
    for change in [
        |e: &mut Value| e["security_group_ids"]["worker"] = json!(["sg-0f"]),
        |e: &mut Value| e["instance_profiles"]["worker"] = json!("other"),
    ] {
        let (mut cloud, demo) = applied(demo());
        let mut demo = demo.exports(change);
        assert_eq!(cloud.settle(&mut demo), VERSION);
    }
}

#[test]
fn a_version_or_default_made_by_hand_is_put_right() {
    let (mut cloud, mut demo) = applied(demo());
    let name = cloud.template().0.to_owned();
    let template = cloud.templates.get_mut(&name).expect("the template");
    let mut data = template.latest().clone();
    data.instance_type = "t3.nano".to_owned();
    template.versions.push(data);
    assert_eq!(cloud.settle(&mut demo), VERSION);
    assert_eq!(cloud.template().1.latest().instance_type, "m6i.large");
    assert_eq!(
        (
            cloud.template().1.default,
            cloud.template().1.versions.len()
        ),
        (3, 3)
    );

    let template = cloud.templates.get_mut(&name).expect("the template");
    template.default = 1;
    assert_eq!(cloud.settle(&mut demo), ["ModifyLaunchTemplate"]);
    assert_eq!(cloud.template().1.default, 3);
}

#[test]
fn a_field_we_never_set_is_drift_of_the_template() {
    let (cloud, demo) = applied(demo());
    let desired = demo.good();
    let context = demo.context();
    let mut steps = remuda_plan::aws::steps::begin(
        &context,
        None,
        demo.remembered(),
        &std::collections::BTreeSet::new(),
    );
    let data = super::cloud::data_of(&desired, super::demo::IMAGE);
    let found = remuda_plan::aws::observed::Template {
        id: "lt-1".to_owned(),
        name: cloud.template().0.to_owned(),
        default_version: 4,
        latest_version: 4,
        tags: desired.template_tags.clone(),
        data: Some(data.clone()),
        foreign_fields: vec!["EbsOptimized".to_owned()],
    };
    template::bring_up_to_date(&mut steps, &desired, &data, &found, None);
    let plan = steps.into_plan();
    assert_eq!(plan.steps.len(), 2);
    assert!(plan.steps[0].because.contains("EbsOptimized"), "{plan:?}");
    assert!(matches!(
        &plan.steps[1].action,
        Any::Aws(Action::SetDefaultVersion { version: 5, .. })
    ));
}

#[test]
fn data_that_was_not_read_is_judged_by_the_digest_of_the_record() {
    let (cloud, demo) = applied(demo());
    let desired = demo.good();
    let data = super::cloud::data_of(&desired, super::demo::IMAGE);
    let hash = template::data_hash(&data);
    assert_eq!(demo.remembered().template_data_hash.as_ref(), Some(&hash));
    let found = remuda_plan::aws::observed::Template {
        id: "lt-1".to_owned(),
        name: cloud.template().0.to_owned(),
        default_version: 1,
        latest_version: 1,
        tags: desired.template_tags.clone(),
        data: None,
        foreign_fields: Vec::new(),
    };
    for (known, steps_expected) in [(Some(hash.as_str()), 0), (Some("other"), 2), (None, 2)] {
        let context = demo.context();
        let mut steps = remuda_plan::aws::steps::begin(
            &context,
            None,
            demo.remembered(),
            &std::collections::BTreeSet::new(),
        );
        template::bring_up_to_date(&mut steps, &desired, &data, &found, known);
        assert_eq!(steps.into_plan().steps.len(), steps_expected, "{known:?}");
    }
}

/// Proves: AWS-103.
#[test]
fn a_template_deleted_by_hand_is_made_again_without_a_roll() {
    let (mut cloud, mut demo) = applied(demo());
    cloud.templates.clear();
    let plan = cloud.plan(&demo).expect("a plan can be made");
    assert!(
        plan.steps
            .iter()
            .any(|step| step.kind == ChangeKind::Create)
    );
    assert_eq!(
        cloud.settle(&mut demo),
        ["CreateLaunchTemplate", "UpdateAutoScalingGroup"]
    );
    let (name, _) = cloud.template();
    assert!(name.starts_with(GROUP));
    assert!(cloud.refreshes.is_empty());
    assert_eq!(
        demo.remembered().template_name.as_deref(),
        Some(cloud.template().0)
    );
}

#[test]
fn a_group_pointed_elsewhere_by_hand_is_pointed_back_without_a_roll() {
    let (mut cloud, mut demo) = applied(demo());
    let ours = cloud.template().0.to_owned();
    let mut other = cloud.templates[&ours].clone();
    other.id = "lt-other".to_owned();
    cloud.templates.insert("by-hand".to_owned(), other);
    cloud.group_mut().template_name = Some("by-hand".to_owned());
    assert_eq!(cloud.settle(&mut demo), ["UpdateAutoScalingGroup"]);
    assert_eq!(cloud.template().0, ours);
    let twin = format!("{GROUP}-20200101000000000000000001");
    cloud
        .templates
        .insert(twin.clone(), cloud.templates[&ours].clone());
    cloud.group_mut().template_name = Some(twin);
    assert_eq!(cloud.settle(&mut demo), ["UpdateAutoScalingGroup"]);
    assert_eq!(cloud.template().0, ours);
    cloud.group_mut().template_version = Some("1".to_owned());
    assert_eq!(cloud.settle(&mut demo), ["UpdateAutoScalingGroup"]);
    assert_eq!(cloud.group().template_version.as_deref(), Some("$Latest"));
    assert!(cloud.refreshes.is_empty());
    assert!(
        cloud.templates.contains_key("by-hand"),
        "not ours to delete"
    );
}

#[test]
fn a_change_tells_old_and_new_and_user_data_by_its_digest() {
    let (cloud, demo) = applied(demo());
    let demo = demo
        .var("instance_type", json!("m6i.xlarge"))
        .labels([("team", "data")]);
    let plan = cloud.plan(&demo).expect("a plan can be made");
    let changes = &plan.steps[0].changes;
    let fields: Vec<&str> = changes.iter().map(|change| change.field.as_str()).collect();
    assert_eq!(fields, ["instance_type", "user_data"]);
    assert_eq!(changes[0].old, Some(json!("m6i.large")));
    assert_eq!(changes[0].new, Some(json!("m6i.xlarge")));
    let shown = changes[1]
        .new
        .as_ref()
        .and_then(Value::as_str)
        .unwrap_or_default();
    assert!(shown.starts_with("sha256:") && shown.len() < 40, "{shown}");
    assert!(plan.steps[0].because.contains("instance_type"));
    let _: Cloud = cloud;
}
