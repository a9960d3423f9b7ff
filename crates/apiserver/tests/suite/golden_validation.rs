//! Replays what a genuine API server answered to objects of custom kinds (`golden/record.py`).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may fail"
)]

use std::collections::BTreeSet;
use std::path::PathBuf;

use remuda_apiserver::schema::{self, FieldError, Structural};
use serde_json::{Value, json};

fn golden(name: &str) -> Vec<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn parse(schema: &Value) -> Structural {
    Structural::parse(schema).unwrap_or_else(|errors| panic!("{schema}: {errors:?}"))
}

/// An object as the server sees it after decoding: with type and name.
fn object(given: &Value, kind: &str, name: &str) -> Value {
    let mut out = given.clone();
    out["apiVersion"] = json!("golden.example.com/v1");
    out["kind"] = json!(kind);
    if !out["metadata"].is_object() {
        out["metadata"] = json!({});
    }
    out["metadata"]["name"] = json!(name);
    out
}

fn causes(errors: &[FieldError]) -> BTreeSet<String> {
    errors
        .iter()
        .map(|e| format!("{} | {} | {}", e.reason(), e.field(), e.body()))
        .collect()
}

fn recorded_causes(outcome: &Value) -> BTreeSet<String> {
    let text = |cause: &Value, name: &str| cause[name].as_str().unwrap_or("").to_owned();
    outcome["causes"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|c| {
            format!(
                "{} | {} | {}",
                text(c, "reason"),
                text(c, "field"),
                text(c, "message")
            )
        })
        .collect()
}

/// The spec is what these cases are about; metadata is stamped by the server.
fn replay(case: &Value, number: usize, step: &Value) -> Result<(), String> {
    let kind = case["kind"].as_str().unwrap();
    let name = format!("a{number}");
    let structural = parse(&case["schema"]);
    let old = step.get("old").map(|old| {
        let old_schema = case
            .get("old_schema")
            .map_or_else(|| structural.clone(), parse);
        let mut old = object(old, kind, &name);
        schema::prune(&mut old, &old_schema);
        schema::default(&mut old, &old_schema);
        old
    });
    let mut new = object(&step["new"], kind, &name);
    let mut unknown: Vec<String> = schema::prune(&mut new, &structural)
        .into_iter()
        .map(|path| format!("299 - \"unknown field \\\"{path}\\\"\""))
        .collect();
    unknown.sort();
    schema::default(&mut new, &structural);
    let errors = schema::validate(&new, old.as_ref(), &structural);
    let outcome = &step["outcome"];
    if causes(&errors) != recorded_causes(outcome) {
        return Err(format!(
            "causes differ\n  ours:    {:#?}\n  genuine: {:#?} {}",
            causes(&errors),
            recorded_causes(outcome),
            outcome["message"]
        ));
    }
    let Some(stored) = outcome.get("object") else {
        return Ok(());
    };
    if new["spec"] != stored["spec"] {
        return Err(format!("ours: {} genuine: {}", new["spec"], stored["spec"]));
    }
    let mut warnings: Vec<String> = outcome["warnings"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|warning| warning.as_str().unwrap().to_owned())
        .filter(|warning| warning.contains("unknown field"))
        .collect();
    warnings.sort();
    if unknown != warnings {
        return Err(format!("ours: {unknown:?} genuine: {warnings:?}"));
    }
    Ok(())
}

#[test]
fn validation_answers_like_a_genuine_server() {
    let mut failures = Vec::new();
    let mut steps = 0;
    for case in golden("validation.json") {
        for (number, step) in case["steps"].as_array().unwrap().iter().enumerate() {
            steps += 1;
            if let Err(problem) = replay(&case, number, step) {
                let old = step
                    .get("old")
                    .map_or(String::new(), |old| format!("{old} -> "));
                failures.push(format!(
                    "{}: {old}{}\n  {problem}",
                    case["name"], step["new"]
                ));
            }
        }
    }
    assert!(steps > 300, "only {steps} steps recorded");
    assert!(
        failures.is_empty(),
        "{} of {steps}:\n{}",
        failures.len(),
        failures.join("\n")
    );
}
