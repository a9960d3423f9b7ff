//! Scheduled Events: what the guests of a set are told of each other's end, and their answer.

use std::time::Duration;

use axum::body::Body;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::client::{Client, demo, set_body, set_path};

const EVENTS: &str = "/metadata/scheduledevents?api-version=2020-07-01";

/// A request of the guest of an instance to its metadata service.
async fn ask(
    client: &Client,
    instance: u32,
    method: Method,
    path: &str,
    body: Option<Value>,
) -> (StatusCode, Value) {
    let id = format!("{}/virtualMachines/{instance}", set_path("workers"));
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("Metadata", "true")
        .body(Body::from(
            body.map_or_else(String::new, |body| body.to_string()),
        ))
        .unwrap();
    let answer = client
        .sim
        .metadata_router(&id)
        .oneshot(request)
        .await
        .unwrap();
    let status = answer.status();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

async fn events(client: &Client, instance: u32) -> Value {
    let (status, document) = ask(client, instance, Method::GET, EVENTS, None).await;
    assert_eq!(status, 200, "{document}");
    document
}

async fn start(client: &Client, instance: u32, event: &str) -> StatusCode {
    let body = json!({ "StartRequests": [{ "EventId": event }] });
    ask(client, instance, Method::POST, EVENTS, Some(body))
        .await
        .0
}

async fn delete(client: &Client, instance: &str) {
    let body = json!({ "instanceIds": [instance] });
    let path = format!("{}/delete", set_path("workers"));
    let answer = client.post(&path, body).await;
    assert_eq!(answer.status, 202, "{}", answer.body);
}

fn instances(client: &Client) -> Vec<String> {
    let set = client.sim.world().scale_set("workers").unwrap();
    set.instances.into_iter().map(|it| it.instance_id).collect()
}

/// A set whose guests are told five minutes ahead.
async fn told() -> Client {
    let client = demo().await;
    let mut body = set_body("workers", 2);
    body["properties"]["virtualMachineProfile"]["scheduledEventsProfile"] =
        json!({ "terminateNotificationProfile": { "enable": true, "notBeforeTimeout": "PT5M" } });
    client.put(&set_path("workers"), body).await.ok();
    client.pass(120).await;
    client
}

#[tokio::test(start_paused = true)]
async fn a_deletion_is_announced_to_all_guests_and_waits_for_the_answer() {
    let client = told().await;
    let before = events(&client, 0).await;
    assert_eq!(before["Events"], json!([]));
    delete(&client, "1").await;
    let document = events(&client, 0).await;
    assert_eq!(document, events(&client, 1).await, "the whole set is told");
    assert!(document["DocumentIncarnation"].as_u64() > before["DocumentIncarnation"].as_u64());
    let event = &document["Events"][0];
    assert_eq!(event["EventType"], "Terminate");
    assert_eq!(event["EventStatus"], "Scheduled");
    assert_eq!(event["Resources"], json!(["workers_1"]));
    assert_eq!(event["ResourceType"], "VirtualMachine");
    // 08:02:00 and five minutes.
    assert_eq!(event["NotBefore"], "Thu, 01 Oct 2026 08:07:00 GMT");
    client.pass(200).await;
    assert_eq!(instances(&client), ["0", "1"]);
    let shown = client
        .get(&format!(
            "{}/virtualMachines/1?$expand=instanceView",
            set_path("workers")
        ))
        .await
        .ok()
        .body;
    assert_eq!(shown["properties"]["provisioningState"], "Deleting");

    let id = event["EventId"].as_str().unwrap();
    assert_eq!(start(&client, 1, "another").await, 400);
    assert_eq!(start(&client, 1, id).await, 200);
    let begun = events(&client, 0).await;
    assert_eq!(begun["Events"][0]["EventStatus"], "Started");
    assert_eq!(begun["Events"][0]["NotBefore"], "");
    client.pass(60).await;
    assert_eq!(instances(&client), ["0"]);
    assert_eq!(events(&client, 0).await["Events"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn without_an_answer_azure_goes_on_after_the_announced_time() {
    let client = told().await;
    delete(&client, "0").await;
    client.pass(299).await;
    assert_eq!(instances(&client), ["0", "1"]);
    client.pass(60).await;
    assert_eq!(instances(&client), ["1"]);
}

#[tokio::test(start_paused = true)]
async fn a_set_without_notification_tells_nobody() {
    let client = demo().await;
    let mut body = set_body("workers", 2);
    let profile = &mut body["properties"]["virtualMachineProfile"];
    profile
        .as_object_mut()
        .unwrap()
        .remove("scheduledEventsProfile");
    client.put(&set_path("workers"), body).await.ok();
    client.pass(120).await;
    delete(&client, "0").await;
    assert_eq!(events(&client, 1).await["Events"], json!([]));
    client.pass(60).await;
    assert_eq!(instances(&client), ["1"]);
}

#[tokio::test(start_paused = true)]
async fn an_eviction_is_announced_and_may_begin_early() {
    let client = demo().await;
    let mut body = set_body("workers", 2);
    let profile = &mut body["properties"]["virtualMachineProfile"];
    profile["priority"] = "Spot".into();
    profile["evictionPolicy"] = "Delete".into();
    client.put(&set_path("workers"), body).await.ok();
    client.pass(120).await;
    assert!(client.sim.world().operate("workers", 0, "evict"));
    let document = events(&client, 0).await;
    let event = &document["Events"][0];
    assert_eq!(event["EventType"], "Preempt");
    assert_eq!(event["NotBefore"], "Thu, 01 Oct 2026 08:02:30 GMT");
    assert_eq!(
        start(&client, 0, event["EventId"].as_str().unwrap()).await,
        200
    );
    assert_eq!(client.sim.world().scale_set("workers").unwrap().capacity, 1);
    client.sim.pass(Duration::from_secs(25)).await;
    assert_eq!(instances(&client), ["1"]);
}

#[tokio::test(start_paused = true)]
async fn a_guest_is_told_who_it_is_and_reaches_nothing_else() {
    let client = told().await;
    let path = "/metadata/instance?api-version=2021-02-01";
    let (status, described) = ask(&client, 1, Method::GET, path, None).await;
    assert_eq!(status, 200);
    let compute = &described["compute"];
    assert_eq!(compute["name"], "workers_1");
    assert_eq!(compute["vmScaleSetName"], "workers");
    assert_eq!(
        compute["resourceId"],
        format!("{}/virtualMachines/1", set_path("workers"))
    );
    let arm = format!("{}?api-version=2024-11-01", set_path("workers"));
    assert_eq!(ask(&client, 1, Method::GET, &arm, None).await.0, 404);
    assert_eq!(
        ask(&client, 7, Method::GET, EVENTS, None).await.0,
        404,
        "no such machine"
    );
    let unversioned = "/metadata/scheduledevents";
    assert_eq!(ask(&client, 1, Method::GET, unversioned, None).await.0, 400);
    let plain = Request::get(EVENTS).body(Body::empty()).unwrap();
    let id = format!("{}/virtualMachines/1", set_path("workers"));
    let answer = client
        .sim
        .metadata_router(&id)
        .oneshot(plain)
        .await
        .unwrap();
    assert_eq!(answer.status(), 400, "the header Metadata is missing");
}

/// Deleting instances keeps nobody from the set, unless the world is set to it.
#[tokio::test(start_paused = true)]
async fn instances_are_deleted_beside_other_writes() {
    let client = told().await;
    delete(&client, "0").await;
    delete(&client, "1").await;
    let grow = json!({ "sku": { "name": "Standard_D4s_v5", "tier": "Standard", "capacity": 2 } });
    client.patch(&set_path("workers"), grow.clone()).await.ok();
    client.pass(500).await;
    assert_eq!(instances(&client), ["2", "3"]);
    client
        .sim
        .world()
        .set_behaviour(|behaviour| behaviour.instance_deletions_lock_sets = true);
    delete(&client, "2").await;
    let refused = client.patch(&set_path("workers"), grow).await;
    assert_eq!(refused.refused(409), "AnotherOperationInProgress");
}
