//! Members become objects.

use std::time::Duration;

use remuda_controllers::kinds::Kind;
use remuda_testkit::{Demo, POOL, World, condition};
use serde_json::{Value, json};

use super::ranch::{
    CLUSTER_NAME, POOL_NAME, has_members, infra, instance_id, live, machines, name, names,
    provider_id, settled, settled_with,
};

/// Proves: CAPI-38, CAPI-111.
#[tokio::test(start_paused = true)]
async fn each_instance_is_an_object_and_a_machine_that_lead_to_each_other_and_to_the_cluster() {
    let world = settled().await;
    let pool = world.get(Kind::TerraformMachinePool, POOL).await.unwrap();
    let machine_pool = world.get(Kind::MachinePool, POOL).await.unwrap();
    let (infra, machines) = (infra(&world).await, machines(&world).await);
    assert_eq!(names(&infra), names(&machines));
    let mut ids: Vec<&str> = infra.iter().map(instance_id).collect();
    ids.sort_unstable();
    assert_eq!(ids, live(&world));
    for (infra, machine) in infra.iter().zip(&machines) {
        assert!(name(infra).starts_with("demo-pool-0-"));
        for object in [infra, machine] {
            let labels = &object["metadata"]["labels"];
            assert_eq!(labels[CLUSTER_NAME], "demo");
            assert_eq!(labels[POOL_NAME], POOL);
        }
        let owners = infra["metadata"]["ownerReferences"].as_array().unwrap();
        let ours = owners
            .iter()
            .find(|owner| owner["kind"] == "TerraformMachinePool")
            .unwrap();
        assert_eq!(ours["uid"], pool["metadata"]["uid"]);
        assert_ne!(ours["controller"], true);
        let reference = &machine["spec"]["infrastructureRef"];
        assert_eq!(reference["kind"], "TerraformMachinePoolMachine");
        assert_eq!(reference["name"], name(infra));
        let controller = &machine["metadata"]["ownerReferences"][0];
        assert_eq!(controller["uid"], machine_pool["metadata"]["uid"]);
        assert_eq!(controller["controller"], true);
        assert_eq!(condition(infra, "Ready").unwrap().0, "True");
    }
    assert_eq!(
        condition(&pool, "Ready").map(|(status, _)| status),
        Some("True".to_owned())
    );
}

/// Proves: CAPI-13, CAPI-97.
#[tokio::test(start_paused = true)]
async fn an_object_says_what_its_instance_is_and_only_a_stopped_ones_changes() {
    let world = settled().await;
    world.pass(Duration::from_mins(3)).await;
    let pool = world.get(Kind::TerraformMachinePool, POOL).await.unwrap();
    assert_eq!(pool["status"]["ready"], true);
    assert_eq!(pool["status"]["initialization"]["provisioned"], true);
    let before = infra(&world).await;
    for infra in &before {
        let status = &infra["status"];
        assert_eq!(status["ready"], true);
        assert_eq!(status["initialization"]["provisioned"], true);
        assert_eq!(status["instanceState"], "running");
        let zone = provider_id(infra).split('/').nth(3).unwrap();
        assert_eq!(status["failureDomain"], zone);
        let addresses = status["addresses"].as_array().unwrap();
        assert!(addresses.iter().any(|it| it["type"] == "InternalIP"));
    }
    let stopped = name(&before[1]).to_owned();
    // The group leaves it alone for longer than it takes to be seen.
    let slow = Duration::from_mins(5);
    world
        .aws
        .world()
        .set_timing(|timing| timing.health_check = slow);
    assert!(world.aws.world().stop_instance(instance_id(&before[1])));
    world
        .object_becomes(
            Kind::TerraformMachinePoolMachine,
            &stopped,
            "it is not ready",
            |infra| condition(infra, "Ready").is_some_and(|(status, _)| status == "False"),
        )
        .await;
    for (before, now) in before.iter().zip(infra(&world).await) {
        if name(&now) == stopped {
            assert_eq!(now["status"]["instanceState"], "stopped");
            assert_eq!(now["status"]["initialization"]["provisioned"], true);
        } else {
            assert_eq!(now["status"], before["status"]);
        }
    }
}

/// Proves: CAPI-37, CAPTF-84.
#[tokio::test(start_paused = true)]
async fn without_machines_no_kind_is_published_and_nothing_stands_for_a_member() {
    let world = World::new().await;
    world.apply(&Demo::default()).await;
    world.start();
    world.machine_pool_is_running(3).await;
    world.pass(Duration::from_mins(5)).await;
    let pool = world.get(Kind::TerraformMachinePool, POOL).await.unwrap();
    assert_eq!(pool["status"]["infrastructureMachineKind"], Value::Null);
    assert!(condition(&pool, "MachinesPublished").is_none());
    assert!(infra(&world).await.is_empty());
    assert!(machines(&world).await.is_empty());

    // Without the annotation the kind is published.
    let world = World::new().await;
    let demo = Demo::default().machine_pool(|pool| {
        pool["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("annotations");
    });
    world.apply(&demo).await;
    world.start();
    let kind = "TerraformMachinePoolMachine";
    world
        .object_becomes(
            Kind::TerraformMachinePool,
            POOL,
            "the kind is published",
            |pool| pool["status"]["infrastructureMachineKind"] == kind,
        )
        .await;
}

/// Proves: CAPI-104.
#[tokio::test(start_paused = true)]
async fn machines_that_are_turned_off_stay_published_until_the_last_object_is_gone() {
    let world = settled().await;
    let off = json!({ "metadata": { "annotations": { "remuda.dev/machines": "false" } } });
    world.patch(Kind::MachinePool, POOL, off).await;
    world
        .pool_says("MachinesPublished", "True", "WaitingForMachines")
        .await;
    let pool = world.get(Kind::TerraformMachinePool, POOL).await.unwrap();
    let kind = "TerraformMachinePoolMachine";
    assert_eq!(pool["status"]["infrastructureMachineKind"], kind);
    let told = pool["status"]["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["type"] == "MachinesPublished")
        .unwrap()["message"]
        .as_str()
        .unwrap()
        .to_owned();
    for infra in infra(&world).await {
        assert!(told.contains(name(&infra)), "{told}");
    }
}

/// Proves: CAPI-17.
#[tokio::test(start_paused = true)]
async fn a_settled_pool_with_machines_is_written_to_no_more() {
    let world = settled().await;
    // Until the first drift check has been made: it tells once.
    world.pass(Duration::from_mins(45)).await;
    let before = world.get(Kind::MachinePool, POOL).await.unwrap();
    world.stays_quiet(Duration::from_mins(30)).await;
    let after = world.get(Kind::MachinePool, POOL).await.unwrap();
    let of = |pool: &Value, field: &str| pool["spec"][field].to_string();
    assert_eq!(of(&before, "providerIDList"), of(&after, "providerIDList"));
    assert_eq!(
        before["metadata"]["generation"],
        after["metadata"]["generation"]
    );
    let pool = world.get(Kind::TerraformMachinePool, POOL).await.unwrap();
    assert_eq!(of(&pool, "providerIDList"), of(&after, "providerIDList"));
}

/// Proves: CAPI-19.
#[tokio::test(start_paused = true)]
async fn a_paused_cluster_holds_a_scaled_pool_and_its_machines_still() {
    let world = settled().await;
    world.pass(Duration::from_mins(3)).await;
    let pause = json!({ "spec": { "paused": true } });
    world.patch(Kind::Cluster, "demo", pause).await;
    world.pool_says("Paused", "True", "Paused").await;
    let mark = world.mark();
    let fewer = json!({ "spec": { "replicas": 1 } });
    world.patch(Kind::MachinePool, POOL, fewer).await;
    world.pass(Duration::from_mins(10)).await;
    assert_eq!(world.aws_writes(mark), Vec::<String>::new());
    has_members(&world, 3).await;
    let resume = json!({ "spec": { "paused": false } });
    world.patch(Kind::Cluster, "demo", resume).await;
    world
        .eventually("Machines go", || async {
            let machines = machines(&world).await;
            let going = machines
                .iter()
                .filter(|it| !it["metadata"]["deletionTimestamp"].is_null())
                .count();
            remuda_testkit::holds(going > 0 || machines.len() < 3, || {
                format!("{:?}", names(&machines))
            })
        })
        .await;
}

/// Proves: CAPI-20.
#[tokio::test(start_paused = true)]
async fn a_filtered_manager_makes_objects_of_its_own_pools_alone() {
    const FILTER: &str = "cluster.x-k8s.io/watch-filter";
    let world = World::builder().watch_filter("a").build().await;
    let demo = Demo::default().machines().second_pool("theirs");
    world.apply(&demo).await;
    let label = json!({ "metadata": { "labels": { FILTER: "a" } } });
    for (kind, name) in [
        (Kind::TerraformMachinePool, POOL),
        (Kind::MachinePool, POOL),
        (Kind::MachinePool, "theirs"),
        (Kind::Cluster, "demo"),
    ] {
        world.patch(kind, name, label.clone()).await;
    }
    world.start();
    world
        .eventually("three members are objects", || async {
            let infra = infra(&world).await;
            remuda_testkit::holds(infra.len() == 3, || format!("{:?}", names(&infra)))
        })
        .await;
    world.pass(Duration::from_mins(5)).await;
    for infra in infra(&world).await {
        assert_eq!(infra["metadata"]["labels"][FILTER], "a");
        assert_eq!(infra["metadata"]["labels"][POOL_NAME], POOL);
    }
    let theirs = world
        .get(Kind::TerraformMachinePool, "theirs")
        .await
        .unwrap();
    assert!(theirs["status"].is_null(), "{theirs:#}");
}

/// Proves: CAPI-11.
#[tokio::test(start_paused = true)]
async fn members_of_a_pool_with_a_very_long_name_are_found_by_its_hash() {
    let long = "p".repeat(80);
    let demo = Demo::default()
        .machines()
        .second_pool(&long)
        .without("MachinePool", POOL)
        .without("TerraformMachinePool", POOL);
    let world = World::new().await;
    world.apply(&demo).await;
    world.start();
    world.is_running(&long, 3).await;
    has_members(&world, 3).await;
    for object in infra(&world).await.iter().chain(&machines(&world).await) {
        let value = object["metadata"]["labels"][POOL_NAME].as_str().unwrap();
        assert!(
            value.starts_with("hash_") && value.ends_with("_z"),
            "{value}"
        );
        assert!(name(object).len() <= 63);
    }
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_shares_the_cluster_keeps_its_members_apart() {
    let world = settled_with(Demo::default().machines()).await;
    let second = Demo::default().machines().second_pool("second");
    for object in second.objects() {
        if object["metadata"]["name"] == "second" {
            world.create(object).await;
        }
    }
    world.is_running("second", 3).await;
    has_members(&world, 6).await;
}
