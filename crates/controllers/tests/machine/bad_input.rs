//! What people and clouds do to Machines that nobody planned for.

use remuda_controllers::kinds::Kind;
use serde_json::{Value, json};

use crate::stage::{Stage, message, says};

#[tokio::test(start_paused = true)]
async fn deleted_twice_is_deleted_once() {
    let stage = Stage::with_machine("one").await;
    stage.pod("web", "one", |_| {}).await;
    stage.budget("web").await;
    stage.delete("one").await;
    stage.stands_at("one", "DrainingNode").await;
    let first = stage.live("one").await["metadata"]["deletionTimestamp"].clone();
    stage.pass(100).await;
    stage.delete("one").await;
    stage.pass(100).await;
    assert_eq!(
        stage.live("one").await["metadata"]["deletionTimestamp"],
        first
    );
    stage.delete_pod("web").await;
    stage
        .stands_at("one", "WaitingForInfrastructureDeletion")
        .await;
    stage.instance_ends("one").await;
    stage.is_gone("one").await;
}

#[tokio::test(start_paused = true)]
async fn a_paused_machine_waits_with_its_deletion() {
    let stage = Stage::with_machine("one").await;
    stage.pod("web", "one", |_| {}).await;
    stage
        .annotate("one", "cluster.x-k8s.io/paused", json!(""))
        .await;
    stage
        .becomes("one", "it is paused", |machine| {
            says(machine, "Paused", "True", "Paused")
        })
        .await;
    stage.delete("one").await;
    stage.pass(3600).await;
    assert!(stage.has_pod("web").await && !stage.infra_is_going("one").await);
    let node = stage.live_node("one").await.unwrap();
    assert_eq!(node["spec"].get("unschedulable"), None);
    stage
        .annotate("one", "cluster.x-k8s.io/paused", Value::Null)
        .await;
    stage
        .stands_at("one", "WaitingForInfrastructureDeletion")
        .await;
    assert!(!stage.has_pod("web").await);
    assert!(says(
        &stage.live("one").await,
        "Paused",
        "False",
        "NotPaused"
    ));
}

#[tokio::test(start_paused = true)]
async fn a_node_deleted_by_hand_shows_and_does_not_hold_the_deletion() {
    let stage = Stage::with_machine("one").await;
    let workload = stage.workload();
    workload
        .delete(&Kind::Node.resource(), None, "node-one", None)
        .await
        .unwrap();
    stage
        .becomes("one", "the loss shows", |machine| {
            says(machine, "NodeReady", "False", "NodeDeleted")
                && says(machine, "Ready", "False", "NotReady")
        })
        .await;
    let machine = stage.live("one").await;
    assert_eq!(
        machine["status"]["nodeRef"]["name"], "node-one",
        "health checks go by it"
    );
    stage.delete("one").await;
    stage
        .stands_at("one", "WaitingForInfrastructureDeletion")
        .await;
    stage.instance_ends("one").await;
    stage.is_gone("one").await;
}

#[tokio::test(start_paused = true)]
async fn a_node_name_taken_by_a_new_instance_is_not_the_old_ones() {
    let stage = Stage::with_machine("one").await;
    let workload = stage.workload();
    workload
        .delete(&Kind::Node.resource(), None, "node-one", None)
        .await
        .unwrap();
    // The new instance comes up under the old host name.
    stage
        .node("one", |node| {
            node["spec"]["providerID"] = json!("aws:///us-east-1a/i-two");
        })
        .await;
    stage.machine("two", |_| {}).await;
    stage.runs("two").await;
    assert_eq!(
        stage.live("two").await["status"]["nodeRef"]["name"],
        "node-one"
    );
    stage.pod("web", "one", |_| {}).await;
    stage.delete("one").await;
    stage
        .stands_at("one", "WaitingForInfrastructureDeletion")
        .await;
    stage.instance_ends("one").await;
    stage.is_gone("one").await;
    let node = stage
        .live_node("one")
        .await
        .expect("it is the new instance's");
    assert_eq!(node["spec"].get("unschedulable"), None);
    assert!(stage.has_pod("web").await);
    stage.runs("two").await;
}

#[tokio::test(start_paused = true)]
async fn provider_ids_may_differ_in_letter_case() {
    let stage = Stage::new().await;
    let id = "azure:///subscriptions/S1/resourceGroups/Demo-RG/providers/Microsoft.Compute/\
              virtualMachineScaleSets/pool/virtualMachines/3";
    stage
        .instance("one", |infra| infra["spec"]["providerID"] = json!(id))
        .await;
    stage.machine_alone("one", |_| {}).await;
    stage
        .node("one", |node| {
            node["spec"]["providerID"] = json!(id.replace("Demo-RG", "demo-rg"));
        })
        .await;
    stage.runs("one").await;
    stage.pod("web", "one", |_| {}).await;
    stage.delete("one").await;
    stage
        .stands_at("one", "WaitingForInfrastructureDeletion")
        .await;
    assert!(!stage.has_pod("web").await);
    stage.instance_ends("one").await;
    stage.is_gone("one").await;
    assert!(stage.live_node("one").await.is_none());
}

#[tokio::test(start_paused = true)]
async fn two_nodes_that_claim_one_instance_are_told_and_neither_is_touched() {
    let stage = Stage::with_machine("one").await;
    stage
        .node("twin", |node| {
            node["spec"]["providerID"] = json!(crate::stage::provider_id("one"));
        })
        .await;
    stage
        .becomes("one", "the doubt shows", |machine| {
            says(machine, "NodeReady", "Unknown", "InspectionFailed")
        })
        .await;
    stage.delete("one").await;
    stage.stands_at("one", "DrainingNode").await;
    let told = message(&stage.live("one").await, "Deleting");
    assert!(told.contains("node-one, node-twin"), "{told}");
    assert!(!stage.infra_is_going("one").await);
    let workload = stage.workload();
    workload
        .delete(&Kind::Node.resource(), None, "node-twin", None)
        .await
        .unwrap();
    stage
        .stands_at("one", "WaitingForInfrastructureDeletion")
        .await;
}

/// Proves: CAPI-49.
#[tokio::test(start_paused = true)]
async fn a_machine_follows_its_instances_object() {
    let stage = Stage::with_machine("one").await;
    stage
        .world
        .delete(Kind::TerraformMachinePoolMachine, "one")
        .await;
    stage
        .becomes("one", "it is being deleted", |machine| {
            machine["metadata"].get("deletionTimestamp").is_some()
        })
        .await;
    stage.instance_ends("one").await;
    stage.is_gone("one").await;
    assert!(
        stage.live_node("one").await.is_none(),
        "nothing is left dangling"
    );
}

#[tokio::test(start_paused = true)]
async fn an_object_of_somebody_else_is_not_taken() {
    let stage = Stage::new().await;
    let cluster = stage
        .world
        .get(Kind::TerraformCluster, "demo")
        .await
        .unwrap();
    stage
        .instance("one", |infra| {
            infra["metadata"]["ownerReferences"] = json!([{
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1",
                "kind": "TerraformCluster", "name": "demo",
                "uid": cluster["metadata"]["uid"], "controller": true,
            }]);
        })
        .await;
    stage.machine_alone("one", |_| {}).await;
    stage.pass(120).await;
    let infra = stage.infra("one").await.unwrap();
    let owners = infra["metadata"]["ownerReferences"].as_array().unwrap();
    assert_eq!(owners.len(), 1, "{owners:?}");
    let machine = stage.live("one").await;
    assert_eq!(
        machine["status"].get("observedGeneration"),
        None,
        "{machine:#}"
    );
    let told = message(&machine, "InfrastructureReady");
    assert!(
        told.contains("controlled by TerraformCluster demo"),
        "{told}"
    );
}
