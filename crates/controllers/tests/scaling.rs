//! Replicas: fixed size, autoscaling, and who owns the count.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test reports by panicking"
)]

use std::time::Duration;

use remuda_controllers::kinds::Kind;
use remuda_sim::aws::{DEMO_ACCOUNT, DEMO_REGION};
use remuda_testkit::{Demo, Mark, POOL, World, condition, holds};
use serde_json::{Value, json};

const GROUP: &str = "captf-team-a-demo-pool-0-43c6d828";
const MIN: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size";
const MAX: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size";
const CLAIM: &str = "cluster.x-k8s.io/replicas-managed-by";

async fn settled(demo: Demo) -> World {
    let world = World::new().await;
    world.apply(&demo).await;
    world.start();
    world.machine_pool_is_running(3).await;
    world.pool_is_ready().await;
    world
}

async fn autoscaled() -> World {
    let world = settled(Demo::default().machine_pool(|pool| {
        pool["metadata"]["annotations"] =
            json!({ MIN: "2", MAX: "10", "remuda.dev/machines": "false" });
    }))
    .await;
    world
        .object_becomes(Kind::MachinePool, POOL, "the claim is set", |pool| {
            pool["metadata"]["annotations"][CLAIM] == "captf"
        })
        .await;
    world
}

fn set_desired(world: &World, desired: &str) {
    world
        .aws
        .world()
        .by_hand(
            DEMO_ACCOUNT,
            DEMO_REGION,
            "SetDesiredCapacity",
            &[
                ("AutoScalingGroupName", GROUP),
                ("DesiredCapacity", desired),
            ],
        )
        .unwrap();
}

async fn spec_replicas_becomes(world: &World, replicas: u64) {
    world
        .object_becomes(
            Kind::MachinePool,
            POOL,
            &format!("spec.replicas is {replicas}"),
            |pool| pool["spec"]["replicas"] == replicas,
        )
        .await;
}

/// Parameters of the calls of an action since a mark.
fn calls(
    world: &World,
    mark: Mark,
    action: &str,
) -> Vec<std::collections::BTreeMap<String, String>> {
    let before = world.aws_calls(Mark::default()).len() - world.aws_calls(mark).len();
    let all = world.aws.journal().calls();
    all.iter()
        .filter(|call| !call.from_instance)
        .skip(before)
        .filter(|call| call.action == action)
        .map(|call| call.params.clone())
        .collect()
}

/// Proves: CAPTF-29.
#[tokio::test(start_paused = true)]
async fn more_replicas_set_all_three_sizes() {
    let world = settled(Demo::default()).await;
    world
        .patch(
            Kind::MachinePool,
            POOL,
            json!({ "spec": { "replicas": 5 } }),
        )
        .await;
    world.machine_pool_is_running(5).await;
    let group = world.aws.world().group(GROUP).unwrap();
    assert_eq!((group.min, group.max, group.desired), (5, 5, 5));
    world
        .pool_says("AutoscalingActive", "False", "AutoscalingDisabled")
        .await;
}

/// Proves: CAPI-25, CAPI-26.
#[tokio::test(start_paused = true)]
async fn nodes_of_members_that_go_are_removed_and_no_others() {
    let world = settled(Demo::default()).await;
    let before = node_names(&world).await;
    world
        .patch(
            Kind::MachinePool,
            POOL,
            json!({ "spec": { "replicas": 2 } }),
        )
        .await;
    world.machine_pool_is_running(2).await;
    let two = node_names(&world).await;
    assert_eq!(two.len(), 2);
    assert!(
        two.iter().all(|name| before.contains(name)),
        "the two that stayed are old ones"
    );

    world
        .patch(
            Kind::MachinePool,
            POOL,
            json!({ "spec": { "replicas": 0 } }),
        )
        .await;
    world.machine_pool_is_running(0).await;
    let pool = world.get(Kind::MachinePool, POOL).await.unwrap();
    assert_eq!(pool["spec"]["providerIDList"], json!([]));
    world
        .eventually("no Node is left", || async {
            let nodes = node_names(&world).await;
            holds(nodes.is_empty(), || format!("{nodes:?}"))
        })
        .await;
}

async fn node_names(world: &World) -> Vec<String> {
    let nodes = world
        .workload()
        .list_of(&Kind::Node.resource(), None, "")
        .await
        .unwrap();
    nodes
        .iter()
        .map(|node| node["metadata"]["name"].as_str().unwrap().to_owned())
        .collect()
}

/// Proves: CAPTF-85, CAPTF-20.
#[tokio::test(start_paused = true)]
async fn scaled_to_zero_the_list_is_emptied_and_zero_is_written() {
    let world = settled(Demo::default()).await;
    world
        .patch(
            Kind::MachinePool,
            POOL,
            json!({ "spec": { "replicas": 0 } }),
        )
        .await;
    world
        .eventually("no instance is left", || async {
            let left = world.aws.world().live_instances(GROUP).len();
            holds(left == 0, || format!("{left} are left"))
        })
        .await;
    world
        .object_becomes(
            Kind::TerraformMachinePool,
            POOL,
            "list empty, replicas 0",
            |pool| pool["spec"]["providerIDList"] == json!([]) && pool["status"]["replicas"] == 0,
        )
        .await;
    world.pool_is_ready().await;
}

/// Proves: CAPTF-32.
#[tokio::test(start_paused = true)]
async fn claim_and_write_back_are_one_patch_and_one_event() {
    let world = autoscaled().await;
    set_desired(&world, "4");
    spec_replicas_becomes(&world, 4).await;
    world.pass(Duration::from_mins(3)).await;
    world.stop().await;
    // Somebody takes the claim away and sets another count while nobody looks.
    let patch = json!({
        "metadata": { "annotations": { CLAIM: null } },
        "spec": { "replicas": 3 },
    });
    world.patch(Kind::MachinePool, POOL, patch).await;
    let before = written_back(&world).await;
    let mark = world.mark();
    world.start();
    spec_replicas_becomes(&world, 4).await;
    let pool = world.get(Kind::MachinePool, POOL).await.unwrap();
    assert_eq!(pool["metadata"]["annotations"][CLAIM], "captf");
    let path = "patch /apis/cluster.x-k8s.io/v1beta2/namespaces/team-a/machinepools/demo-pool-0";
    let patches = world
        .kubernetes_writes(mark)
        .iter()
        .filter(|write| *write == path)
        .count();
    assert_eq!(patches, 1);
    world.pass(Duration::from_mins(3)).await;
    assert_eq!(written_back(&world).await, before + 1);
}

async fn written_back(world: &World) -> usize {
    let reasons = world.event_reasons(POOL).await;
    reasons
        .iter()
        .filter(|reason| *reason == "ReplicasWrittenBack")
        .count()
}

/// Proves: CAPTF-34.
#[tokio::test(start_paused = true)]
async fn a_foreign_claim_is_left_alone() {
    let world = settled(Demo::default().machine_pool(|pool| {
        pool["metadata"]["annotations"] = json!({
            MIN: "2", MAX: "10", CLAIM: "other-controller", "remuda.dev/machines": "false",
        });
    }))
    .await;
    set_desired(&world, "5");
    world
        .pool_says("AutoscalingActive", "False", "ReplicasManagedExternally")
        .await;
    world.pass(Duration::from_mins(5)).await;
    let pool = world.get(Kind::MachinePool, POOL).await.unwrap();
    assert_eq!(pool["spec"]["replicas"], 3);
    assert_eq!(pool["metadata"]["annotations"][CLAIM], "other-controller");
    let reasons = world.event_reasons(POOL).await;
    let told = reasons
        .iter()
        .filter(|reason| *reason == "ReplicasManagedExternally")
        .count();
    assert_eq!(told, 1, "{reasons:?}");
}

/// Proves: CAPTF-35.
#[tokio::test(start_paused = true)]
async fn without_annotations_our_claim_goes_and_the_spec_rules_again() {
    let world = autoscaled().await;
    set_desired(&world, "5");
    spec_replicas_becomes(&world, 5).await;
    let annotations = json!({ MIN: null, MAX: null });
    let patch = json!({ "metadata": { "annotations": annotations }, "spec": { "replicas": 4 } });
    world.patch(Kind::MachinePool, POOL, patch).await;
    world
        .object_becomes(Kind::MachinePool, POOL, "the claim is gone", |pool| {
            pool["metadata"]["annotations"].get(CLAIM).is_none()
        })
        .await;
    world.machine_pool_is_running(4).await;
    let group = world.aws.world().group(GROUP).unwrap();
    assert_eq!((group.min, group.max, group.desired), (4, 4, 4));

    // A claim of someone else stays.
    let theirs = json!({ "metadata": { "annotations": { CLAIM: "other-controller" } } });
    world.patch(Kind::MachinePool, POOL, theirs).await;
    world.pass(Duration::from_mins(5)).await;
    let pool = world.get(Kind::MachinePool, POOL).await.unwrap();
    assert_eq!(pool["metadata"]["annotations"][CLAIM], "other-controller");
}

/// Proves: CAPTF-36, CAPI-36.
#[tokio::test(start_paused = true)]
async fn an_autoscaled_count_is_written_back_and_never_sent() {
    let world = autoscaled().await;
    let mark = world.mark();
    set_desired(&world, "7");
    spec_replicas_becomes(&world, 7).await;
    world.machine_pool_is_running(7).await;
    assert_eq!(world.aws_writes(mark), Vec::<String>::new());
    let group = world.aws.world().group(GROUP).unwrap();
    assert_eq!((group.min, group.max, group.desired), (2, 10, 7));

    // Without the claim of the cloud, the spec scales back.
    let annotations = json!({ MIN: null, MAX: null });
    let patch = json!({ "metadata": { "annotations": annotations }, "spec": { "replicas": 3 } });
    world.patch(Kind::MachinePool, POOL, patch).await;
    world.machine_pool_is_running(3).await;
}

/// Proves: CAPTF-37.
#[tokio::test(start_paused = true)]
async fn a_rotation_of_an_autoscaled_pool_leaves_the_count_alone() {
    let world = autoscaled().await;
    set_desired(&world, "5");
    spec_replicas_becomes(&world, 5).await;
    world.machine_pool_is_running(5).await;
    let mark = world.mark();
    let patch = json!({ "stringData": { "value": "#cloud-config\nruncmd: [echo two]\n" } });
    world
        .patch(Kind::Secret, "demo-pool-0-bootstrap", patch)
        .await;
    world.pass(Duration::from_mins(3)).await;
    assert_eq!(world.aws_writes(mark), ["s3:PutObject"]);
    assert_eq!(world.aws.world().group(GROUP).unwrap().desired, 5);
    assert!(calls(&world, mark, "UpdateAutoScalingGroup").is_empty());
}

/// Proves: CAPTF-38.
#[tokio::test(start_paused = true)]
async fn a_paused_or_deleting_pool_writes_no_count_back() {
    let world = autoscaled().await;
    let pause = json!({ "metadata": { "annotations": { "cluster.x-k8s.io/paused": "" } } });
    world.patch(Kind::TerraformMachinePool, POOL, pause).await;
    world.pool_says("Paused", "True", "Paused").await;
    set_desired(&world, "6");
    world.pass(Duration::from_mins(10)).await;
    let replicas = |pool: Value| pool["spec"]["replicas"].clone();
    assert_eq!(
        replicas(world.get(Kind::MachinePool, POOL).await.unwrap()),
        3
    );

    world.delete(Kind::TerraformMachinePool, POOL).await;
    let resume = json!({ "metadata": { "annotations": { "cluster.x-k8s.io/paused": null } } });
    world.patch(Kind::TerraformMachinePool, POOL, resume).await;
    world.is_gone(Kind::TerraformMachinePool, POOL).await;
    assert_eq!(
        replicas(world.get(Kind::MachinePool, POOL).await.unwrap()),
        3
    );
}

#[tokio::test(start_paused = true)]
async fn bad_annotations_leave_a_fixed_pool_that_applies() {
    for annotations in [
        json!({ MIN: "2" }),
        json!({ MIN: "5", MAX: "3" }),
        json!({ MIN: "two", MAX: "3" }),
    ] {
        let world = settled(Demo::default().machine_pool(|pool| {
            pool["metadata"]["annotations"] = annotations.clone();
            pool["metadata"]["annotations"]["remuda.dev/machines"] = json!("false");
        }))
        .await;
        let pool = world.get(Kind::TerraformMachinePool, POOL).await.unwrap();
        assert_eq!(
            condition(&pool, "AutoscalingActive"),
            Some((
                "False".to_owned(),
                "AutoscalingAnnotationsInvalid".to_owned()
            )),
            "{annotations}"
        );
        let group = world.aws.world().group(GROUP).unwrap();
        assert_eq!((group.min, group.max), (3, 3), "{annotations}");
    }
}

/// Proves: CAPTF-87.
#[tokio::test(start_paused = true)]
async fn a_member_the_cloud_deleted_leaves_the_list_alone() {
    let world = settled(Demo::default()).await;
    let pool = world.get(Kind::TerraformMachinePool, POOL).await.unwrap();
    let before: Vec<String> = ids(&pool);
    let victim = world.aws.world().live_instances(GROUP)[0].clone();
    assert!(world.aws.world().terminate_instance(&victim.id));
    world
        .object_becomes(
            Kind::TerraformMachinePool,
            POOL,
            "the member left the list",
            |pool| !ids(pool).contains(&victim.provider_id),
        )
        .await;
    let pool = world.get(Kind::TerraformMachinePool, POOL).await.unwrap();
    let after = ids(&pool);
    let others: Vec<&String> = before
        .iter()
        .filter(|id| **id != victim.provider_id)
        .collect();
    assert!(
        others.iter().all(|id| after.contains(id)),
        "{before:?} {after:?}"
    );
    world.machine_pool_is_running(3).await;
}

fn ids(pool: &Value) -> Vec<String> {
    let list = pool["spec"]["providerIDList"].as_array();
    list.into_iter()
        .flatten()
        .map(|id| id.as_str().unwrap().to_owned())
        .collect()
}
