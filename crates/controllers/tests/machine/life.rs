//! A Machine from its first pass to its last, when nothing is in the way.

use std::time::Duration;

use remuda_controllers::kinds::Kind;
use remuda_testkit::condition;
use serde_json::{Value, json};

use crate::stage::{Stage, provider_id, says};

/// Proves: CAPI-97.
#[tokio::test(start_paused = true)]
async fn a_machine_shows_its_instance_and_node_and_only_its_own() {
    let stage = Stage::with_machine("one").await;
    stage.machine("two", |_| {}).await;
    stage.node("two", |_| {}).await;
    stage.runs("two").await;
    let machine = stage.live("one").await;
    assert_eq!(machine["spec"]["providerID"], json!(provider_id("one")));
    let status = &machine["status"];
    assert_eq!(status["nodeRef"]["name"], "node-one");
    assert_eq!(status["failureDomain"], "us-east-1a");
    assert_eq!(status["addresses"][0]["address"], "10.0.0.4");
    assert_eq!(status["nodeInfo"]["kubeletVersion"], "v1.33.2");
    for (kind, reason) in [
        ("InfrastructureReady", "Provisioned"),
        ("BootstrapConfigReady", "DataSecretProvided"),
        ("NodeReady", "NodeReady"),
        ("NodeHealthy", "NodeHealthy"),
        ("UpToDate", "UpToDate"),
        ("Available", "Available"),
        ("Ready", "Ready"),
    ] {
        assert!(says(&machine, kind, "True", reason), "{kind}: {status:#}");
    }
    let infra = stage.infra("one").await.unwrap();
    let owner = &infra["metadata"]["ownerReferences"][0];
    assert_eq!(
        (owner["kind"].as_str(), owner["name"].as_str()),
        (Some("Machine"), Some("one"))
    );
    assert_eq!(owner["controller"], true);

    let other = stage.live("two").await;
    let stopped = json!({ "conditions": [{
        "type": "Ready", "status": "False", "reason": "InstanceStopped", "message": "stopped",
        "lastTransitionTime": "2026-10-01T09:00:00Z",
    }] });
    let kind = Kind::TerraformMachinePoolMachine;
    stage.world.patch_status(kind, "one", stopped).await;
    stage.node_says("one", "Unknown").await;
    stage
        .becomes("one", "it is not Ready", |machine| {
            says(machine, "InfrastructureReady", "False", "InstanceStopped")
                && says(machine, "NodeReady", "Unknown", "NodeReadyUnknown")
                && says(machine, "Ready", "False", "NotReady")
        })
        .await;
    assert_eq!(
        stage.live("two").await,
        other,
        "nothing of the other Machine changed"
    );
}

#[tokio::test(start_paused = true)]
async fn a_settled_machine_is_left_alone() {
    let stage = Stage::with_machine("one").await;
    stage.pass(60).await;
    let before = stage.wire.workload_writes();
    stage.world.stays_quiet(Duration::from_mins(45)).await;
    assert_eq!(stage.wire.workload_writes(), before);
}

#[tokio::test(start_paused = true)]
async fn phases_follow_the_instance_and_the_node() {
    let stage = Stage::new().await;
    stage.machine_alone("one", |_| {}).await;
    stage
        .becomes("one", "it is pending", |machine| {
            machine["status"]["phase"] == "Pending"
                && says(
                    machine,
                    "InfrastructureReady",
                    "False",
                    "ObjectDoesNotExist",
                )
                && says(machine, "NodeHealthy", "Unknown", "NodeDoesNotExist")
        })
        .await;
    stage.instance("one", |_| {}).await;
    stage
        .becomes("one", "it is provisioned", |machine| {
            machine["status"]["phase"] == "Provisioned"
        })
        .await;
    stage.node("one", |_| {}).await;
    stage.runs("one").await;
    assert_eq!(
        stage.world.event_reasons("one").await,
        ["SuccessfulSetNodeRef"]
    );
}

/// Proves: CAPI-69.
#[tokio::test(start_paused = true)]
async fn deletion_goes_cordon_drain_instance_node_and_then_the_machine() {
    let stage = Stage::with_machine("one").await;
    let cluster = stage.world.get(Kind::Cluster, "demo").await.unwrap();
    assert!(cluster["spec"].get("controlPlaneRef").is_none());
    stage.pod("web", "one", |_| {}).await;
    let before = stage.wire.workload_writes().len();
    stage.delete("one").await;
    stage
        .stands_at("one", "WaitingForInfrastructureDeletion")
        .await;
    assert!(!stage.has_pod("web").await);
    let node = stage
        .live_node("one")
        .await
        .expect("the Node stays until the instance is gone");
    assert_eq!(node["spec"]["unschedulable"], true);
    assert_eq!(stage.live("one").await["status"]["phase"], "Deleting");
    stage.pass(600).await;
    assert!(stage.live_node("one").await.is_some());
    stage.instance_ends("one").await;
    stage.is_gone("one").await;
    assert!(stage.live_node("one").await.is_none());
    assert!(stage.infra("one").await.is_none());
    let writes: Vec<String> = stage.wire.workload_writes()[before..].to_vec();
    assert_eq!(
        writes,
        [
            "PATCH /api/v1/nodes/node-one",
            "POST /api/v1/namespaces/default/pods/web/eviction",
            "DELETE /api/v1/nodes/node-one",
        ]
    );
    let reasons = stage.world.event_reasons("one").await;
    assert!(
        reasons.contains(&"SuccessfulDrainNode".to_owned()),
        "{reasons:?}"
    );
}

/// Proves: CAPI-72.
#[tokio::test(start_paused = true)]
async fn what_was_provisioned_once_stays_so() {
    let stage = Stage::with_machine("one").await;
    let unready = json!({ "initialization": { "provisioned": false }, "conditions": [{
        "type": "Ready", "status": "False", "reason": "NotProvisioned", "message": "",
        "lastTransitionTime": "2026-10-01T09:00:00Z",
    }] });
    let kind = Kind::TerraformMachinePoolMachine;
    stage.world.patch_status(kind, "one", unready).await;
    stage
        .becomes("one", "the condition follows", |machine| {
            says(machine, "InfrastructureReady", "False", "NotProvisioned")
        })
        .await;
    let machine = stage.live("one").await;
    let flag = &machine["status"]["initialization"]["infrastructureProvisioned"];
    assert_eq!(flag, &json!(true));
    assert_eq!(machine["status"]["phase"], "Running");
}

/// Proves: CAPI-73.
#[tokio::test(start_paused = true)]
async fn managed_labels_come_and_go_on_the_node() {
    let stage = Stage::new().await;
    stage
        .machine("one", |machine| {
            machine["metadata"]["labels"]["node-role.kubernetes.io/web"] = json!("");
            machine["metadata"]["labels"]["team"] = json!("a");
        })
        .await;
    stage
        .node("one", |node| {
            node["metadata"]["labels"] = json!({ "node.cluster.x-k8s.io/theirs": "1" });
        })
        .await;
    stage.runs("one").await;
    let labels = |node: &Value| -> Vec<String> {
        let labels = node["metadata"]["labels"].as_object().unwrap();
        labels
            .keys()
            .filter(|key| !key.contains("kubernetes.io/hostname"))
            .cloned()
            .collect()
    };
    stage.pass(5).await;
    let node = stage.live_node("one").await.unwrap();
    assert_eq!(
        labels(&node),
        [
            "node-role.kubernetes.io/web",
            "node.cluster.x-k8s.io/theirs"
        ]
    );
    assert_eq!(
        node["metadata"]["annotations"]["cluster.x-k8s.io/machine"],
        "one"
    );
    let taints = node["spec"]["taints"].as_array();
    assert!(taints.is_none_or(Vec::is_empty), "{taints:?}");
    let gone = json!({ "metadata": { "labels": { "node-role.kubernetes.io/web": null } } });
    stage.world.patch(Kind::Machine, "one", gone).await;
    stage.pass(5).await;
    let node = stage.live_node("one").await.unwrap();
    assert_eq!(labels(&node), ["node.cluster.x-k8s.io/theirs"]);
}

/// Proves: CAPI-74.
#[tokio::test(start_paused = true)]
async fn a_lasting_taint_comes_back_and_one_for_the_beginning_does_not() {
    let stage = Stage::new().await;
    let taint = |key: &str, propagation: &str| json!({ "key": key, "effect": "NoSchedule", "propagation": propagation });
    stage
        .machine("one", |machine| {
            machine["spec"]["taints"] =
                json!([taint("always", "Always"), taint("once", "OnInitialization")]);
        })
        .await;
    stage.node("one", |_| {}).await;
    stage.runs("one").await;
    stage.pass(5).await;
    let keys = |node: &Value| -> Vec<String> {
        let taints = node["spec"]["taints"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let mut keys: Vec<_> = taints
            .iter()
            .map(|one| one["key"].as_str().unwrap().to_owned())
            .collect();
        keys.sort();
        keys
    };
    assert_eq!(
        keys(&stage.live_node("one").await.unwrap()),
        ["always", "once"]
    );
    let resource = Kind::Node.resource();
    let target = remuda_controllers::objects::Target {
        resource: &resource,
        namespace: None,
        name: "node-one",
        subresource: None,
    };
    let bare = json!({ "spec": { "taints": [] } });
    stage
        .workload()
        .merge_patch(&target, &bare, "operator")
        .await
        .unwrap();
    stage.pass(5).await;
    assert_eq!(keys(&stage.live_node("one").await.unwrap()), ["always"]);
}

/// Proves: CAPI-75.
#[tokio::test(start_paused = true)]
async fn available_comes_at_its_time_without_an_event() {
    let stage = Stage::new().await;
    stage
        .machine("one", |machine| {
            machine["spec"]["minReadySeconds"] = json!(90);
        })
        .await;
    stage.node("one", |_| {}).await;
    stage.runs("one").await;
    let machine = stage.live("one").await;
    assert!(
        says(&machine, "Available", "False", "WaitingForMinReadySeconds"),
        "{machine:#}"
    );
    stage.pass(80).await;
    let machine = stage.live("one").await;
    assert_eq!(condition(&machine, "Available").unwrap().0, "False");
    stage.pass(15).await;
    let machine = stage.live("one").await;
    assert_eq!(
        condition(&machine, "Available").unwrap().0,
        "True",
        "{machine:#}"
    );
}

/// Proves: CAPI-110.
#[tokio::test(start_paused = true)]
async fn nothing_is_installed_in_the_workload_cluster() {
    let stage = Stage::with_machine("one").await;
    stage.pod("web", "one", |_| {}).await;
    stage.delete("one").await;
    stage
        .stands_at("one", "WaitingForInfrastructureDeletion")
        .await;
    stage.instance_ends("one").await;
    stage.is_gone("one").await;
    let writes = stage.wire.workload_writes();
    assert!(writes.len() > 3, "{writes:?}");
    for write in writes {
        let node =
            write.starts_with("PATCH /api/v1/nodes/") || write.starts_with("DELETE /api/v1/nodes/");
        let eviction = write.starts_with("POST /api/v1/namespaces/default/pods/")
            && write.ends_with("/eviction");
        assert!(node || eviction, "{write}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_stands_alone_belongs_to_its_cluster() {
    let stage = Stage::new().await;
    stage
        .machine("one", |machine| machine["metadata"]["labels"] = json!({}))
        .await;
    stage.node("one", |_| {}).await;
    stage.runs("one").await;
    let machine = stage.live("one").await;
    let owner = &machine["metadata"]["ownerReferences"][0];
    assert_eq!(
        (owner["kind"].as_str(), owner["name"].as_str()),
        (Some("Cluster"), Some("demo"))
    );
    assert_eq!(owner.get("controller"), None);
    assert_eq!(
        machine["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"],
        "demo"
    );
    assert_eq!(
        condition(&machine, "UpToDate"),
        None,
        "nobody says it of such a Machine"
    );
}
