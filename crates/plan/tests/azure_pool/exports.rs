//! Cluster exports.

use remuda_plan::pool::action::PlanStop;
use serde_json::{Value, json};

use super::{
    cloud::{Cloud, applied},
    demo::{Demo, SET, demo, exports},
};

fn external() -> Demo {
    demo().exports(|exports| *exports = json!({}))
}

/// Proves: AZURE-81.
#[test]
fn without_exports_nothing_is_planned() {
    assert_eq!(external().refused(), ["E-EXPORTS"]);
    let text = external().refusals()[0].to_string();
    assert!(
        text.contains("TerraformCluster is externally managed")
            && text.contains("spec.variables.external_cluster_exports"),
        "{text}"
    );
}

/// Proves: AZURE-82.
#[test]
fn external_exports_serve_an_externally_managed_cluster() {
    let mut given = exports();
    given["region"] = json!("northeurope");
    let demo = external().var("external_cluster_exports", given);
    assert_eq!(demo.good().place.region, "northeurope");
}

/// Proves: AZURE-84.
#[test]
fn the_clusters_own_exports_win() {
    let mut given = exports();
    given["region"] = json!("northeurope");
    let demo = demo().var("external_cluster_exports", given);
    assert_eq!(demo.good().place.region, "westeurope");
}

/// Proves: AZURE-83.
#[test]
fn another_schema_is_refused() {
    let demo = demo().exports(|exports| exports["schema"] = json!("captf.io/gcp-cluster/v1"));
    assert_eq!(demo.refused(), ["E-CLUSTER-OUTPUTS"]);
    let text = demo.refusals()[0].to_string();
    assert!(
        text.contains("captf.io/azure-cluster/v1") && text.contains("azure-cluster image"),
        "{text}"
    );
    let mut given = exports();
    given["schema"] = json!("captf.io/azure-cluster/v2");
    let demo = external().var("external_cluster_exports", given);
    assert_eq!(demo.refused(), ["E-EXTERNAL-EXPORTS"]);
    assert!(
        demo.refusals()[0]
            .to_string()
            .contains("captf.io/azure-cluster/v1")
    );
}

/// Proves: AZURE-85.
#[test]
fn everything_that_is_missing_is_named_at_once() {
    let demo = demo().exports(|exports| {
        exports["worker"]
            .as_object_mut()
            .expect("an object")
            .remove("identity_id");
        exports
            .as_object_mut()
            .expect("an object")
            .remove("worker_subnet_id");
    });
    let refusals = demo.refusals();
    assert_eq!(demo.refused(), ["E-EXPORTS-INCOMPLETE"]);
    assert_eq!(
        refusals[0].message,
        "the cluster's exports lack worker.identity_id, worker_subnet_id"
    );
}

#[test]
fn a_field_of_a_wrong_type_is_missing() {
    let rows: [(&str, fn(&mut Value)); 7] = [
        ("region", |e| e["region"] = json!({})),
        ("subscription_id", |e| e["subscription_id"] = json!("")),
        ("failure_domains", |e| e["failure_domains"] = json!(["1"])),
        ("cloud_provider_config", |e| {
            e["cloud_provider_config"] = Value::Null;
        }),
        ("worker.identity_client_id", |e| {
            e["worker"]["identity_client_id"] = Value::Null;
        }),
        ("admin_ssh_public_key", |e| {
            e["admin_ssh_public_key"] = json!([]);
        }),
        ("worker.network_security_group_id", |e| {
            e["worker"]["network_security_group_id"] = json!({});
        }),
    ];
    for (missing, spoil) in rows {
        let refusals = demo().exports(spoil).refusals();
        assert_eq!(refusals.len(), 1, "{missing}: {refusals:?}");
        let expected = format!("the cluster's exports lack {missing}");
        assert_eq!(refusals[0].message, expected);
    }
}

#[test]
fn a_group_with_capitals_is_written_in_lower_case() {
    let demo = demo().exports(|e| e["resource_group_name"] = json!("Captf-Team-A"));
    assert_eq!(demo.good().place.resource_group_name, "captf-team-a");
}

/// Proves: AZURE-67.
#[test]
fn what_cannot_change_is_refused_and_nothing_is_planned() {
    let (mut cloud, settled) = applied(demo());
    let rows: [(&str, &str, fn(&mut Value)); 4] = [
        ("region", "northeurope", |e| {
            e["region"] = json!("northeurope")
        }),
        ("admin_username", "root2", |e| {
            e["admin_username"] = json!("root2");
        }),
        ("resource_group_name", "other", |e| {
            e["resource_group_name"] = json!("Other");
        }),
        ("subscription_id", "00000000", |e| {
            e["subscription_id"] = json!("00000000");
        }),
    ];
    for (name, new, change) in rows {
        let demo = settled.clone().exports(change);
        let refusals = demo.refusals();
        assert_eq!(demo.refused(), ["E-IMMUTABLE-EXPORTS"], "{name}");
        assert_eq!(refusals[0].subject, name);
        assert!(refusals[0].message.contains(new), "{refusals:?}");
    }
    // Deletion goes on with the recorded place.
    let mut moved = settled.exports(|e| e["resource_group_name"] = json!("other"));
    cloud.destroy(&mut moved);
    assert!(cloud.sets.is_empty());
}

#[test]
fn case_alone_moves_nothing() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.exports(|e| {
        e["resource_group_name"] = json!("CAPTF-TEAM-A-DEMO-2A8D5F7C");
    });
    assert!(cloud.settle(&mut demo).is_empty());
}

/// Proves: AZURE-102.
#[test]
fn inputs_that_are_not_used_change_nothing() {
    let (mut cloud, demo) = applied(demo());
    let before = cloud.outputs(&demo);
    let mut demo = demo.with(|inputs| {
        inputs.captf_cluster.name = "renamed".to_owned();
        inputs.captf_object.name = "renamed".to_owned();
    });
    assert!(cloud.settle(&mut demo).is_empty());
    assert_eq!(cloud.outputs(&demo), before);
}

#[test]
fn changed_exports_of_the_network_are_one_patch() {
    let rows: [fn(&mut Value); 5] = [
        |e| e["worker_subnet_id"] = json!("/subnets/other"),
        |e| e["worker"]["network_security_group_id"] = json!("/nsg/other"),
        |e| e["worker"]["application_security_group_id"] = json!("/asg/other"),
        |e| e["worker"]["identity_id"] = json!("/identities/other"),
        |e| e["admin_ssh_public_key"] = json!("ssh-rsa other"),
    ];
    for change in rows {
        let (mut cloud, demo) = applied(demo());
        let mut demo = demo.exports(change);
        assert_eq!(cloud.settle(&mut demo), [format!("PATCH {SET}")]);
        assert_eq!(cloud.set(SET).set.model, demo.good().set.model);
    }
}

#[test]
fn ids_that_differ_in_case_alone_are_the_same() {
    let (mut cloud, mut demo) = applied(demo());
    let model = &mut cloud.sets.get_mut(SET).expect("the set").set.model;
    model.network.subnet_id = model.network.subnet_id.to_uppercase();
    model.identity_ids = model
        .identity_ids
        .iter()
        .map(|id| id.to_uppercase())
        .collect();
    assert!(cloud.settle(&mut demo).is_empty());
}

#[test]
fn a_failed_read_of_the_sets_stops_the_plan() {
    let stop = Cloud::new().plan_seeing(&demo(), |observed| {
        observed.sets = remuda_plan::pool::read::Read::Unknown(super::cloud::failure(
            remuda_plan::error::FailureClass::Throttled,
            "TooManyRequests",
        ));
    });
    assert!(matches!(stop, Err(PlanStop::Unreadable(_))));
}
