//! Long-running operations (Azure document 4.6): every style of pointing to one, lost ones, failed
//! ones, and none that is waited for within a pass.

use std::time::Duration;

use remuda_plan::{
    azure::observed::OperationState,
    error::FailureClass,
    pool::read::{Depth, Freshness, Read},
};
use remuda_sim::azure::OperationHeaders;
use serde_json::json;
use tokio::time::Instant;

use crate::harness::{
    World,
    demo::{Pool, ROTATED, SET},
    wire::{answer, writes},
};

#[tokio::test(start_paused = true)]
async fn every_way_of_pointing_to_an_operation_comes_to_the_same_end() {
    use OperationHeaders::{AsyncOnly, Both, LocationOnly, Neither};
    for style in [Both, AsyncOnly, LocationOnly, Neither] {
        let world = World::new();
        world
            .sim
            .world()
            .set_behaviour(|behaviour| behaviour.operation_headers = style);
        let mut pool = Pool::demo();
        let mut calls = world.settle(&mut pool).await;
        pool.bootstrap(ROTATED);
        calls.extend(world.settle(&mut pool).await);
        calls.extend(world.delete(&mut pool).await);
        let set = |method: &str| format!("{method} virtualMachineScaleSets/{SET}");
        let setting = |method: &str| format!("{method} autoscalesettings/{SET}-autoscale");
        assert_eq!(
            writes(&calls),
            [
                set("PUT"),
                setting("PUT"),
                set("PATCH"),
                setting("DELETE"),
                set("PATCH"),
                set("DELETE")
            ],
            "{style:?}"
        );
        let looks = calls
            .iter()
            .any(|call| call.name == "GET operations" || call.name == "GET operationresults");
        assert_eq!(looks, style != Neither, "{style:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_pass_waits_for_an_operation() {
    let world = World::new();
    let mut pool = Pool::demo();
    for _ in 0..30 {
        let started = Instant::now();
        let pass = world.pass(&mut pool).await;
        assert!(
            started.elapsed() <= Duration::from_secs(5),
            "a pass took {:?}",
            started.elapsed()
        );
        if pass.is_settled() {
            return;
        }
        world.wait(10).await;
    }
    panic!("never settled");
}

async fn look(world: &World, pool: &Pool) -> Read<OperationState> {
    let handle = world.handle(pool);
    world
        .observe(&handle, Depth::Full, Freshness::Fresh)
        .await
        .operation
}

/// A pool whose set is being made.
async fn under_way() -> (World, Pool) {
    let world = World::new();
    let mut pool = Pool::demo();
    let pass = world.pass(&mut pool).await;
    assert!(pass.pending.is_some());
    (world, pool)
}

#[tokio::test(start_paused = true)]
async fn an_operation_is_read_as_azure_tells_it() {
    let (world, pool) = under_way().await;
    let running = look(&world, &pool).await;
    assert_eq!(
        running,
        Read::Known(OperationState::Running {
            retry_after_seconds: Some(10)
        })
    );
    let cases = [
        (
            200,
            json!({ "status": "SUCCEEDED" }),
            Some(OperationState::Succeeded),
        ),
        (
            200,
            json!({ "name": SET, "properties": {} }),
            Some(OperationState::Succeeded),
        ),
        (
            200,
            json!({ "status": "Migrating" }),
            Some(OperationState::Running {
                retry_after_seconds: None,
            }),
        ),
        (
            404,
            json!({ "error": { "code": "NotFound", "message": "x" } }),
            Some(OperationState::Lost),
        ),
        (
            403,
            json!({ "error": { "code": "AuthorizationFailed", "message": "x" } }),
            None,
        ),
    ];
    for (status, body, expected) in cases {
        let (told, asked) = (body.clone(), status);
        world.recorder.answer_with(move |call| {
            call.path
                .contains("/operations/")
                .then(|| answer(asked, &[], &told))
        });
        let state = look(&world, &pool).await;
        assert_eq!(state.known(), expected.as_ref(), "{status} {body}");
    }
    for status in ["Canceled", "cancelled", "Failed"] {
        world.recorder.answer_with(move |call| {
            let body = json!({ "status": status, "error": {
                "code": "ResourceOperationFailure", "message": "it failed",
                "details": [{ "code": "OverconstrainedZonalAllocationRequest", "message": "zone 2" }],
            }});
            call.path.contains("/operations/").then(|| answer(200, &[], &body))
        });
        let Read::Known(OperationState::Failed(failure)) = look(&world, &pool).await else {
            panic!("{status} is a failure");
        };
        assert_eq!(failure.class, FailureClass::Constraint);
        assert_eq!(failure.code, "OverconstrainedZonalAllocationRequest");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_operation_is_decided_from_the_set() {
    let (world, mut pool) = under_way().await;
    world.sim.world().forget_operations();
    let calls = world.settle(&mut pool).await;
    assert_eq!(
        writes(&calls),
        [format!("PUT autoscalesettings/{SET}-autoscale")]
    );
}

#[tokio::test(start_paused = true)]
async fn an_address_elsewhere_is_lost_and_gets_no_token() {
    let (world, pool) = under_way().await;
    let mut handle = match world.handle(&pool) {
        remuda_plan::driver::Handle::Azure(handle) => handle,
        remuda_plan::driver::Handle::Aws(_) => panic!("the pool is Azure's"),
    };
    handle.operation = Some("https://evil.example/operations/1".to_owned());
    let handle = remuda_plan::driver::Handle::Azure(handle);
    let seen = world.observe(&handle, Depth::Full, Freshness::Fresh).await;
    assert_eq!(seen.operation, Read::Known(OperationState::Lost));
    assert!(
        world
            .recorder
            .since(0)
            .iter()
            .all(|call| !call.origin.contains("evil"))
    );
}

/// Proves: AZURE-91.
#[tokio::test(start_paused = true)]
async fn a_busy_set_is_looked_at_until_it_rests_before_the_write_is_repeated() {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle_and_boot(&mut pool).await;
    // Somebody else is at work: the first PATCH meets it, later passes see the set's state.
    world.recorder.answer_with(|call| {
        call.name.starts_with("PATCH").then(|| {
            let body = json!({ "error": {
                "code": "AnotherOperationInProgress", "message": "another operation is in progress",
            }});
            answer(409, &[], &body)
        })
    });
    let before = pool.inputs.bootstrap_data.clone();
    pool.bootstrap(ROTATED);
    let pass = world.pass(&mut pool).await;
    let failure = pass.failed.expect("refused");
    assert_eq!(failure.class, FailureClass::Contended);
    assert_eq!(failure.retry_after_seconds, Some(30));
    world.recorder.pass_everything();
    // The set is busy indeed: Autoscale changes its capacity.
    let sent = pool.inputs.bootstrap_data.clone();
    pool.inputs.bootstrap_data = before;
    pool.inputs.replicas = 4;
    world.settle(&mut pool).await;
    world.sim.world().run_autoscale();
    pool.inputs.bootstrap_data = sent;
    let pass = world.pass(&mut pool).await;
    assert!(pass.writes().is_empty(), "{:?}", pass.writes());
    assert!(!pass.is_settled());
    let calls = world.settle(&mut pool).await;
    assert_eq!(
        writes(&calls),
        [format!("PATCH virtualMachineScaleSets/{SET}")]
    );
}
