//! Taints of the pool template reach the Nodes, and leave them with it.

use remuda_controllers::kinds::Kind;
use remuda_plan::admission::Gates;
use remuda_testkit::{Cloud, World, holds};
use serde_json::{Value, json};

use super::ranch::{has_members, names};

/// Waits until exactly so many Nodes are there and each `has` the taint `team/a`, or none does.
async fn tainted(world: &World, cloud: Cloud, count: usize, has: bool) {
    world
        .eventually(&format!("{count} Nodes with the taint: {has}"), || async {
            let nodes = cloud.nodes(world).await;
            let is_tainted = |node: &&Value| {
                let taints = node["spec"]["taints"].as_array();
                taints.into_iter().flatten().any(|taint| {
                    taint["key"] == "team/a"
                        && taint["value"] == "batch"
                        && taint["effect"] == "NoSchedule"
                })
            };
            let with = nodes.iter().filter(is_tainted).count();
            let wanted = if has { count } else { 0 };
            holds(nodes.len() == count && with == wanted, || {
                format!("{with} of {:?}", names(&nodes))
            })
        })
        .await;
}

/// Without any setting of the gate.
#[tokio::test(start_paused = true)]
async fn taints_of_the_template_are_on_every_node_and_go_without_a_roll() {
    for cloud in Cloud::BOTH {
        let world = World::builder().admission(Gates::default()).build().await;
        let demo = cloud.demo().edit("MachinePool", cloud.pool(), |pool| {
            pool["spec"]["template"]["spec"]["taints"] = json!([{
                "key": "team/a", "value": "batch", "effect": "NoSchedule", "propagation": "Always",
            }]);
        });
        world.apply(&demo).await;
        world.start();
        world.is_running(cloud.pool(), 3).await;
        tainted(&world, cloud, 3, true).await;
        cloud.replicas(&world, 4).await;
        tainted(&world, cloud, 4, true).await;
        has_members(&world, 4).await;
        let before = names(&super::ranch::infra(&world).await);
        let bare = json!({ "spec": { "template": { "spec": { "taints": null } } } });
        world.patch(Kind::MachinePool, cloud.pool(), bare).await;
        tainted(&world, cloud, 4, false).await;
        assert_eq!(names(&super::ranch::infra(&world).await), before);
    }
}
