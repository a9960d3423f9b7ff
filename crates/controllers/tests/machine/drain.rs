//! Drains against the workload cluster's API.

use remuda_controllers::kinds::Kind;
use serde_json::{Value, json};

use crate::stage::{NAMESPACE, Stage, message, pods, resource, says};

/// Drains that a scrape shows to have ended so, and those that run.
fn drains(stage: &Stage, result: &str) -> (i64, i64) {
    let scrape = stage.world.scrape();
    let whole = |sum: f64| format!("{sum:.0}").parse().unwrap();
    (
        whole(scrape.sum("remuda_drains_total", &[("result", result)])),
        whole(scrape.sum("remuda_drains_running", &[])),
    )
}

/// Proves: CAPI-60.
#[tokio::test(start_paused = true)]
async fn daemons_and_static_pods_stay_and_the_others_go() {
    let stage = Stage::with_machine("one").await;
    let daemon_sets = resource("apps", "DaemonSet", "daemonsets");
    let agent = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": { "name": "agent" },
        "spec": {
            "selector": { "matchLabels": { "app": "agent" } },
            "template": {
                "metadata": { "labels": { "app": "agent" } },
                "spec": { "containers": [{ "name": "agent", "image": "agent" }] },
            },
        },
    });
    stage.put(&daemon_sets, Some("default"), &agent).await;
    let made = stage.workload();
    let made = made.get_of(&daemon_sets, Some("default"), "agent").await;
    let uid = made.unwrap().unwrap()["metadata"]["uid"].clone();
    stage
        .pod("agent", "one", |pod| {
            pod["metadata"]["ownerReferences"] = json!([{
                "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": uid,
                "controller": true,
            }]);
        })
        .await;
    stage
        .pod("static", "one", |pod| {
            pod["metadata"]["annotations"] = json!({ "kubernetes.io/config.mirror": "hash" });
        })
        .await;
    stage
        .pod("job", "one", |pod| {
            pod["status"] = json!({ "phase": "Succeeded" });
        })
        .await;
    stage.pod("web", "one", |_| {}).await;
    stage.delete("one").await;
    stage
        .stands_at("one", "WaitingForInfrastructureDeletion")
        .await;
    for (name, stays) in [
        ("agent", true),
        ("static", true),
        ("job", false),
        ("web", false),
    ] {
        assert_eq!(stage.has_pod(name).await, stays, "{name}");
    }
    assert_eq!(drains(&stage, "done"), (1, 0));
}

/// Proves: CAPI-61, CAPI-62.
#[tokio::test(start_paused = true)]
async fn a_budget_that_never_allows_is_told_tried_again_and_ends_at_the_timeout() {
    let stage = Stage::new().await;
    stage
        .machine("one", |machine| {
            machine["spec"]["deletion"]["nodeDrainTimeoutSeconds"] = json!(60);
        })
        .await;
    stage.node("one", |_| {}).await;
    stage.runs("one").await;
    stage.pod("web", "one", |_| {}).await;
    stage.budget("web").await;
    let before = stage.wire.workload_writes().len();
    stage.delete("one").await;
    stage.stands_at("one", "DrainingNode").await;
    let machine = stage.live("one").await;
    let told = message(&machine, "Deleting");
    assert!(
        told.contains("default/web") && told.contains("web-budget"),
        "{told}"
    );
    let began = machine["status"]["deletion"]["nodeDrainStartTime"].clone();
    assert!(began.is_string(), "{machine:#}");
    assert_eq!(drains(&stage, "timed_out"), (0, 1));
    let tries = || {
        let writes = stage.wire.workload_writes();
        writes[before..]
            .iter()
            .filter(|write| write.ends_with("/eviction"))
            .count()
    };
    let first = tries();
    stage.pass(15).await;
    assert_eq!(tries(), first, "not before 20 s");
    stage.pass(10).await;
    assert_eq!(tries(), first + 1);
    let machine = stage.live("one").await;
    assert_eq!(message(&machine, "Deleting"), told, "the message stays put");
    assert_eq!(machine["status"]["deletion"]["nodeDrainStartTime"], began);
    stage.pass(30).await;
    assert!(!stage.infra_is_going("one").await, "before the timeout");
    stage
        .stands_at("one", "WaitingForInfrastructureDeletion")
        .await;
    assert!(stage.has_pod("web").await);
    assert!(tries() <= first + 4, "{} tries in 60 s", tries());
    stage.pass(120).await;
    assert_eq!(drains(&stage, "timed_out"), (1, 0), "counted once");
    assert_eq!(drains(&stage, "done"), (0, 0));
    let took = stage.world.scrape();
    let took = took.sum("remuda_drain_duration_seconds_sum", &[]);
    assert!((60.0..=80.0).contains(&took), "{took} s");
}

/// Proves: CAPI-53.
#[tokio::test(start_paused = true)]
async fn without_a_timeout_a_budget_holds_for_as_long_as_it_does_not_allow() {
    let stage = Stage::with_machine("one").await;
    stage.pod("web", "one", |_| {}).await;
    stage.budget("web").await;
    stage.delete("one").await;
    stage.stands_at("one", "DrainingNode").await;
    stage.pass(20 * 60).await;
    assert!(stage.has_pod("web").await && !stage.infra_is_going("one").await);
    let told = message(&stage.live("one").await, "Ready");
    assert!(
        told.contains("5 minutes") && told.contains("15 minutes"),
        "{told}"
    );
    // A second Pod elsewhere: the budget allows the first to go.
    stage
        .pod("web-2", "two", |pod| {
            pod["metadata"]["labels"]["app"] = json!("web");
        })
        .await;
    stage
        .stands_at("one", "WaitingForInfrastructureDeletion")
        .await;
    assert!(!stage.has_pod("web").await);
}

/// Proves: CAPI-63.
#[tokio::test(start_paused = true)]
async fn a_silent_nodes_pods_are_given_a_second_and_its_volumes_no_time() {
    let stage = Stage::with_machine("one").await;
    stage.node_says("one", "Unknown").await;
    // Nobody ends Pods of a Node that is silent: this one was told to long ago.
    stage
        .pod("stuck", "one", |pod| {
            pod["metadata"]["finalizers"] = json!(["test/kubelet"]);
            pod["spec"]["terminationGracePeriodSeconds"] = json!(0);
        })
        .await;
    stage.delete_pod("stuck").await;
    stage.attach("one", "data").await;
    stage.pass(30).await;
    stage.delete("one").await;
    stage
        .stands_at("one", "WaitingForInfrastructureDeletion")
        .await;
    assert!(stage.has_pod("stuck").await, "it was ignored");
}

/// Proves: CAPI-64.
#[tokio::test(start_paused = true)]
async fn rules_of_the_namespace_order_and_spare_pods() {
    let stage = Stage::with_machine("one").await;
    let rule = |name: &str, drain: Value, pods: Value| {
        let mut rule = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDrainRule",
            "metadata": { "namespace": NAMESPACE, "name": name },
            "spec": { "drain": drain },
        });
        if !pods.is_null() {
            rule["spec"]["pods"] = pods;
        }
        rule
    };
    let of = |app: &str| json!([{ "selector": { "matchLabels": { "app": app } } }]);
    for rule in [
        rule("a", json!({ "behavior": "Skip" }), of("x")),
        rule(
            "aa",
            json!({ "behavior": "Drain", "order": -1 }),
            of("first"),
        ),
        rule("b", json!({ "behavior": "Drain", "order": 5 }), Value::Null),
    ] {
        stage.world.create(&rule).await;
    }
    for app in ["x", "first", "other"] {
        stage.pod(app, "one", |_| {}).await;
    }
    stage.budget("first").await;
    stage.delete("one").await;
    stage.stands_at("one", "DrainingNode").await;
    stage.pass(300).await;
    assert!(
        stage.has_pod("other").await,
        "its turn comes after `first` is gone"
    );
    stage.delete_pod("first").await;
    stage
        .stands_at("one", "WaitingForInfrastructureDeletion")
        .await;
    assert!(stage.has_pod("x").await && !stage.has_pod("other").await);
}

/// Proves: CAPI-66.
#[tokio::test(start_paused = true)]
async fn a_batch_pod_is_left_to_complete() {
    let stage = Stage::with_machine("one").await;
    stage
        .pod("batch", "one", |pod| {
            pod["metadata"]["labels"]["cluster.x-k8s.io/drain"] = json!("Wait-Completed");
        })
        .await;
    stage.delete("one").await;
    stage.stands_at("one", "DrainingNode").await;
    stage.pass(600).await;
    assert!(stage.has_pod("batch").await);
    assert!(says(
        &stage.live("one").await,
        "Deleting",
        "True",
        "DrainingNode"
    ));
    let target = remuda_controllers::objects::Target {
        resource: &pods(),
        namespace: Some("default"),
        name: "batch",
        subresource: Some("status"),
    };
    let ended = json!({ "status": { "phase": "Succeeded" } });
    stage
        .workload()
        .merge_patch(&target, &ended, "test")
        .await
        .unwrap();
    stage
        .stands_at("one", "WaitingForInfrastructureDeletion")
        .await;
    assert!(stage.has_pod("batch").await, "the object remains");
}

/// Proves: CAPI-68.
#[tokio::test(start_paused = true)]
async fn volumes_of_evicted_pods_are_waited_for_and_those_of_daemons_are_not() {
    let stage = Stage::with_machine("one").await;
    stage
        .pod("spared", "one", |pod| {
            pod["metadata"]["labels"]["cluster.x-k8s.io/drain"] = json!("skip");
            pod["spec"]["volumes"] =
                json!([{ "name": "v", "persistentVolumeClaim": { "claimName": "kept" } }]);
        })
        .await;
    stage.attach("one", "kept").await;
    stage.attach("one", "data").await;
    stage.delete("one").await;
    stage.stands_at("one", "WaitingForVolumeDetach").await;
    let told = message(&stage.live("one").await, "Deleting");
    assert!(
        told.contains("default/data") && !told.contains("kept"),
        "{told}"
    );
    stage.pass(600).await;
    assert!(!stage.infra_is_going("one").await);
    let attachments = resource("storage.k8s.io", "VolumeAttachment", "volumeattachments");
    let workload = stage.workload();
    workload
        .delete(&attachments, None, "one-data", None)
        .await
        .unwrap();
    stage
        .stands_at("one", "WaitingForInfrastructureDeletion")
        .await;
    let reasons = stage.world.event_reasons("one").await;
    assert!(
        reasons.contains(&"NodeVolumesDetached".to_owned()),
        "{reasons:?}"
    );
}

/// Proves: CAPI-65.
#[tokio::test(start_paused = true)]
async fn an_invalid_rule_stops_the_drain_and_says_so() {
    let stage = Stage::with_machine("one").await;
    stage.pod("web", "one", |_| {}).await;
    let rule = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDrainRule",
        "metadata": { "namespace": NAMESPACE, "name": "broken" },
        "spec": {
            "drain": { "behavior": "Skip" },
            "pods": [{ "selector": { "matchExpressions": [{ "key": "a", "operator": "Near" }] } }],
        },
    });
    stage.world.create(&rule).await;
    stage.delete("one").await;
    stage.stands_at("one", "DrainingNode").await;
    stage.pass(600).await;
    let told = message(&stage.live("one").await, "Deleting");
    assert!(
        told.contains("broken") && stage.has_pod("web").await,
        "{told}"
    );
    let warnings = stage.world.event_reasons("one").await;
    let warnings = warnings
        .iter()
        .filter(|reason| *reason == "FailedDrainNode");
    assert_eq!(warnings.count(), 1, "told once, not every 20 s");
    stage.world.delete(Kind::MachineDrainRule, "broken").await;
    stage
        .stands_at("one", "WaitingForInfrastructureDeletion")
        .await;
}
