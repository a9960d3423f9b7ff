//! Drift, faults of the cloud, and what people do to it by hand.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test reports by panicking"
)]

use std::time::Duration;

use remuda_controllers::kinds::Kind;
use remuda_sim::{
    Effect, Fault,
    aws::{DEMO_ACCOUNT, DEMO_REGION},
};
use remuda_testkit::{Demo, POOL, World, condition, holds};
use serde_json::{Value, json};

const GROUP: &str = "captf-team-a-demo-pool-0-43c6d828";
const MIN: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size";
const MAX: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size";

async fn settled(demo: Demo) -> World {
    let world = World::new().await;
    world.apply(&demo).await;
    world.start();
    world.machine_pool_is_running(3).await;
    world.pool_is_ready().await;
    world
}

/// A pool that checks for drift every two minutes.
fn watchful(action: &str) -> Demo {
    Demo::default().pool(|pool| {
        pool["spec"]["drift"] = json!({ "intervalSeconds": 120, "action": action });
    })
}

fn by_hand(world: &World, action: &str, params: &[(&str, &str)]) {
    world
        .aws
        .world()
        .by_hand(DEMO_ACCOUNT, DEMO_REGION, action, params)
        .unwrap_or_else(|error| panic!("{error}"));
}

fn remove_tag(world: &World) {
    by_hand(
        world,
        "DeleteTags",
        &[
            ("Tags.member.1.ResourceId", GROUP),
            ("Tags.member.1.ResourceType", "auto-scaling-group"),
            ("Tags.member.1.Key", "captf.io/name"),
        ],
    );
}

async fn pool(world: &World) -> Value {
    world.get(Kind::TerraformMachinePool, POOL).await.unwrap()
}

/// Proves: CAPTF-65, CAPTF-26.
#[tokio::test(start_paused = true)]
async fn a_removed_tag_is_reported_and_nothing_is_changed() {
    let world = settled(watchful("Report")).await;
    let mark = world.mark();
    remove_tag(&world);
    world
        .pool_says("DriftDetected", "True", "DriftReported")
        .await;
    let now = pool(&world).await;
    assert_eq!(
        now["status"]["lastRun"]["drift"]["update"], 1,
        "{}",
        now["status"]["lastRun"]
    );
    world.pass(Duration::from_mins(10)).await;
    assert_eq!(world.aws_writes(mark), Vec::<String>::new());
    assert_eq!(condition(&pool(&world).await, "Ready").unwrap().0, "True");
    let reasons = world.event_reasons(POOL).await;
    assert_eq!(
        reasons
            .iter()
            .filter(|told| *told == "DriftDetected")
            .count(),
        1,
        "{reasons:?}"
    );
}

/// Proves: CAPTF-66.
#[tokio::test(start_paused = true)]
async fn a_removed_tag_is_put_back_where_drift_is_remediated() {
    let world = settled(watchful("Remediate")).await;
    remove_tag(&world);
    world
        .eventually("the tag is back", || async {
            let tags = world.aws.world().group(GROUP).unwrap().tags;
            holds(tags.contains_key("captf.io/name"), || format!("{tags:?}"))
        })
        .await;
    world.pool_says("DriftDetected", "False", "NoDrift").await;
    let reasons = world.event_reasons(POOL).await;
    for reason in ["DriftRemediationStarted", "DriftResolved"] {
        assert!(
            reasons.iter().any(|told| told == reason),
            "{reason}: {reasons:?}"
        );
    }
}

/// Proves: CAPTF-67.
#[tokio::test(start_paused = true)]
async fn a_moved_count_is_drift_on_a_fixed_pool_only() {
    let world = settled(watchful("Report")).await;
    let sizes = [
        ("AutoScalingGroupName", GROUP),
        ("MaxSize", "6"),
        ("DesiredCapacity", "5"),
    ];
    by_hand(&world, "UpdateAutoScalingGroup", &sizes);
    world
        .pool_says("DriftDetected", "True", "DriftReported")
        .await;

    let autoscaled = settled(watchful("Report").machine_pool(|pool| {
        pool["metadata"]["annotations"] =
            json!({ MIN: "2", MAX: "10", "remuda.dev/machines": "false" });
    }))
    .await;
    let desired = [("AutoScalingGroupName", GROUP), ("DesiredCapacity", "5")];
    by_hand(&autoscaled, "SetDesiredCapacity", &desired);
    autoscaled.machine_pool_is_running(5).await;
    autoscaled.pass(Duration::from_mins(10)).await;
    assert_eq!(
        condition(&pool(&autoscaled).await, "DriftDetected")
            .unwrap()
            .0,
        "False"
    );
}

/// Proves: CAPTF-47.
#[tokio::test(start_paused = true)]
async fn a_group_deleted_by_hand_is_terminated_at_once_and_the_list_empties_once_confirmed() {
    let world = settled(Demo::default()).await;
    by_hand(
        &world,
        "DeleteAutoScalingGroup",
        &[("AutoScalingGroupName", GROUP), ("ForceDelete", "true")],
    );
    world
        .pool_says("InfrastructureHealthy", "False", "InstanceTerminated")
        .await;
    world
        .object_becomes(
            Kind::TerraformMachinePool,
            POOL,
            "the list is empty",
            |pool| pool["spec"]["providerIDList"] == json!([]),
        )
        .await;
    let now = pool(&world).await;
    assert_eq!(now["status"]["replicas"], 3);
    assert_eq!(now["status"]["ready"], true);
    assert_eq!(condition(&now, "Ready").unwrap().0, "False");
    // The MachinePool's own guard keeps its list: replicas are not known to be zero.
    let machine_pool = world.get(Kind::MachinePool, POOL).await.unwrap();
    assert_eq!(
        machine_pool["spec"]["providerIDList"]
            .as_array()
            .unwrap()
            .len(),
        3
    );

    // The next apply makes it anew.
    world
        .patch(
            Kind::MachinePool,
            POOL,
            json!({ "spec": { "replicas": 2 } }),
        )
        .await;
    world.machine_pool_is_running(2).await;
    assert_eq!(world.aws.world().group(GROUP).unwrap().desired, 2);
}

#[tokio::test(start_paused = true)]
async fn a_failed_refresh_keeps_what_was_published() {
    let world = settled(Demo::default()).await;
    let before = pool(&world).await;
    world
        .aws
        .faults()
        .script(Fault::new(Effect::Denied).on("autoscaling", "DescribeAutoScalingGroups"));
    world
        .pool_says("DriftJobSucceeded", "False", "DriftJobFailed")
        .await;
    world.pass(Duration::from_mins(10)).await;
    let after = pool(&world).await;
    assert_eq!(
        before["spec"]["providerIDList"],
        after["spec"]["providerIDList"]
    );
    assert_eq!(before["status"]["replicas"], after["status"]["replicas"]);
    assert_eq!(before["status"]["instances"], after["status"]["instances"]);
    assert_eq!(condition(&after, "Ready").unwrap().0, "True");
    world.aws.faults().clear();
    world
        .object_becomes(
            Kind::TerraformMachinePool,
            POOL,
            "reads are fine again",
            |pool| {
                condition(pool, "DriftJobSucceeded").is_some_and(|(status, _)| status != "False")
            },
        )
        .await;
}

#[tokio::test(start_paused = true)]
async fn throttling_only_delays() {
    let world = World::new().await;
    world
        .aws
        .faults()
        .script(Fault::new(Effect::Throttle).service("autoscaling").every(2));
    for action in [
        "DescribeInstances",
        "DescribeImages",
        "CreateLaunchTemplate",
    ] {
        world
            .aws
            .faults()
            .script(Fault::new(Effect::Throttle).on("ec2", action).every(2));
    }
    world.apply(&Demo::default()).await;
    world.start();
    world.machine_pool_is_running(3).await;
    world.pool_is_ready().await;
    assert_eq!(world.aws.world().groups().len(), 1);
    assert_eq!(world.aws.world().live_instances(GROUP).len(), 3);
    assert_eq!(world.aws.world().templates().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_denied_create_names_the_call_and_goes_on_once_it_is_allowed() {
    let world = World::new().await;
    world
        .aws
        .faults()
        .script(Fault::new(Effect::Denied).on("autoscaling", "CreateAutoScalingGroup"));
    world.apply(&Demo::default()).await;
    world.start();
    world
        .pool_says("ApplyJobSucceeded", "False", "ApplyFailed")
        .await;
    let now = pool(&world).await;
    let conditions = now["status"]["conditions"].as_array().unwrap();
    let failed = conditions
        .iter()
        .find(|one| one["type"] == "ApplyJobSucceeded")
        .unwrap();
    let message = failed["message"].as_str().unwrap();
    assert!(message.contains("CreateAutoScalingGroup"), "{message}");
    world.aws.faults().clear();
    world.pool_is_ready().await;
}

#[tokio::test(start_paused = true)]
async fn a_group_of_another_installation_is_never_touched() {
    let world = settled(Demo::default()).await;
    world.stop().await;
    by_hand(
        &world,
        "CreateOrUpdateTags",
        &[
            ("Tags.member.1.ResourceId", GROUP),
            ("Tags.member.1.ResourceType", "auto-scaling-group"),
            ("Tags.member.1.Key", "remuda.dev/installation"),
            ("Tags.member.1.Value", "somebody-else"),
            ("Tags.member.1.PropagateAtLaunch", "false"),
        ],
    );
    let mark = world.mark();
    world.start();
    world
        .patch(
            Kind::MachinePool,
            POOL,
            json!({ "spec": { "replicas": 5 } }),
        )
        .await;
    world
        .pool_says("ApplyJobSucceeded", "False", "ApplyFailed")
        .await;
    world.delete(Kind::MachinePool, POOL).await;
    world.pass(Duration::from_mins(15)).await;
    let touched: Vec<String> = world
        .aws_writes(mark)
        .into_iter()
        .filter(|name| name.starts_with("autoscaling:"))
        .collect();
    assert_eq!(touched, Vec::<String>::new());
    assert_eq!(world.aws.world().group(GROUP).unwrap().desired, 3);
}

/// Proves: AWS-106.
#[tokio::test(start_paused = true)]
async fn an_operators_lifecycle_hook_stays() {
    let world = settled(watchful("Remediate")).await;
    by_hand(
        &world,
        "PutLifecycleHook",
        &[
            ("AutoScalingGroupName", GROUP),
            ("LifecycleHookName", "drain"),
            (
                "LifecycleTransition",
                "autoscaling:EC2_INSTANCE_TERMINATING",
            ),
            ("HeartbeatTimeout", "300"),
        ],
    );
    let mark = world.mark();
    let labels = json!({ "node.cluster.x-k8s.io/tier": "gold" });
    let patch = json!({ "spec": { "template": { "metadata": { "labels": labels } } } });
    world.patch(Kind::MachinePool, POOL, patch).await;
    world.pass(Duration::from_mins(20)).await;
    let calls = world.aws_calls(mark);
    assert!(
        calls.contains(&"ec2:CreateLaunchTemplateVersion".to_owned()),
        "{calls:?}"
    );
    assert!(
        !calls.iter().any(|name| name.contains("LifecycleHook")),
        "{calls:?}"
    );
    let hooks = world
        .aws
        .world()
        .by_hand(
            DEMO_ACCOUNT,
            DEMO_REGION,
            "DescribeLifecycleHooks",
            &[("AutoScalingGroupName", GROUP)],
        )
        .unwrap();
    assert!(
        hooks.contains("<LifecycleHookName>drain</LifecycleHookName>"),
        "{hooks}"
    );
}
