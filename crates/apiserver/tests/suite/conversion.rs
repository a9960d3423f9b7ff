//! Versions that a webhook converts, and definitions that change while they are in use.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use axum::body::Body;
use http::Request;
use http_body_util::BodyExt;
use remuda_apiserver::{ApiServer, Instance};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::hooks::{Hooks, configure, define, delete, get, merge, post, until};

const V1: &str = "/apis/conv.example.com/v1/namespaces/default/widgets";
const V2: &str = "/apis/conv.example.com/v2/namespaces/default/widgets";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const OWN: &str =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.conv.example.com";

fn widget(name: &str, size: u64) -> Value {
    json!({"apiVersion": "conv.example.com/v1", "kind": "Widget", "metadata": {"name": name},
           "spec": {"size": size}})
}

async fn world() -> (ApiServer, Instance, Hooks) {
    let hooks = Hooks::start().await;
    let server = ApiServer::builder().seed(1).build().unwrap();
    let instance = server.management();
    let conversion = json!({"strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"], "clientConfig": hooks.config("/c")}});
    define(&instance, "conv.example.com", Some(conversion)).await;
    (server, instance, hooks)
}

/// A watch, read line by line.
struct Watch {
    body: Body,
    text: Vec<u8>,
}

impl Watch {
    async fn start(instance: &Instance, path: &str) -> Self {
        let request = Request::get(format!("{path}?watch=true"))
            .body(Body::empty())
            .unwrap();
        let response = instance.router().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 200);
        let body = response.into_body();
        let text = Vec::new();
        Self { body, text }
    }

    /// The next event; `None` at the end.
    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.text.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let frame = self.body.frame().await?.unwrap();
            self.text.extend_from_slice(&frame.into_data().unwrap());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_is_converted_in_one_review() {
    let (_server, instance, hooks) = world().await;
    for index in 0..20 {
        let made = post(&instance, V1, &widget(&format!("w{index:02}"), index)).await;
        assert_eq!(made.code, 201);
    }
    assert!(hooks.calls().is_empty(), "the storage version needs nobody");
    let list = get(&instance, V2).await;
    let calls = hooks.calls();
    assert_eq!(calls.len(), 1);
    let sent = calls[0]["review"]["request"]["objects"].as_array().unwrap();
    assert_eq!(sent.len(), 20);
    assert!(sent[0]["metadata"].get("resourceVersion").is_none());
    let items = list.body["items"].as_array().unwrap();
    for (index, item) in items.iter().enumerate() {
        assert_eq!(item["apiVersion"], "conv.example.com/v2");
        assert_eq!(item["spec"]["dimension"], index);
        assert!(item["metadata"]["resourceVersion"].is_string());
    }
    let page = get(&instance, &format!("{V2}?limit=5")).await;
    assert_eq!(page.body["items"].as_array().unwrap().len(), 5);
    let sent = &hooks.calls()[0]["review"]["request"]["objects"];
    assert_eq!(
        sent.as_array().unwrap().len(),
        5,
        "a page asks about a page"
    );
}

#[tokio::test(start_paused = true)]
async fn watch_events_come_converted() {
    let (_server, instance, hooks) = world().await;
    assert_eq!(post(&instance, V1, &widget("a", 1)).await.code, 201);
    let mut watch = Watch::start(&instance, V2).await;
    let path = format!("{V1}/a");
    assert_eq!(
        merge(&instance, &path, &json!({"spec": {"size": 2}}))
            .await
            .code,
        200
    );
    assert_eq!(delete(&instance, &path).await.code, 200);
    for (kind, dimension) in [("ADDED", 1), ("MODIFIED", 2), ("DELETED", 2)] {
        let event = watch.next().await.unwrap();
        assert_eq!(event["type"], kind);
        assert_eq!(event["object"]["apiVersion"], "conv.example.com/v2");
        assert_eq!(event["object"]["spec"]["dimension"], dimension, "{event}");
    }
    hooks.script(
        "/c",
        &[json!({"response": {"result": {"status": "Failure", "message": "broken"}}})],
    );
    assert_eq!(post(&instance, V1, &widget("b", 1)).await.code, 201);
    let event = watch.next().await.unwrap();
    assert_eq!(
        (&event["type"], &event["object"]["code"]),
        (&json!("ERROR"), &json!(500))
    );
    let why = "conversion webhook for conv.example.com/v1, Kind=Widget failed: broken";
    assert_eq!(event["object"]["message"], why);
    assert_eq!(watch.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_moved_storage_version_is_filled_by_writes_that_change_nothing() {
    let (_server, instance, hooks) = world().await;
    assert_eq!(post(&instance, V1, &widget("a", 3)).await.code, 201);
    let mut definition = get(&instance, OWN).await.body;
    for (index, storage) in [(0, false), (1, true)] {
        definition["spec"]["versions"][index]["storage"] = storage.into();
    }
    let change = json!({"spec": {"versions": definition["spec"]["versions"]}});
    let moved = merge(&instance, OWN, &change).await;
    assert_eq!(moved.body["status"]["storedVersions"], json!(["v1", "v2"]));
    let before = get(&instance, &format!("{V1}/a")).await.body;
    let same = merge(&instance, &format!("{V1}/a"), &json!({})).await.body;
    assert_ne!(
        before["metadata"]["resourceVersion"],
        same["metadata"]["resourceVersion"]
    );
    assert_eq!(
        before["metadata"]["generation"],
        same["metadata"]["generation"]
    );
    hooks.calls();
    let stored = get(&instance, &format!("{V2}/a")).await.body;
    assert_eq!(stored["spec"]["dimension"], 3);
    assert!(hooks.calls().is_empty(), "it lies at v2 now");
    let again = merge(&instance, &format!("{V2}/a"), &json!({})).await.body;
    assert_eq!(stored, again, "and is not written twice");
    // What is no longer stored anywhere may go.
    let versions = json!({"spec": {"versions": [definition["spec"]["versions"][1]]}});
    let refused = merge(&instance, OWN, &versions).await;
    assert_eq!(
        refused.body["details"]["causes"][0]["field"],
        "status.storedVersions[0]"
    );
    let status = json!({"status": {"storedVersions": ["v2"]}});
    let path = format!("{OWN}/status");
    assert_eq!(merge(&instance, &path, &status).await.code, 200);
    assert_eq!(merge(&instance, OWN, &versions).await.code, 200);
    assert_eq!(get(&instance, V1).await.code, 404);
    assert_eq!(get(&instance, V2).await.code, 200);
}

#[tokio::test(start_paused = true)]
async fn admission_asks_for_the_version_of_the_webhook() {
    let (_server, instance, hooks) = world().await;
    let mut hook = hooks.hook("h.example.com", "/h");
    hook["rules"] = json!([{"apiGroups": ["conv.example.com"], "apiVersions": ["v2"],
                            "operations": ["CREATE"], "resources": ["widgets"]}]);
    let patch = json!([{"op": "replace", "path": "/spec/dimension", "value": 9}]);
    hooks.script("/h", &[json!({"patch": patch})]);
    configure(&instance, "mutating", "a", &[hook]).await;
    let made = post(&instance, V1, &widget("a", 1)).await;
    assert_eq!(made.code, 201, "{}", made.body);
    assert_eq!(made.body["spec"], json!({"colour": "red", "size": 9}));
    let call = hooks
        .calls()
        .into_iter()
        .find(|call| call["path"] == "/h")
        .unwrap();
    let request = &call["review"]["request"];
    assert_eq!(request["kind"]["version"], "v2");
    assert_eq!(request["requestKind"]["version"], "v1");
    assert_eq!(request["object"]["spec"]["dimension"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_no_longer_served_ends_its_watches() {
    let (_server, instance, _hooks) = world().await;
    let (mut old, mut new) = (
        Watch::start(&instance, V1).await,
        Watch::start(&instance, V2).await,
    );
    let mut versions = get(&instance, OWN).await.body["spec"]["versions"].take();
    versions[0]["served"] = false.into();
    let change = json!({"spec": {"versions": versions}});
    assert_eq!(merge(&instance, OWN, &change).await.code, 200);
    assert_eq!(old.next().await, None);
    assert_eq!(get(&instance, V1).await.code, 404);
    let mut widget = widget("a", 1);
    widget["apiVersion"] = "conv.example.com/v2".into();
    assert_eq!(post(&instance, V2, &widget).await.code, 201);
    assert_eq!(
        new.next().await.unwrap()["type"],
        "ADDED",
        "the other one goes on"
    );
}

#[tokio::test(start_paused = true)]
async fn a_new_schema_shows_in_what_was_stored_before() {
    let server = ApiServer::builder().seed(1).build().unwrap();
    let instance = server.management();
    define(&instance, "conv.example.com", None).await;
    let mut old = widget("a", 1);
    old["spec"]["note"] = "n".into();
    assert_eq!(post(&instance, V1, &old).await.code, 201);
    let mut versions = get(&instance, OWN).await.body["spec"]["versions"].take();
    let spec = "/schema/openAPIV3Schema/properties/spec/properties";
    let fields = versions[0]
        .pointer_mut(spec)
        .unwrap()
        .as_object_mut()
        .unwrap();
    fields.remove("note");
    fields.insert(
        "shape".into(),
        json!({"type": "string", "default": "round"}),
    );
    let change = json!({"spec": {"versions": versions}});
    assert_eq!(merge(&instance, OWN, &change).await.code, 200);
    let now = json!({"colour": "red", "size": 1, "shape": "round"});
    assert_eq!(get(&instance, &format!("{V1}/a")).await.body["spec"], now);
    assert_eq!(get(&instance, V1).await.body["items"][0]["spec"], now);
    // The other version knows the note but not the shape; what is stored is read first.
    let other = json!({"colour": "red", "size": 1});
    assert_eq!(get(&instance, &format!("{V2}/a")).await.body["spec"], other);
    let written = merge(&instance, &format!("{V1}/a"), &json!({"spec": {"size": 2}})).await;
    assert_eq!(written.body["metadata"]["generation"], 2);
    assert_eq!(
        written.body["spec"],
        json!({"colour": "red", "size": 2, "shape": "round"})
    );
}

#[tokio::test(start_paused = true)]
async fn a_name_that_becomes_free_goes_to_the_definition_that_lacked_it() {
    let server = ApiServer::builder().seed(1).build().unwrap();
    let instance = server.management();
    define(&instance, "conv.example.com", None).await;
    let gears = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gears.conv.example.com"},
        "spec": {"group": "conv.example.com", "scope": "Cluster",
                 "names": {"plural": "gears", "kind": "Gear", "shortNames": ["widget", "gr"]},
                 "versions": [{"name": "v1", "served": true, "storage": true,
                               "schema": {"openAPIV3Schema": {"type": "object"}}}]},
    });
    let condition = |definition: &Value, kind: &str| {
        let list = definition["status"]["conditions"]
            .as_array()
            .unwrap()
            .clone();
        list.into_iter().find(|c| c["type"] == kind).unwrap()
    };
    let made = post(&instance, DEFINITIONS, &gears).await.body;
    let names = condition(&made, "NamesAccepted");
    assert_eq!(names["status"], "False");
    assert_eq!(names["reason"], "ShortNamesConflict");
    assert_eq!(names["message"], "\"widget\" is already in use");
    assert_eq!(condition(&made, "Established")["status"], "False");
    assert_eq!(made["status"]["acceptedNames"]["kind"], "Gear");
    assert!(made["status"]["acceptedNames"].get("shortNames").is_none());
    let path = "/apis/conv.example.com/v1/gears";
    assert_eq!(get(&instance, path).await.code, 404);
    assert_eq!(delete(&instance, OWN).await.code, 200);
    until("the name", async || get(&instance, path).await.code == 200).await;
    let now = get(&instance, &format!("{DEFINITIONS}/gears.conv.example.com"))
        .await
        .body;
    assert_eq!(condition(&now, "NamesAccepted")["reason"], "NoConflicts");
    assert_eq!(
        now["status"]["acceptedNames"]["shortNames"],
        json!(["widget", "gr"])
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_is_made_of_a_definition_that_ends() {
    let (_server, instance, _hooks) = world().await;
    let mut held = widget("a", 1);
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    assert_eq!(post(&instance, V1, &held).await.code, 201);
    let ending = delete(&instance, OWN).await.body;
    let conditions = ending["status"]["conditions"].as_array().unwrap();
    assert!(
        conditions
            .iter()
            .any(|c| c["type"] == "Terminating" && c["status"] == "True")
    );
    let refused = post(&instance, V1, &widget("b", 1)).await;
    let text = "create not allowed while custom resource definition is terminating";
    assert_eq!(
        (refused.code, refused.body["message"].as_str()),
        (405, Some(text))
    );
    let free = json!({"metadata": {"finalizers": null}});
    assert_eq!(merge(&instance, &format!("{V1}/a"), &free).await.code, 200);
    until("the end", async || get(&instance, OWN).await.code == 404).await;
    assert_eq!(get(&instance, V1).await.code, 404);
}
