//! A world that is saved and restored goes on as if nobody had stopped it.

use remuda_sim::{RestoreError, SimClock, azure::AzureSim};
use serde_json::{Value, json};

use crate::client::{Client, demo, fixed_setting, set_path, setting_path, start};

fn restore(client: &Client) -> Client {
    let clock = SimClock::starting_at(start());
    let sim = AzureSim::builder()
        .clock(clock)
        .restore(&client.sim.save())
        .unwrap();
    Client {
        sim,
        ..client.clone()
    }
}

fn seen(client: &Client) -> Value {
    let world = client.sim.world();
    json!({
        "now": client.sim.clock().now(),
        "sets": world.scale_sets(),
        "settings": world.settings(),
        "operations": world.operations(),
    })
}

#[tokio::test(start_paused = true)]
async fn processes_and_tokens_go_on_after_a_restore() {
    let client = demo().await;
    client.settled_set("workers", 3).await;
    client
        .put(&setting_path("s"), fixed_setting("workers", 5))
        .await
        .ok();
    client.pass(60).await;
    let (before, after) = (client.clone(), restore(&client));
    assert_eq!(seen(&before), seen(&after));
    for client in [&before, &after] {
        assert_eq!(client.instances("workers").await.len(), 5);
        client.sim.tick();
    }
    before.pass(200).await;
    after.sim.tick();
    assert_eq!(seen(&before), seen(&after));
    after.delete(&set_path("workers")).await.ok();
    assert!(after.sim.world().custom_data("workers").is_some());
}

#[tokio::test(start_paused = true)]
async fn every_change_is_made_known() {
    let client = demo().await;
    let mut changes = client.sim.changes();
    changes.borrow_and_update();
    client.get(&set_path("workers")).await;
    assert!(!changes.has_changed().unwrap());
    client.settled_set("workers", 0).await;
    assert!(changes.has_changed().unwrap());
}

#[test]
fn other_bytes_are_refused() {
    let refused = |saved: &[u8]| AzureSim::builder().restore(saved).unwrap_err();
    assert!(matches!(
        refused(br#"{"format":99}"#),
        RestoreError::Format { found: 99, .. }
    ));
    assert!(matches!(refused(b"{"), RestoreError::Unreadable { .. }));
    let mut saved: Value = serde_json::from_slice(&AzureSim::builder().demo().save()).unwrap();
    saved["subscriptions"][0]["place"] = 3.into();
    let bytes = serde_json::to_vec(&saved).unwrap();
    assert!(matches!(refused(&bytes), RestoreError::Contradictory(_)));
}
