//! Compares tables of custom kinds with those of a genuine API server (`golden/record.py`).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may fail"
)]

use std::path::PathBuf;

use jiff::Timestamp;
use remuda_apiserver::table::{self, IncludeObject};
use serde_json::{Value, json};

#[test]
fn tables_look_like_those_of_a_genuine_server() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/table.json");
    let cases: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert!(cases.len() >= 3);
    for case in cases {
        let now: Timestamp = "2026-11-30T03:00:00Z".parse().unwrap();
        let mut object = case["object"].clone();
        object["apiVersion"] = json!("golden.example.com/v1");
        object["kind"] = case["kind"].clone();
        object["metadata"]["name"] = json!("a");
        let columns = table::custom_columns(case["columns"].as_array().unwrap());
        for (include, recorded) in case["tables"].as_object().unwrap() {
            let mut dated = object.clone();
            dated["metadata"]["creationTimestamp"] = json!("2026-11-30T03:00:00Z");
            let include = IncludeObject::from_query(include).unwrap();
            let mut ours = table::render(&columns, &[dated], include, now);
            if let Some(metadata) = ours
                .pointer_mut("/rows/0/object/metadata")
                .and_then(Value::as_object_mut)
            {
                metadata.remove("creationTimestamp");
            }
            assert_eq!(
                ours["columnDefinitions"], recorded["columnDefinitions"],
                "{}",
                case["name"]
            );
            let cells = |table: &Value| table["rows"][0]["cells"].as_array().unwrap().clone();
            let names: Vec<&str> = recorded["columnDefinitions"]
                .as_array()
                .unwrap()
                .iter()
                .map(|column| column["name"].as_str().unwrap())
                .collect();
            for ((name, mine), theirs) in names.iter().zip(cells(&ours)).zip(cells(recorded)) {
                let age = theirs
                    .as_str()
                    .is_some_and(|text| text.ends_with('s') && text.len() < 4);
                if !age {
                    assert_eq!(mine, theirs, "{} column {name}", case["name"]);
                }
            }
            assert_eq!(
                ours["rows"][0]["object"], recorded["rows"][0]["object"],
                "{}",
                case["name"]
            );
            assert_eq!(ours["apiVersion"], recorded["apiVersion"]);
        }
    }
}
