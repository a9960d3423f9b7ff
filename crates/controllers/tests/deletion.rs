//! Deleting pools: destroy, retain, hold, and what is left afterwards.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test reports by panicking"
)]

use std::time::Duration;

use remuda_controllers::kinds::Kind;
use remuda_sim::{Effect, Fault};
use remuda_testkit::{Demo, POOL, World, condition};
use serde_json::json;

const GROUP: &str = "captf-team-a-demo-pool-0-43c6d828";
const BUCKET: &str = "captf-bootstrap-20261001000000000000000001";
const RECORD: &str = "remuda-pool-demo-pool-0";

async fn settled(demo: Demo) -> World {
    let world = World::new().await;
    world.apply(&demo).await;
    world.start();
    world.machine_pool_is_running(3).await;
    world.pool_is_ready().await;
    world
}

fn nothing_is_left(world: &World) {
    let aws = world.aws.world();
    assert!(aws.group(GROUP).is_none(), "the group is gone");
    assert!(aws.live_instances(GROUP).is_empty(), "no instance is left");
    assert!(aws.templates().is_empty(), "no template is left");
    assert!(aws.object_keys(BUCKET).is_empty(), "no payload is left");
}

/// Proves: CAPI-35.
#[tokio::test(start_paused = true)]
async fn a_deleted_machine_pool_takes_everything_along() {
    let world = settled(Demo::default()).await;
    world.delete(Kind::MachinePool, POOL).await;
    world.is_gone(Kind::MachinePool, POOL).await;
    world.is_gone(Kind::TerraformMachinePool, POOL).await;
    world.is_gone(Kind::Secret, RECORD).await;
    nothing_is_left(&world);
    let nodes = world
        .workload()
        .list_of(&Kind::Node.resource(), None, "")
        .await
        .unwrap();
    assert!(nodes.is_empty(), "{nodes:#?}");
    let reasons = world.event_reasons(POOL).await;
    for reason in ["DeletionStarted", "Destroyed", "FinalizerRemoved"] {
        let told = reasons.iter().filter(|told| *told == reason).count();
        assert_eq!(told, 1, "{reason}: {reasons:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deleted_cluster_takes_its_pools_first_and_leaves_nodes_alone() {
    let world = settled(Demo::default()).await;
    world.stop_nodes();
    world.delete(Kind::Cluster, "demo").await;
    world.is_gone(Kind::Cluster, "demo").await;
    world.is_gone(Kind::TerraformCluster, "demo").await;
    world.is_gone(Kind::MachinePool, POOL).await;
    nothing_is_left(&world);
    let nodes = world
        .workload()
        .list_of(&Kind::Node.resource(), None, "")
        .await
        .unwrap();
    assert_eq!(nodes.len(), 3);
}

/// Proves: CAPTF-68.
#[tokio::test(start_paused = true)]
async fn destroy_needs_neither_owner_nor_cluster_nor_bootstrap_data() {
    let world = settled(Demo::default().pool(|pool| {
        pool["spec"]["deletionPolicy"] = json!("Destroy");
        pool["spec"]["identityRef"] = json!({ "name": "demo-aws" });
    }))
    .await;
    world.stop().await;
    world.delete(Kind::Secret, "demo-pool-0-bootstrap").await;
    for (kind, name) in [
        (Kind::MachinePool, POOL),
        (Kind::Cluster, "demo"),
        (Kind::TerraformCluster, "demo"),
    ] {
        world.delete(kind, name).await;
        if world.get(kind, name).await.is_some() {
            world
                .patch(kind, name, json!({ "metadata": { "finalizers": null } }))
                .await;
        }
        world.is_gone(kind, name).await;
    }
    world.delete(Kind::TerraformMachinePool, POOL).await;
    world.start();
    world.is_gone(Kind::TerraformMachinePool, POOL).await;
    nothing_is_left(&world);
}

/// Proves: CAPTF-69.
#[tokio::test(start_paused = true)]
async fn a_pool_that_never_applied_goes_without_a_cloud_call() {
    let world = World::new().await;
    world
        .apply(&Demo::default().without("Secret", "demo-pool-0-bootstrap"))
        .await;
    world.start();
    world
        .pool_says("DependenciesReady", "Unknown", "WaitingForBootstrapData")
        .await;
    world.delete(Kind::TerraformMachinePool, POOL).await;
    world.is_gone(Kind::TerraformMachinePool, POOL).await;
    assert!(world.aws.journal().calls().is_empty());
}

/// Proves: CAPTF-70.
#[tokio::test(start_paused = true)]
async fn retain_leaves_the_group_and_labels_the_record() {
    let world =
        settled(Demo::default().pool(|pool| pool["spec"]["deletionPolicy"] = json!("Retain")))
            .await;
    let pool = world.get(Kind::TerraformMachinePool, POOL).await.unwrap();
    let mark = world.mark();
    world.delete(Kind::TerraformMachinePool, POOL).await;
    world.is_gone(Kind::TerraformMachinePool, POOL).await;
    world.pass(Duration::from_mins(5)).await;
    assert_eq!(world.aws_writes(mark), Vec::<String>::new());
    assert_eq!(world.aws.world().group(GROUP).unwrap().desired, 3);
    let record = world
        .get(Kind::Secret, RECORD)
        .await
        .expect("the record is kept");
    assert_eq!(
        record["metadata"]["labels"]["captf.io/retained-from-uid"],
        pool["metadata"]["uid"]
    );
    assert!(record["metadata"].get("ownerReferences").is_none());
}

/// Proves: CAPTF-71.
#[tokio::test(start_paused = true)]
async fn without_a_policy_and_a_cluster_to_inherit_from_nothing_runs() {
    let world = settled(Demo::default()).await;
    world.stop().await;
    world.delete(Kind::TerraformCluster, "demo").await;
    world.delete(Kind::TerraformMachinePool, POOL).await;
    let mark = world.mark();
    world.start();
    world
        .pool_says("Deleting", "True", "DeletionPolicyUnresolved")
        .await;
    world.pass(Duration::from_mins(10)).await;
    assert_eq!(world.aws_writes(mark), Vec::<String>::new());

    // Saying what to do releases it.
    let policy = json!({ "spec": {
        "deletionPolicy": "Destroy",
        "identityRef": { "name": "demo-aws" },
    } });
    world.patch(Kind::TerraformMachinePool, POOL, policy).await;
    world.is_gone(Kind::TerraformMachinePool, POOL).await;
    nothing_is_left(&world);
}

/// Proves: CAPTF-72.
#[tokio::test(start_paused = true)]
async fn a_deletion_waits_for_an_identity_that_was_revoked() {
    let world = settled(Demo::default()).await;
    let revoke = json!({ "spec": { "allowedNamespaces": {
        "selector": null, "list": ["somewhere-else"],
    } } });
    world
        .patch(Kind::TerraformClusterIdentity, "demo-aws", revoke)
        .await;
    world.delete(Kind::TerraformMachinePool, POOL).await;
    world
        .pool_says("ApplyJobSucceeded", "False", "IdentityNotAllowed")
        .await;
    assert!(world.aws.world().group(GROUP).is_some());
    let allow = json!({ "spec": { "allowedNamespaces": { "list": ["team-a"] } } });
    world
        .patch(Kind::TerraformClusterIdentity, "demo-aws", allow)
        .await;
    world.is_gone(Kind::TerraformMachinePool, POOL).await;
    nothing_is_left(&world);
}

/// Proves: CAPTF-73.
#[tokio::test(start_paused = true)]
async fn a_paused_cluster_keeps_a_deleting_pool() {
    let world = settled(Demo::default()).await;
    world
        .patch(Kind::Cluster, "demo", json!({ "spec": { "paused": true } }))
        .await;
    world.pool_says("Paused", "True", "Paused").await;
    let calls = world.mark();
    world.delete(Kind::TerraformMachinePool, POOL).await;
    world.pass(Duration::from_mins(10)).await;
    assert!(world.get(Kind::TerraformMachinePool, POOL).await.is_some());
    assert_eq!(world.aws_calls(calls), Vec::<String>::new());
    world
        .patch(
            Kind::Cluster,
            "demo",
            json!({ "spec": { "paused": false } }),
        )
        .await;
    world.is_gone(Kind::TerraformMachinePool, POOL).await;
}

/// Proves: CAPTF-75.
#[tokio::test(start_paused = true)]
async fn an_externally_managed_pool_is_left_alone_and_only_released() {
    let world = World::new().await;
    world
        .apply(&Demo::default().pool(|pool| {
            pool["metadata"]["annotations"] = json!({ "cluster.x-k8s.io/managed-by": "them" });
            pool["metadata"]["finalizers"] =
                json!(["terraformmachinepool.infrastructure.cluster.x-k8s.io"]);
        }))
        .await;
    world.start();
    world.pass(Duration::from_mins(10)).await;
    let pool = world.get(Kind::TerraformMachinePool, POOL).await.unwrap();
    assert!(pool.get("status").is_none(), "{:#}", pool["status"]);
    world.delete(Kind::TerraformMachinePool, POOL).await;
    world.is_gone(Kind::TerraformMachinePool, POOL).await;
    assert!(world.aws.journal().calls().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_destroy_that_fails_is_tried_again_until_it_succeeds() {
    let world = settled(Demo::default()).await;
    world.aws.faults().script(
        Fault::new(Effect::Denied)
            .on("autoscaling", "DeleteAutoScalingGroup")
            .times(2),
    );
    world.delete(Kind::TerraformMachinePool, POOL).await;
    world
        .pool_says("ApplyJobSucceeded", "False", "DestroyFailed")
        .await;
    let pool = world.get(Kind::TerraformMachinePool, POOL).await.unwrap();
    assert_eq!(condition(&pool, "Deleting").unwrap().0, "True");
    world.is_gone(Kind::TerraformMachinePool, POOL).await;
    nothing_is_left(&world);
}
