//! `MachinePool`.

use std::time::Duration;

use remuda_controllers::{kinds::Kind, objects::Target};
use remuda_plan::admission::{Gates, gates::Gate};
use remuda_testkit::{Demo, NAMESPACE, POOL, World};
use serde_json::{Value, json};

use super::{core_object, create, patch, refused, world};

const MIN: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size";
const MAX: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size";

fn pool(name: &str) -> Value {
    core_object(
        "MachinePool",
        name,
        json!({
            "clusterName": "demo",
            "template": { "spec": {
                "clusterName": "demo",
                "bootstrap": { "dataSecretName": "data" },
                "infrastructureRef": {
                    "apiGroup": "infrastructure.cluster.x-k8s.io",
                    "kind": "TerraformMachinePool",
                    "name": name,
                },
            } },
        }),
    )
}

/// Proves: CAPI-1.
#[tokio::test(start_paused = true)]
async fn an_empty_template_metadata_is_refused() {
    let world = world(Gates::default()).await;
    let mut new = pool("a");
    new["spec"]["template"]["metadata"] = json!({});
    refused(create(&world, &new).await, &["spec.template.metadata"]);
    new["spec"]["template"]["metadata"] = json!({ "labels": { "a": "b" } });
    create(&world, &new).await.unwrap();
}

/// Proves: CAPI-2, CAPI-5.
#[tokio::test(start_paused = true)]
async fn a_pool_is_stored_complete() {
    let world = world(Gates::default()).await;
    let mut new = pool("a");
    new["spec"]["template"]["spec"]["version"] = json!("1.35.0");
    let stored = create(&world, &new).await.unwrap();
    assert_eq!(stored["spec"]["replicas"], 1);
    let template = &stored["spec"]["template"]["spec"];
    assert_eq!(template["deletion"]["nodeDeletionTimeoutSeconds"], 10);
    assert_eq!(template["version"], "v1.35.0");
    let labels = &stored["metadata"]["labels"];
    assert_eq!(labels["cluster.x-k8s.io/cluster-name"], "demo");

    new["metadata"]["name"] = json!("b");
    new["spec"]["template"]["spec"]["version"] = json!("latest");
    refused(
        create(&world, &new).await,
        &["spec.template.spec.version", "latest"],
    );
}

/// Proves: CAPI-3, CAPI-4.
#[tokio::test(start_paused = true)]
async fn bounds_of_the_autoscaler_decide_where_nobody_does() {
    let world = world(Gates::default()).await;
    let mut new = pool("a");
    new["metadata"]["annotations"] = json!({ MIN: "3", MAX: "6" });
    assert_eq!(create(&world, &new).await.unwrap()["spec"]["replicas"], 3);
    for (before, after) in [(9, 6), (4, 4)] {
        let count = |count: Value| patch(&world, &new, json!({ "spec": { "replicas": count } }));
        count(json!(before)).await.unwrap();
        let stored = count(Value::Null).await.unwrap();
        assert_eq!(stored["spec"]["replicas"], after);
    }
    let mut wrong = pool("b");
    wrong["metadata"]["annotations"] = json!({ MIN: "x", MAX: "5" });
    refused(create(&world, &wrong).await, &[MIN, "\"x\""]);
}

/// Proves: CAPI-6, CAPI-7.
#[tokio::test(start_paused = true)]
async fn every_mistake_is_told_at_once() {
    let world = world(Gates::default()).await;
    let new = pool("a");
    create(&world, &new).await.unwrap();
    let moved = json!({ "spec": { "clusterName": "other" } });
    refused(
        patch(&world, &new, moved).await,
        &[
            "spec.clusterName",
            "spec.template.spec.clusterName",
            "\"other\"",
        ],
    );
    let torn = json!({ "spec": { "template": { "spec": { "clusterName": "other" } } } });
    refused(
        patch(&world, &new, torn).await,
        &["spec.template.spec.clusterName"],
    );
    let mut bare = pool("b");
    bare["spec"]["template"]["spec"]["bootstrap"] = json!({});
    bare["spec"]["template"]["spec"]["clusterName"] = json!("other");
    refused(
        create(&world, &bare).await,
        &[
            "spec.template.spec.bootstrap: Required value",
            "spec.template.spec.clusterName",
        ],
    );
}

/// Proves: CAPI-57.
#[tokio::test(start_paused = true)]
async fn a_scale_changes_the_count_and_nothing_else() {
    let world = world(Gates::default()).await;
    let mut new = pool("a");
    new["metadata"]["annotations"] = json!({ MIN: "3", MAX: "6" });
    let before = create(&world, &new).await.unwrap();
    let resource = Kind::MachinePool.resource();
    let scale = Target {
        resource: &resource,
        namespace: Some(NAMESPACE),
        name: "a",
        subresource: Some("scale"),
    };
    let wanted = json!({ "spec": { "replicas": 4 } });
    world
        .objects
        .merge_patch(&scale, &wanted, "autoscaler")
        .await
        .unwrap();
    let after = world.get(Kind::MachinePool, "a").await.unwrap();
    assert_eq!(after["spec"]["replicas"], 4);
    let bare = |object: &Value| {
        let mut object = object.clone();
        object["spec"]["replicas"] = Value::Null;
        for field in ["resourceVersion", "generation", "managedFields"] {
            object["metadata"][field] = Value::Null;
        }
        object
    };
    assert_eq!(bare(&after), bare(&before));
}

/// Proves: CAPI-105.
#[tokio::test(start_paused = true)]
async fn without_its_gate_no_pool_is_created_and_what_is_there_stays() {
    let off = Gates::default().with(Gate::MachinePool, false);
    let world = World::builder().admission(Gates::default()).build().await;
    world.apply(&Demo::default()).await;
    world.start();
    world.machine_pool_is_running(3).await;
    world.stop().await;

    world.set_gates(off);
    refused(
        create(&world, &pool("a")).await,
        &["MachinePool", "--feature-gates"],
    );
    world.start();
    world.pass(Duration::from_mins(10)).await;
    let mark = world.mark();
    world.pass(Duration::from_hours(2)).await;
    assert_eq!(world.aws_writes(mark), [""; 0]);
    world.machine_pool_is_running(3).await;
    let labelled = json!({ "metadata": { "labels": { "a": "b" } } });
    world.patch(Kind::MachinePool, POOL, labelled).await;

    world.set_gates(Gates::default());
    create(&world, &pool("a")).await.unwrap();
}
