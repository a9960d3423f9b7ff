//! What a definition allows survives being read and written: a sample with every field set, made
//! from the schema itself, comes out of the Rust types as it went in.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail loudly, as tests do"
)]

use kube::CustomResourceExt;
use remuda_api::capi::{
    Cluster, ClusterPhase, Machine, MachineDrainRule, MachineHealthCheck, MachinePhase,
    MachinePool, MachinePoolPhase,
};
use remuda_api::captf::{
    EnvVar, InstanceState, TerraformCluster, TerraformClusterIdentity, TerraformMachinePool,
    TerraformMachinePoolMachine, TerraformMachinePoolStatus, TerraformMachinePoolTemplate,
    Variables,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

#[test]
fn every_field_survives() {
    every_field_of::<Cluster>();
    every_field_of::<Machine>();
    every_field_of::<MachineDrainRule>();
    every_field_of::<MachineHealthCheck>();
    every_field_of::<MachinePool>();
    every_field_of::<TerraformCluster>();
    every_field_of::<TerraformClusterIdentity>();
    every_field_of::<TerraformMachinePool>();
    every_field_of::<TerraformMachinePoolMachine>();
    every_field_of::<TerraformMachinePoolTemplate>();
}

fn every_field_of<K: CustomResourceExt + Serialize + DeserializeOwned>() {
    let crds = remuda_api::crds();
    let crd = crds
        .iter()
        .find(|crd| crd.metadata.name.as_deref() == Some(K::crd_name()))
        .unwrap();
    let crd = serde_json::to_value(crd).unwrap();
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    // Each turn picks another value of each enum, so that every one is seen.
    let turns = most_enum_values(schema);
    assert!(
        turns > 1,
        "{}: a schema without enums, so the samples prove little",
        K::crd_name()
    );
    for turn in 0..turns {
        let mut sample = sample(schema, turn);
        sample["apiVersion"] = json!(K::api_resource().api_version);
        sample["kind"] = json!(K::api_resource().kind);
        sample["metadata"] = json!({ "name": "demo", "namespace": "team-a" });
        let object: K = serde_json::from_value(sample.clone())
            .unwrap_or_else(|error| panic!("{}: {error}\n{sample:#}", K::crd_name()));
        let written = serde_json::to_value(object).unwrap();
        assert_eq!(written, sample, "{}", K::crd_name());
    }
}

fn sample(schema: &Value, turn: usize) -> Value {
    if let Some(values) = schema["enum"].as_array() {
        return values[turn % values.len()].clone();
    }
    match schema["type"].as_str() {
        Some("object") => {
            let mut object = serde_json::Map::new();
            for (name, child) in schema["properties"].as_object().into_iter().flatten() {
                object.insert(name.clone(), sample(child, turn));
            }
            if schema["additionalProperties"].is_object() {
                object.insert(
                    "key".to_owned(),
                    sample(&schema["additionalProperties"], turn),
                );
            }
            if schema["x-kubernetes-preserve-unknown-fields"] == true {
                object.insert("free".to_owned(), json!({ "list": [1, "two", null] }));
            }
            Value::Object(object)
        }
        Some("array") => json!([sample(&schema["items"], turn)]),
        Some("boolean") => json!(turn.is_multiple_of(2)),
        Some("integer") => json!(least(schema)),
        Some("string") if schema["format"] == "date-time" => json!("2026-01-02T03:04:05Z"),
        Some("string") => json!("text"),
        Some(other) => panic!("a type these definitions do not use: {other}"),
        None if schema["pattern"].is_string() => json!("250m"),
        None if schema["x-kubernetes-int-or-string"] == true => {
            if turn.is_multiple_of(2) {
                json!(3)
            } else {
                json!("30%")
            }
        }
        None => json!({ "any": ["thing", 1.5, false] }),
    }
}

/// The smallest whole number the schema allows, or 7 where it allows all.
fn least(schema: &Value) -> i64 {
    (0..=60)
        .find(|number| schema["minimum"].as_f64() == Some(f64::from(*number)))
        .map_or(7, i64::from)
}

fn most_enum_values(schema: &Value) -> usize {
    let own = schema["enum"].as_array().map_or(0, Vec::len);
    let children = schema["properties"]
        .as_object()
        .into_iter()
        .flat_map(|map| map.values());
    let nested = children.chain([&schema["items"], &schema["additionalProperties"]]);
    nested
        .filter(|child| child.is_object())
        .map(most_enum_values)
        .fold(own, usize::max)
}

#[test]
fn zero_replicas_are_written() {
    let status = TerraformMachinePoolStatus {
        replicas: Some(0),
        ..Default::default()
    };
    assert_eq!(
        serde_json::to_value(status).unwrap(),
        json!({ "replicas": 0 })
    );
}

#[test]
fn unset_fields_are_left_out() {
    let sample = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1",
        "kind": "TerraformMachinePool",
        "metadata": { "name": "demo", "namespace": "team-a" },
        "spec": { "source": { "image": "registry.example/aws-pool:1.0.0" } },
    });
    let pool: TerraformMachinePool = serde_json::from_value(sample.clone()).unwrap();
    assert_eq!(serde_json::to_value(pool).unwrap(), sample);
}

#[test]
fn words_of_newer_writers_are_read_as_unknown() {
    let state: InstanceState = serde_json::from_value(json!("hibernated")).unwrap();
    assert_eq!(state, InstanceState::Unknown);
    let phase: MachinePoolPhase = serde_json::from_value(json!("Dreaming")).unwrap();
    assert_eq!(phase, MachinePoolPhase::Unknown);
    let phase: MachinePhase = serde_json::from_value(json!("Dreaming")).unwrap();
    assert_eq!(phase, MachinePhase::Unknown);
    let phase: ClusterPhase = serde_json::from_value(json!("Dreaming")).unwrap();
    assert_eq!(phase, ClusterPhase::Unknown);
}

#[test]
fn debug_output_keeps_values_to_itself() {
    let variables: Variables = serde_json::from_value(json!({ "password": "hunter2" })).unwrap();
    assert_eq!(format!("{variables:?}"), r#"{"password": "[redacted]"}"#);
    let env: EnvVar =
        serde_json::from_value(json!({ "name": "TOKEN", "value": "hunter2" })).unwrap();
    let text = format!("{env:?}");
    assert!(
        text.contains("TOKEN") && !text.contains("hunter2"),
        "{text}"
    );
}
