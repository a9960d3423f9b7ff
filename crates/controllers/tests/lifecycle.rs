//! A pool's life from its manifest to its last object, against the embedded API and a simulated
//! AWS, in virtual time.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test reports by panicking"
)]

use std::time::Duration;

use remuda_controllers::kinds::Kind;
use remuda_testkit::{Demo, POOL, Tripwire, World, condition, holds};
use serde_json::json;

const GROUP: &str = "captf-team-a-demo-pool-0-43c6d828";

#[tokio::test(start_paused = true)]
async fn the_demo_pool_becomes_ready_and_its_machine_pool_runs_three_nodes() {
    let world = World::new().await;
    world.apply(&Demo::default()).await;
    world.start();
    world.pool_is_ready().await;
    world.machine_pool_is_running(3).await;

    let pool = world.get(Kind::TerraformMachinePool, POOL).await.unwrap();
    let machine_pool = world.get(Kind::MachinePool, POOL).await.unwrap();
    assert_eq!(pool["status"]["replicas"], 3);
    assert_eq!(pool["status"]["ready"], true);
    assert_eq!(pool["status"]["initialization"]["provisioned"], true);
    assert_eq!(
        machine_pool["spec"]["providerIDList"],
        pool["spec"]["providerIDList"]
    );
    assert_eq!(pool["spec"]["providerIDList"].as_array().unwrap().len(), 3);
    for kind in [
        "Available",
        "InfrastructureReady",
        "MachinesReady",
        "MachinesUpToDate",
    ] {
        assert_eq!(condition(&machine_pool, kind).unwrap().0, "True", "{kind}");
    }
    let group = world.aws.world().group(GROUP).unwrap();
    assert_eq!((group.min, group.max, group.desired), (3, 3, 3));
    let cluster = world.get(Kind::Cluster, "demo").await.unwrap();
    assert_eq!(cluster["status"]["phase"], "Provisioned");
}

/// Proves: CAPI-17.
#[tokio::test(start_paused = true)]
async fn a_settled_world_is_only_read() {
    let world = World::new().await;
    world.apply(&Demo::default()).await;
    world.start();
    world.pool_is_ready().await;
    world.machine_pool_is_running(3).await;
    // The first drift check comes after half an hour and says that there is none.
    world.pool_says("DriftDetected", "False", "NoDrift").await;
    world.pass(Duration::from_mins(2)).await;
    let before = world.get(Kind::MachinePool, POOL).await.unwrap();
    world.stays_quiet(Duration::from_mins(70)).await;
    let after = world.get(Kind::MachinePool, POOL).await.unwrap();
    assert_eq!(
        before["spec"]["providerIDList"],
        after["spec"]["providerIDList"]
    );
    assert_eq!(
        before["metadata"]["generation"],
        after["metadata"]["generation"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_restart_of_the_controllers_writes_nothing() {
    let world = World::new().await;
    world.apply(&Demo::default()).await;
    world.start();
    world.pool_is_ready().await;
    world.machine_pool_is_running(3).await;
    world.pass(Duration::from_mins(2)).await;
    world.stop().await;
    world.start();
    world.stays_quiet(Duration::from_mins(10)).await;
}

/// Proves: CAPTF-10.
#[tokio::test(start_paused = true)]
async fn no_cloud_call_happens_before_the_finalizer_is_stored() {
    let world = World::new().await;
    world.apply(&Demo::default()).await;
    let tripwire = Tripwire::never();
    tripwire.refuse("terraformmachinepool.infrastructure.cluster.x-k8s.io");
    world.start_with(&tripwire);
    world.pass(Duration::from_mins(5)).await;
    assert!(
        world.aws.journal().calls().is_empty(),
        "{:?}",
        world.aws.journal().calls()
    );

    tripwire.refuse_nothing();
    let finalizer = "terraformmachinepool.infrastructure.cluster.x-k8s.io";
    world
        .object_becomes(
            Kind::TerraformMachinePool,
            POOL,
            "the finalizer is stored",
            |pool| {
                let finalizers = pool["metadata"]["finalizers"].as_array();
                finalizers.is_some_and(|all| all.iter().any(|name| name == finalizer))
            },
        )
        .await;
    world.pool_is_ready().await;
}

/// Proves: CAPTF-74.
#[tokio::test(start_paused = true)]
async fn no_operation_starts_while_block_move_cannot_be_stored() {
    let world = World::new().await;
    world.apply(&Demo::default()).await;
    let tripwire = Tripwire::never();
    tripwire.refuse("clusterctl.cluster.x-k8s.io/block-move");
    world.start_with(&tripwire);
    world.pass(Duration::from_mins(5)).await;
    let start = world.mark();
    assert!(world.aws.journal().writes().is_empty());

    tripwire.refuse_nothing();
    world.pool_is_ready().await;
    assert!(
        world
            .aws_writes(start)
            .contains(&"autoscaling:CreateAutoScalingGroup".to_owned())
    );
    world.pass(Duration::from_mins(2)).await;
    let pool = world.get(Kind::TerraformMachinePool, POOL).await.unwrap();
    let annotations = &pool["metadata"]["annotations"];
    assert!(
        annotations
            .get("clusterctl.cluster.x-k8s.io/block-move")
            .is_none(),
        "{annotations}"
    );
}

/// Proves: CAPTF-90.
#[tokio::test(start_paused = true)]
async fn the_record_holds_no_bootstrap_data() {
    let world = World::new().await;
    world.apply(&Demo::default()).await;
    world.start();
    world.pool_is_ready().await;
    let secret = world
        .get(Kind::Secret, "remuda-pool-demo-pool-0")
        .await
        .unwrap();
    let encoded = secret["data"]["record"].as_str().unwrap();
    let bootstrap = world
        .get(Kind::Secret, "demo-pool-0-bootstrap")
        .await
        .unwrap();
    let data = bootstrap["data"]["value"].as_str().unwrap();
    let record = String::from_utf8(decode(encoded)).unwrap();
    let plain = String::from_utf8(decode(data)).unwrap();
    assert!(
        record.contains("payloadHash"),
        "this is the record: {record}"
    );
    assert!(!record.contains(data) && !record.contains(plain.trim()));
    assert!(!record.contains("echo hello"));
    assert_eq!(secret["metadata"]["ownerReferences"][0]["name"], POOL);
    assert_eq!(secret["metadata"]["labels"]["captf.io/managed"], "true");
    assert!(
        secret["metadata"]["labels"]
            .get("clusterctl.cluster.x-k8s.io/move")
            .is_some()
    );
}

/// Proves: CAPTF-41, CAPI-23.
#[tokio::test(start_paused = true)]
async fn a_rotated_bootstrap_secret_is_one_put_object_and_touches_no_member() {
    let world = World::new().await;
    world.apply(&Demo::default()).await;
    world.start();
    world.machine_pool_is_running(3).await;
    world.pool_is_ready().await;
    let members = world.aws.world().live_instances(GROUP);
    let mark = world.mark();
    let rotated = "#cloud-config\nruncmd: [echo rotated]\n";
    let patch = json!({ "stringData": { "value": rotated } });
    world
        .patch(Kind::Secret, "demo-pool-0-bootstrap", patch)
        .await;
    world.pass(Duration::from_mins(3)).await;

    assert_eq!(world.aws_writes(mark), ["s3:PutObject"]);
    let bucket = "captf-bootstrap-20261001000000000000000001";
    let object = world
        .aws
        .world()
        .object(bucket, "pool/demo-pool-0")
        .unwrap();
    assert_eq!(object, rotated.as_bytes());
    let after: Vec<_> = world.aws.world().live_instances(GROUP);
    let ids = |members: &[remuda_sim::aws::InstanceInfo]| -> Vec<String> {
        members.iter().map(|member| member.id.clone()).collect()
    };
    assert_eq!(ids(&members), ids(&after));
}

/// Proves: CAPTF-42.
#[tokio::test(start_paused = true)]
async fn a_version_change_rolls_every_member_with_one_refresh() {
    let world = World::new().await;
    world.apply(&Demo::default()).await;
    world.start();
    world.machine_pool_is_running(3).await;
    world.pool_is_ready().await;
    let before: Vec<String> = world
        .aws
        .world()
        .live_instances(GROUP)
        .into_iter()
        .map(|member| member.id)
        .collect();
    let mark = world.mark();
    let patch = json!({ "spec": { "template": { "spec": { "version": "v1.35.0" } } } });
    world.patch(Kind::MachinePool, POOL, patch).await;
    world
        .object_becomes(Kind::MachinePool, POOL, "all Nodes run v1.35.0", |pool| {
            pool["status"]["upToDateReplicas"] == 3
                && pool["status"]["replicas"] == 3
                && pool["status"]["versions"] == json!([{ "version": "v1.35.0", "replicas": 3 }])
        })
        .await;
    let after = world.aws.world().live_instances(GROUP);
    assert!(
        after.iter().all(|member| !before.contains(&member.id)),
        "every member is new"
    );
    let writes = world.aws_writes(mark);
    let refreshes = writes
        .iter()
        .filter(|name| *name == "autoscaling:StartInstanceRefresh");
    assert_eq!(refreshes.count(), 1, "{writes:?}");
    world.machine_pool_is_running(3).await;
}

/// Proves: CAPTF-43.
#[tokio::test(start_paused = true)]
async fn a_changed_label_reaches_new_members_only() {
    let world = World::new().await;
    world.apply(&Demo::default()).await;
    world.start();
    world.machine_pool_is_running(3).await;
    world.pool_is_ready().await;
    let before: Vec<String> = world
        .aws
        .world()
        .live_instances(GROUP)
        .into_iter()
        .map(|member| member.id)
        .collect();
    let labels = json!({ "node.cluster.x-k8s.io/tier": "gold" });
    let patch = json!({ "spec": { "template": { "metadata": { "labels": labels } } } });
    world.patch(Kind::MachinePool, POOL, patch).await;
    world.pass(Duration::from_mins(3)).await;
    let after: Vec<String> = world
        .aws
        .world()
        .live_instances(GROUP)
        .into_iter()
        .map(|member| member.id)
        .collect();
    assert_eq!(before, after);

    world
        .patch(
            Kind::MachinePool,
            POOL,
            json!({ "spec": { "replicas": 4 } }),
        )
        .await;
    world.machine_pool_is_running(4).await;
    let nodes = world.workload();
    let resource = Kind::Node.resource();
    let nodes = nodes
        .list_of(&resource, None, "node.cluster.x-k8s.io/tier=gold")
        .await
        .unwrap();
    assert_eq!(nodes.len(), 1);
}

/// Proves: CAPTF-44.
#[tokio::test(start_paused = true)]
async fn a_label_a_kubelet_may_not_set_is_left_out_and_told_once() {
    let world = World::new().await;
    world
        .apply(&Demo::default().machine_pool(|pool| {
            let labels = &mut pool["spec"]["template"]["metadata"]["labels"];
            labels["node-role.kubernetes.io/worker"] = json!("");
            labels["node.cluster.x-k8s.io/tier"] = json!("gold");
        }))
        .await;
    world.start();
    world.machine_pool_is_running(3).await;
    world.pool_is_ready().await;
    world.pass(Duration::from_mins(10)).await;
    let nodes = world.workload();
    let nodes = nodes
        .list_of(&Kind::Node.resource(), None, "")
        .await
        .unwrap();
    assert_eq!(nodes.len(), 3);
    for node in &nodes {
        let labels = &node["metadata"]["labels"];
        assert_eq!(labels["node.cluster.x-k8s.io/tier"], "gold");
        assert!(
            labels.get("node-role.kubernetes.io/worker").is_none(),
            "{labels}"
        );
    }
    let reasons = world.event_reasons(POOL).await;
    let told = reasons
        .iter()
        .filter(|told| *told == "NodeLabelsDropped")
        .count();
    assert_eq!(told, 1, "{reasons:?}");
}

/// Proves: CAPI-28.
#[tokio::test(start_paused = true)]
async fn nodes_get_their_back_pointers_and_lose_the_uninitialized_taint() {
    let world = World::new().await;
    world.apply(&Demo::default()).await;
    // A bootstrap provider's taint on a Node that will be a member's.
    let tripwire = Tripwire::never();
    world.start_with(&tripwire);
    world
        .eventually("a Node is there", || async {
            let nodes = world.workload();
            holds(
                !nodes
                    .list_of(&Kind::Node.resource(), None, "")
                    .await
                    .unwrap()
                    .is_empty(),
                || "none".to_owned(),
            )
        })
        .await;
    let nodes = world.workload();
    let resource = Kind::Node.resource();
    let first = nodes.list_of(&resource, None, "").await.unwrap().remove(0);
    let name = first["metadata"]["name"].as_str().unwrap();
    let target = remuda_controllers::objects::Target {
        resource: &resource,
        namespace: None,
        name,
        subresource: None,
    };
    let taints = json!([
        { "key": "node.cluster.x-k8s.io/uninitialized", "effect": "NoSchedule" },
        { "key": "keep", "effect": "NoSchedule" },
    ]);
    let patch = json!({ "spec": { "taints": taints } });
    nodes.merge_patch(&target, &patch, "test").await.unwrap();
    world.machine_pool_is_running(3).await;
    world
        .eventually("annotated, without the taint", || async {
            let node = nodes.get_of(&resource, None, name).await.unwrap().unwrap();
            let annotations = &node["metadata"]["annotations"];
            let annotated = annotations["cluster.x-k8s.io/cluster-name"] == "demo"
                && annotations["cluster.x-k8s.io/cluster-namespace"] == "team-a"
                && annotations["cluster.x-k8s.io/owner-kind"] == "MachinePool"
                && annotations["cluster.x-k8s.io/owner-name"] == POOL;
            let taints = node["spec"]["taints"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let keys: Vec<&str> = taints
                .iter()
                .filter_map(|taint| taint["key"].as_str())
                .collect();
            holds(annotated && keys == ["keep"], || {
                format!("{annotations} {keys:?}")
            })
        })
        .await;
}

fn decode(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD
        .decode(text)
        .unwrap()
}
