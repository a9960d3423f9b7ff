//! A pool goes (Azure document 5.4).

use remuda_plan::error::FailureClass;
use remuda_sim::azure::{DEMO_GROUP, DEMO_SUBSCRIPTION, Lock};

use crate::harness::{
    World,
    demo::{Pool, SET},
    wire::writes,
};

/// Proves: AZURE-96.
#[tokio::test(start_paused = true)]
async fn a_pool_goes_setting_first_then_empty_then_away() {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle_and_boot(&mut pool).await;
    let calls = world.delete(&mut pool).await;
    assert_eq!(
        writes(&calls),
        [
            format!("DELETE autoscalesettings/{SET}-autoscale"),
            format!("PATCH virtualMachineScaleSets/{SET}"),
            format!("DELETE virtualMachineScaleSets/{SET}"),
        ]
    );
    let patch = calls
        .iter()
        .find(|call| call.name.starts_with("PATCH"))
        .unwrap();
    assert_eq!(patch.json()["sku"]["capacity"], 0);
    for call in &calls {
        assert!(!call.query.contains("forceDeletion"));
    }
    let last = calls.iter().rfind(|call| call.path.ends_with(SET)).unwrap();
    assert_eq!(
        (last.name.as_str(), last.status),
        ("GET virtualMachineScaleSets", 404)
    );
    assert!(world.sim.world().scale_sets().is_empty());
    assert!(world.sim.world().settings().is_empty());
}

/// Proves: AZURE-97.
#[tokio::test(start_paused = true)]
async fn a_pool_whose_set_is_gone_goes_without_an_error() {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle(&mut pool).await;
    assert!(world.sim.world().delete_set(SET));
    let calls = world.delete(&mut pool).await;
    assert_eq!(
        writes(&calls),
        [format!("DELETE autoscalesettings/{SET}-autoscale")]
    );
    assert!(world.sim.world().settings().is_empty());
}

/// Proves: AZURE-90.
#[tokio::test(start_paused = true)]
async fn a_lock_is_named_and_waited_for() {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle_and_boot(&mut pool).await;
    let scope = format!("/subscriptions/{DEMO_SUBSCRIPTION}/resourceGroups/{DEMO_GROUP}");
    world.sim.world().set_lock(&scope, Some(Lock::CanNotDelete));
    let failure = loop {
        let pass = world.teardown_pass(&mut pool).await;
        if let Some(failure) = pass.failed {
            break failure;
        }
        assert!(!pass.is_settled(), "the lock holds the pool");
        world.wait(10).await;
    };
    assert_eq!(failure.class, FailureClass::Locked);
    assert_eq!(failure.code, "ScopeLocked");
    assert!(
        failure
            .message
            .to_lowercase()
            .contains(&scope.to_lowercase()),
        "{failure}"
    );
    world.sim.world().set_lock(&scope, None);
    world.delete(&mut pool).await;
    assert!(world.sim.world().scale_sets().is_empty());
}
