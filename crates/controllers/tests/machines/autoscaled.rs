//! A count that an autoscaler owns.

use std::time::Duration;

use remuda_controllers::{kinds::Kind, objects::Target};
use remuda_sim::aws::{DEMO_ACCOUNT, DEMO_REGION};
use remuda_testkit::{Cloud, World, holds};
use serde_json::{Value, json};

use super::ranch::{has_members, infra, instance_id, name, names, provider_id, settled_on_with};

/// Writes that answer a lifecycle hook: they let an instance go that the group ends anyway.
const ANSWERS: [&str; 2] = [
    "autoscaling:CompleteLifecycleAction",
    "autoscaling:RecordLifecycleActionHeartbeat",
];

/// Name of the Node of an instance.
async fn node(world: &World, cloud: Cloud, infra: &Value) -> String {
    let nodes = cloud.nodes(world).await;
    let found = nodes
        .iter()
        .find(|node| node["spec"]["providerID"] == provider_id(infra));
    name(found.unwrap()).to_owned()
}

async fn cordon(world: &World, cloud: Cloud, node: &str) {
    let resource = Kind::Node.resource();
    let target = Target {
        resource: &resource,
        namespace: None,
        name: node,
        subresource: None,
    };
    let workload = cloud.workload(world);
    let patch = json!({ "spec": { "unschedulable": true } });
    workload
        .merge_patch(&target, &patch, "a-person")
        .await
        .unwrap();
}

/// The autoscaler's own call: this instance goes, and the group wants one less.
fn ends(world: &World, cloud: Cloud, infra: &Value) {
    match cloud {
        Cloud::Aws => {
            let params = [
                ("InstanceId", instance_id(infra)),
                ("ShouldDecrementDesiredCapacity", "true"),
            ];
            let action = "TerminateInstanceInAutoScalingGroup";
            let aws = world.aws.world();
            aws.by_hand(DEMO_ACCOUNT, DEMO_REGION, action, &params)
                .unwrap();
        }
        Cloud::Azure => {
            let set = &world.azure.world().scale_sets()[0];
            let number = instance_id(infra).parse().unwrap();
            assert!(world.azure.world().operate(&set.name, number, "delete"));
        }
    }
}

/// Proves: CAPI-101.
#[tokio::test(start_paused = true)]
async fn what_an_autoscaler_ends_through_the_cloud_is_followed_and_not_made_good() {
    for cloud in Cloud::BOTH {
        let demo = cloud
            .demo()
            .edit("MachinePool", cloud.pool(), |pool| {
                let annotations = &mut pool["metadata"]["annotations"];
                annotations["cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"] =
                    json!("1");
                annotations["cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"] =
                    json!("5");
            })
            .edit("TerraformMachinePool", cloud.pool(), |pool| {
                pool["spec"]["variables"]["autoscaler"] = json!("external");
            });
        let world = settled_on_with(cloud, demo).await;
        world
            .object_becomes(
                Kind::MachinePool,
                cloud.pool(),
                "the count is claimed",
                |pool| {
                    !pool["metadata"]["annotations"]["cluster.x-k8s.io/replicas-managed-by"]
                        .is_null()
                },
            )
            .await;
        world.pass(Duration::from_mins(5)).await;
        let before = infra(&world).await;
        let (gone, node) = (
            name(&before[1]).to_owned(),
            node(&world, cloud, &before[1]).await,
        );
        cordon(&world, cloud, &node).await;
        world.pass(Duration::from_mins(2)).await;
        let mark = world.mark();
        ends(&world, cloud, &before[1]);
        world
            .object_becomes(Kind::MachinePool, cloud.pool(), "two are wished", |pool| {
                pool["spec"]["replicas"] == 2
            })
            .await;
        has_members(&world, 2).await;
        assert!(!names(&infra(&world).await).contains(&gone));
        world
            .eventually("its Node is gone", || async {
                let left = names(&cloud.nodes(&world).await);
                holds(!left.contains(&node), || format!("{left:?}"))
            })
            .await;
        world.pass(Duration::from_mins(20)).await;
        has_members(&world, 2).await;
        assert_eq!(cloud.existing(&world).len(), 2);
        let pool = world.get(Kind::MachinePool, cloud.pool()).await.unwrap();
        assert_eq!(pool["spec"]["replicas"], 2);
        let mut writes = world.aws_writes(mark);
        writes.retain(|write| !ANSWERS.contains(&write.as_str()));
        writes.extend(world.azure_writes(mark));
        assert_eq!(writes, Vec::<String>::new(), "the group is left alone");
    }
}
