//! The documents that clients read before they write: compared with a genuine server's for a
//! custom kind, and complete for every built-in kind.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use std::collections::BTreeSet;
use std::path::PathBuf;

use remuda_apiserver::openapi::{KindSchema, document};
use remuda_apiserver::schema::builtin;
use serde_json::{Value, json};

const VERBS: [&str; 8] = [
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
];

fn recorded() -> (Value, Value) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/openapi.json");
    let cases: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    (cases[0]["schema"].clone(), cases[0]["document"].clone())
}

fn ours(schema: &Value) -> Value {
    let kind = KindSchema {
        kind: "T4000",
        list_kind: "T4000List",
        plural: "t4000s",
        namespaced: true,
        verbs: VERBS.to_vec(),
        subresources: vec!["scale", "status"],
        custom: Some(schema),
    };
    document("golden.example.com", "v1", &[kind])
}

#[test]
fn a_custom_kind_is_published_like_on_a_genuine_server() {
    let (schema, recorded) = recorded();
    let ours = ours(&schema);
    for name in [
        "com.example.golden.v1.T4000",
        "com.example.golden.v1.T4000List",
    ] {
        let (mine, theirs) = (
            &ours["components"]["schemas"][name],
            &recorded["components"]["schemas"][name],
        );
        assert_eq!(mine, theirs, "{name}");
    }
    assert_eq!(ours["info"], recorded["info"]);
}

/// What clients look at in an operation.
fn essence(operation: &Value) -> Value {
    // New in releases after the one whose API is served here.
    const NEWER: [&str; 1] = ["shardSelector"];
    let parameters: BTreeSet<&str> = operation["parameters"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|parameter| parameter["name"].as_str().unwrap())
        .filter(|name| !NEWER.contains(name))
        .collect();
    let content = operation["requestBody"]["content"].as_object();
    let content: Vec<&String> = content
        .into_iter()
        .flatten()
        .map(|(media, _)| media)
        .collect();
    let answer = &operation["responses"]["200"]["content"]["application/json"]["schema"];
    json!({
        "id": operation["operationId"],
        "action": operation["x-kubernetes-action"],
        "kind": operation["x-kubernetes-group-version-kind"],
        "parameters": parameters,
        "content": content,
        "answer": if operation["x-kubernetes-action"].as_str().is_some_and(|a| a.starts_with("delete")) {
            Value::Null
        } else {
            answer.clone()
        },
    })
}

#[test]
fn operations_are_those_of_a_genuine_server() {
    let (schema, recorded) = recorded();
    let ours = ours(&schema);
    let mut compared = 0;
    for (path, operations) in recorded["paths"].as_object().unwrap() {
        if !path.contains("t4000s") {
            continue;
        }
        for (method, theirs) in operations.as_object().unwrap() {
            let mine = &ours["paths"][path][method];
            if method == "parameters" {
                let shared = json!({ "parameters": mine });
                assert_eq!(
                    essence(&shared),
                    essence(&json!({ "parameters": theirs })),
                    "{path}"
                );
            } else {
                assert_eq!(essence(mine), essence(theirs), "{method} {path}");
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 14);
}

/// Every reference of a document.
fn references(value: &Value, out: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            if let Some(target) = map.get("$ref").and_then(Value::as_str) {
                out.insert(target.to_owned());
            }
            map.values().for_each(|child| references(child, out));
        }
        Value::Array(list) => list.iter().for_each(|child| references(child, out)),
        _ => {}
    }
}

#[test]
fn every_reference_of_every_built_in_kind_leads_somewhere() {
    let groups: BTreeSet<(&str, &str)> = builtin::KINDS
        .iter()
        .map(|kind| (kind.group, kind.version))
        .collect();
    for (group, version) in groups {
        let lists: Vec<(String, String, &str)> = builtin::KINDS
            .iter()
            .filter(|kind| (kind.group, kind.version) == (group, version))
            .map(|kind| {
                (
                    format!("{}List", kind.kind),
                    format!("{}s", kind.kind.to_lowercase()),
                    kind.kind,
                )
            })
            .collect();
        let kinds: Vec<KindSchema<'_>> = lists
            .iter()
            .map(|(list_kind, plural, kind)| KindSchema {
                kind,
                list_kind,
                plural,
                namespaced: true,
                verbs: VERBS.to_vec(),
                subresources: vec!["status"],
                custom: None,
            })
            .collect();
        let document = document(group, version, &kinds);
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        assert!(!found.is_empty());
        for target in found {
            let name = target
                .strip_prefix("#/components/schemas/")
                .unwrap_or_else(|| {
                    panic!("{group}/{version}: {target} isn't a reference of OpenAPI v3")
                });
            let schema = &document["components"]["schemas"][name];
            assert!(
                schema.is_object(),
                "{group}/{version}: {target} leads nowhere"
            );
        }
        for (_, _, kind) in &lists {
            let published = document["components"]["schemas"]
                .as_object()
                .unwrap()
                .values()
                .find(|schema| schema["x-kubernetes-group-version-kind"][0]["kind"] == **kind)
                .unwrap_or_else(|| panic!("{kind} isn't published"));
            assert!(
                published["description"]
                    .as_str()
                    .is_some_and(|text| !text.is_empty()),
                "{kind}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_document_that_has_not_changed_is_not_sent_again() {
    use http_body_util::BodyExt;
    use tower::ServiceExt;

    let server = remuda_apiserver::ApiServer::builder()
        .seed(1)
        .build()
        .unwrap();
    let instance = server.management();
    let ask = async |path: &str, accept: &str, tag: &str| {
        let request = http::Request::get(path)
            .header("accept", accept)
            .header("if-none-match", tag)
            .body(axum::body::Body::empty())
            .unwrap();
        let response = instance.router().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        (parts, body.collect().await.unwrap().to_bytes())
    };
    let protobuf = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    for (path, accept) in [
        ("/openapi/v3", "application/json"),
        ("/openapi/v3/apis/apps/v1", "application/json"),
        ("/openapi/v2", "application/json"),
        ("/openapi/v2", protobuf),
    ] {
        let (parts, body) = ask(path, accept, "\"0\"").await;
        assert_eq!(parts.status, 200, "{path}");
        assert!(!body.is_empty());
        let tag = parts.headers["etag"].to_str().unwrap();
        let (parts, body) = ask(path, accept, tag).await;
        assert_eq!((parts.status.as_u16(), body.len()), (304, 0), "{path}");
        super::hooks::define(&instance, &format!("g{}.example.com", body.len()), None).await;
        let definition =
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.g0.example.com";
        let (parts, _) = ask(path, accept, tag).await;
        let fixed = path.ends_with("apps/v1");
        assert_eq!(parts.status == 304, fixed, "{path}");
        assert_eq!(super::hooks::delete(&instance, definition).await.code, 200);
        super::hooks::until("the end", async || {
            super::hooks::get(&instance, definition).await.code == 404
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_older_document_refers_only_to_what_it_defines() {
    let server = remuda_apiserver::ApiServer::builder()
        .seed(1)
        .build()
        .unwrap();
    let instance = server.management();
    super::hooks::define(&instance, "hooks.example.com", None).await;
    let document = super::hooks::get(&instance, "/openapi/v2").await.body;
    assert_eq!(document["swagger"], "2.0");
    let definitions = document["definitions"].as_object().unwrap();
    let widget = &definitions["com.example.hooks.v1.Widget"];
    let kind = &widget["x-kubernetes-group-version-kind"][0];
    assert_eq!(kind["kind"], "Widget");
    assert_eq!(
        widget["properties"]["spec"]["properties"]["size"]["type"],
        "integer"
    );
    let mut references = 0;
    let mut pending: Vec<&Value> = definitions.values().collect();
    while let Some(value) = pending.pop() {
        if let Some(target) = value.get("$ref").and_then(Value::as_str) {
            references += 1;
            let name = target.strip_prefix("#/definitions/").unwrap();
            assert!(definitions.contains_key(name), "{name}");
        }
        match value {
            Value::Object(map) => pending.extend(map.values()),
            Value::Array(list) => pending.extend(list),
            _ => {}
        }
    }
    assert!(references > 400, "{references}");
}
