//! Pools that were there before: moved from another management cluster, or made by captf.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test reports by panicking"
)]

use std::time::Duration;

use remuda_controllers::kinds::Kind;
use remuda_sim::aws::{DEMO_ACCOUNT, DEMO_REGION};
use remuda_testkit::{Demo, POOL, World};
use serde_json::{Value, json};

const GROUP: &str = "captf-team-a-demo-pool-0-43c6d828";
const INSTALLATION: &str = "remuda.dev/installation";

async fn settled(demo: Demo) -> World {
    let world = World::new().await;
    world.apply(&demo).await;
    world.start();
    world.machine_pool_is_running(3).await;
    world.pool_is_ready().await;
    world.pass(Duration::from_mins(2)).await;
    world
}

fn by_hand(world: &World, action: &str, params: &[(&str, &str)]) {
    world
        .aws
        .world()
        .by_hand(DEMO_ACCOUNT, DEMO_REGION, action, params)
        .unwrap_or_else(|error| panic!("{error}"));
}

fn members(world: &World) -> Vec<String> {
    world
        .aws
        .world()
        .live_instances(GROUP)
        .into_iter()
        .map(|member| member.id)
        .collect()
}

/// Proves: CAPTF-27.
#[tokio::test(start_paused = true)]
async fn a_moved_pool_is_provisioned_without_a_cloud_write() {
    let source = settled(Demo::default()).await;
    source.stop().await;
    let cluster = source.get(Kind::TerraformCluster, "demo").await.unwrap();
    let before = source.get(Kind::TerraformMachinePool, POOL).await.unwrap();
    let world = source.moved().await;
    let mark = world.mark();
    world.start();
    world
        .object_becomes(
            Kind::TerraformMachinePool,
            POOL,
            "provisioned and ready",
            |pool| {
                pool["status"]["initialization"]["provisioned"] == true
                    && pool["status"]["ready"] == true
            },
        )
        .await;
    let pool = world.get(Kind::TerraformMachinePool, POOL).await.unwrap();
    assert_ne!(pool["metadata"]["uid"], before["metadata"]["uid"]);
    world
        .pool_says(
            "DependenciesReady",
            "Unknown",
            "WaitingForClusterInfrastructure",
        )
        .await;

    // The cluster's own controller reports again some time later.
    world
        .patch_status(Kind::TerraformCluster, "demo", cluster["status"].clone())
        .await;
    world.pool_is_ready().await;
    world.machine_pool_is_running(3).await;
    world.pass(Duration::from_mins(5)).await;
    assert_eq!(world.aws_writes(mark), Vec::<String>::new());
    let after = world.get(Kind::TerraformMachinePool, POOL).await.unwrap();
    assert_eq!(
        after["spec"]["providerIDList"],
        before["spec"]["providerIDList"]
    );
}

/// Proves: CAPTF-83.
#[tokio::test(start_paused = true)]
async fn a_pool_made_by_captf_is_taken_over_in_place_and_a_foreign_one_never() {
    let world = settled(Demo::default()).await;
    world.stop().await;
    // As captf leaves it: its six tags, no installation id, no record of ours.
    world.delete(Kind::Secret, "remuda-pool-demo-pool-0").await;
    by_hand(
        &world,
        "DeleteTags",
        &[
            ("Tags.member.1.ResourceId", GROUP),
            ("Tags.member.1.ResourceType", "auto-scaling-group"),
            ("Tags.member.1.Key", INSTALLATION),
        ],
    );
    let before = members(&world);
    let mark = world.mark();
    world.start();
    world
        .object_becomes(
            Kind::Secret,
            "remuda-pool-demo-pool-0",
            "a record",
            |secret| secret["data"]["record"].is_string(),
        )
        .await;
    world.pass(Duration::from_mins(5)).await;
    world.pool_is_ready().await;
    let mut writes = world.aws_writes(mark);
    writes.sort_unstable();
    writes.dedup_by(|a, b| a == b && !a.ends_with("Tags"));
    let allowed = [
        "autoscaling:CreateOrUpdateTags",
        "ec2:CreateLaunchTemplateVersion",
        "ec2:ModifyLaunchTemplate",
        "s3:PutObject",
    ];
    assert!(
        writes.iter().all(|name| allowed.contains(&name.as_str())),
        "{writes:?}"
    );
    assert!(
        writes.contains(&"autoscaling:CreateOrUpdateTags".to_owned()),
        "{writes:?}"
    );
    assert_eq!(
        world.aws_writes(mark).len(),
        writes.len(),
        "each of them once"
    );
    assert_eq!(members(&world), before);
    assert!(
        world
            .aws
            .world()
            .group(GROUP)
            .unwrap()
            .tags
            .contains_key(INSTALLATION)
    );
    world.stays_quiet(Duration::from_mins(10)).await;

    // The same tags under another installation's id: never written to, not on deletion either.
    by_hand(
        &world,
        "CreateOrUpdateTags",
        &[
            ("Tags.member.1.ResourceId", GROUP),
            ("Tags.member.1.ResourceType", "auto-scaling-group"),
            ("Tags.member.1.Key", INSTALLATION),
            ("Tags.member.1.Value", "somebody-else"),
            ("Tags.member.1.PropagateAtLaunch", "false"),
        ],
    );
    let mark = world.mark();
    world
        .patch(
            Kind::MachinePool,
            POOL,
            json!({ "spec": { "replicas": 5 } }),
        )
        .await;
    world.pass(Duration::from_mins(10)).await;
    world.delete(Kind::MachinePool, POOL).await;
    world.pass(Duration::from_mins(20)).await;
    let to_the_group: Vec<Value> = world
        .aws_writes(mark)
        .into_iter()
        .filter(|name| name.starts_with("autoscaling:"))
        .map(Value::from)
        .collect();
    assert_eq!(to_the_group, Vec::<Value>::new());
    assert_eq!(world.aws.world().group(GROUP).unwrap().desired, 3);
    assert_eq!(members(&world), before);
}

#[tokio::test(start_paused = true)]
async fn a_lost_record_is_rebuilt_from_the_group_without_a_roll() {
    let world = settled(Demo::default()).await;
    let before = members(&world);
    world.delete(Kind::Secret, "remuda-pool-demo-pool-0").await;
    let mark = world.mark();
    world
        .object_becomes(
            Kind::Secret,
            "remuda-pool-demo-pool-0",
            "a record again",
            |secret| secret["data"]["record"].is_string(),
        )
        .await;
    world.pool_is_ready().await;
    world.pass(Duration::from_mins(5)).await;
    assert!(
        !world
            .aws_writes(mark)
            .contains(&"autoscaling:StartInstanceRefresh".to_owned())
    );
    assert_eq!(members(&world), before);
}

#[tokio::test(start_paused = true)]
async fn pools_whose_names_are_cut_to_the_same_text_stay_apart() {
    let long = "a-pool-with-a-name-that-is-much-longer-than-what-a-group-may-be-called";
    let (one, two) = (format!("{long}-one"), format!("{long}-two"));
    let world = World::new().await;
    world
        .apply(&Demo::default().second_pool(&one).second_pool(&two))
        .await;
    world.start();
    for pool in [&one, &two] {
        world.says(pool, "Ready", "True", "Ready").await;
        world.is_running(pool, 3).await;
    }
    let names: Vec<String> = world
        .aws
        .world()
        .groups()
        .into_iter()
        .map(|group| group.name)
        .collect();
    let cut: Vec<&String> = names
        .iter()
        .filter(|name| name.contains("a-pool-with"))
        .collect();
    assert_eq!(cut.len(), 2, "{names:?}");
    assert_eq!(
        cut[0].rsplit_once('-').unwrap().0,
        cut[1].rsplit_once('-').unwrap().0
    );

    // The end of one is not the end of the other.
    world.delete(Kind::MachinePool, &one).await;
    world.is_gone(Kind::MachinePool, &one).await;
    world.stays_quiet(Duration::from_mins(5)).await;
    world.is_running(&two, 3).await;
}
