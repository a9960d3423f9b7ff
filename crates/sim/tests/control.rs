//! The hands on the world as JSON.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use axum::body::Body;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use support::{Client, demo};
use tower::ServiceExt;

async fn ask(client: &Client, method: &str, path: &str, body: Value) -> (StatusCode, Value) {
    let request = Request::builder()
        .method(method)
        .uri(format!("/_sim{path}"))
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))
        .unwrap();
    let router = client
        .sim
        .router()
        .nest("/_sim", client.sim.control_router());
    let answer = router.oneshot(request).await.unwrap();
    let status = answer.status();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (
        status,
        serde_json::from_slice(&bytes).unwrap_or(Value::String(text)),
    )
}

#[tokio::test(start_paused = true)]
async fn a_person_can_look_and_meddle() {
    let client = demo();
    client.create_group("pool", "1").await;
    client.pass(30).await;
    let (_, world) = ask(&client, "GET", "/world", Value::Null).await;
    assert_eq!(world["groups"][0]["name"], "pool");
    assert_eq!(world["instances"][0]["state"], "running");
    let id = world["instances"][0]["id"].as_str().unwrap();
    let (status, _) = ask(
        &client,
        "POST",
        &format!("/instances/{id}/stop"),
        Value::Null,
    )
    .await;
    assert_eq!(status, StatusCode::OK);
    let (_, world) = ask(&client, "GET", "/world", Value::Null).await;
    assert_eq!(world["instances"][0]["state"], "stopping");
    let none = json!({ "zone": "us-east-1a", "instanceType": "*", "instances": 0 });
    assert_eq!(
        ask(&client, "POST", "/capacity", none).await.0,
        StatusCode::OK
    );
    let cpu = json!({ "percent": 80.0 });
    assert_eq!(
        ask(&client, "POST", "/groups/pool/cpu", cpu.clone())
            .await
            .0,
        StatusCode::OK
    );
    assert_eq!(
        ask(&client, "POST", "/groups/none/cpu", cpu).await.0,
        StatusCode::NOT_FOUND
    );
    let (_, journal) = ask(&client, "GET", "/journal?since=1", Value::Null).await;
    assert_eq!(journal["calls"][0]["action"], "CreateAutoScalingGroup");
    assert_eq!(journal["next"], 2);
    ask(&client, "DELETE", "/journal", Value::Null).await;
    assert!(client.sim.journal().calls().is_empty());
}

#[tokio::test(start_paused = true)]
async fn faults_are_scripted_and_ended() {
    let client = demo();
    let fault = json!({
        "effect": "throttle", "service": "ec2", "action": "DescribeInstances", "every": 2,
    });
    assert_eq!(
        ask(&client, "POST", "/faults", fault).await.0,
        StatusCode::OK
    );
    client.ec2("DescribeInstances", &[]).await.ok();
    assert_eq!(
        client.ec2("DescribeInstances", &[]).await.code(),
        "RequestLimitExceeded"
    );
    ask(&client, "DELETE", "/faults", Value::Null).await;
    client.ec2("DescribeInstances", &[]).await.ok();
    client.ec2("DescribeInstances", &[]).await.ok();
}

#[tokio::test(start_paused = true)]
async fn bad_input_says_what_is_wrong() {
    let client = demo();
    let cases = [
        (json!({ "effect": "latency" }), "needs seconds"),
        (
            json!({ "effect": "latency", "seconds": -1 }),
            "needs seconds",
        ),
        (json!({ "effect": "refuse" }), "needs code"),
        (
            json!({ "effect": "throttle", "action": "PutObject" }),
            "needs service",
        ),
        (json!({ "effect": "explode" }), "explode"),
        (
            json!({ "effect": "throttle", "services": "ec2" }),
            "services",
        ),
    ];
    for (body, reason) in cases {
        let (status, answer) = ask(&client, "POST", "/faults", body).await;
        assert!(status.is_client_error());
        assert!(answer.to_string().contains(reason), "{answer}");
    }
    let (status, _) = ask(&client, "POST", "/instances/i-0/explode", Value::Null).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(!client.sim.faults().pending());
}
