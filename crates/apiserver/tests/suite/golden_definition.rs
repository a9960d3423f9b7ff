//! Compares the refusals of schemas with those of a genuine API server (`golden/record.py`).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use std::collections::BTreeSet;
use std::path::PathBuf;

use remuda_apiserver::schema::Structural;
use serde_json::Value;

/// Positions inside a rule, and the rule compiler's own words, are left out.
fn comparable(message: &str) -> String {
    match message.split_once("compilation failed: ") {
        Some((start, _)) => format!("{start}compilation failed"),
        None => message.to_owned(),
    }
}

#[test]
fn schemas_are_refused_like_on_a_genuine_server() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/definition.json");
    let cases: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert!(cases.len() > 50);
    let mut failures = Vec::new();
    for case in cases {
        let ours: BTreeSet<String> = Structural::parse(&case["schema"])
            .err()
            .unwrap_or_default()
            .iter()
            .map(|e| format!("{} | {} | {}", e.reason(), e.field(), comparable(&e.body())))
            .collect();
        let text = |cause: &Value, name: &str| cause[name].as_str().unwrap_or("").to_owned();
        let recorded: BTreeSet<String> = case["outcome"]["causes"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|c| {
                let message = comparable(&text(c, "message"));
                format!("{} | {} | {message}", text(c, "reason"), text(c, "field"))
            })
            .collect();
        if ours != recorded {
            failures.push(format!(
                "{}\n  ours {ours:#?}\n  recorded {recorded:#?}",
                case["name"]
            ));
        }
    }
    assert!(
        failures.is_empty(),
        "{}:\n{}",
        failures.len(),
        failures.join("\n")
    );
}
