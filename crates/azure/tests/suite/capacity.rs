//! Who holds the capacity, end to end with a simulated Autoscale.

use remuda_plan::pool::members::MemberState;
use serde_json::json;

use crate::harness::{
    World,
    demo::{Pool, SET},
    only,
    wire::writes,
};

/// Proves: AZURE-32.
#[tokio::test(start_paused = true)]
async fn a_pool_of_none_is_healthy() {
    let world = World::new();
    let mut pool = Pool::demo();
    pool.inputs.replicas = 0;
    let calls = world.settle(&mut pool).await;
    let put = only(&calls, "PUT virtualMachineScaleSets").json();
    assert_eq!(put["sku"]["capacity"], 0);
    let setting = only(&calls, "PUT autoscalesettings").json();
    assert_eq!(
        setting["properties"]["profiles"][0]["capacity"]["maximum"],
        "0"
    );
    let outputs = world.refresh(&mut pool).await.unwrap();
    assert_eq!(outputs.replicas, Some(0));
    assert!(outputs.provider_id_list.is_empty() && outputs.instances.is_empty());
    assert_eq!(outputs.health.state, MemberState::Running);
    assert!(outputs.health.healthy);
}

/// Proves: AZURE-34.
#[tokio::test(start_paused = true)]
async fn load_grows_the_pool_and_the_backend_only_looks() {
    let world = World::new();
    let mut pool = Pool::demo();
    pool.autoscale(2, 6);
    pool.inputs.replicas = 2;
    world.settle_and_boot(&mut pool).await;
    assert!(world.sim.world().set_cpu(SET, Some(90.0)));
    let mark = world.recorder.mark();
    let mut counts = vec![2];
    for _ in 0..60 {
        world.wait(60).await;
        let replicas = world.refresh(&mut pool).await.unwrap().replicas.unwrap();
        if counts.last() != Some(&replicas) {
            counts.push(replicas);
        }
        assert!(world.pass(&mut pool).await.writes().is_empty());
    }
    assert_eq!(counts, [2, 3, 4, 5, 6], "one at a time, up to the bound");
    assert!(writes(&world.recorder.since(mark)).is_empty());
}

/// Proves: AZURE-35.
#[tokio::test(start_paused = true)]
async fn a_scaler_outside_has_no_setting_beside_it() {
    let world = World::new();
    let mut pool = Pool::demo();
    pool.autoscale(2, 6);
    world.settle_and_boot(&mut pool).await;
    pool.set("autoscaler", json!("external"));
    pool.set("autoscaling_scale_out_cpu_percent", json!(30));
    pool.set("autoscaling_scale_in_cpu_percent", json!(40));
    let calls = world.settle(&mut pool).await;
    assert_eq!(
        writes(&calls),
        [format!("DELETE autoscalesettings/{SET}-autoscale")]
    );
    assert_eq!(pool.outputs().extra["autoscale_setting_id"], json!(null));
    assert!(world.sim.world().settings().is_empty());
    assert!(world.pass(&mut pool).await.is_settled());
    pool.set("autoscaling_scale_out_cpu_percent", json!(75));
    pool.set("autoscaling_scale_in_cpu_percent", json!(25));
    pool.inputs.autoscaling = remuda_plan::pool::inputs::Autoscaling::OFF;
    let calls = world.settle(&mut pool).await;
    assert_eq!(
        writes(&calls),
        [format!("PUT autoscalesettings/{SET}-autoscale")]
    );
}

/// Proves: AZURE-75.
#[tokio::test(start_paused = true)]
async fn a_set_without_instances_is_pending() {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle_and_boot(&mut pool).await;
    for instance in 0..3 {
        assert!(world.sim.world().operate(SET, instance, "vanish"));
    }
    assert!(
        world
            .sim
            .world()
            .edit(SET, &json!({ "sku": { "capacity": 3 } }))
    );
    let outputs = world.refresh(&mut pool).await.unwrap();
    assert_eq!(outputs.health.state, MemberState::Pending);
    assert_eq!(outputs.health.reasons, ["NoMembers"]);
}
