//! A workload cluster that does not answer.

use serde_json::json;

use crate::stage::{Stage, says};

/// Proves: CAPI-76.
#[tokio::test(start_paused = true)]
async fn what_is_known_of_a_node_stays_for_five_minutes() {
    let stage = Stage::with_machine("one").await;
    stage.wire.cut_workload(true);
    stage.pass(240).await;
    // Something else wakes it: the values stay.
    stage.annotate("one", "example.com/touch", json!("1")).await;
    stage.pass(5).await;
    let machine = stage.live("one").await;
    assert!(
        says(&machine, "NodeHealthy", "True", "NodeHealthy"),
        "{machine:#}"
    );
    stage
        .becomes("one", "the silence shows", |machine| {
            says(machine, "NodeHealthy", "Unknown", "ConnectionDown")
                && says(machine, "Ready", "Unknown", "ReadyUnknown")
        })
        .await;
    stage.wire.cut_workload(false);
    stage.runs("one").await;
}

#[tokio::test(start_paused = true)]
async fn nothing_goes_undrained_while_nobody_can_look() {
    let stage = Stage::with_machine("one").await;
    stage.pod("web", "one", |_| {}).await;
    stage.wire.cut_workload(true);
    stage.delete("one").await;
    stage.stands_at("one", "DrainingNode").await;
    stage.pass(900).await;
    assert!(!stage.infra_is_going("one").await);
    stage.wire.cut_workload(false);
    stage
        .stands_at("one", "WaitingForInfrastructureDeletion")
        .await;
    assert!(!stage.has_pod("web").await, "drained, when it could be");
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_never_had_a_node_is_no_exception_while_nobody_can_look() {
    let stage = Stage::new().await;
    stage.machine("one", |_| {}).await;
    stage
        .becomes("one", "it has an instance", |machine| {
            machine["status"]["phase"] == "Provisioned"
        })
        .await;
    stage.wire.cut_workload(true);
    // The watch has to end first: until then it says that there is no Node, and is right.
    stage.pass(600).await;
    stage.delete("one").await;
    stage.pass(900).await;
    assert!(!stage.infra_is_going("one").await);
    stage.wire.cut_workload(false);
    stage
        .stands_at("one", "WaitingForInfrastructureDeletion")
        .await;
}

#[tokio::test(start_paused = true)]
async fn after_its_timeout_a_drain_nobody_could_carry_out_is_over() {
    let stage = Stage::new().await;
    stage
        .machine("one", |machine| {
            machine["spec"]["deletion"] = json!({
                "nodeDrainTimeoutSeconds": 300,
                "nodeVolumeDetachTimeoutSeconds": 60,
                "nodeDeletionTimeoutSeconds": 10,
            });
        })
        .await;
    stage.node("one", |_| {}).await;
    stage.runs("one").await;
    stage.wire.cut_workload(true);
    stage.delete("one").await;
    stage.stands_at("one", "DrainingNode").await;
    stage.pass(270).await;
    assert!(!stage.infra_is_going("one").await);
    stage
        .stands_at("one", "WaitingForInfrastructureDeletion")
        .await;
}

/// Proves: CAPI-71.
#[tokio::test(start_paused = true)]
async fn a_node_out_of_reach_is_tried_in_one_series_and_then_left() {
    let stage = Stage::with_machine("one").await;
    stage.delete("one").await;
    stage
        .stands_at("one", "WaitingForInfrastructureDeletion")
        .await;
    stage.pass(60).await;
    stage.wire.cut_workload(true);
    stage.instance_ends("one").await;
    stage.stands_at("one", "DeletingNode").await;
    stage.pass(5).await;
    assert!(says(
        &stage.live("one").await,
        "Deleting",
        "True",
        "DeletingNode"
    ));
    stage.is_gone("one").await;
    let reasons = stage.world.event_reasons("one").await;
    assert!(
        reasons.contains(&"FailedDeleteNode".to_owned()),
        "{reasons:?}"
    );
    stage.wire.cut_workload(false);
    assert!(
        stage.live_node("one").await.is_some(),
        "left behind, as the timeout asks"
    );
}

#[tokio::test(start_paused = true)]
async fn without_a_timeout_a_node_out_of_reach_is_tried_for_ever() {
    let stage = Stage::new().await;
    stage
        .machine("one", |machine| {
            machine["spec"]["deletion"] = json!({ "nodeDeletionTimeoutSeconds": 0 });
        })
        .await;
    stage.node("one", |_| {}).await;
    stage.runs("one").await;
    stage.delete("one").await;
    stage
        .stands_at("one", "WaitingForInfrastructureDeletion")
        .await;
    stage.wire.cut_workload(true);
    stage.instance_ends("one").await;
    stage.pass(120).await;
    assert!(says(
        &stage.live("one").await,
        "Deleting",
        "True",
        "DeletingNode"
    ));
    stage.wire.cut_workload(false);
    stage.is_gone("one").await;
    assert!(stage.live_node("one").await.is_none());
}
