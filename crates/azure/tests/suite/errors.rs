//! What a failed call comes to, as its caller sees it (Azure document 10).

use remuda_plan::{
    error::FailureClass,
    pool::read::{Depth, Freshness},
};
use remuda_sim::{
    Effect, Fault,
    azure::{DEMO_CLIENT_ID, DEMO_GROUP, DEMO_SUBSCRIPTION},
};
use serde_json::json;

use crate::harness::{
    World,
    demo::{Pool, ROTATED, SET},
    wire::{answer, names, writes},
};

/// Proves: AZURE-100.
#[tokio::test(start_paused = true)]
async fn a_next_page_on_another_host_is_not_fetched() {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle_and_boot(&mut pool).await;
    let before = pool.outputs().clone();
    world.recorder.answer_with(|call| {
        let link = "https://management.azure.com.evil.example/subscriptions?$skiptoken=1";
        call.path
            .ends_with("/virtualMachines")
            .then(|| answer(200, &[], &json!({ "value": [], "nextLink": link })))
    });
    world.wait(60).await;
    let failure = world.refresh(&mut pool).await.unwrap_err();
    assert_eq!(failure.class, FailureClass::Bug);
    assert_eq!(pool.outputs(), &before);
    let calls = world.recorder.since(0);
    assert!(calls.iter().all(|call| !call.origin.contains("evil")));
}

#[tokio::test(start_paused = true)]
async fn a_page_after_the_last_is_an_empty_link() {
    let world = World::new();
    let pool = Pool::demo();
    world.recorder.answer_with(|call| {
        call.path
            .ends_with("/virtualMachineScaleSets")
            .then(|| answer(200, &[], &json!({ "value": [], "nextLink": "" })))
    });
    let handle = world.handle(&pool);
    let seen = world
        .observe(&handle, Depth::Members, Freshness::Fresh)
        .await;
    assert!(seen.sets.known().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_missing_right_is_named_and_looked_at_every_five_minutes() {
    let world = World::new();
    world.sim.world().revoke(DEMO_CLIENT_ID, DEMO_SUBSCRIPTION);
    let mut pool = Pool::demo();
    let failure = world.pass(&mut pool).await.failed.unwrap();
    assert_eq!(failure.class, FailureClass::Denied);
    assert_eq!(failure.code, "AuthorizationFailed");
    assert!(failure.message.contains("Microsoft."), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn a_missing_group_refuses_the_set() {
    let world = World::new();
    assert!(
        world
            .sim
            .world()
            .delete_group(DEMO_SUBSCRIPTION, DEMO_GROUP)
    );
    let mut pool = Pool::demo();
    let failure = world.pass(&mut pool).await.failed.unwrap();
    assert_eq!(failure.class, FailureClass::Rejected);
    assert!(failure.message.contains(DEMO_GROUP), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn an_unregistered_provider_is_named() {
    let world = World::new();
    world
        .sim
        .world()
        .set_registered(DEMO_SUBSCRIPTION, "Microsoft.Compute", false);
    let mut pool = Pool::demo();
    let failure = world.pass(&mut pool).await.failed.unwrap();
    assert_eq!(failure.class, FailureClass::Denied);
    assert!(failure.message.contains("Microsoft.Compute"), "{failure}");
}

/// Proves: AZURE-68.
#[tokio::test(start_paused = true)]
async fn a_set_that_appears_meanwhile_is_not_overwritten() {
    let world = World::new();
    let mut pool = Pool::demo();
    let mut foreign = Pool::named("workers");
    foreign
        .inputs
        .captf_tags
        .insert("captf.io/name".to_owned(), "foreign".to_owned());
    world.settle(&mut foreign).await;
    let tags = world.sim.world().scale_set(SET).unwrap().tags;
    let pass = world.pass(&mut pool).await;
    assert_eq!(pass.refused[0].code, "E-NAME-TAKEN", "{:?}", pass.refused);
    assert!(writes(&pass.calls).is_empty());
    assert!(
        world
            .sim
            .world()
            .delete_setting(&format!("{SET}-autoscale"))
    );
    // Even where no read shows it, the PUT itself does not overwrite it.
    world.recorder.answer_with(|call| {
        let hides = call.name == "GET virtualMachineScaleSets";
        let is_list = call.path.ends_with("/virtualMachineScaleSets");
        let absent = json!({ "error": { "code": "ResourceNotFound", "message": "x" } });
        hides.then(|| {
            if is_list {
                answer(200, &[], &json!({ "value": [] }))
            } else {
                answer(404, &[], &absent)
            }
        })
    });
    world.wait(60).await;
    let pass = world.pass(&mut pool).await;
    let failure = pass
        .failed
        .unwrap_or_else(|| panic!("{:?} {:?}", pass.refused, names(&pass.calls)));
    assert_eq!(failure.class, FailureClass::AlreadyExists);
    assert_eq!(world.sim.world().scale_set(SET).unwrap().tags, tags);
}

#[tokio::test(start_paused = true)]
async fn trouble_of_azures_own_is_tried_again_within_the_pass() {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle(&mut pool).await;
    pool.bootstrap(ROTATED);
    let effects = [
        Effect::InternalError,
        Effect::Disconnect,
        Effect::Unavailable,
    ];
    for (before, effect) in (0..).zip(effects) {
        let fault = Fault::new(effect).on("compute", "VirtualMachineScaleSets_Update");
        world.sim.faults().script(fault.skip(before).once());
    }
    let pass = world.pass(&mut pool).await;
    assert!(pass.failed.is_none(), "{:?}", pass.failed);
    let tries = names(&pass.calls)
        .into_iter()
        .filter(|name| name.starts_with("PATCH"))
        .count();
    assert_eq!(tries, 4);
}

#[tokio::test(start_paused = true)]
async fn no_failure_repeats_custom_data_or_a_token() {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle(&mut pool).await;
    pool.bootstrap(ROTATED);
    world.recorder.answer_with(|call| {
        call.name.starts_with("PATCH").then(|| {
            let sent = call.json();
            let data = sent.pointer("/properties/virtualMachineProfile/osProfile/customData");
            let bearer = call.headers["authorization"].to_str().unwrap();
            let text = format!("customData {} of {bearer} is bad", data.unwrap());
            answer(
                400,
                &[],
                &json!({ "error": { "code": "InvalidParameter", "message": text } }),
            )
        })
    });
    let pass = world.pass(&mut pool).await;
    let patch = pass.call("PATCH virtualMachineScaleSets");
    let sent = patch.json();
    let data = sent.pointer("/properties/virtualMachineProfile/osProfile/customData");
    let failure = pass.failed.as_ref().expect("refused");
    assert_eq!(failure.class, FailureClass::Rejected);
    let shown = format!("{failure} {failure:?} {:?}", pass.steps);
    assert!(!shown.contains(data.unwrap().as_str().unwrap()));
    assert!(!shown.contains(ROTATED));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_no_json_is_not_quoted() {
    let world = World::new();
    let pool = Pool::demo();
    world.recorder.answer_with(|call| {
        let body = http_body_util::Full::new(bytes::Bytes::from_static(b"<html>secret</html>"));
        call.path
            .ends_with("/virtualMachineScaleSets")
            .then(|| http::Response::new(body))
    });
    let handle = world.handle(&pool);
    let seen = world
        .observe(&handle, Depth::Members, Freshness::Fresh)
        .await;
    let remuda_plan::pool::read::Read::Unknown(failure) = seen.sets else {
        panic!("the answer cannot be read");
    };
    assert_eq!(failure.class, FailureClass::Bug);
    assert!(!failure.message.contains("secret"), "{failure}");
}
