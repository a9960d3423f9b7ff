//! The hands on the world as JSON.

use axum::body::Body;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use remuda_sim::azure::{DEMO_GROUP, DEMO_REGION, DEMO_SUBSCRIPTION};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::client::{Client, cpu_setting, demo, group_path, set_body, set_path, setting_path};

async fn ask(client: &Client, method: &str, path: &str, body: Value) -> (StatusCode, Value) {
    let request = Request::builder()
        .method(method)
        .uri(format!("/_sim{path}"))
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))
        .unwrap();
    let sim = &client.sim;
    let router = sim.router().nest("/_sim", sim.control_router());
    let answer = router.oneshot(request).await.unwrap();
    let status = answer.status();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

#[tokio::test(start_paused = true)]
async fn a_person_can_look_and_meddle() {
    let client = demo().await;
    client.settled_set("workers", 2).await;
    let (_, world) = ask(&client, "GET", "/world", Value::Null).await;
    assert_eq!(world["scaleSets"][0]["name"], "workers");
    assert_eq!(
        world["scaleSets"][0]["instances"][0]["powerState"],
        "running"
    );
    assert_eq!(world["operations"][0]["body"]["status"], "Succeeded");
    let posts = [
        ("/scale-sets/workers/instances/0/stop", Value::Null),
        (
            "/quota",
            json!({ "subscription": DEMO_SUBSCRIPTION, "region": DEMO_REGION, "regular": 8 }),
        ),
        (
            "/capacity",
            json!({ "region": DEMO_REGION, "zone": "1", "size": "*", "instances": 0 }),
        ),
        (
            "/lock",
            json!({ "scope": group_path(DEMO_GROUP), "lock": "CanNotDelete" }),
        ),
        (
            "/throttle",
            json!({ "policy": "PatchVMScaleSet", "refill": 1.0, "bucket": 1.0 }),
        ),
        ("/scale-sets/workers/cpu", json!({ "percent": 90.0 })),
        (
            "/faults",
            json!({ "effect": "answer", "status": 418, "service": "network", "times": 1 }),
        ),
    ];
    for (path, body) in posts {
        assert_eq!(
            ask(&client, "POST", path, body).await.0,
            StatusCode::OK,
            "{path}"
        );
    }
    assert_eq!(client.powers("workers").await[0].1, "stopped");
    assert_eq!(
        client.delete(&set_path("workers")).await.refused(409),
        "ScopeLocked"
    );
    let more = client.put(&set_path("more"), set_body("more", 1)).await;
    assert_eq!(more.refused(409), "OperationNotAllowed");
    let nics = client
        .get(&format!("{}/networkInterfaces", set_path("workers")))
        .await;
    assert_eq!(nics.status.as_u16(), 418);
    let no_quota = json!({ "subscription": DEMO_SUBSCRIPTION, "region": DEMO_REGION });
    ask(&client, "POST", "/quota", no_quota).await;
    client
        .put(&setting_path("s"), cpu_setting("workers", 1, 3))
        .await
        .ok();
    assert_eq!(
        ask(&client, "POST", "/autoscale", Value::Null).await.0,
        StatusCode::OK
    );
    assert_eq!(client.sim.world().scale_set("workers").unwrap().capacity, 3);
    let (_, journal) = ask(&client, "GET", "/journal", Value::Null).await;
    assert_eq!(
        journal["calls"][0]["action"],
        "VirtualMachineScaleSets_CreateOrUpdate"
    );
}

#[tokio::test(start_paused = true)]
async fn nonsense_is_refused() {
    let client = demo().await;
    let wrong = [
        (
            "/scale-sets/none/cpu",
            json!({ "percent": 1.0 }),
            StatusCode::NOT_FOUND,
        ),
        (
            "/scale-sets/none/instances/0/stop",
            Value::Null,
            StatusCode::NOT_FOUND,
        ),
        (
            "/throttle",
            json!({ "policy": "PatchVMScaleSet" }),
            StatusCode::BAD_REQUEST,
        ),
        (
            "/faults",
            json!({ "effect": "answer" }),
            StatusCode::BAD_REQUEST,
        ),
        (
            "/lock",
            json!({ "scope": "/", "lock": "Forever" }),
            StatusCode::UNPROCESSABLE_ENTITY,
        ),
    ];
    for (path, body, status) in wrong {
        assert_eq!(ask(&client, "POST", path, body).await.0, status, "{path}");
    }
}
