//! Cluster exports.

use serde_json::{Value, json};

use super::demo::{Demo, demo, exports};

fn external() -> Value {
    json!({
        "schema": "captf.io/aws-cluster/v1",
        "region": "eu-west-1",
        "kubernetes_cluster_id": "legacy",
        "failure_domains": { "eu-west-1a": { "subnet_id": "subnet-0eee" } },
        "security_group_ids": { "worker": ["sg-0fff"] },
        "instance_profiles": { "worker": "legacy-worker" },
        "bootstrap_bucket": "legacy-bootstrap",
    })
}

fn externally_managed() -> Demo {
    demo().exports(|exports| *exports = json!({}))
}

/// Proves: AWS-65.
#[test]
fn an_externally_managed_cluster_needs_external_exports() {
    for nothing in [json!({}), Value::Null] {
        let demo = demo().exports(|exports| *exports = nothing);
        let refusals = demo.refusals();
        assert_eq!(
            demo.refused(),
            [("R-1", "external_cluster_exports".to_owned())]
        );
        let text = refusals[0].to_string();
        assert!(
            text.contains("externally managed") && text.contains("set the variable"),
            "{text}"
        );
    }
}

/// Proves: AWS-66.
#[test]
fn external_exports_serve_an_externally_managed_cluster() {
    let desired = externally_managed()
        .var("external_cluster_exports", external())
        .good();
    assert_eq!(desired.region, "eu-west-1");
    assert_eq!(
        desired.inherited_zones,
        [("eu-west-1a".to_owned(), "subnet-0eee".to_owned())].into()
    );
    assert_eq!(desired.group.subnets, ["subnet-0eee".to_owned()].into());
    assert_eq!(desired.template.instance_profile, "legacy-worker");
    assert_eq!(
        desired.template.security_groups,
        ["sg-0fff".to_owned()].into()
    );
    assert_eq!(desired.payload.bucket, "legacy-bootstrap");
    assert!(desired.template.user_data.contains("region='eu-west-1'"));
}

/// Proves: AWS-101.
#[test]
fn external_exports_are_ignored_where_the_cluster_has_its_own() {
    let with = demo().var("external_cluster_exports", external()).good();
    assert_eq!(with, demo().good());
    assert_eq!(with.region, "us-east-1");
    assert_eq!(
        with.inherited_zones.keys().collect::<Vec<_>>(),
        ["us-east-1a", "us-east-1b", "us-east-1c"]
    );
    assert_eq!(
        with.template.instance_profile,
        "captf-team-a-demo-1960e37c-worker"
    );
    assert_eq!(
        with.template.security_groups,
        ["sg-0e0000000000000e1".to_owned()].into()
    );
    assert_eq!(with.payload.bucket, super::demo::BUCKET);
}

/// Proves: AWS-67.
#[test]
fn incomplete_exports_name_everything_that_is_missing_in_byte_order() {
    let short = json!({ "schema": "captf.io/aws-cluster/v1", "region": "us-east-1" });
    for (demo, input) in [
        (
            demo().exports(|e| *e = short.clone()),
            "captf_cluster_outputs",
        ),
        (
            externally_managed().var("external_cluster_exports", short.clone()),
            "external_cluster_exports",
        ),
    ] {
        let refusals = demo.refusals();
        assert_eq!(demo.refused(), [("R-2", input.to_owned())]);
        assert!(
            refusals[0].message.ends_with(
                "bootstrap_bucket, failure_domains, instance_profiles.worker, \
                 kubernetes_cluster_id, security_group_ids.worker"
            ),
            "{}",
            refusals[0]
        );
        assert!(
            refusals[0]
                .to_string()
                .contains(&format!("{input} must hold them"))
        );
    }
}

/// Proves: AWS-68.
#[test]
fn another_schema_is_another_module() {
    let demo = demo().exports(|e| e["schema"] = json!("captf.io/azure-cluster/v1"));
    assert_eq!(
        demo.refused(),
        [("V-4", "captf_cluster_outputs".to_owned())]
    );
    let text = demo.refusals()[0].to_string();
    assert!(text.contains("captf.io/aws-cluster/v1"), "{text}");
    assert!(
        text.contains("another module or an incompatible version"),
        "{text}"
    );
    for other in [
        json!("text"),
        json!([1]),
        json!(3),
        json!({ "region": "us-east-1" }),
    ] {
        let demo = super::demo::demo().exports(|exports| *exports = other);
        assert_eq!(
            demo.refused(),
            [("V-4", "captf_cluster_outputs".to_owned())]
        );
    }
}

#[test]
fn a_field_of_a_wrong_type_reads_as_missing_and_one_bad_zone_spoils_the_map() {
    let rows: [(&str, fn(&mut Value)); 11] = [
        ("failure_domains", |e| {
            e["failure_domains"]["us-east-1b"] = json!(null)
        }),
        ("failure_domains", |e| {
            e["failure_domains"]["us-east-1b"] = json!({ "subnet_id": null })
        }),
        ("failure_domains", |e| e["failure_domains"] = json!({})),
        ("failure_domains", |e| {
            e["failure_domains"] = json!(["us-east-1a"])
        }),
        ("security_group_ids.worker", |e| {
            e["security_group_ids"] = json!("sg-1")
        }),
        ("security_group_ids.worker", |e| {
            e["security_group_ids"]["worker"] = json!([])
        }),
        ("security_group_ids.worker", |e| {
            e["security_group_ids"]["worker"] = json!(["sg-1", null])
        }),
        ("security_group_ids.worker", |e| {
            e["security_group_ids"]["worker"] = json!(["sg-1", ""])
        }),
        ("instance_profiles.worker", |e| {
            e["instance_profiles"] = json!(null)
        }),
        ("region", |e| e["region"] = json!({})),
        ("kubernetes_cluster_id", |e| {
            e["kubernetes_cluster_id"] = json!("")
        }),
    ];
    for (missing, spoil) in rows {
        let demo = demo().exports(spoil);
        let refusals = demo.refusals();
        assert_eq!(refusals.len(), 1, "{missing}: {refusals:?}");
        assert_eq!(
            refusals[0].message,
            format!("the cluster's exports lack {missing}")
        );
    }
}

#[test]
fn scalars_become_text_and_unknown_keys_are_ignored() {
    let desired = demo()
        .exports(|e| {
            e["kubernetes_cluster_id"] = json!(7);
            e["something"] = json!({ "new": true });
        })
        .good();
    assert!(
        desired
            .template_tags
            .contains_key("kubernetes.io/cluster/7")
    );
    let mut without = exports();
    for key in ["vpc_id", "api"] {
        without.as_object_mut().expect("an object").remove(key);
    }
    assert!(demo().exports(|e| *e = without).desired().is_ok());
}

/// Proves: AWS-108.
#[test]
fn a_pool_does_not_move_to_another_region() {
    let (cloud, demo) = super::cloud::applied(demo());
    let demo = demo.exports(|e| e["region"] = json!("eu-central-1"));
    assert_eq!(demo.refused(), [("R-11", "region".to_owned())]);
    let text = demo.refusals()[0].to_string();
    assert!(
        text.contains("us-east-1") && text.contains("eu-central-1"),
        "{text}"
    );
    assert!(cloud.calls.is_empty());
}

/// Proves: AWS-102.
#[test]
fn without_a_bucket_nothing_is_planned_for_a_new_or_a_finished_pool() {
    let (cloud, finished) = super::cloud::applied(demo());
    for demo in [demo(), finished] {
        let demo = demo.document(b"#cloud-config\nrotated\n").exports(|e| {
            drop(
                e.as_object_mut()
                    .expect("an object")
                    .remove("bootstrap_bucket"),
            )
        });
        assert_eq!(
            demo.refused(),
            [("R-2", "captf_cluster_outputs".to_owned())]
        );
    }
    assert!(cloud.calls.is_empty());
}
