//! A provider of pool Machines that is not Remuda's; tests play it.

use std::collections::BTreeMap;

use kube::core::ApiResource;
use remuda_controllers::{kinds::Kind, objects::Objects};
use remuda_testkit::{Demo, Mark, NAMESPACE, POOL, World, foreign_crd, foreign_resource, holds};
use serde_json::{Value, json};

pub(crate) const GROUP: &str = "example.com";
pub(crate) const POOL_NAME: &str = "cluster.x-k8s.io/pool-name";
pub(crate) const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";

pub(crate) fn infra_pools() -> ApiResource {
    foreign_resource(GROUP, "v1beta1", "HerdPool")
}

pub(crate) fn infra_machines() -> ApiResource {
    foreign_resource(GROUP, "v1beta1", "HerdMachine")
}

/// The DEMO objects on this provider.
pub(crate) fn herd() -> Demo {
    Demo::default()
        .on_foreign(GROUP, "HerdPool")
        .without("TerraformMachinePool", POOL)
}

/// A world with a provider of pool Machines, its pool provisioned, and no Machine yet.
pub(crate) async fn world(demo: Demo) -> World {
    let world = World::new().await;
    world.apply(&demo).await;
    let labels = json!({ "cluster.x-k8s.io/v1beta2": "v1beta1" });
    for kind in ["HerdPool", "HerdMachine"] {
        let crd = foreign_crd(GROUP, kind, &["v1beta1"], &labels);
        world.create(&crd).await;
    }
    let ids: Vec<String> = (1..=3).map(provider_id).collect();
    let spec = json!({ "providerIDList": ids });
    world
        .create_of(&infra_pools(), "theirs", json!({}), spec)
        .await;
    world
}

pub(crate) fn provider_id(number: usize) -> String {
    format!("herd:///stable-1/{number}")
}

pub(crate) fn name(number: usize) -> String {
    format!("{POOL}-{number}")
}

/// The provider shows a member.
pub(crate) async fn show(world: &World, pool: &str, number: usize) {
    let labels = json!({ CLUSTER_NAME: "demo", POOL_NAME: pool });
    let spec = json!({ "providerID": provider_id(number) });
    world
        .create_of(&infra_machines(), &name(number), labels, spec)
        .await;
}

/// The provider publishes the kind of its machines.
pub(crate) async fn publish_kind(world: &World) {
    let status = json!({
        "initialization": { "provisioned": true },
        "ready": true,
        "replicas": 3,
        "infrastructureMachineKind": "HerdMachine",
    });
    world.report_of(&infra_pools(), "theirs", status).await;
}

/// Three members with their Machines.
pub(crate) async fn three(demo: Demo) -> World {
    let world = world(demo).await;
    for number in 1..=3 {
        show(&world, POOL, number).await;
    }
    publish_kind(&world).await;
    world.start();
    machines_are(&world, 3).await;
    world
}

pub(crate) async fn machines(world: &World) -> BTreeMap<String, Value> {
    let list = world
        .objects
        .list(Kind::Machine, NAMESPACE, "")
        .await
        .unwrap();
    let named = |machine: Value| {
        let name = machine["metadata"]["name"].as_str().unwrap().to_owned();
        (name, machine)
    };
    list.into_iter().map(named).collect()
}

pub(crate) async fn machines_are(world: &World, count: usize) {
    every(world, &format!("{count} Machines"), |machines| {
        machines.len() == count
    })
    .await;
}

pub(crate) async fn every(
    world: &World,
    what: &str,
    check: impl Fn(&BTreeMap<String, Value>) -> bool,
) {
    world
        .eventually(what, || async {
            let machines = machines(world).await;
            holds(check(&machines), || format!("{machines:#?}"))
        })
        .await;
}

/// Machines that were deleted since a mark, in order.
pub(crate) fn deleted(world: &World, mark: Mark) -> Vec<String> {
    let writes = world.kubernetes_writes(mark);
    let path = format!("delete /apis/cluster.x-k8s.io/v1beta2/namespaces/{NAMESPACE}/machines/");
    let deleted = writes.iter().filter_map(|write| write.strip_prefix(&path));
    deleted.map(str::to_owned).collect()
}
