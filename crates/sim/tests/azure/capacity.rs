//! Autoscale, allocation, Spot, and what people and clouds do to instances.

use remuda_sim::{
    Fault,
    azure::{DEMO_REGION, DEMO_SUBSCRIPTION},
};
use serde_json::{Value, json};

use crate::client::{Client, cpu_setting, demo, fixed_setting, set_body, set_path, setting_path};

async fn capacity(client: &Client) -> u64 {
    let set = client.get(&set_path("workers")).await.ok().body;
    set["sku"]["capacity"].as_u64().unwrap()
}

async fn setting(client: &Client, body: Value) {
    client
        .put(&setting_path("workers-autoscale"), body)
        .await
        .ok();
}

fn spot_body(capacity: u32) -> Value {
    let mut body = set_body("workers", capacity);
    let profile = &mut body["properties"]["virtualMachineProfile"];
    profile["priority"] = "Spot".into();
    profile["evictionPolicy"] = "Delete".into();
    profile["billingProfile"] = json!({ "maxPrice": -1 });
    body
}

#[tokio::test(start_paused = true)]
async fn load_adds_an_instance_a_cooldown_up_to_the_maximum() {
    let client = demo().await;
    client.settled_set("workers", 4).await;
    setting(&client, cpu_setting("workers", 2, 6)).await;
    assert!(client.sim.world().set_cpu("workers", Some(90.0)));
    client.pass(46).await;
    assert_eq!(capacity(&client).await, 5);
    client.pass(240).await;
    assert_eq!(capacity(&client).await, 5);
    client.pass(105).await;
    assert_eq!(capacity(&client).await, 6);
    client.pass(1200).await;
    assert_eq!(capacity(&client).await, 6);
    let activities = client
        .sim
        .world()
        .setting("workers-autoscale")
        .unwrap()
        .activities;
    let sizes: Vec<(u32, u32)> = activities.iter().map(|a| (a.from, a.to)).collect();
    assert_eq!(sizes, [(4, 5), (5, 6)]);
}

#[tokio::test(start_paused = true)]
async fn idleness_takes_instances_away_unless_it_would_flap() {
    let client = demo().await;
    client.settled_set("workers", 3).await;
    setting(&client, cpu_setting("workers", 1, 6)).await;
    client.sim.world().set_cpu("workers", Some(10.0));
    client.pass(46).await;
    assert_eq!(capacity(&client).await, 2);
    // Ten minutes of cooldown, and the announced deletion, before the next.
    client.pass(540).await;
    assert_eq!(capacity(&client).await, 2);
    client.pass(105).await;
    assert_eq!(capacity(&client).await, 1);
    client.pass(1800).await;
    assert_eq!(capacity(&client).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_scale_in_that_would_flap_is_left_out() {
    let client = demo().await;
    client.settled_set("workers", 2).await;
    let mut flapping = cpu_setting("workers", 1, 6);
    let rules = &mut flapping["properties"]["profiles"][0]["rules"];
    rules[0]["metricTrigger"]["threshold"] = 50.into();
    setting(&client, flapping).await;
    // One instance would have 80 %.
    client.sim.world().set_cpu("workers", Some(40.0));
    client.pass(600).await;
    assert_eq!(capacity(&client).await, 2);
}

#[tokio::test(start_paused = true)]
async fn bounds_hold_against_hands_and_without_metrics() {
    let client = demo().await;
    client.settled_set("workers", 3).await;
    setting(&client, fixed_setting("workers", 3)).await;
    client.sim.world().resize("workers", 7);
    assert_eq!(capacity(&client).await, 7);
    client.pass(95).await;
    assert_eq!(capacity(&client).await, 3);
    client.pass(400).await;
    let mut unread = cpu_setting("workers", 2, 6);
    unread["properties"]["profiles"][0]["capacity"]["default"] = "4".into();
    setting(&client, unread).await;
    client.pass(46).await;
    assert_eq!(capacity(&client).await, 4);
}

#[tokio::test(start_paused = true)]
async fn autoscale_that_meets_a_quota_leaves_the_capacity_and_says_so() {
    let client = demo().await;
    client.settled_set("workers", 3).await;
    let world = client.sim.world();
    world.set_core_quota(DEMO_SUBSCRIPTION, DEMO_REGION, Some(12), None);
    setting(&client, fixed_setting("workers", 5)).await;
    world.run_autoscale();
    assert_eq!(capacity(&client).await, 3);
    let activity = world
        .setting("workers-autoscale")
        .unwrap()
        .activities
        .remove(0);
    assert!(activity.failure.unwrap().starts_with("OperationNotAllowed"));
    world.set_core_quota(DEMO_SUBSCRIPTION, DEMO_REGION, None, None);
    world.run_autoscale();
    assert_eq!(capacity(&client).await, 5);
}

#[tokio::test(start_paused = true)]
async fn a_full_zone_is_passed_over_and_a_full_region_fails_the_operation() {
    let client = demo().await;
    let world = client.sim.world();
    world.set_capacity(DEMO_REGION, Some("2"), "Standard_D4s_v5", Some(0));
    client.settled_set("workers", 4).await;
    let zones: Vec<Value> = client
        .instances("workers")
        .await
        .iter()
        .map(|instance| instance["zones"][0].clone())
        .collect();
    assert_eq!(zones, ["1", "3", "1", "3"]);
    for zone in ["1", "3"] {
        world.set_capacity(DEMO_REGION, Some(zone), "*", Some(2));
    }
    let more = client
        .patch(&set_path("workers"), json!({ "sku": { "capacity": 6 } }))
        .await
        .ok();
    client.pass(61).await;
    let operation = more
        .header("azure-asyncoperation")
        .trim_start_matches("https://management.azure.com");
    let failed = client.get(operation).await.ok().body;
    assert_eq!(failed["status"], "Failed");
    assert_eq!(failed["error"]["code"], "ZonalAllocationFailed");
    let set = client.get(&set_path("workers")).await.ok().body;
    assert_eq!(set["properties"]["provisioningState"], "Failed");
    assert_eq!(client.instances("workers").await.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_scripted_allocation_fails_with_its_code() {
    let client = demo().await;
    let code = "OverconstrainedZonalAllocationRequest";
    client
        .sim
        .faults()
        .script(Fault::allocation(code, "size and zone").resource("workers"));
    let made = client
        .put(&set_path("workers"), set_body("workers", 1))
        .await
        .ok();
    client.pass(91).await;
    let address = made
        .header("location")
        .trim_start_matches("https://management.azure.com");
    assert_eq!(client.get(address).await.refused(409), code);
}

#[tokio::test(start_paused = true)]
async fn an_evicted_instance_goes_and_the_minimum_brings_another() {
    let client = demo().await;
    client.put(&set_path("workers"), spot_body(2)).await.ok();
    client.pass(91).await;
    setting(&client, fixed_setting("workers", 2)).await;
    let evict = format!("{}/virtualMachines/0/simulateEviction", set_path("workers"));
    assert_eq!(client.post(&evict, Value::Null).await.status.as_u16(), 204);
    client.pass(20).await;
    assert_eq!(client.powers("workers").await[0].1, "running");
    assert_eq!(
        client.post(&evict, Value::Null).await.refused(409),
        "OperationNotAllowed"
    );
    client.pass(11).await;
    assert_eq!(capacity(&client).await, 1);
    client.pass(21).await;
    let ids = |instances: Vec<Value>| -> Vec<Value> {
        instances
            .iter()
            .map(|instance| instance["instanceId"].clone())
            .collect()
    };
    client.pass(45).await;
    assert_eq!(capacity(&client).await, 2);
    assert_eq!(ids(client.instances("workers").await), ["1", "2"]);
}

#[tokio::test(start_paused = true)]
async fn regular_instances_are_not_evicted() {
    let client = demo().await;
    client.settled_set("workers", 1).await;
    let evict = format!("{}/virtualMachines/0/simulateEviction", set_path("workers"));
    assert_eq!(
        client.post(&evict, Value::Null).await.refused(409),
        "OperationNotAllowed"
    );
    let nobody = format!("{}/virtualMachines/9/simulateEviction", set_path("workers"));
    assert_eq!(
        client.post(&nobody, Value::Null).await.refused(404),
        "NotFound"
    );
}

#[tokio::test(start_paused = true)]
async fn hands_on_instances_show_in_their_power_states() {
    let client = demo().await;
    client.settled_set("workers", 4).await;
    let world = client.sim.world();
    for (instance, verb) in [(1, "stop"), (2, "deallocate"), (3, "hibernate")] {
        assert!(world.operate("workers", instance, verb));
    }
    let power = |powers: Vec<(String, String)>| -> Vec<String> {
        powers.into_iter().map(|(_, power)| power).collect()
    };
    let shown = power(client.powers("workers").await);
    assert_eq!(shown, ["running", "stopped", "deallocated", "hibernated"]);
    assert!(world.operate("workers", 1, "start"));
    assert_eq!(client.powers("workers").await[1].1, "starting");
    client.pass(61).await;
    assert_eq!(client.powers("workers").await[1].1, "running");
    assert!(world.operate("workers", 2, "vanish"));
    assert_eq!(client.instances("workers").await.len(), 3);
    assert_eq!(capacity(&client).await, 4);
    assert!(!world.operate("workers", 2, "stop"));
    assert!(!world.operate("workers", 1, "dance"));
}

#[tokio::test(start_paused = true)]
async fn guests_may_approve_their_end_early() {
    let client = demo().await;
    client.settled_set("workers", 2).await;
    client
        .patch(&set_path("workers"), json!({ "sku": { "capacity": 1 } }))
        .await
        .ok();
    client.pass(10).await;
    assert!(client.sim.world().operate("workers", 1, "approve"));
    client.pass(21).await;
    assert_eq!(client.instances("workers").await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn verbs_that_must_never_be_called_work() {
    let client = demo().await;
    client.settled_set("workers", 2).await;
    let image = "/communityGalleries/ClusterAPI-f72ceb4f-5159-4c26-a0fe-2ea738f0d019/images/capi-ubun2-2404";
    let storage = json!({ "imageReference": { "communityGalleryImageId": format!("{image}/versions/1.34.2") } });
    let patch = json!({ "properties": { "virtualMachineProfile": { "storageProfile": storage } } });
    client.patch(&set_path("workers"), patch).await.ok();
    client.pass(6).await;
    let one = json!({ "instanceIds": ["1"] });
    let nobody = client
        .post(&format!("{}/manualupgrade", set_path("workers")), json!({}))
        .await;
    assert_eq!(nobody.refused(400), "InvalidParameter");
    client
        .post(
            &format!("{}/manualupgrade", set_path("workers")),
            one.clone(),
        )
        .await
        .ok();
    client.pass(6).await;
    let latest: Vec<Value> = client
        .instances("workers")
        .await
        .iter()
        .map(|instance| instance["properties"]["latestModelApplied"].clone())
        .collect();
    assert_eq!(latest, [false, true]);
    client
        .post(&format!("{}/restart", set_path("workers")), one)
        .await
        .ok();
    assert_eq!(client.powers("workers").await[1].1, "starting");
    client.pass(61).await;
    client
        .post(&format!("{}/reimage", set_path("workers")), json!({}))
        .await
        .ok();
    client.pass(61).await;
    assert_eq!(
        client.instances("workers").await[0]["properties"]["latestModelApplied"],
        true
    );
}

#[tokio::test(start_paused = true)]
async fn with_the_policy_deallocate_an_evicted_instance_stays() {
    let client = demo().await;
    let mut body = spot_body(1);
    body["properties"]["virtualMachineProfile"]["evictionPolicy"] = "Deallocate".into();
    client.put(&set_path("workers"), body).await.ok();
    client.pass(91).await;
    assert!(client.sim.world().operate("workers", 0, "evict"));
    client.pass(31).await;
    assert_eq!(client.powers("workers").await[0].1, "deallocated");
    assert_eq!(capacity(&client).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_spot_set_may_be_refused_for_its_terminate_notification() {
    let client = demo().await;
    let world = client.sim.world();
    world.set_behaviour(|behaviour| behaviour.reject_spot_terminate_notification = true);
    let refused = client.put(&set_path("workers"), spot_body(1)).await;
    assert_eq!(refused.refused(400), "InvalidParameter");
    let target = "scheduledEventsProfile.terminateNotificationProfile";
    assert_eq!(refused.body["error"]["target"], target);
    client
        .put(&set_path("regular"), set_body("regular", 1))
        .await
        .ok();
}

#[tokio::test(start_paused = true)]
async fn a_spot_set_has_a_quota_of_its_own() {
    let client = demo().await;
    let world = client.sim.world();
    world.set_core_quota(DEMO_SUBSCRIPTION, DEMO_REGION, None, Some(4));
    client.settled_set("regular", 3).await;
    let much = client.put(&set_path("workers"), spot_body(2)).await;
    assert_eq!(much.refused(409), "OperationNotAllowed");
    client.put(&set_path("workers"), spot_body(1)).await.ok();
    client.pass(91).await;
    client
        .patch(&set_path("workers"), json!({ "sku": { "capacity": 0 } }))
        .await
        .ok();
    client.pass(400).await;
    // What is gone counts no longer.
    client
        .patch(&set_path("workers"), json!({ "sku": { "capacity": 1 } }))
        .await
        .ok();
}
