//! `clusterctl move`: nothing is made or ended before the cloud was read.

use std::time::Duration;

use remuda_controllers::kinds::Kind;
use remuda_sim::{Effect, Fault};
use remuda_testkit::{Demo, Mark, POOL, World};
use serde_json::json;

use super::ranch::{has_members, infra, live, names, settled};

const BLOCK_MOVE: &str = "clusterctl.cluster.x-k8s.io/block-move";

fn instance_writes(world: &World, mark: Mark) -> Vec<String> {
    world
        .aws_writes(mark)
        .into_iter()
        .filter(|call| {
            ["Terminate", "Update", "SetDesired", "Delete", "Create"]
                .iter()
                .any(|verb| call.contains(verb))
        })
        .collect()
}

/// Proves: CAPI-94.
#[tokio::test(start_paused = true)]
async fn a_pause_in_the_middle_of_a_creation_lets_the_move_go_on_within_a_minute() {
    let world = World::new().await;
    // Slow, and within what a call may take: the pass that makes it ends after the pause.
    let slow = Fault::new(Effect::Latency(Duration::from_secs(20)));
    world
        .aws
        .faults()
        .script(slow.on("autoscaling", "CreateAutoScalingGroup"));
    world.apply(&Demo::default().machines()).await;
    world.start();
    world
        .object_becomes(
            Kind::TerraformMachinePool,
            POOL,
            "an operation holds the move",
            |pool| !pool["metadata"]["annotations"][BLOCK_MOVE].is_null(),
        )
        .await;
    let pause = json!({ "spec": { "paused": true } });
    world.patch(Kind::Cluster, "demo", pause).await;
    let paused_at = world.now();
    world
        .object_becomes(
            Kind::TerraformMachinePool,
            POOL,
            "the move may go on",
            |pool| pool["metadata"]["annotations"][BLOCK_MOVE].is_null(),
        )
        .await;
    let took = world.now().duration_since(paused_at);
    assert!(took.as_secs() <= 60, "it took {took}");
    // What was begun is recorded: it goes on where it was, and nothing is made twice.
    let resume = json!({ "spec": { "paused": false } });
    world.patch(Kind::Cluster, "demo", resume).await;
    world.machine_pool_is_running(3).await;
    assert_eq!(world.aws.world().groups().len(), 1);
    assert_eq!(live(&world).len(), 3);
}

/// Proves: CAPI-95.
#[tokio::test(start_paused = true)]
async fn a_moved_pool_publishes_everything_again_and_makes_and_ends_nothing() {
    let world = settled().await;
    world.pass(Duration::from_mins(5)).await;
    let (objects, instances) = (names(&infra(&world).await), live(&world));
    world.stop().await;
    let moved = world.moved().await;
    let mark = moved.mark();
    let pool = moved.get(Kind::TerraformMachinePool, POOL).await.unwrap();
    assert!(pool["status"].is_null(), "the status is lost: {pool:#}");
    moved.start();
    moved.machine_pool_is_running(3).await;
    has_members(&moved, 3).await;
    moved.pass(Duration::from_mins(10)).await;
    assert_eq!(names(&infra(&moved).await), objects);
    assert_eq!(live(&moved), instances);
    assert_eq!(instance_writes(&moved, mark), Vec::<String>::new());
    let pool = moved.get(Kind::TerraformMachinePool, POOL).await.unwrap();
    let status = &pool["status"];
    assert_eq!(
        status["infrastructureMachineKind"],
        "TerraformMachinePoolMachine"
    );
    assert_eq!(status["initialization"]["provisioned"], true);
    assert_eq!(status["ready"], true);
    assert_eq!(status["replicas"], 3);
}

/// Proves: CAPI-96.
#[tokio::test(start_paused = true)]
async fn what_the_move_deletes_in_the_old_home_touches_no_instance() {
    let world = settled().await;
    world.pass(Duration::from_mins(5)).await;
    let instances = live(&world);
    let mark = world.mark();
    let away = json!({ "metadata": { "annotations": {
        "clusterctl.cluster.x-k8s.io/delete-for-move": "",
    } } });
    for object in infra(&world).await {
        let name = object["metadata"]["name"].as_str().unwrap();
        let kind = Kind::TerraformMachinePoolMachine;
        world.patch(kind, name, away.clone()).await;
        // The Machines stay: they would be taken away by the same annotation.
        world.patch(Kind::Machine, name, away.clone()).await;
    }
    world
        .patch(Kind::TerraformMachinePool, POOL, away.clone())
        .await;
    world.delete(Kind::TerraformMachinePool, POOL).await;
    for object in infra(&world).await {
        let name = object["metadata"]["name"].as_str().unwrap();
        let kind = Kind::TerraformMachinePoolMachine;
        world.delete(kind, name).await;
    }
    world.is_gone(Kind::TerraformMachinePool, POOL).await;
    world.pass(Duration::from_mins(10)).await;
    assert_eq!(live(&world), instances);
    assert_eq!(instance_writes(&world, mark), Vec::<String>::new());
}
