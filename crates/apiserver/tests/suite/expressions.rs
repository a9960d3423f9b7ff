//! Holds the answers of rules against those of a genuine API server (`golden/record.py`).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use std::path::PathBuf;

use remuda_apiserver::schema::{self, Structural};
use serde_json::{Value, json};

/// Functions and macros that a genuine server has and the interpreter lacks. Rules that use them
/// are refused with the definition, so that none is ever skipped.
const UNSUPPORTED: &[&str] = &[
    "['b', 'a'].sortBy(x, x) == ['a', 'b']",
    "lists.range(3) == [0, 1, 2]",
    "[1, 2].all(i, v, v == i + 1)",
    "[1, 2].transformList(i, v, v * 2) == [2, 4]",
    "{'a': 1}.transformMap(k, v, v + 1) == {'a': 2}",
    "optional.of(2).optMap(x, x * 2).value() == 4",
    "{'a': {'b': 1}}.?a.b.orValue(2) == 1",
    "format.named('dns1123Label').hasValue()",
];

#[derive(Debug, PartialEq)]
enum Answer {
    Holds(bool),
    Fails(String),
    Refused(String),
}

fn ours(rule: &str, properties: &Value, object: &Value) -> Answer {
    let schema = json!({"type": "object", "properties": {"x": {
        "type": "object",
        "properties": properties,
        "x-kubernetes-validations": [{"rule": rule, "message": "m"}],
    }}});
    let structural = match Structural::parse(&schema) {
        Ok(structural) => structural,
        Err(errors) => return Answer::Refused(errors[0].detail.clone()),
    };
    let errors = schema::validate(&json!({"x": object}), None, &structural);
    match errors.first() {
        None => Answer::Holds(true),
        Some(error) if error.detail == "m" => Answer::Holds(false),
        Some(error) => Answer::Fails(error.detail.clone()),
    }
}

#[test]
fn rules_answer_like_on_a_genuine_server() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/expressions.json");
    let mut cases: Vec<Value> =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let setting = cases.pop().unwrap();
    assert!(cases.len() > 180);
    let mut failures = Vec::new();
    let mut unused: Vec<&str> = UNSUPPORTED.to_vec();
    for case in &cases {
        let rule = case["rule"].as_str().unwrap();
        let answer = ours(rule, &setting["properties"], &setting["object"]);
        if UNSUPPORTED.contains(&rule) {
            unused.retain(|known| *known != rule);
            if !matches!(answer, Answer::Refused(_)) {
                failures.push(format!("{rule}: not refused any more: {answer:?}"));
            }
            continue;
        }
        let outcome = &case["outcome"];
        let same = match &answer {
            Answer::Holds(held) => {
                outcome["holds"] == json!(held) || outcome.get("refused").is_some()
            }
            Answer::Fails(_) => outcome.get("fails").is_some() || outcome.get("refused").is_some(),
            Answer::Refused(_) => outcome.get("refused").is_some(),
        };
        if !same {
            failures.push(format!("{rule}: ours {answer:?} genuine {outcome}"));
        }
    }
    assert!(
        unused.is_empty(),
        "not among the recorded rules: {unused:?}"
    );
    assert!(
        failures.is_empty(),
        "{}:\n{}",
        failures.len(),
        failures.join("\n")
    );
}
