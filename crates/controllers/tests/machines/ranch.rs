//! A world whose pool has Machines, and what these tests ask of it.

use remuda_controllers::{kinds::Kind, objects::Objects};
use remuda_testkit::{Cloud, Demo, NAMESPACE, World, holds};
use serde_json::Value;

pub(crate) const GROUP: &str = "captf-team-a-demo-pool-0-43c6d828";
pub(crate) const POOL_NAME: &str = "cluster.x-k8s.io/pool-name";
pub(crate) const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";

/// The DEMO pool of three on a cloud, with Machines, Running and settled.
pub(crate) async fn settled_on(cloud: Cloud) -> World {
    settled_on_with(cloud, cloud.demo()).await
}

/// The same from other objects.
pub(crate) async fn settled_on_with(cloud: Cloud, demo: Demo) -> World {
    let world = World::new().await;
    world.apply(&demo).await;
    world.start();
    world.is_running(cloud.pool(), 3).await;
    has_members(&world, 3).await;
    world
}

/// The DEMO pool of three on AWS, with Machines, Running and settled.
pub(crate) async fn settled() -> World {
    settled_on(Cloud::Aws).await
}

/// The same from other objects.
pub(crate) async fn settled_with(demo: Demo) -> World {
    settled_on_with(Cloud::Aws, demo).await
}

/// Waits until exactly so many objects and Machines stand for members, and none of them goes.
pub(crate) async fn has_members(world: &World, count: usize) {
    world
        .eventually(
            &format!("{count} members are objects and Machines"),
            || async {
                let infra = infra(world).await;
                let machines = machines(world).await;
                let staying = |list: &[Value]| {
                    list.iter()
                        .filter(|it| it["metadata"]["deletionTimestamp"].is_null())
                        .count()
                };
                holds(
                    infra.len() == count
                        && machines.len() == count
                        && staying(&infra) == count
                        && staying(&machines) == count,
                    || {
                        format!(
                            "objects {:?}, Machines {:?}",
                            names(&infra),
                            names(&machines)
                        )
                    },
                )
            },
        )
        .await;
}

/// Objects of members, by name.
pub(crate) async fn infra(world: &World) -> Vec<Value> {
    listed(world, Kind::TerraformMachinePoolMachine).await
}

/// Machines, by name.
pub(crate) async fn machines(world: &World) -> Vec<Value> {
    listed(world, Kind::Machine).await
}

async fn listed(world: &World, kind: Kind) -> Vec<Value> {
    let mut all = world.objects.list(kind, NAMESPACE, "").await.unwrap();
    all.sort_by_key(|object| name(object).to_owned());
    all
}

pub(crate) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap()
}

pub(crate) fn names(objects: &[Value]) -> Vec<String> {
    objects.iter().map(|it| name(it).to_owned()).collect()
}

/// The provider id of a member's object.
pub(crate) fn provider_id(infra: &Value) -> &str {
    infra["spec"]["providerID"].as_str().unwrap()
}

/// The cloud's own id of a member.
pub(crate) fn instance_id(infra: &Value) -> &str {
    provider_id(infra).rsplit('/').next().unwrap()
}

/// Ids of the group's instances that are not on their way out.
pub(crate) fn live(world: &World) -> Vec<String> {
    let mut ids: Vec<String> = world
        .aws
        .world()
        .live_instances(GROUP)
        .into_iter()
        .map(|instance| instance.id)
        .collect();
    ids.sort();
    ids
}
