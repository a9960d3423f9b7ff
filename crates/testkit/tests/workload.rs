//! Pods of the simulated workload cluster: how they start, stop and are kept.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test reports by panicking"
)]

use std::time::Duration;

use http::Method;
use remuda_testkit::{Demo, World, condition, holds};
use serde_json::{Value, json};

const PODS: &str = "/api/v1/namespaces/default/pods";
const ALL_PODS: &str = "/api/v1/pods";
const NODES: &str = "/api/v1/nodes";
/// The pool's group.
const GROUP: &str = "captf-team-a-demo-pool-0-43c6d828";

/// A world whose pool has its three nodes.
async fn world(whole: bool) -> World {
    let builder = World::builder();
    let builder = if whole {
        builder.whole_cluster()
    } else {
        builder
    };
    let world = builder.build().await;
    world.apply(&Demo::default()).await;
    world.start();
    world
        .eventually("three Ready nodes", || async {
            let nodes = world.list_workload(NODES).await;
            let ready = nodes.iter().filter(|node| is_ready(node)).count();
            holds(ready == 3, || format!("{ready} are ready"))
        })
        .await;
    world
}

fn is_ready(object: &Value) -> bool {
    condition(object, "Ready").is_some_and(|(status, _)| status == "True")
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap()
}

fn pod(name: &str, node: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "labels": { "app": name } },
        "spec": { "nodeName": node, "containers": [{ "name": "c", "image": "i:1" }] },
    })
}

fn deployment(replicas: i64) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" },
        "spec": {
            "replicas": replicas, "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": { "containers": [{ "name": "c", "image": "i:1" }] },
            },
        },
    })
}

async fn get(world: &World, name: &str) -> Option<Value> {
    let answer = world
        .ask_workload(Method::GET, &format!("{PODS}/{name}"), None)
        .await;
    (answer.code == 200).then_some(answer.body)
}

async fn pod_runs(world: &World, name: &str) {
    world
        .eventually(&format!("{name} runs"), || async {
            let pod = get(world, name).await.unwrap_or_default();
            holds(
                pod["status"]["phase"] == "Running" && is_ready(&pod),
                || format!("{:#}", pod["status"]),
            )
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_kubelet_starts_its_pods_and_confirms_their_end() {
    let world = world(false).await;
    let node = name(&world.list_workload(NODES).await[0]).to_owned();
    let mut slow = pod("slow", &node);
    slow["metadata"]["annotations"] = json!({ "sim.remuda.dev/stop-seconds": "20" });
    world.create_workload(PODS, &pod("quick", &node)).await;
    world.create_workload(PODS, &slow).await;
    world
        .create_workload(PODS, &pod("nowhere", "no-such-node"))
        .await;
    pod_runs(&world, "quick").await;
    pod_runs(&world, "slow").await;
    for name in ["quick", "slow"] {
        assert_eq!(world.evict(name).await.code, 201);
    }
    let path = format!("{PODS}/nowhere");
    let told = world.ask_workload(Method::DELETE, &path, None).await.ok();
    assert_eq!(told["metadata"]["deletionGracePeriodSeconds"], 30);
    world.pass(Duration::from_secs(10)).await;
    assert_eq!(get(&world, "quick").await, None);
    let stopping = get(&world, "slow").await.expect("it takes 20 seconds");
    assert!(stopping["metadata"]["deletionTimestamp"].is_string());
    let why = condition(&stopping, "DisruptionTarget");
    assert_eq!(why, Some(("True".into(), "EvictionByEvictionAPI".into())));
    world.pass(Duration::from_secs(12)).await;
    assert_eq!(get(&world, "slow").await, None);
    world.pass(Duration::from_mins(5)).await;
    let held = get(&world, "nowhere").await;
    assert!(held.is_some(), "nobody there can say that it has stopped");
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_is_off_confirms_nothing() {
    let world = world(false).await;
    let nodes = world.list_workload(NODES).await;
    let instance = world.aws.world().live_instances(GROUP)[0].clone();
    let of_instance = |node: &&Value| node["spec"]["providerID"] == instance.provider_id.as_str();
    let node = name(nodes.iter().find(of_instance).unwrap()).to_owned();
    world.create_workload(PODS, &pod("p", &node)).await;
    pod_runs(&world, "p").await;
    world.aws.world().stop_instance(&instance.id);
    assert_eq!(world.evict("p").await.code, 201);
    world.pass(Duration::from_secs(30)).await;
    assert!(get(&world, "p").await.is_some());
}

#[tokio::test(start_paused = true)]
async fn the_rest_of_the_cluster_keeps_spreads_and_replaces_pods() {
    let world = world(true).await;
    let apps = "/apis/apps/v1/namespaces/default";
    world
        .create_workload(&format!("{apps}/deployments"), &deployment(6))
        .await;
    let mut daemons = deployment(0);
    daemons["kind"] = "DaemonSet".into();
    daemons["metadata"]["name"] = "agent".into();
    daemons["spec"].as_object_mut().unwrap().remove("replicas");
    daemons["spec"]["selector"]["matchLabels"]["app"] = "agent".into();
    daemons["spec"]["template"]["metadata"]["labels"]["app"] = "agent".into();
    world
        .create_workload(&format!("{apps}/daemonsets"), &daemons)
        .await;
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": { "name": "web" },
        "spec": { "maxUnavailable": 1, "selector": { "matchLabels": { "app": "web" } } },
    });
    let budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    world.create_workload(budgets, &budget).await;
    settled(&world, 2, 3).await;
    let status = budget_status(&world).await;
    assert_eq!(
        (&status["currentHealthy"], &status["disruptionsAllowed"]),
        (&json!(6), &json!(1))
    );

    // A cordoned node loses its pods one at a time, and gets no new ones but its daemon.
    let node = name(&world.list_workload(NODES).await[0]).to_owned();
    let cordon = json!({ "spec": { "unschedulable": true } });
    let path = format!("{NODES}/{node}");
    world
        .ask_workload(Method::PATCH, &path, Some(&cordon))
        .await
        .ok();
    let on_node: Vec<Value> = pods_of(&world, "web")
        .await
        .into_iter()
        .filter(|pod| pod["spec"]["nodeName"] == node.as_str())
        .collect();
    assert_eq!(on_node.len(), 2);
    assert_eq!(world.evict(name(&on_node[0])).await.code, 201);
    let refused = world.evict(name(&on_node[1])).await;
    assert_eq!(refused.code, 429);
    let cause = &refused.body["details"]["causes"][0];
    assert_eq!(cause["reason"], "DisruptionBudget");
    let why = "The disruption budget web needs 5 healthy pods and has 5 currently";
    assert_eq!(cause["message"], why);
    world
        .eventually("the other may go as well", || async {
            let answer = world.evict(name(&on_node[1])).await;
            holds(answer.code == 201, || answer.body.to_string())
        })
        .await;
    settled(&world, 3, 2).await;
    let tainted = world.ask_workload(Method::GET, &path, None).await.ok();
    assert_eq!(
        tainted["spec"]["taints"][0]["key"],
        "node.kubernetes.io/unschedulable"
    );

    // A template's change replaces all pods, a lower count takes some away.
    let image = json!({ "spec": { "replicas": 4, "template": { "spec": {
        "containers": [{ "name": "c", "image": "i:2" }] } } } });
    let path = format!("{apps}/deployments/web");
    world
        .ask_workload(Method::PATCH, &path, Some(&image))
        .await
        .ok();
    settled(&world, 2, 2).await;
    let pods = pods_of(&world, "web").await;
    let is_new = |pod: &Value| pod["spec"]["containers"][0]["image"] == "i:2";
    assert!(pods.iter().all(is_new), "{pods:#?}");
    let status = world.ask_workload(Method::GET, &path, None).await.ok()["status"].clone();
    assert_eq!(
        (&status["replicas"], &status["readyReplicas"]),
        (&json!(4), &json!(4))
    );
}

#[tokio::test(start_paused = true)]
async fn pods_of_a_machine_that_is_gone_move_on() {
    let world = world(true).await;
    let apps = "/apis/apps/v1/namespaces/default";
    world
        .create_workload(&format!("{apps}/deployments"), &deployment(3))
        .await;
    settled(&world, 1, 3).await;
    let instance = world.aws.world().live_instances(GROUP)[0].clone();
    world.aws.world().terminate_instance(&instance.id);
    world.pass(Duration::from_mins(1)).await;
    world
        .eventually("three pods on the nodes that are there", || async {
            let nodes = world.list_workload(NODES).await;
            let pods = pods_of(&world, "web").await;
            let here = |pod: &&Value| {
                nodes
                    .iter()
                    .any(|node| node["metadata"]["name"] == pod["spec"]["nodeName"])
            };
            let ready = pods.iter().filter(here).filter(|pod| is_ready(pod)).count();
            holds(ready == 3 && pods.len() == 3, || {
                format!("{ready} of {}", pods.len())
            })
        })
        .await;
}

async fn pods_of(world: &World, app: &str) -> Vec<Value> {
    let path = format!("{ALL_PODS}?labelSelector=app%3D{app}");
    world.list_workload(&path).await
}

async fn budget_status(world: &World) -> Value {
    let path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/web";
    world.ask_workload(Method::GET, path, None).await.ok()["status"].clone()
}

/// Waits until `nodes` nodes run `each` pods of the Deployment each, all Ready, and no others are
/// left.
async fn settled(world: &World, each: usize, nodes: usize) {
    world
        .eventually("the pods are where they belong", || async {
            let pods = pods_of(world, "web").await;
            let mut counts = std::collections::BTreeMap::<String, usize>::new();
            for pod in pods.iter().filter(|pod| is_ready(pod)) {
                let node = pod["spec"]["nodeName"].to_string();
                *counts.entry(node).or_default() += 1;
            }
            let good = pods.len() == each * nodes
                && counts.len() == nodes
                && counts.values().all(|count| *count == each);
            holds(good, || format!("{} pods, {counts:?}", pods.len()))
        })
        .await;
}
