//! The definitions that others publish parse, and their rules evaluate.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may fail"
)]

use std::path::PathBuf;

use remuda_apiserver::schema::{self, Structural};
use serde_json::{Map, Value, json};

fn definitions() -> Option<Vec<(PathBuf, Value)>> {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if !data.is_dir() {
        println!(
            "skipped: {} is absent (third-party definitions)",
            data.display()
        );
        return None;
    }
    let mut out = Vec::new();
    for project in std::fs::read_dir(&data).unwrap() {
        let Ok(files) = std::fs::read_dir(project.unwrap().path().join("crds")) else {
            continue;
        };
        for file in files {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "yaml") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let documents: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
            out.extend(
                documents
                    .into_iter()
                    .map(|document| (path.clone(), document)),
            );
        }
    }
    Some(out)
}

#[test]
fn published_definitions_parse() {
    let Some(definitions) = definitions() else {
        return;
    };
    let mut versions = 0;
    for (path, crd) in definitions {
        for version in crd["spec"]["versions"].as_array().into_iter().flatten() {
            versions += 1;
            let parsed = Structural::parse(&version["schema"]["openAPIV3Schema"]);
            if let Err(errors) = parsed {
                let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
                panic!("{}: {}", path.display(), texts.join("\n"));
            }
        }
    }
    assert!(versions > 40, "only {versions} versions found");
}

/// A value that fits a schema as far as types, allowed values and counts go.
fn example(schema: &Value) -> Value {
    if let Some(default) = schema.get("default") {
        return default.clone();
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    if schema["x-kubernetes-int-or-string"] == json!(true) {
        return json!(1);
    }
    match schema["type"].as_str() {
        Some("object") => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            let mut out: Map<String, Value> = fields
                .map(|(name, below)| (name.clone(), example(below)))
                .collect();
            if schema["additionalProperties"].is_object() {
                out.insert("a".to_owned(), example(&schema["additionalProperties"]));
            }
            Value::Object(out)
        }
        Some("array") => json!([example(&schema["items"])]),
        Some("string") => match schema["format"].as_str() {
            Some("date-time") => json!("2026-01-01T00:00:00Z"),
            Some("duration") => json!("1m"),
            Some("byte") => json!("aGk="),
            Some("cidr") => json!("10.0.0.0/8"),
            _ => {
                let least = schema["minLength"].as_u64().unwrap_or(1).max(1);
                json!("a".repeat(usize::try_from(least).unwrap()))
            }
        },
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        Some("boolean") => json!(true),
        _ => json!({}),
    }
}

fn count_rules(schema: &Value) -> usize {
    match schema {
        Value::Object(map) => {
            let own = map
                .get("x-kubernetes-validations")
                .and_then(Value::as_array);
            own.map_or(0, Vec::len) + map.values().map(count_rules).sum::<usize>()
        }
        Value::Array(list) => list.iter().map(count_rules).sum(),
        _ => 0,
    }
}

#[test]
fn published_rules_evaluate() {
    let Some(definitions) = definitions() else {
        return;
    };
    let mut rules = 0;
    for (path, crd) in definitions {
        for version in crd["spec"]["versions"].as_array().into_iter().flatten() {
            let written = &version["schema"]["openAPIV3Schema"];
            if count_rules(written) == 0 {
                continue;
            }
            rules += count_rules(written);
            let structural = Structural::parse(written).unwrap();
            let mut object = example(written);
            object["metadata"] = json!({"name": "a"});
            schema::default(&mut object, &structural);
            let mut changed = object.clone();
            changed["metadata"]["labels"] = json!({"a": "b"});
            for old in [None, Some(&object)] {
                for error in schema::validate(&changed, old, &structural) {
                    let text = error.to_string();
                    let skipped = text.contains("rules were not checked");
                    let broken = text.contains("evaluating rule");
                    assert!(
                        !skipped && !broken,
                        "{} {}: {text}",
                        path.display(),
                        version["name"]
                    );
                }
            }
        }
    }
    assert!(rules >= 20, "only {rules} rules found");
}
