//! Inputs and outputs against the contract's own schemas, where those lie beside the project.

use std::{fs, path::PathBuf};

use jsonschema::Validator;
use serde_json::Value;

use super::{
    bootstrap::gzip,
    cloud::{Cloud, applied, member},
    demo::{Demo, demo, names},
    rendered,
};

/// A validator of one role's schema, its shared definitions put in; `None` where the data is
/// absent.
#[allow(clippy::print_stdout, reason = "a skipped test says so")]
fn validator(name: &str) -> Option<Validator> {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let folder = manifest.join("../../../shared/data/captf/schemas");
    if !folder.is_dir() {
        println!(
            "skipped: the contract's schemas are not at {}",
            folder.display()
        );
        return None;
    }
    let read = |name: &str| {
        let text = fs::read_to_string(folder.join(name)).expect("a schema file");
        let local = text.replace("definitions.json#/", "#/");
        serde_json::from_str::<Value>(&local).expect("JSON")
    };
    let mut schema = read(name);
    schema["$defs"] = read("definitions.json")["$defs"].take();
    Some(jsonschema::validator_for(&schema).expect("a schema"))
}

fn assert_valid(validator: &Validator, value: &Value) {
    let errors: Vec<String> = validator
        .iter_errors(value)
        .map(|e| e.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
}

fn pools() -> Vec<Demo> {
    vec![
        demo(),
        demo()
            .autoscaled(0, 5)
            .labels([("team", "a")])
            .zones(["us-east-1a"]),
        demo().document(&gzip(b"#cloud-config\n")).with(|inputs| {
            inputs.replicas = 0;
            inputs.cluster_failure_domains = names(["us-east-1a"]);
        }),
    ]
}

#[test]
fn inputs_are_the_contracts() {
    let Some(validator) = validator("machinepool-inputs.json") else {
        return;
    };
    for demo in pools() {
        assert_valid(&validator, &rendered::inputs(&demo.inputs));
    }
    let mut bad = rendered::inputs(&demo().inputs);
    bad["extra"] = Value::Null;
    assert!(!validator.is_valid(&bad));
}

#[test]
fn outputs_are_the_contracts() {
    let Some(validator) = validator("machinepool-outputs.json") else {
        return;
    };
    for demo in pools() {
        let before = Cloud::new().outputs(&demo);
        assert_valid(
            &validator,
            &serde_json::to_value(&before).expect("outputs serialize"),
        );
        let (mut cloud, demo) = applied(demo);
        cloud.extra_members = ["pending", "running", "stopping", "odd"]
            .into_iter()
            .enumerate()
            .map(|(i, state)| member(&format!("i-{i}"), "us-east-1c", state))
            .collect();
        cloud.extra_members[0].addresses.clear();
        let outputs = cloud.outputs(&demo);
        assert_valid(
            &validator,
            &serde_json::to_value(&outputs).expect("outputs serialize"),
        );
    }
}
