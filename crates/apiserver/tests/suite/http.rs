//! What goes over the wire: encodings, bounds, and requests that are not well formed.

use std::io::Read as _;

use axum::body::Body;
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use remuda_apiserver::ApiServer;
use serde_json::{Value, json};
use tower::ServiceExt;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn router() -> axum::Router {
    ApiServer::builder()
        .seed(1)
        .build()
        .expect("a server")
        .management()
        .router()
}

async fn send(router: &axum::Router, request: Request<Body>) -> Response<Body> {
    router
        .clone()
        .oneshot(request)
        .await
        .expect("a router always answers")
}

async fn bytes(response: Response<Body>) -> Vec<u8> {
    response
        .into_body()
        .collect()
        .await
        .expect("the answer is whole")
        .to_bytes()
        .to_vec()
}

async fn json_of(response: Response<Body>) -> Value {
    serde_json::from_slice(&bytes(response).await).expect("JSON")
}

fn post(body: impl Into<Body>) -> Request<Body> {
    let request = Request::post(MAPS).header("content-type", "application/json");
    request.body(body.into()).expect("a valid request")
}

fn get(path: &str) -> Request<Body> {
    Request::get(path)
        .body(Body::empty())
        .expect("a valid request")
}

#[tokio::test]
async fn long_answers_are_compressed_when_asked_and_short_ones_are_not() {
    let router = router();
    for index in 0..100 {
        let map = json!({"metadata": {"name": format!("m-{index}")},
                         "data": {"filler": "x".repeat(2_000)}});
        let made = send(&router, post(map.to_string())).await;
        assert_eq!(made.status(), StatusCode::CREATED);
    }
    let plain = bytes(send(&router, get(MAPS)).await).await;
    let gzip = |path: &str| {
        Request::get(path)
            .header("accept-encoding", "gzip")
            .body(Body::empty())
            .expect("valid")
    };
    let packed = send(&router, gzip(MAPS)).await;
    assert_eq!(packed.headers()["content-encoding"], "gzip");
    let packed = bytes(packed).await;
    assert!(packed.len() * 10 < plain.len());
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(packed.as_slice())
        .read_to_end(&mut unpacked)
        .unwrap();
    assert_eq!(unpacked, plain);
    let short = send(&router, gzip(&format!("{MAPS}/m-1"))).await;
    assert!(!short.headers().contains_key("content-encoding"));
}

#[tokio::test]
async fn a_body_above_three_mebibytes_is_refused() {
    let router = router();
    let map = json!({"metadata": {"name": "m"}, "data": {"filler": "x".repeat(3 << 20)}});
    let status = json_of(send(&router, post(map.to_string())).await).await;
    assert_eq!(
        (&status["code"], &status["reason"]),
        (&json!(413), &json!("RequestEntityTooLarge"))
    );
}

#[tokio::test]
async fn malformed_requests_are_answered_with_a_status() {
    let router = router();
    let deep = format!("{{\"metadata\":{}{}}}", "[".repeat(200), "]".repeat(200));
    for body in [
        "",
        "{",
        "null",
        "[]",
        "\"text\"",
        deep.as_str(),
        "{\"metadata\": []}",
    ] {
        let status = json_of(send(&router, post(body.to_owned())).await).await;
        let code = status["code"].as_u64().unwrap();
        assert!(code == 400 || code == 422, "{body}: {status}");
        assert_eq!(status["kind"], "Status");
    }
    let protobuf = Request::post(MAPS)
        .header("content-type", "application/vnd.kubernetes.protobuf")
        .body(Body::from(&b"k8s\0\x0a\xff"[..]))
        .unwrap();
    assert_eq!(
        send(&router, protobuf).await.status(),
        StatusCode::BAD_REQUEST
    );
    for (method, path, code) in [
        (Method::PUT, MAPS, 405),
        (Method::PATCH, MAPS, 405),
        (Method::POST, "/api/v1/namespaces/default/configmaps/m", 405),
        (Method::POST, "/api", 405),
        (
            Method::GET,
            "/api/v1/namespaces/default/configmaps/m/scale",
            404,
        ),
        (Method::GET, "/api/v1/namespaces/%ff/configmaps", 404),
        (Method::GET, "/api/v2/pods", 404),
        (Method::GET, "/api/v1/pods?limit=x", 400),
        (Method::GET, "/api/v1/pods?timeout=x", 400),
    ] {
        let request = Request::builder()
            .method(&method)
            .uri(path)
            .body(Body::from("{}"))
            .unwrap();
        let response = send(&router, request).await;
        assert_eq!(response.status().as_u16(), code, "{method} {path}");
        assert_eq!(json_of(response).await["code"], code);
    }
    // Groups that nobody serves have no objects to answer with.
    let response = send(&router, get("/apis/none.example.com/v1/things")).await;
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    assert_eq!(bytes(response).await, b"404 page not found\n");
}

#[tokio::test]
async fn yaml_is_read_and_written() {
    let router = router();
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {k: \"1\"}\n";
    let request = Request::post(MAPS)
        .header("content-type", "application/yaml")
        .header("accept", "application/yaml")
        .body(Body::from(yaml))
        .unwrap();
    let response = send(&router, request).await;
    assert_eq!(response.status(), StatusCode::CREATED);
    assert_eq!(response.headers()["content-type"], "application/yaml");
    let text = String::from_utf8(bytes(response).await).unwrap();
    assert!(text.contains("  k: \"1\""), "{text}");
}

#[tokio::test]
async fn a_dry_run_shows_the_outcome_and_leaves_no_trace() {
    let router = router();
    let map = json!({"metadata": {"name": "m"}, "data": {"k": "v"}}).to_string();
    let before = json_of(send(&router, get(MAPS)).await).await;
    let dry = |path: &str| {
        Request::post(path.to_owned())
            .body(Body::from(map.clone()))
            .expect("a valid request")
    };
    let shown = send(&router, dry(&format!("{MAPS}?dryRun=All"))).await;
    assert_eq!(shown.status(), StatusCode::CREATED);
    let shown = json_of(shown).await;
    assert!(shown["metadata"]["uid"].is_string());
    assert!(shown["metadata"].get("resourceVersion").is_none());
    assert_eq!(json_of(send(&router, get(MAPS)).await).await, before);
    send(&router, dry(MAPS)).await;
    let again = send(&router, dry(&format!("{MAPS}?dryRun=All"))).await;
    assert_eq!(
        again.status(),
        StatusCode::CONFLICT,
        "a dry run refuses what the real run would"
    );
    let delete = Request::delete(format!("{MAPS}/m?dryRun=All"))
        .body(Body::empty())
        .unwrap();
    assert_eq!(send(&router, delete).await.status(), StatusCode::OK);
    assert_eq!(
        send(&router, get(&format!("{MAPS}/m"))).await.status(),
        StatusCode::OK
    );
}

#[tokio::test]
async fn patches_are_bounded_in_operations_and_in_what_they_copy() {
    let router = router();
    let map = json!({"metadata": {"name": "m", "annotations": {"a": "x".repeat(1_000)}}});
    send(&router, post(map.to_string())).await;
    let patch = |operations: Value| {
        let request = Request::patch(format!("{MAPS}/m"));
        let request = request.header("content-type", "application/json-patch+json");
        request
            .body(Body::from(operations.to_string()))
            .expect("valid")
    };
    let test = json!({"op": "test", "path": "/metadata/name", "value": "m"});
    let many: Vec<&Value> = std::iter::repeat_n(&test, 10_001).collect();
    let status = json_of(send(&router, patch(json!(many))).await).await;
    let message = "Request entity too large: The allowed maximum operations in a JSON patch is \
                   10000, got 10001";
    assert_eq!(
        (&status["code"], &status["message"]),
        (&json!(413), &json!(message))
    );
    let most: Vec<&Value> = many.into_iter().take(10_000).collect();
    assert_eq!(
        send(&router, patch(json!(most))).await.status(),
        StatusCode::OK
    );
    // Each copy doubles the object: 40 of them would fill any memory.
    let doubling: Vec<Value> = (0..40)
        .map(|n| json!({"op": "copy", "from": "/metadata", "path": format!("/metadata/m{n}")}))
        .collect();
    let status = json_of(send(&router, patch(json!(doubling))).await).await;
    assert_eq!(status["code"], 422, "{status}");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_never_ends_is_given_up() {
    let router = router();
    let never = futures::stream::pending::<Result<bytes::Bytes, std::convert::Infallible>>();
    let status = json_of(send(&router, post(Body::from_stream(never))).await).await;
    assert_eq!(
        (&status["code"], &status["reason"]),
        (&json!(504), &json!("Timeout"))
    );
}
