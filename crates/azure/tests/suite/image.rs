//! The image lookup (Azure document 10.1, E-IMAGE-NOT-FOUND).

use http::Response;
use http_body_util::Full;
use remuda_sim::azure::{DEMO_GALLERY, DEMO_SUBSCRIPTION};
use serde_json::json;

use crate::harness::{
    World,
    demo::{Pool, SET},
    wire::{Recorded, answer},
};

fn is_lookup(call: &Recorded) -> bool {
    call.path.contains("/images/")
}

#[tokio::test(start_paused = true)]
async fn an_image_that_is_not_there_is_refused_before_anything_is_written() {
    let world = World::new();
    let image = format!("{DEMO_GALLERY}/versions/1.34.1");
    world.sim.world().remove_image(&image);
    let mut pool = Pool::demo();
    let pass = world.pass(&mut pool).await;
    let codes: Vec<&str> = pass.refused.iter().map(|refusal| refusal.code).collect();
    assert_eq!(codes, ["E-IMAGE-NOT-FOUND"]);
    assert!(pass.refused[0].message.contains(&image));
    assert!(pass.writes().is_empty());
    let lookup = pass.call("GET versions");
    let place = format!(
        "/subscriptions/{DEMO_SUBSCRIPTION}/providers/Microsoft.Compute/locations/westeurope"
    );
    assert_eq!(lookup.path, format!("{place}{image}"));
    // Somebody publishes it: the next pass goes on.
    world.sim.world().add_image(&image, Some("v1.34.1"));
    let pass = world.pass(&mut pool).await;
    assert_eq!(
        pass.writes(),
        [format!("PUT virtualMachineScaleSets/{SET}")]
    );
}

#[tokio::test(start_paused = true)]
async fn images_of_ones_own_are_looked_up_where_they_are() {
    let world = World::new();
    let group = format!("/subscriptions/{DEMO_SUBSCRIPTION}/resourceGroups/images/providers");
    for (id, version) in [
        ("Microsoft.Compute/images/golden", "2024-11-01"),
        (
            "Microsoft.Compute/galleries/g/images/i/versions/1.2.3",
            "2024-03-03",
        ),
    ] {
        let id = format!("{group}/{id}");
        let mut pool = Pool::demo();
        pool.set("image_id", json!(id));
        let pass = world.pass(&mut pool).await;
        assert_eq!(pass.refused[0].code, "E-IMAGE-NOT-FOUND", "{id}");
        let lookup = pass.calls.iter().find(|call| is_lookup(call)).unwrap();
        assert_eq!(lookup.path, id);
        assert_eq!(lookup.query, format!("api-version={version}"));
        world.sim.world().add_image(&id, None);
        let pass = world.pass(&mut pool).await;
        assert!(pass.refused.is_empty(), "{id}");
        world.sim.world().delete_set(SET);
    }
}

#[tokio::test(start_paused = true)]
async fn one_lookup_serves_all_pools_and_one_in_use_is_not_looked_up() {
    let world = World::new();
    let mark = world.recorder.mark();
    for name in ["workers", "others"] {
        world.settle(&mut Pool::named(name)).await;
    }
    let looked = |mark: usize| {
        let calls = world.recorder.since(mark);
        calls.iter().filter(|call| is_lookup(call)).count()
    };
    assert_eq!(looked(mark), 1);
    let mut pool = Pool::named("workers");
    world.settle(&mut pool).await;
    world.wait(301).await;
    let mark = world.recorder.mark();
    world.pass(&mut pool).await;
    assert_eq!(looked(mark), 0);
}

#[tokio::test(start_paused = true)]
async fn a_lookup_that_fails_stops_nothing() {
    let world = World::new();
    world.recorder.answer_with(|call| {
        let denied = json!({ "error": { "code": "AuthorizationFailed", "message": "no" } });
        let refused: fn(&serde_json::Value) -> Response<Full<bytes::Bytes>> =
            |body| answer(403, &[], body);
        is_lookup(call).then(|| refused(&denied))
    });
    let mut pool = Pool::demo();
    let pass = world.pass(&mut pool).await;
    assert_eq!(
        pass.writes(),
        [format!("PUT virtualMachineScaleSets/{SET}")]
    );
}
