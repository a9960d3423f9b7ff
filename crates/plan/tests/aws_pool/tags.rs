//! Tag sets and who gets which.

use serde_json::json;

use super::{
    cloud::{Cloud, applied},
    demo::{GROUP, INSTALLATION, demo, strings},
};

const CLUSTER_TAG: &str = "kubernetes.io/cluster/captf-team-a-demo-1960e37c";

/// Proves: AWS-21, AWS-24.
#[test]
fn group_template_and_launched_resources_carry_the_merged_tags() {
    let (cloud, _) = applied(demo());
    let expected = strings([
        ("captf.io/cluster", "demo"),
        ("captf.io/namespace", "team-a"),
        ("captf.io/kind", "TerraformMachinePool"),
        ("captf.io/name", "demo-pool-0"),
        ("captf.io/managed-by", "captf"),
        ("captf.io/template", ""),
        ("team", "platform"),
        (CLUSTER_TAG, "owned"),
    ]);
    let (_, template) = cloud.template();
    let data = template.latest();
    for (key, value) in &expected {
        assert_eq!(
            cloud.group().tags.get(key),
            Some(&(value.clone(), false)),
            "{key}"
        );
        assert_eq!(template.tags.get(key), Some(value), "{key}");
        assert_eq!(data.instance_tags.get(key), Some(value), "{key}");
        assert_eq!(data.network_interface_tags.get(key), Some(value), "{key}");
    }
    assert!(
        cloud
            .group()
            .tags
            .values()
            .all(|(_, propagates)| !propagates)
    );
}

/// Proves: AWS-22.
#[test]
fn instances_and_volumes_have_a_name_and_interfaces_do_not() {
    let data = demo().good().template;
    assert_eq!(
        data.instance_tags.get("Name").map(String::as_str),
        Some("demo-pool-0")
    );
    assert!(!data.network_interface_tags.contains_key("Name"));
}

/// Proves: AWS-23.
#[test]
fn the_object_carries_exactly_the_six_captf_tags() {
    let demo = demo();
    let (cloud, demo) = applied(demo);
    let (_, tags) = cloud.objects.values().next().expect("the object was put");
    assert_eq!(*tags, demo.inputs.captf_tags);
    assert_eq!(tags.len(), 6);
    assert_eq!(tags.get("captf.io/template").map(String::as_str), Some(""));
}

/// Proves: AWS-25.
#[test]
fn a_users_name_tag_loses_on_machines_and_stays_elsewhere() {
    let desired = demo().var("additional_tags", json!({ "Name": "x" })).good();
    assert_eq!(desired.template.instance_tags["Name"], "demo-pool-0");
    assert_eq!(desired.template.network_interface_tags["Name"], "x");
    assert_eq!(desired.group.tags["Name"], "x");
    assert_eq!(desired.template_tags["Name"], "x");
}

#[test]
fn users_override_neither_cluster_nor_contract_nor_installation() {
    let desired = demo()
        .var(
            "additional_tags",
            json!({ "remuda.dev/installation": "mine" }),
        )
        .good();
    assert_eq!(desired.group.tags["remuda.dev/installation"], INSTALLATION);
    let most = desired.group.tags.len();
    assert!(most <= 50, "{most} tags");
    let full: serde_json::Map<String, serde_json::Value> =
        (0..40).map(|i| (format!("key-{i}"), json!("v"))).collect();
    let desired = demo().var("additional_tags", json!(full)).good();
    assert_eq!(desired.group.tags.len(), 48);
    assert_eq!(desired.template.instance_tags.len(), 48);
    assert_eq!(desired.template.network_interface_tags.len(), 47);
    assert_eq!(desired.template_tags.len(), 47);
}

/// Proves: AWS-109.
#[test]
fn only_the_group_carries_the_installation_id() {
    let (cloud, demo) = applied(demo());
    let key = "remuda.dev/installation";
    assert_eq!(
        cloud.group().tags.get(key),
        Some(&(
            demo.record
                .as_ref()
                .map(|r| r.installation.clone())
                .unwrap_or_default(),
            false
        ))
    );
    let (_, template) = cloud.template();
    assert!(!template.tags.contains_key(key));
    assert!(!template.latest().instance_tags.contains_key(key));
    assert!(!template.latest().network_interface_tags.contains_key(key));
    assert!(
        cloud
            .objects
            .values()
            .all(|(_, tags)| !tags.contains_key(key))
    );

    // A same-named group with equal captf tags and another installation's id is refused.
    let mut foreign = Cloud::new();
    let mut theirs = super::demo::demo();
    theirs.installation = "inst-other".to_owned();
    foreign.settle(&mut theirs);
    let before = foreign.calls.len();
    let stop = foreign
        .plan(&super::demo::demo())
        .expect_err("the name is taken");
    let text = format!("{stop:?}");
    assert!(
        text.contains("R-9") && text.contains("inst-other"),
        "{text}"
    );
    assert_eq!(foreign.calls.len(), before);
}

/// Proves: AWS-105.
#[test]
fn a_new_template_tag_reaches_group_template_object_and_a_new_version() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.with(|inputs| {
        inputs
            .captf_tags
            .insert("captf.io/template".to_owned(), "blue".to_owned());
    });
    let (_, before) = cloud.template();
    let before = before.id.clone();
    let mut calls = cloud.settle(&mut demo);
    calls.sort();
    assert_eq!(
        calls,
        [
            "CreateLaunchTemplateVersion",
            "CreateOrUpdateTags",
            "CreateTags",
            "ModifyLaunchTemplate",
            "PutObjectTagging",
        ]
    );
    let (_, template) = cloud.template();
    assert_eq!(template.id, before);
    assert_eq!(template.tags["captf.io/template"], "blue");
    assert_eq!(template.latest().instance_tags["captf.io/template"], "blue");
    assert_eq!(cloud.group().tags["captf.io/template"].0, "blue");
    assert!(
        cloud
            .objects
            .values()
            .all(|(_, tags)| tags["captf.io/template"] == "blue")
    );
}

#[test]
fn a_tag_that_is_no_longer_wanted_goes_and_other_peoples_tags_stay() {
    let (mut cloud, demo) = applied(demo());
    let theirs = ("cost-centre".to_owned(), ("42".to_owned(), true));
    cloud.group_mut().tags.extend([theirs]);
    let mut demo = demo.var("additional_tags", json!({}));
    let calls = cloud.settle(&mut demo);
    assert!(calls.contains(&"DeleteTags".to_owned()), "{calls:?}");
    assert!(calls.contains(&"DeleteTags(ec2)".to_owned()), "{calls:?}");
    assert!(!cloud.group().tags.contains_key("team"));
    assert!(cloud.group().tags.contains_key("cost-centre"));
    let (_, template) = cloud.template();
    assert!(!template.tags.contains_key("team"));
    assert!(!template.latest().instance_tags.contains_key("team"));
    assert_eq!(cloud.count("StartInstanceRefresh"), 0);
}

#[test]
fn another_cluster_id_moves_the_ownership_tag() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.exports(|exports| exports["kubernetes_cluster_id"] = json!("other"));
    cloud.settle(&mut demo);
    let tags = &cloud.group().tags;
    assert!(tags.contains_key("kubernetes.io/cluster/other"));
    assert!(!tags.contains_key(CLUSTER_TAG));
    let (_, template) = cloud.template();
    assert!(!template.tags.contains_key(CLUSTER_TAG));
    assert_eq!(cloud.count("StartInstanceRefresh"), 0);
    assert_eq!(cloud.group().name, GROUP);
}
