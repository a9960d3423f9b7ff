//! A new generation takes the place of the old one.

use remuda_sim::azure::DEMO_SUBSCRIPTION;
use serde_json::json;

use crate::harness::{
    World,
    demo::{NEXT_SET, Pool, SET},
    only,
    wire::writes,
};

fn set(method: &str, name: &str) -> String {
    format!("{method} virtualMachineScaleSets/{name}")
}

fn setting(method: &str, set: &str) -> String {
    format!("{method} autoscalesettings/{set}-autoscale")
}

/// Proves: AZURE-52, AZURE-55, AZURE-58.
#[tokio::test(start_paused = true)]
async fn a_version_makes_the_new_set_before_the_old_one_goes() {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle_and_boot(&mut pool).await;
    pool.version("v1.34.2");
    let calls = world.settle(&mut pool).await;
    let made = writes(&calls);
    let (settings, sets): (Vec<&String>, Vec<&String>) = made
        .iter()
        .partition(|write| write.contains("autoscalesettings"));
    assert_eq!(
        sets,
        [
            &set("PUT", NEXT_SET),
            &set("PATCH", SET),
            &set("DELETE", SET)
        ]
    );
    assert_eq!(settings.len(), 2);
    let position = |wanted: &str| made.iter().position(|write| write == wanted).unwrap();
    assert!(position(&set("PUT", NEXT_SET)) < position(&setting("DELETE", SET)));
    assert!(position(&setting("DELETE", SET)) < position(&set("PATCH", SET)));
    assert!(position(&setting("PUT", NEXT_SET)) < position(&set("PATCH", SET)));
    let emptied = only(&calls, "PATCH virtualMachineScaleSets").json();
    assert_eq!(emptied.as_object().unwrap().len(), 1);
    assert_eq!(emptied["sku"]["capacity"], 0);
    let image = only(&calls, "PUT virtualMachineScaleSets").json()["properties"]
        ["virtualMachineProfile"]["storageProfile"]["imageReference"]["communityGalleryImageId"]
        .clone();
    assert!(image.as_str().unwrap().ends_with("/versions/1.34.2"));
    assert!(world.sim.world().scale_set(SET).is_none());
    assert!(
        world
            .sim
            .world()
            .setting(&format!("{SET}-autoscale"))
            .is_none()
    );
    world.refresh(&mut pool).await.unwrap();
    let outputs = pool.outputs();
    assert!(outputs.provider_id.as_deref().unwrap().ends_with(NEXT_SET));
    assert_eq!(outputs.provider_id_list.len(), 3);
    assert!(
        outputs
            .provider_id_list
            .iter()
            .all(|id| id.contains(NEXT_SET))
    );
}

/// Proves: AZURE-54.
#[tokio::test(start_paused = true)]
async fn a_new_set_starts_with_the_capacity_of_the_old_one() {
    let world = World::new();
    let mut pool = Pool::demo();
    pool.autoscale(2, 6);
    world.settle(&mut pool).await;
    assert!(world.sim.world().resize(SET, 5));
    world.wait(120).await;
    world.refresh(&mut pool).await.unwrap();
    pool.version("v1.34.2");
    let calls = world.settle(&mut pool).await;
    let put = only(&calls, "PUT virtualMachineScaleSets").json();
    assert_eq!(put["sku"]["capacity"], 5);
}

/// Proves: AZURE-57.
#[tokio::test(start_paused = true)]
async fn a_restart_resumes_the_operation_of_a_roll() {
    let mut world = World::new();
    let mut pool = Pool::demo();
    world.settle_and_boot(&mut pool).await;
    pool.version("v1.34.2");
    let pass = world.pass(&mut pool).await;
    assert_eq!(pass.writes(), [set("PUT", NEXT_SET)]);
    let operation = pool.remembered().operation.clone().unwrap();
    assert!(operation.address.unwrap().contains("/operations/"));
    world.restart();
    let calls = world.settle(&mut pool).await;
    assert!(!writes(&calls).contains(&set("PUT", NEXT_SET)));
    assert!(calls.iter().any(|call| call.name == "GET operations"));
    assert!(world.sim.world().scale_set(SET).is_none());
}

/// Proves: AZURE-56.
#[tokio::test(start_paused = true)]
async fn a_quota_keeps_the_old_set_at_work() {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle_and_boot(&mut pool).await;
    // Four instances of four cores each.
    world
        .sim
        .world()
        .set_core_quota(DEMO_SUBSCRIPTION, "westeurope", Some(16), None);
    let before = pool.outputs().clone();
    pool.version("v1.34.2");
    let mut failed = None;
    for _ in 0..20 {
        let pass = world.pass(&mut pool).await;
        if pass.failed.is_some() {
            failed = pass.failed;
            break;
        }
        world.wait(10).await;
    }
    let failure = failed.expect("the quota is too small");
    assert_eq!(failure.class, remuda_plan::error::FailureClass::Quota);
    assert!(failure.retry_after_seconds >= Some(600), "{failure:?}");
    assert!(
        failure.message.contains("16"),
        "the figures are named: {failure}"
    );
    let outputs = world.refresh(&mut pool).await.unwrap();
    assert_eq!(outputs.provider_id_list, before.provider_id_list);
    assert!(
        world
            .sim
            .world()
            .setting(&format!("{SET}-autoscale"))
            .is_some()
    );
}

/// Proves: AZURE-118.
#[tokio::test(start_paused = true)]
async fn quota_for_twice_the_pool_is_enough() {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle_and_boot(&mut pool).await;
    world
        .sim
        .world()
        .set_core_quota(DEMO_SUBSCRIPTION, "westeurope", Some(24), None);
    pool.version("v1.34.2");
    world.settle(&mut pool).await;
    assert!(world.sim.world().scale_set(SET).is_none());
}

/// Proves: AZURE-104.
#[tokio::test(start_paused = true)]
async fn what_cannot_change_in_place_rolls() {
    let changes = [
        ("spot", json!(true), "workers-a98e8e19"),
        ("trusted_launch", json!(true), "workers-b42f2ae5"),
        (
            "os_disk_storage_account_type",
            json!("StandardSSD_LRS"),
            "workers-07f44a84",
        ),
        ("failure_domains", json!(["2"]), "workers-9723f6c7"),
    ];
    for (what, value, name) in changes {
        let world = World::new();
        let mut pool = Pool::demo();
        world.settle(&mut pool).await;
        if what == "failure_domains" {
            pool.inputs.failure_domains = vec!["2".to_owned()];
        } else {
            pool.set(what, value);
        }
        let calls = world.settle(&mut pool).await;
        let old: Vec<String> = writes(&calls)
            .into_iter()
            .filter(|write| write.ends_with(SET))
            .collect();
        assert_eq!(old, [set("PATCH", SET), set("DELETE", SET)], "{what}");
        let sets = world.sim.world().scale_sets();
        assert_eq!(sets.len(), 1, "{what}");
        assert_eq!(sets[0].name, name, "{what}");
    }
}
