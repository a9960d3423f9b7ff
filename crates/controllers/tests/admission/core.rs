//! The other kinds of the core.

use remuda_controllers::kinds::Kind;
use remuda_plan::admission::{Gates, gates::Gate};
use remuda_testkit::{NAMESPACE, POOL};
use serde_json::{Value, json};

use super::{core_object, create, delete, patch, refused, world};

fn machine(name: &str) -> Value {
    core_object(
        "Machine",
        name,
        json!({
            "clusterName": "demo",
            "bootstrap": { "dataSecretName": "" },
            "infrastructureRef": {
                "apiGroup": "infrastructure.cluster.x-k8s.io",
                "kind": "TerraformMachinePoolMachine",
                "name": name,
            },
        }),
    )
}

fn pool_machine(name: &str) -> Value {
    let mut machine = machine(name);
    machine["metadata"]["labels"] = json!({ "cluster.x-k8s.io/pool-name": POOL });
    machine
}

/// Proves: CAPI-12.
#[tokio::test(start_paused = true)]
async fn a_machine_with_a_reserved_taint_is_refused() {
    let world = world(Gates::default()).await;
    let tainted = |key: &str| {
        let mut machine = pool_machine("a");
        machine["spec"]["taints"] =
            json!([{ "key": key, "effect": "NoSchedule", "propagation": "Always" }]);
        machine
    };
    let reserved = tainted("node.cluster.x-k8s.io/uninitialized");
    refused(
        create(&world, &reserved).await,
        &["spec.taints[0].key", "reserved"],
    );
    let stored = create(&world, &tainted("team/a")).await.unwrap();
    assert_eq!(stored["spec"]["deletion"]["nodeDeletionTimeoutSeconds"], 10);
    refused(create(&world, &machine("b")).await, &["spec.bootstrap"]);
}

/// Proves: CAPI-9.
#[tokio::test(start_paused = true)]
async fn a_drain_rule_with_an_order_drains() {
    let world = world(Gates::default()).await;
    let rule = |name: &str, behavior: &str, order: i64| {
        let drain = json!({ "drain": { "behavior": behavior, "order": order } });
        core_object("MachineDrainRule", name, drain)
    };
    refused(
        create(&world, &rule("a", "Skip", 1)).await,
        &["spec.drain.order", "Skip"],
    );
    create(&world, &rule("b", "Drain", -5)).await.unwrap();
}

/// Proves: CAPI-10.
#[tokio::test(start_paused = true)]
async fn a_health_check_selects_something_and_waits_long_enough() {
    let world = world(Gates::default()).await;
    let check = |name: &str, seconds: i64, selector: Value| {
        core_object(
            "MachineHealthCheck",
            name,
            json!({
                "clusterName": "demo",
                "selector": selector,
                "checks": { "nodeStartupTimeoutSeconds": seconds },
            }),
        )
    };
    let selector = json!({ "matchLabels": { "cluster.x-k8s.io/pool-name": POOL } });
    let hasty = create(&world, &check("a", 20, selector.clone())).await;
    refused(hasty, &["nodeStartupTimeoutSeconds", "at least 30"]);
    let empty = create(&world, &check("a", 30, json!({ "matchLabels": {} }))).await;
    refused(empty, &["spec.selector"]);
    create(&world, &check("a", 0, selector.clone()))
        .await
        .unwrap();
    let ranged = json!({ "remediation": { "triggerIf": { "unhealthyInRange": "[5-2]" } } });
    let mut backwards = check("b", 30, selector.clone());
    backwards["spec"]["remediation"] = ranged["remediation"].clone();
    refused(
        create(&world, &backwards).await,
        &["unhealthyInRange", "[5-2]"],
    );
    let stored = create(&world, &check("b", 30, selector)).await.unwrap();
    let trigger = &stored["spec"]["remediation"]["triggerIf"];
    assert_eq!(trigger["unhealthyLessThanOrEqualTo"], "100%");
}

/// The second half of CAPI-103.
#[tokio::test(start_paused = true)]
async fn a_machine_that_cannot_be_ended_alone_is_not_deleted() {
    let world = world(Gates::default()).await;
    let mut infra = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1",
        "kind": "TerraformMachinePoolMachine",
        "metadata": {
            "name": "a", "namespace": NAMESPACE,
            "labels": { "cluster.x-k8s.io/pool-name": POOL },
            "annotations": { "remuda.dev/not-deletable": "the cloud ends no single node" },
        },
        "spec": { "providerID": "aws:///us-east-1a/i-1" },
    });
    create(&world, &infra).await.unwrap();
    let held = pool_machine("a");
    create(&world, &held).await.unwrap();
    refused(
        delete(&world, &held).await,
        &["the cloud ends no single node"],
    );
    refused(
        delete(&world, &infra).await,
        &["the cloud ends no single node"],
    );

    infra["metadata"]["name"] = json!("b");
    infra["metadata"]["annotations"] = json!({});
    create(&world, &infra).await.unwrap();
    let free = pool_machine("b");
    create(&world, &free).await.unwrap();
    delete(&world, &free).await.unwrap();

    world.delete(Kind::MachinePool, POOL).await;
    delete(&world, &held).await.unwrap();
}

/// A definition whose objects hold anything.
fn open_definition(kind: &str, plural: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.cluster.x-k8s.io") },
        "spec": {
            "group": "cluster.x-k8s.io",
            "scope": "Namespaced",
            "names": { "kind": kind, "plural": plural, "singular": kind.to_lowercase() },
            "versions": [{
                "name": "v1beta2", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                } },
            }],
        },
    })
}

/// The first half of CAPI-106; the expansion comes with topologies.
#[tokio::test(start_paused = true)]
async fn a_topology_needs_its_gate() {
    let off = world(Gates::default()).await;
    let definition = open_definition("ClusterClass", "clusterclasses");
    off.create(&definition).await;
    let class = core_object("ClusterClass", "fast", json!({}));
    refused(create(&off, &class).await, &["ClusterTopology"]);
    let topology = json!({ "topology": { "classRef": { "name": "fast" }, "version": "v1.35.0" } });
    let cluster = core_object("Cluster", "classy", topology.clone());
    refused(
        create(&off, &cluster).await,
        &["spec.topology", "ClusterTopology"],
    );
    let plain = core_object("Cluster", "demo", json!({}));
    refused(
        patch(&off, &plain, json!({ "spec": topology })).await,
        &["ClusterTopology"],
    );

    let on = world(Gates::default().with(Gate::ClusterTopology, true)).await;
    on.create(&definition).await;
    create(&on, &class).await.unwrap();
    create(&on, &cluster).await.unwrap();
}
