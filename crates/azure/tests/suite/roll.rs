//! A new generation takes the place of the old one.

use remuda_plan::pool::read::Freshness;
use remuda_sim::azure::DEMO_SUBSCRIPTION;
use serde_json::json;

use crate::harness::{
    World,
    demo::{BOOTSTRAP, NEXT_SET, Pool, ROTATED, SET},
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

/// Proves: AZURE-53.
#[tokio::test(start_paused = true)]
async fn a_suffix_of_the_version_rolls_on_the_same_image() {
    let world = World::new();
    let mut pool = Pool::demo();
    pool.version("v1.34.2");
    world.settle(&mut pool).await;
    pool.version("v1.34.2+rke2r1");
    let calls = world.settle(&mut pool).await;
    let put = only(&calls, "PUT virtualMachineScaleSets");
    assert!(put.path.ends_with("/workers-069c77e7"));
    let image = put.json()["properties"]["virtualMachineProfile"]["storageProfile"]["imageReference"]
        ["communityGalleryImageId"]
        .clone();
    assert!(image.as_str().unwrap().ends_with("/versions/1.34.2"));
}

/// Proves: AZURE-106.
#[tokio::test(start_paused = true)]
async fn zones_of_the_first_apply_come_back() {
    let world = World::new();
    let mut pool = Pool::demo();
    pool.inputs.failure_domains = vec!["2".to_owned()];
    world.settle(&mut pool).await;
    pool.inputs.cluster_failure_domains = ["1", "2", "3", "4"].map(str::to_owned).into();
    pool.inputs.failure_domains.clear();
    let calls = world.settle(&mut pool).await;
    let put = only(&calls, "PUT virtualMachineScaleSets");
    assert!(put.path.ends_with(SET));
    assert_eq!(put.json()["zones"], json!(["1", "2", "3"]));
    assert_eq!(world.sim.world().scale_sets().len(), 1);
}

/// Proves: AZURE-108.
#[tokio::test(start_paused = true)]
async fn neither_bodies_nor_the_record_hold_what_they_must_not() {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle(&mut pool).await;
    pool.bootstrap(ROTATED);
    world.settle(&mut pool).await;
    pool.version("v1.34.2");
    world.settle(&mut pool).await;
    for call in world.recorder.since(0) {
        assert!(!String::from_utf8_lossy(&call.body).contains("userData"));
    }
    let record = serde_json::to_string(pool.record.as_ref().unwrap()).unwrap();
    let custom_data = world.sim.world().custom_data(NEXT_SET).unwrap();
    for secret in [BOOTSTRAP, ROTATED, custom_data.as_str()] {
        assert!(!record.contains(secret));
    }
}

/// Proves: AZURE-111.
#[tokio::test(start_paused = true)]
async fn only_the_old_generation_is_published_where_machines_are_off() {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle_and_boot(&mut pool).await;
    let before = pool.outputs().provider_id_list.clone();
    pool.version("v1.34.2");
    let mut seen_both = false;
    for _ in 0..200 {
        let pass = world.pass(&mut pool).await;
        if pass.is_settled() {
            break;
        }
        world.wait(10).await;
        let listed = world
            .refresh_with(&mut pool, Freshness::Fresh)
            .await
            .unwrap();
        let listed = listed.provider_id_list;
        assert!(listed.is_sorted());
        let sets = world.sim.world().scale_sets();
        let of = |name: &str| {
            sets.iter()
                .find(|set| set.name == name)
                .map_or(0, |set| set.instances.len())
        };
        if of(SET) > 0 && of(NEXT_SET) > 0 {
            seen_both = true;
            let old = listed.iter().filter(|id| id.contains(SET)).count();
            let new = listed.iter().filter(|id| id.contains(NEXT_SET)).count();
            assert_eq!(old, of(SET));
            assert_eq!(new, 0);
        }
    }
    assert!(seen_both, "both generations held instances at once");
    world.refresh(&mut pool).await.unwrap();
    let after = &pool.outputs().provider_id_list;
    assert_eq!(after.len(), 3);
    assert!(before.iter().all(|id| !after.contains(id)));
}
