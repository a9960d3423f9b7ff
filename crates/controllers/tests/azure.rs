//! A pool on Azure as controllers run it, and the node agent beside it, against the embedded API and
//! a simulated Azure, in virtual time.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test reports by panicking"
)]

use remuda_controllers::kinds::Kind;
use remuda_testkit::{AZURE_POOL, Demo, Tripwire, World, condition};

fn without_machines() -> Demo {
    Demo::azure().edit("MachinePool", AZURE_POOL, |pool| {
        pool["metadata"]["annotations"]["remuda.dev/machines"] = "false".into();
    })
}

fn set(world: &World) -> Option<remuda_sim::azure::ScaleSetInfo> {
    world.azure.world().scale_sets().into_iter().next()
}

/// A call that Azure accepts and that takes time ends its pass: its address goes into the record,
/// and later passes follow it.
#[tokio::test(start_paused = true)]
async fn an_operation_that_was_accepted_is_followed_by_later_passes() {
    let world = World::new().await;
    let tripwire = Tripwire::never();
    world.apply(&without_machines()).await;
    world.start_with(&tripwire);
    world.says(AZURE_POOL, "Ready", "True", "Ready").await;
    world.is_running(AZURE_POOL, 3).await;
    let looks = world.azure.journal().count("compute", "Operations_Get");
    assert!(looks > 2, "it was looked at {looks} times");
    let puts: Vec<String> = tripwire
        .writes()
        .into_iter()
        .filter(|write| write.starts_with("azure PUT") && write.contains("virtualMachineScaleSets"))
        .collect();
    assert_eq!(puts.len(), 1, "sent once: {puts:?}");
    let pool = world
        .get(Kind::TerraformMachinePool, AZURE_POOL)
        .await
        .unwrap();
    assert_eq!(pool["status"]["replicas"], 3);
    assert_eq!(
        condition(&pool, "ApplyJobSucceeded").unwrap().0,
        "True",
        "{:#}",
        pool["status"]
    );
}

/// The address is what a crash between call and record loses; the set itself tells then.
#[tokio::test(start_paused = true)]
async fn a_crash_right_after_an_accepted_call_makes_no_second_set() {
    let writes = {
        let world = World::new().await;
        let tripwire = Tripwire::never();
        world.apply(&without_machines()).await;
        world.start_with(&tripwire);
        world.says(AZURE_POOL, "Ready", "True", "Ready").await;
        tripwire.writes()
    };
    let put = writes
        .iter()
        .position(|write| write.starts_with("azure PUT"))
        .unwrap();
    for at in [put + 1, put + 2] {
        let world = World::new().await;
        world.apply(&without_machines()).await;
        let tripwire = Tripwire::after(at);
        world.start_with(&tripwire);
        tripwire.tripped().await;
        world.crash().await;
        world.start();
        world.says(AZURE_POOL, "Ready", "True", "Ready").await;
        world.is_running(AZURE_POOL, 3).await;
        let created = world
            .azure
            .journal()
            .count("compute", "VirtualMachineScaleSets_CreateOrUpdate");
        assert_eq!(created, 1, "killed after write {at}");
        assert_eq!(set(&world).unwrap().instances.len(), 3);
    }
}
