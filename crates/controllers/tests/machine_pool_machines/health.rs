//! MachineHealthChecks: what they write on Machines, and what follows.

use std::time::Duration;

use kube::core::ApiResource;
use remuda_controllers::{kinds::Kind, objects::ApiError};
use remuda_testkit::{Demo, NAMESPACE, World, condition, foreign_crd, foreign_resource, holds};
use serde_json::{Value, json};

use crate::herd::{
    CLUSTER_NAME, GROUP, POOL_NAME, deleted, every, herd, machines, name, provider_id, three,
};

const CHECK: &str = "demo-check";

fn check(spec: Value) -> Value {
    let mut check = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineHealthCheck",
        "metadata": { "name": CHECK, "namespace": NAMESPACE },
        "spec": {
            "clusterName": "demo",
            "selector": { "matchLabels": { POOL_NAME: remuda_testkit::POOL } },
        },
    });
    let fields = check["spec"].as_object_mut().unwrap();
    fields.extend(spec.as_object().unwrap().clone());
    check
}

/// `spec.checks` with a Node condition that is bad after five minutes.
fn node_checks() -> Value {
    let bad = |status: &str| json!({ "type": "Ready", "status": status, "timeoutSeconds": 300 });
    json!({ "unhealthyNodeConditions": [bad("False"), bad("Unknown")] })
}

/// The Node of a member joins, and its Machine knows it.
async fn join(world: &World, number: usize) {
    let node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": { "name": node_name(number) },
        "spec": { "providerID": provider_id(number) },
    });
    let created = world
        .workload()
        .create(&Kind::Node.resource(), None, &node, "kubelet")
        .await;
    created.unwrap();
    say(world, number, "True").await;
    let status = json!({ "nodeRef": { "name": node_name(number) } });
    world
        .patch_status(Kind::Machine, &name(number), status)
        .await;
    world
        .object_becomes(Kind::Machine, &name(number), "it has its Node", |machine| {
            machine["status"]["nodeRef"]["name"] == node_name(number)
        })
        .await;
}

fn node_name(number: usize) -> String {
    format!("node-{number}")
}

/// The kubelet's word about its Node.
async fn say(world: &World, number: usize, ready: &str) {
    let now = world.now().to_string();
    let ready = json!({
        "type": "Ready", "status": ready, "reason": "Kubelet", "message": "",
        "lastTransitionTime": now, "lastHeartbeatTime": now,
    });
    let patch = json!({ "status": { "conditions": [ready] } });
    let resource = Kind::Node.resource();
    let target = remuda_controllers::objects::Target {
        resource: &resource,
        namespace: None,
        name: &node_name(number),
        subresource: Some("status"),
    };
    world
        .workload()
        .merge_patch(&target, &patch, "kubelet")
        .await
        .unwrap();
}

async fn says(world: &World, number: usize, kind: &str, status: &str, reason: &str) {
    let what = format!("{} says {kind}={status}/{reason}", name(number));
    world
        .object_becomes(Kind::Machine, &name(number), &what, |machine| {
            condition(machine, kind) == Some((status.to_owned(), reason.to_owned()))
        })
        .await;
}

/// Proves: CAPI-10.
#[tokio::test(start_paused = true)]
async fn a_check_that_would_never_give_a_node_time_is_refused() {
    let world = World::new().await;
    world.apply(&Demo::default()).await;
    let resource = Kind::MachineHealthCheck.resource();
    let create = async |check: Value| {
        let created = world
            .objects
            .create(&resource, Some(NAMESPACE), &check, "test")
            .await;
        if created.is_ok() {
            world.delete(Kind::MachineHealthCheck, CHECK).await;
        }
        created
    };
    let timeout =
        |seconds: i64| check(json!({ "checks": { "nodeStartupTimeoutSeconds": seconds } }));
    assert!(matches!(
        create(timeout(20)).await,
        Err(ApiError::Refused { .. })
    ));
    create(timeout(0)).await.unwrap();
    create(timeout(30)).await.unwrap();
    let all = check(json!({ "selector": {} }));
    assert!(matches!(create(all).await, Err(ApiError::Refused { .. })));
    let empty = check(json!({ "selector": { "matchLabels": {} } }));
    assert!(matches!(create(empty).await, Err(ApiError::Refused { .. })));
}

#[tokio::test(start_paused = true)]
async fn an_unhealthy_node_has_its_machine_replaced() {
    let world = three(herd()).await;
    for number in 1..=3 {
        join(&world, number).await;
    }
    world
        .create(&check(json!({ "checks": node_checks() })))
        .await;
    for number in 1..=3 {
        says(
            &world,
            number,
            "HealthCheckSucceeded",
            "True",
            "HealthCheckSucceeded",
        )
        .await;
    }
    world
        .object_becomes(
            Kind::MachineHealthCheck,
            CHECK,
            "all are counted",
            |check| {
                let status = &check["status"];
                status["expectedMachines"] == 3
                    && status["currentHealthy"] == 3
                    && status["targets"].as_array().map(Vec::len) == Some(3)
            },
        )
        .await;
    let owned = world.get(Kind::MachineHealthCheck, CHECK).await.unwrap();
    assert_eq!(owned["metadata"]["labels"][CLUSTER_NAME], "demo");
    assert_eq!(owned["metadata"]["ownerReferences"][0]["kind"], "Cluster");

    let mark = world.mark();
    say(&world, 2, "Unknown").await;
    world.pass(Duration::from_mins(4)).await;
    assert_eq!(
        deleted(&world, mark),
        Vec::<String>::new(),
        "not before its time"
    );
    world
        .eventually("its Machine is deleted", || async {
            let deleted = deleted(&world, mark);
            holds(deleted.contains(&name(2)), || format!("{deleted:?}"))
        })
        .await;
    world.pass(Duration::from_mins(10)).await;
    let deleted = deleted(&world, mark);
    assert!(
        deleted.iter().all(|machine| *machine == name(2)),
        "{deleted:?}"
    );
    let events = world.event_reasons(&name(2)).await;
    assert!(
        events.contains(&"MachineMarkedUnhealthy".to_owned()),
        "{events:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn beyond_the_limit_machines_are_marked_and_left() {
    let world = three(herd()).await;
    for number in 1..=3 {
        join(&world, number).await;
    }
    let remediation = json!({ "triggerIf": { "unhealthyLessThanOrEqualTo": "40%" } });
    let spec = json!({ "checks": node_checks(), "remediation": remediation });
    world.create(&check(spec)).await;
    says(
        &world,
        1,
        "HealthCheckSucceeded",
        "True",
        "HealthCheckSucceeded",
    )
    .await;
    let mark = world.mark();
    say(&world, 1, "False").await;
    say(&world, 2, "False").await;
    for number in [1, 2] {
        says(
            &world,
            number,
            "HealthCheckSucceeded",
            "False",
            "UnhealthyNode",
        )
        .await;
    }
    world.pass(Duration::from_mins(30)).await;
    assert_eq!(deleted(&world, mark), Vec::<String>::new());
    for machine in machines(&world).await.values() {
        assert_eq!(condition(machine, "OwnerRemediated"), None);
    }
    let check = world.get(Kind::MachineHealthCheck, CHECK).await.unwrap();
    assert_eq!(
        condition(&check, "RemediationAllowed"),
        Some(("False".to_owned(), "TooManyUnhealthy".to_owned()))
    );
    let events = world.event_reasons(CHECK).await;
    assert_eq!(events, ["RemediationRestricted"], "told once");
}

fn repairs(kind: &str) -> ApiResource {
    foreign_resource(GROUP, "v1beta1", kind)
}

/// A template of external remediation, and a check that refers to it.
async fn external(world: &World) {
    for kind in ["Repair", "RepairTemplate"] {
        world
            .create(&foreign_crd(GROUP, kind, &["v1beta1"], &json!({})))
            .await;
    }
    let reference = json!({ "apiVersion": format!("{GROUP}/v1beta1"), "kind": "RepairTemplate", "name": "fix" });
    let spec = json!({ "checks": node_checks(), "remediation": { "templateRef": reference } });
    world.create(&check(spec)).await;
}

async fn request(world: &World, number: usize) -> Option<Value> {
    let found = world
        .objects
        .get_of(&repairs("Repair"), Some(NAMESPACE), &name(number))
        .await;
    found.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_template_makes_one_request_a_machine_until_it_is_well() {
    let world = three(herd()).await;
    for number in 1..=3 {
        join(&world, number).await;
    }
    external(&world).await;
    let mark = world.mark();
    say(&world, 1, "False").await;
    say(&world, 2, "False").await;
    says(
        &world,
        1,
        "ExternallyRemediated",
        "False",
        "RemediationTemplateNotFound",
    )
    .await;
    let spec = json!({ "template": { "spec": { "how": "power cycle" } } });
    world
        .create_of(&repairs("RepairTemplate"), "fix", json!({}), spec)
        .await;
    // Both get theirs: a Machine that has one does not keep the next from it.
    for number in [1, 2] {
        says(
            &world,
            number,
            "ExternallyRemediated",
            "False",
            "WaitingForRemediation",
        )
        .await;
        let request = request(&world, number).await.unwrap();
        assert_eq!(request["spec"]["how"], "power cycle");
        let owner = &request["metadata"]["ownerReferences"][0];
        assert_eq!(
            (&owner["kind"], &owner["name"]),
            (&json!("Machine"), &json!(name(number)))
        );
        let machine = world.get(Kind::Machine, &name(number)).await.unwrap();
        assert_eq!(condition(&machine, "OwnerRemediated"), None);
    }
    say(&world, 1, "True").await;
    every(
        &world,
        "the request of the Machine that is well is taken back",
        |machines| condition(&machines[&name(1)], "ExternallyRemediated").is_none(),
    )
    .await;
    assert!(request(&world, 1).await.is_none());
    assert!(request(&world, 2).await.is_some());
    assert_eq!(
        deleted(&world, mark),
        Vec::<String>::new(),
        "nobody replaces"
    );
}
