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
