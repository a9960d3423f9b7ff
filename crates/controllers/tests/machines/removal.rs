//! Members go: by a person, by a lower count, with their pool, by the cloud.

use std::{collections::BTreeMap, time::Duration};

use remuda_controllers::kinds::Kind;
use remuda_testkit::{Cloud, POOL, Tripwire, World, holds};
use serde_json::{Value, json};

use super::ranch::{
    has_members, infra, machines, name, names, settled, settled_on, settled_on_with,
};

/// Parameters of the calls of an action to AWS so far.
fn calls(world: &World, action: &str) -> Vec<BTreeMap<String, String>> {
    let all = world.aws.journal().calls();
    all.iter()
        .filter(|call| !call.from_instance && call.action == action)
        .map(|call| call.params.clone())
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
    for cloud in Cloud::BOTH {
        let world = settled_on(cloud).await;
        let before = infra(&world).await;
        let victim = name(&before[1]).to_owned();
        world.delete(Kind::Machine, &victim).await;
        replaced(&world, &victim, 3).await;
        world.is_running(cloud.pool(), 3).await;
        assert_eq!(cloud.ended(&world), [cloud.instance(&before[1])]);
        // Two of the three are the old ones, and one is new.
        let after = names(&infra(&world).await);
        let kept = names(&before).into_iter().filter(|it| after.contains(it));
        assert_eq!(kept.count(), 2);
        // Nobody asked for fewer.
        for params in calls(&world, "TerminateInstanceInAutoScalingGroup") {
            assert_eq!(params["ShouldDecrementDesiredCapacity"], "false");
        }
        for params in calls(&world, "UpdateAutoScalingGroup") {
            let desired = params.get("DesiredCapacity");
            assert!(desired.is_none_or(|desired| desired == "3"), "{params:?}");
        }
        for capacity in patched_capacities(&world) {
            assert_eq!(capacity, 3);
        }
    }
}

/// Counts that calls of ours gave a scale set.
fn patched_capacities(world: &World) -> Vec<i64> {
    let calls = world.azure.journal().calls();
    let sent = calls
        .iter()
        .filter(|call| call.action == "VirtualMachineScaleSets_Update")
        .filter_map(|call| call.sent.as_ref());
    sent.filter_map(|sent| sent.json()["sku"]["capacity"].as_i64())
        .collect()
}

/// Proves: CAPI-43, CAPI-46.
#[tokio::test(start_paused = true)]
async fn a_lower_count_deletes_the_marked_machine_and_exactly_its_instance_ends() {
    for cloud in Cloud::BOTH {
        let world = settled_on(cloud).await;
        let before = infra(&world).await;
        let victim = name(&before[2]).to_owned();
        let mark = json!({ "metadata": { "annotations": {
            "cluster.x-k8s.io/delete-machine": "2026-10-01T08:30:00Z",
        } } });
        world.patch(Kind::Machine, &victim, mark).await;
        cloud.replicas(&world, 2).await;
        replaced(&world, &victim, 2).await;
        world.is_running(cloud.pool(), 2).await;
        assert_eq!(cloud.ended(&world), [cloud.instance(&before[2])]);
        gone_from_cloud(cloud, &world, 2).await;
    }
}

/// The autoscaler's protocol, told to a manager whose watches are behind: they show the lower count
/// and not the mark. It asks the API server before it picks anybody.
///
/// Proves: CAPI-44.
#[tokio::test(start_paused = true)]
async fn a_mark_that_no_watch_has_shown_yet_is_heeded() {
    for at in 0..3 {
        let world = settled().await;
        world.stop().await;
        let tripwire = Tripwire::never();
        tripwire.deafen("/machines");
        world.start_with(&tripwire);
        world.pass(Duration::from_mins(3)).await;
        let victim = names(&machines(&world).await)[at].clone();
        let mark = json!({ "metadata": { "annotations": {
            "cluster.x-k8s.io/delete-machine": "2026-10-01T08:30:00Z",
        } } });
        world.patch(Kind::Machine, &victim, mark).await;
        world.pass(Duration::from_secs(1)).await;
        Cloud::Aws.replicas(&world, 2).await;
        let going = async || -> Vec<String> {
            let mut machines = machines(&world).await;
            machines.retain(|it| !it["metadata"]["deletionTimestamp"].is_null());
            names(&machines)
        };
        world
            .eventually("somebody goes", || async {
                holds(!going().await.is_empty(), || "nobody does".to_owned())
            })
            .await;
        world.pass(Duration::from_mins(2)).await;
        assert_eq!(going().await, [victim]);
    }
}

/// Waits until so many instances exist.
async fn gone_from_cloud(cloud: Cloud, world: &World, count: usize) {
    world
        .eventually(&format!("{count} instances exist"), || async {
            let existing = cloud.existing(world);
            holds(existing.len() == count, || format!("{existing:?}"))
        })
        .await;
}

/// Proves: CAPI-45.
#[tokio::test(start_paused = true)]
async fn five_to_three_takes_two_and_no_third() {
    for cloud in Cloud::BOTH {
        let world = settled_on(cloud).await;
        cloud.replicas(&world, 5).await;
        world.is_running(cloud.pool(), 5).await;
        has_members(&world, 5).await;
        cloud.replicas(&world, 3).await;
        world.is_running(cloud.pool(), 3).await;
        has_members(&world, 3).await;
        world.pass(Duration::from_mins(15)).await;
        has_members(&world, 3).await;
        assert_eq!(cloud.ended(&world).len(), 2);
    }
}

/// Proves: CAPI-48.
#[tokio::test(start_paused = true)]
async fn an_instance_terminated_by_hand_loses_its_objects_and_is_replaced() {
    for cloud in Cloud::BOTH {
        let world = settled_on(cloud).await;
        let before = infra(&world).await;
        let victim = name(&before[0]).to_owned();
        cloud.kill(&world, &before[0]);
        replaced(&world, &victim, 3).await;
        world.is_running(cloud.pool(), 3).await;
        let after = names(&infra(&world).await);
        assert!(!after.contains(&victim));
        assert_eq!(names(&machines(&world).await), after);
    }
}

/// Proves: CAPI-49.
#[tokio::test(start_paused = true)]
async fn an_object_deleted_by_hand_leaves_nothing_dangling() {
    for cloud in Cloud::BOTH {
        let world = settled_on(cloud).await;
        let before = infra(&world).await;
        let victim = name(&before[0]).to_owned();
        world
            .delete(Kind::TerraformMachinePoolMachine, &victim)
            .await;
        replaced(&world, &victim, 3).await;
        assert_eq!(cloud.ended(&world), [cloud.instance(&before[0])]);
        assert!(!names(&machines(&world).await).contains(&victim));
    }
}

/// Proves: CAPI-100.
#[tokio::test(start_paused = true)]
async fn a_machine_deleted_before_the_count_falls_is_the_only_one_to_go() {
    for cloud in Cloud::BOTH {
        let world = settled_on(cloud).await;
        let before = infra(&world).await;
        let victim = name(&before[1]).to_owned();
        world.delete(Kind::Machine, &victim).await;
        cloud.replicas(&world, 2).await;
        replaced(&world, &victim, 2).await;
        world.pass(Duration::from_mins(15)).await;
        has_members(&world, 2).await;
        assert_eq!(cloud.ended(&world), [cloud.instance(&before[1])]);
        // Nothing was made in its place.
        let after = names(&infra(&world).await);
        assert!(after.iter().all(|it| names(&before).contains(it)));
    }
}

/// With no room for a surge the successor waits, so a count that falls while the instance shuts
/// down has nothing too many to take away.
///
/// Proves: CAPI-100.
#[tokio::test(start_paused = true)]
async fn without_surge_a_count_that_falls_while_the_instance_ends_takes_nobody_else() {
    for cloud in Cloud::BOTH {
        let demo = cloud
            .demo()
            .edit("TerraformMachinePool", cloud.pool(), |pool| {
                pool["spec"]["rollout"] = json!({ "maxSurge": 0, "maxUnavailable": 1 });
            });
        let world = settled_on_with(cloud, demo).await;
        let before = infra(&world).await;
        let victim = name(&before[1]).to_owned();
        world.delete(Kind::Machine, &victim).await;
        world
            .eventually("its instance is told to end", || async {
                let ended = cloud.ended(&world);
                holds(!ended.is_empty(), || "nobody is".to_owned())
            })
            .await;
        assert_eq!(cloud.existing(&world).len(), 3, "it shuts down");
        cloud.replicas(&world, 2).await;
        replaced(&world, &victim, 2).await;
        world.pass(Duration::from_mins(15)).await;
        has_members(&world, 2).await;
        assert_eq!(cloud.ended(&world), [cloud.instance(&before[1])]);
        let after = names(&infra(&world).await);
        assert!(after.iter().all(|it| names(&before).contains(it)));
    }
}

/// The same with the count as it was: one comes, and never are there four.
#[tokio::test(start_paused = true)]
async fn without_surge_a_deleted_machine_is_replaced_once_its_instance_is_gone() {
    for cloud in Cloud::BOTH {
        let demo = cloud
            .demo()
            .edit("TerraformMachinePool", cloud.pool(), |pool| {
                pool["spec"]["rollout"] = json!({ "maxSurge": 0, "maxUnavailable": 1 });
            });
        let world = settled_on_with(cloud, demo).await;
        let victim = names(&infra(&world).await)[1].clone();
        world.delete(Kind::Machine, &victim).await;
        for _ in 0..1200 {
            let count = cloud.existing(&world).len();
            assert!(count <= 3, "{cloud:?}: {count} instances");
            world.pass(Duration::from_secs(1)).await;
        }
        has_members(&world, 3).await;
        world.is_running(cloud.pool(), 3).await;
        assert!(!names(&infra(&world).await).contains(&victim));
    }
}

/// Proves: CAPI-50.
#[tokio::test(start_paused = true)]
async fn a_deleted_pool_drains_its_machines_and_leaves_nothing() {
    for cloud in Cloud::BOTH {
        let world = settled_on(cloud).await;
        let machines_before = names(&machines(&world).await);
        world.delete(Kind::MachinePool, cloud.pool()).await;
        world.is_gone(Kind::MachinePool, cloud.pool()).await;
        let pool = world.get(Kind::TerraformMachinePool, cloud.pool()).await;
        assert!(pool.is_none());
        assert!(infra(&world).await.is_empty());
        assert!(machines(&world).await.is_empty());
        assert!(world.aws.world().groups().is_empty());
        assert!(world.azure.world().scale_sets().is_empty());
        gone_from_cloud(cloud, &world, 0).await;
        // Each Machine was deleted by the pool, before its owner was gone.
        let told = world.event_reasons(cloud.pool()).await;
        let deleted = told.iter().filter(|it| *it == "MachineDeleted").count();
        assert_eq!(deleted, machines_before.len());
    }
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
