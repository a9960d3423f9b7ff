//! What the schemas refuse, judged by a JSON Schema validator that is not ours.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests fail loudly, as tests do"
)]

use jsonschema::Validator;
use serde_json::{Value, json};

fn validator(kind: &str) -> Validator {
    let crds = serde_json::to_value(remuda_api::crds()).unwrap();
    let crds = crds.as_array().unwrap();
    let crd = crds
        .iter()
        .find(|crd| crd["spec"]["names"]["kind"] == kind)
        .unwrap();
    jsonschema::validator_for(&crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]).unwrap()
}

/// Where in an object the schema finds fault.
fn faults(validator: &Validator, object: &Value) -> Vec<String> {
    validator
        .iter_errors(object)
        .map(|error| error.instance_path().to_string())
        .collect()
}

fn pool(spec: Value) -> Value {
    let mut object = json!({ "spec": { "source": { "image": "registry.example/pool:1" } } });
    object["spec"]
        .as_object_mut()
        .unwrap()
        .extend(spec.as_object().unwrap().clone());
    object
}

/// Proves: CAPTF-78.
#[test]
fn intervals_below_their_minimum_are_refused() {
    let schema = validator("TerraformMachinePool");
    let drift = |seconds: i32| pool(json!({ "drift": { "intervalSeconds": seconds } }));
    assert_eq!(faults(&schema, &drift(0)), ["/spec/drift/intervalSeconds"]);
    assert_eq!(faults(&schema, &drift(1)), [""; 0]);
    let refresh = |seconds: i32| pool(json!({ "membershipRefreshIntervalSeconds": seconds }));
    assert_eq!(
        faults(&schema, &refresh(14)),
        ["/spec/membershipRefreshIntervalSeconds"]
    );
    assert_eq!(faults(&schema, &refresh(15)), [""; 0]);
}

#[test]
fn a_cluster_may_leave_the_drift_interval_to_the_manager() {
    let schema = validator("TerraformCluster");
    assert_eq!(
        faults(&schema, &pool(json!({ "drift": { "intervalSeconds": 0 } }))),
        [""; 0]
    );
    let below = pool(json!({ "defaults": { "drift": { "intervalSeconds": -1 } } }));
    assert_eq!(
        faults(&schema, &below),
        ["/spec/defaults/drift/intervalSeconds"]
    );
}

#[test]
fn a_template_checks_the_pool_it_carries() {
    let schema = validator("TerraformMachinePoolTemplate");
    let template = |pool: &Value| json!({ "spec": { "template": { "spec": pool["spec"] } } });
    assert_eq!(faults(&schema, &template(&pool(json!({})))), [""; 0]);
    let refused = template(&pool(json!({ "drift": { "intervalSeconds": 0 } })));
    assert_eq!(
        faults(&schema, &refused),
        ["/spec/template/spec/drift/intervalSeconds"]
    );
}
