//! Members go: by a person, by a lower count, with their pool, by the cloud.

use std::time::Duration;

use remuda_controllers::kinds::Kind;
use remuda_testkit::{POOL, World, holds};
use serde_json::{Value, json};

use super::ranch::{GROUP, has_members, infra, instance_id, live, machines, name, names, settled};

async fn replicas(world: &World, count: u64) {
    let patch = json!({ "spec": { "replicas": count } });
    world.patch(Kind::MachinePool, POOL, patch).await;
}

/// Parameters of the calls of an action so far.
fn calls(world: &World, action: &str) -> Vec<std::collections::BTreeMap<String, String>> {
    let all = world.aws.journal().calls();
    all.iter()
        .filter(|call| !call.from_instance && call.action == action)
        .map(|call| call.params.clone())
        .collect()
}

fn ended(world: &World) -> Vec<String> {
    calls(world, "TerminateInstanceInAutoScalingGroup")
        .iter()
        .map(|params| params["InstanceId"].clone())
        .collect()
}

/// Waits until these objects are gone and `count` members are there.
async fn replaced(world: &World, gone: &str, count: usize) {
    world
        .eventually(&format!("{gone} is gone"), || async {
            let left = names(&infra(world).await);
            holds(!left.contains(&gone.to_owned()), || format!("{left:?}"))
        })
        .await;
    has_members(world, count).await;
}

/// Proves: CAPI-42, CAPI-98.
#[tokio::test(start_paused = true)]
async fn a_deleted_machine_takes_its_instance_and_one_comes_in_its_place() {
    let world = settled().await;
    let before = infra(&world).await;
    let victim = name(&before[1]).to_owned();
    let instance = instance_id(&before[1]).to_owned();
    let mark = world.mark();
    world.delete(Kind::Machine, &victim).await;
    replaced(&world, &victim, 3).await;
    world.machine_pool_is_running(3).await;
    assert_eq!(ended(&world), [instance]);
    let params = calls(&world, "TerminateInstanceInAutoScalingGroup");
    assert_eq!(params[0]["ShouldDecrementDesiredCapacity"], "false");
    // Two of the three are the old ones, and one is new.
    let after = names(&infra(&world).await);
    let kept = names(&before).into_iter().filter(|it| after.contains(it));
    assert_eq!(kept.count(), 2);
    // Nobody asked for fewer.
    let sizes = calls(&world, "UpdateAutoScalingGroup");
    for params in sizes {
        let desired = params.get("DesiredCapacity");
        assert!(desired.is_none_or(|desired| desired == "3"), "{params:?}");
    }
    let _ = mark;
}

/// Proves: CAPI-43, CAPI-46.
#[tokio::test(start_paused = true)]
async fn a_lower_count_deletes_the_marked_machine_and_exactly_its_instance_ends() {
    let world = settled().await;
    let before = infra(&world).await;
    let victim = name(&before[2]).to_owned();
    let instance = instance_id(&before[2]).to_owned();
    let mark = json!({ "metadata": { "annotations": {
        "cluster.x-k8s.io/delete-machine": "2026-10-01T08:30:00Z",
    } } });
    world.patch(Kind::Machine, &victim, mark).await;
    replicas(&world, 2).await;
    replaced(&world, &victim, 2).await;
    world.machine_pool_is_running(2).await;
    assert_eq!(ended(&world), [instance]);
    let group = world.aws.world().group(GROUP).unwrap();
    assert_eq!((group.desired, live(&world).len()), (2, 2));
}

/// Proves: CAPI-45.
#[tokio::test(start_paused = true)]
async fn five_to_three_takes_two_and_no_third() {
    let world = settled().await;
    replicas(&world, 5).await;
    world.machine_pool_is_running(5).await;
    has_members(&world, 5).await;
    replicas(&world, 3).await;
    world.machine_pool_is_running(3).await;
    has_members(&world, 3).await;
    world.pass(Duration::from_mins(15)).await;
    has_members(&world, 3).await;
    assert_eq!(ended(&world).len(), 2);
}

/// Proves: CAPI-48.
#[tokio::test(start_paused = true)]
async fn an_instance_terminated_by_hand_loses_its_objects_and_is_replaced() {
    let world = settled().await;
    let before = infra(&world).await;
    let victim = name(&before[0]).to_owned();
    assert!(
        world
            .aws
            .world()
            .terminate_instance(instance_id(&before[0]))
    );
    replaced(&world, &victim, 3).await;
    world.machine_pool_is_running(3).await;
    let after = names(&infra(&world).await);
    assert!(!after.contains(&victim));
    let machines = names(&machines(&world).await);
    assert_eq!(machines, after);
}

/// Proves: CAPI-49.
#[tokio::test(start_paused = true)]
async fn an_object_deleted_by_hand_leaves_nothing_dangling() {
    let world = settled().await;
    let before = infra(&world).await;
    let victim = name(&before[0]).to_owned();
    let instance = instance_id(&before[0]).to_owned();
    world
        .delete(Kind::TerraformMachinePoolMachine, &victim)
        .await;
    replaced(&world, &victim, 3).await;
    assert_eq!(ended(&world), [instance]);
    assert!(!names(&machines(&world).await).contains(&victim));
}

/// Proves: CAPI-100.
#[tokio::test(start_paused = true)]
async fn a_machine_deleted_before_the_count_falls_is_the_only_one_to_go() {
    let world = settled().await;
    let before = infra(&world).await;
    let victim = name(&before[1]).to_owned();
    let instance = instance_id(&before[1]).to_owned();
    world.delete(Kind::Machine, &victim).await;
    replicas(&world, 2).await;
    replaced(&world, &victim, 2).await;
    world.pass(Duration::from_mins(15)).await;
    has_members(&world, 2).await;
    assert_eq!(ended(&world), [instance]);
    // Nothing was made in its place.
    let after = names(&infra(&world).await);
    assert!(after.iter().all(|it| names(&before).contains(it)));
}

/// Proves: CAPI-50.
#[tokio::test(start_paused = true)]
async fn a_deleted_pool_drains_its_machines_and_leaves_nothing() {
    let world = settled().await;
    let machines_before = names(&machines(&world).await);
    world.delete(Kind::MachinePool, POOL).await;
    world.is_gone(Kind::MachinePool, POOL).await;
    assert!(world.get(Kind::TerraformMachinePool, POOL).await.is_none());
    assert!(infra(&world).await.is_empty());
    assert!(machines(&world).await.is_empty());
    assert!(world.aws.world().group(GROUP).is_none());
    assert!(live(&world).is_empty());
    // Each Machine was deleted by the pool, before its owner was gone.
    let told = world.event_reasons(POOL).await;
    let deleted = told.iter().filter(|it| *it == "MachineDeleted").count();
    assert_eq!(deleted, machines_before.len());
}

/// Proves: CAPI-57.
#[tokio::test(start_paused = true)]
async fn the_scale_subresource_changes_replicas_and_nothing_else() {
    let world = settled().await;
    let before = world.get(Kind::MachinePool, POOL).await.unwrap();
    let scale = json!({ "spec": { "replicas": 4 } });
    world
        .patch_in(
            Kind::MachinePool,
            remuda_testkit::NAMESPACE,
            POOL,
            Some("scale"),
            scale,
        )
        .await;
    let after = world.get(Kind::MachinePool, POOL).await.unwrap();
    let without = |pool: &Value| {
        let mut spec = pool["spec"].clone();
        spec.as_object_mut().unwrap().remove("replicas");
        spec
    };
    assert_eq!(without(&before), without(&after));
    assert_eq!(after["spec"]["replicas"], 4);
    world.machine_pool_is_running(4).await;
    has_members(&world, 4).await;
}
