//! Rolls by deletion of Machines.

use std::time::Duration;

use remuda_controllers::kinds::Kind;
use remuda_testkit::{Cloud, Demo, Mark, POOL, World, condition};
use serde_json::{Value, json};

use super::ranch::{GROUP, has_members, infra, machines, name, names, settled_on, settled_with};

async fn change_model(world: &World, cloud: Cloud) {
    let newer = json!({ "spec": { "template": { "spec": { "version": "v1.35.0" } } } });
    world.patch(Kind::MachinePool, cloud.pool(), newer).await;
}

/// Another size of instance.
async fn change_size(world: &World, cloud: Cloud) {
    let (variable, size) = match cloud {
        Cloud::Aws => ("instance_type", "m6i.xlarge"),
        Cloud::Azure => ("vm_size", "Standard_D8s_v5"),
    };
    let patch = json!({ "spec": { "variables": { variable: size } } });
    world
        .patch(Kind::TerraformMachinePool, cloud.pool(), patch)
        .await;
}

fn is_ready(machine: &Value) -> bool {
    machine["metadata"]["deletionTimestamp"].is_null()
        && condition(machine, "Ready").is_some_and(|(status, _)| status == "True")
}

async fn all_ready(world: &World) {
    world
        .eventually("three Machines are Ready", || async {
            let machines = machines(world).await;
            let ready = machines.iter().filter(|it| is_ready(it)).count();
            remuda_testkit::holds(ready == 3, || format!("{ready} are"))
        })
        .await;
}

/// Watches a roll second by second, from what was there `before` until nothing of it is left.
async fn rolls_within_bounds(world: &World, cloud: Cloud, before: &[String]) {
    let mut patience = 0;
    loop {
        let (infra, machines) = (infra(world).await, machines(world).await);
        let ready = machines.iter().filter(|it| is_ready(it)).count();
        assert!(ready >= 3, "{ready} Machines are Ready");
        // One that shuts down has left the group, and still exists.
        let existing = cloud.existing(world);
        assert!(existing.len() <= 4, "{existing:?}");
        let names = names(&infra);
        let left = names.iter().filter(|it| before.contains(it)).count();
        if left == 0 && names.len() == 3 {
            break;
        }
        patience += 1;
        assert!(patience < 4000, "{left} old members are left");
        world.pass(Duration::from_secs(1)).await;
    }
    world
        .says(cloud.pool(), "RollingOut", "False", "NotRollingOut")
        .await;
    has_members(world, 3).await;
    for infra in self::infra(world).await {
        assert_eq!(infra["status"]["upToDate"], true);
    }
    assert_eq!(cloud.ended(world).len(), before.len());
}

/// Proves: CAPI-52.
#[tokio::test(start_paused = true)]
async fn three_machines_are_replaced_with_three_ready_and_four_instances_at_most() {
    for cloud in Cloud::BOTH {
        let world = settled_on(cloud).await;
        all_ready(&world).await;
        let before = names(&infra(&world).await);
        change_model(&world, cloud).await;
        rolls_within_bounds(&world, cloud, &before).await;
        // No instance refresh: the Machines went one by one.
        assert!(
            !world
                .aws_writes(Mark::default())
                .iter()
                .any(|call| call.contains("StartInstanceRefresh"))
        );
    }
}

/// Another instance template rolls as another version does.
#[tokio::test(start_paused = true)]
async fn another_size_rolls_within_the_same_bounds() {
    for cloud in Cloud::BOTH {
        let world = settled_on(cloud).await;
        all_ready(&world).await;
        let before = names(&infra(&world).await);
        change_size(&world, cloud).await;
        rolls_within_bounds(&world, cloud, &before).await;
        let sizes: Vec<String> = match cloud {
            Cloud::Aws => {
                let instances = world.aws.world().live_instances(GROUP).into_iter();
                instances.map(|it| it.instance_type).collect()
            }
            Cloud::Azure => {
                let sets = world.azure.world().scale_sets().into_iter();
                sets.flat_map(|set| set.instances)
                    .map(|it| it.size)
                    .collect()
            }
        };
        let newest = ["m6i.xlarge", "Standard_D8s_v5"];
        assert_eq!(sizes.len(), 3);
        assert!(sizes.iter().all(|it| newest.contains(&it.as_str())));
    }
}

/// Proves: CAPI-112.
#[tokio::test(start_paused = true)]
async fn on_delete_replaces_what_people_delete_and_nothing_else() {
    let demo = Demo::default().machines().pool(|pool| {
        pool["spec"]["rollout"] = json!({ "strategy": "OnDelete" });
    });
    let world = settled_with(demo).await;
    all_ready(&world).await;
    let before = names(&infra(&world).await);
    change_model(&world, Cloud::Aws).await;
    world
        .pool_says("RollingOut", "False", "WaitingForMachineDeletion")
        .await;
    world.pass(Duration::from_mins(15)).await;
    assert_eq!(names(&infra(&world).await), before);
    let up_to_date = |infra: &[Value]| {
        infra
            .iter()
            .filter(|it| it["status"]["upToDate"] == true)
            .count()
    };
    assert_eq!(up_to_date(&infra(&world).await), 0);
    world.delete(Kind::Machine, &before[0]).await;
    world
        .eventually("one is of the new model", || async {
            let infra = infra(&world).await;
            let new = up_to_date(&infra);
            remuda_testkit::holds(new == 1 && infra.len() == 3, || format!("{new} are"))
        })
        .await;
    world
        .object_becomes(Kind::MachinePool, POOL, "one is up to date", |pool| {
            pool["status"]["upToDateReplicas"] == 1
        })
        .await;
    let kept = infra(&world).await;
    assert!(
        kept.iter()
            .filter(|it| before.contains(&name(it).to_owned()))
            .count()
            == 2
    );
}

/// The pass that changes the launch template looks again soon, not at the next refresh.
#[tokio::test(start_paused = true)]
async fn a_roll_begins_within_seconds_of_the_change() {
    let world = settled_on(Cloud::Aws).await;
    all_ready(&world).await;
    change_model(&world, Cloud::Aws).await;
    world.pass(Duration::from_secs(20)).await;
    let pool = world.get(Kind::TerraformMachinePool, POOL).await.unwrap();
    let (status, reason) = condition(&pool, "RollingOut").unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("True", "RollingOut"));
}
