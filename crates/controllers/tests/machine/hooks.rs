//! Hooks, and what leaves steps out.

use remuda_controllers::kinds::Kind;
use serde_json::{Value, json};

use crate::stage::{Stage, message, says};

const PRE_DRAIN: &str = "pre-drain.delete.hook.machine.cluster.x-k8s.io";
const PRE_TERMINATE: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io";

/// Proves: CAPI-58.
#[tokio::test(start_paused = true)]
async fn no_cordon_before_the_last_hook_is_gone() {
    let stage = Stage::with_machine("one").await;
    let (a, b) = (format!("{PRE_DRAIN}/a"), format!("{PRE_DRAIN}/b"));
    stage.annotate("one", &b, json!("owner")).await;
    stage.annotate("one", &a, json!("owner")).await;
    stage.delete("one").await;
    stage.stands_at("one", "WaitingForPreDrainHook").await;
    let told = message(&stage.live("one").await, "Deleting");
    assert!(told.contains(&format!("{a}, {b}")), "{told}");
    stage.annotate("one", &a, Value::Null).await;
    stage.pass(3600).await;
    let node = stage.live_node("one").await.unwrap();
    assert_eq!(node["spec"].get("unschedulable"), None);
    assert!(says(
        &stage.live("one").await,
        "Deleting",
        "True",
        "WaitingForPreDrainHook"
    ));
    stage.annotate("one", &b, Value::Null).await;
    stage
        .stands_at("one", "WaitingForInfrastructureDeletion")
        .await;
    let node = stage.live_node("one").await.unwrap();
    assert_eq!(node["spec"]["unschedulable"], true);
}

/// Proves: CAPI-59.
#[tokio::test(start_paused = true)]
async fn a_hook_before_the_end_keeps_the_instance_and_nothing_is_drained_again() {
    let stage = Stage::with_machine("one").await;
    stage.pod("web", "one", |_| {}).await;
    stage.annotate("one", PRE_TERMINATE, json!("owner")).await;
    stage.delete("one").await;
    stage.stands_at("one", "WaitingForPreTerminateHook").await;
    assert!(!stage.has_pod("web").await);
    // One that tolerates the cordon comes later.
    stage.pod("late", "one", |_| {}).await;
    stage.annotate("one", "example.com/touch", json!("1")).await;
    stage.pass(3600).await;
    assert!(stage.has_pod("late").await);
    assert!(!stage.infra_is_going("one").await);
    stage.annotate("one", PRE_TERMINATE, Value::Null).await;
    stage
        .stands_at("one", "WaitingForInfrastructureDeletion")
        .await;
    assert!(stage.has_pod("late").await);
    assert!(stage.infra_is_going("one").await);
}

/// Proves: CAPI-102.
#[tokio::test(start_paused = true)]
async fn every_step_waits_for_the_one_ahead_of_it() {
    let stage = Stage::with_machine("one").await;
    stage.pod("web", "one", |_| {}).await;
    stage.budget("web").await;
    stage.attach("one", "data").await;
    stage.annotate("one", PRE_DRAIN, json!("owner")).await;
    stage.annotate("one", PRE_TERMINATE, json!("owner")).await;
    let cordoned = async || stage.live_node("one").await.unwrap()["spec"]["unschedulable"] == true;
    stage.delete("one").await;

    stage.stands_at("one", "WaitingForPreDrainHook").await;
    stage.pass(120).await;
    assert!(!cordoned().await && stage.has_pod("web").await);
    stage.annotate("one", PRE_DRAIN, Value::Null).await;

    stage.stands_at("one", "DrainingNode").await;
    stage.pass(120).await;
    assert!(cordoned().await && stage.has_pod("web").await);
    assert!(!says(
        &stage.live("one").await,
        "Deleting",
        "True",
        "WaitingForVolumeDetach"
    ));
    stage.delete_pod("web").await;

    stage.stands_at("one", "WaitingForVolumeDetach").await;
    stage.pass(120).await;
    assert!(!stage.infra_is_going("one").await);
    stage.detach("one").await;

    stage.stands_at("one", "WaitingForPreTerminateHook").await;
    stage.pass(120).await;
    assert!(!stage.infra_is_going("one").await);
    stage.annotate("one", PRE_TERMINATE, Value::Null).await;

    stage
        .stands_at("one", "WaitingForInfrastructureDeletion")
        .await;
    stage.pass(120).await;
    assert!(stage.infra_is_going("one").await && stage.live_node("one").await.is_some());
    stage.instance_ends("one").await;
    stage.is_gone("one").await;
    assert!(stage.live_node("one").await.is_none());
}

/// Proves: CAPI-67.
#[tokio::test(start_paused = true)]
async fn an_excluded_node_is_neither_cordoned_nor_drained() {
    let stage = Stage::with_machine("one").await;
    stage.pod("web", "one", |_| {}).await;
    let key = "machine.cluster.x-k8s.io/exclude-node-draining";
    stage.annotate("one", key, json!("")).await;
    stage.delete("one").await;
    stage
        .stands_at("one", "WaitingForInfrastructureDeletion")
        .await;
    let node = stage.live_node("one").await.unwrap();
    assert_eq!(node["spec"].get("unschedulable"), None);
    assert!(stage.has_pod("web").await);
}

/// Proves: CAPI-70.
#[tokio::test(start_paused = true)]
async fn with_its_cluster_a_machine_goes_undrained_after_its_last_hook() {
    let stage = Stage::with_machine("one").await;
    stage.pod("web", "one", |_| {}).await;
    stage.annotate("one", PRE_TERMINATE, json!("owner")).await;
    let held = json!({ "metadata": { "finalizers": ["test/hold"] } });
    stage.world.patch(Kind::Cluster, "demo", held).await;
    stage.world.delete(Kind::Cluster, "demo").await;
    stage.delete("one").await;
    stage.stands_at("one", "WaitingForPreTerminateHook").await;
    assert!(!stage.infra_is_going("one").await);
    stage.annotate("one", PRE_TERMINATE, Value::Null).await;
    stage
        .stands_at("one", "WaitingForInfrastructureDeletion")
        .await;
    stage.instance_ends("one").await;
    stage.is_gone("one").await;
    assert!(stage.has_pod("web").await, "not evicted");
    let node = stage
        .live_node("one")
        .await
        .expect("the Node is left to its cluster");
    assert_eq!(node["spec"].get("unschedulable"), None);
}
