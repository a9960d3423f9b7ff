//! Throttling: who waits, how long, and what does not change meanwhile (Azure document 10.3, 10.5).

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use remuda_plan::{
    error::FailureClass,
    pool::read::{Depth, Freshness},
};
use serde_json::json;

use crate::harness::{
    World,
    demo::{Pool, ROTATED, SET},
    wire::{Recorded, answer},
};

fn too_many(seconds: &str) -> http::Response<http_body_util::Full<bytes::Bytes>> {
    let body = json!({
        "code": "OperationNotAllowed", "message": "The server rejected the request",
        "details": [{ "code": "TooManyRequests", "target": "PatchVMScaleSet3Min", "message": "too many" }],
    });
    answer(429, &[("Retry-After", seconds)], &body)
}

fn patches(calls: &[Recorded]) -> Vec<&Recorded> {
    calls
        .iter()
        .filter(|call| call.name.starts_with("PATCH"))
        .collect()
}

/// Proves: AZURE-87.
#[tokio::test(start_paused = true)]
async fn a_throttled_patch_waits_as_long_as_azure_asks() {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle(&mut pool).await;
    let refused = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&refused);
    world.recorder.answer_with(move |call| {
        let is_refused =
            call.name.starts_with("PATCH") && counter.fetch_add(1, Ordering::Relaxed) < 5;
        is_refused.then(|| too_many("17"))
    });
    pool.bootstrap(ROTATED);
    let mark = world.recorder.mark();
    let mut fewest_in_a_pass = usize::MAX;
    for _ in 0..10 {
        let pass = world.pass(&mut pool).await;
        let tries = patches(&pass.calls).len();
        assert!(tries <= 16);
        if let Some(failure) = &pass.failed {
            assert_eq!(failure.class, FailureClass::Throttled);
            assert!(failure.retry_after_seconds >= Some(17));
            fewest_in_a_pass = fewest_in_a_pass.min(tries);
            world.wait(failure.retry_after_seconds.unwrap()).await;
        }
        if pass.pending.is_some() {
            break;
        }
    }
    assert!(fewest_in_a_pass >= 1);
    let calls = world.recorder.since(mark);
    let patches = patches(&calls);
    assert_eq!(patches.len(), 6);
    assert_eq!(patches[5].status, 200);
    for pair in patches.windows(2) {
        assert!((pair[1].at - pair[0].at).as_secs() >= 17);
    }
    world.recorder.pass_everything();
    world.settle(&mut pool).await;
}

/// Proves: AZURE-79.
#[tokio::test(start_paused = true)]
async fn a_throttled_second_page_changes_no_output() {
    let world = World::new();
    let mut pool = Pool::demo();
    world
        .sim
        .world()
        .set_behaviour(|behaviour| behaviour.page_size = 2);
    world.settle_and_boot(&mut pool).await;
    let before = pool.outputs().clone();
    world.recorder.answer_with(|call| {
        let is_second_page =
            call.path.ends_with("/virtualMachines") && call.query.contains("skiptoken");
        is_second_page.then(|| too_many("40"))
    });
    world.wait(60).await;
    let failure = world.refresh(&mut pool).await.unwrap_err();
    assert_eq!(failure.class, FailureClass::Throttled);
    assert_eq!(pool.outputs(), &before);
    world.recorder.pass_everything();
    world.wait(60).await;
    assert_eq!(world.refresh(&mut pool).await.unwrap(), before);
}

#[tokio::test(start_paused = true)]
async fn only_the_exceeded_policy_pauses() {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle(&mut pool).await;
    world.recorder.answer_with(|call| {
        call.path
            .ends_with("/virtualMachineScaleSets")
            .then(|| too_many("300"))
    });
    let handle = world.handle(&pool);
    world.wait(60).await;
    let seen = world.observe(&handle, Depth::Full, Freshness::Fresh).await;
    assert!(seen.sets.known().is_none());
    assert!(seen.settings.known().is_some());
    let mark = world.recorder.mark();
    let seen = world
        .observe(&handle, Depth::Members, Freshness::Fresh)
        .await;
    assert!(seen.sets.known().is_none());
    assert_eq!(
        world.recorder.mark(),
        mark,
        "retrying early renews the wait"
    );
}

#[tokio::test(start_paused = true)]
async fn arms_own_limit_pauses_all_reads_of_the_subscription() {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle(&mut pool).await;
    world.recorder.answer_with(|call| {
        let body = json!({ "error": {
            "code": "SubscriptionRequestsThrottled", "message": "reads of the subscription",
        }});
        call.path
            .ends_with("/virtualMachineScaleSets")
            .then(|| answer(429, &[("Retry-After", "300")], &body))
    });
    let handle = world.handle(&pool);
    world.wait(60).await;
    world
        .observe(&handle, Depth::Members, Freshness::Fresh)
        .await;
    let mark = world.recorder.mark();
    let seen = world.observe(&handle, Depth::Full, Freshness::Fresh).await;
    assert!(seen.settings.known().is_none());
    assert_eq!(world.recorder.mark(), mark);
}

#[tokio::test(start_paused = true)]
async fn refreshes_are_stretched_while_little_is_left() {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle_and_boot(&mut pool).await;
    let refreshes_with_a_list = async |seconds: u32| {
        let handle = world.handle(&pool);
        world.wait(200).await;
        world
            .observe(&handle, Depth::Members, Freshness::Steady)
            .await;
        let mark = world.recorder.mark();
        world.wait(seconds).await;
        world
            .observe(&handle, Depth::Members, Freshness::Steady)
            .await;
        let calls = world.recorder.since(mark);
        calls
            .iter()
            .any(|call| call.path.ends_with("/virtualMachineScaleSets"))
    };
    assert!(refreshes_with_a_list(31).await);
    world.recorder.answer_with(|call| {
        call.path.ends_with("/virtualMachineScaleSets").then(|| {
            let left = [("x-ms-ratelimit-remaining-subscription-reads", "20")];
            answer(200, &left, &json!({ "value": [] }))
        })
    });
    assert!(!refreshes_with_a_list(31).await);
    assert!(refreshes_with_a_list(61).await);
    assert_eq!(world.sim.world().scale_set(SET).unwrap().capacity, 3);
}
