//! `MachinePool` (document 3.1).

use remuda_plan::admission::{Facts, Gates, Kind, Request, defaults, gates::Gate, problems};
use serde_json::{Value, json};

use super::{completed, fields, fields_with, named};

const MIN: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size";
const MAX: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size";

fn pool() -> Value {
    let mut pool = named(Kind::MachinePool);
    pool["spec"] = json!({
        "clusterName": "demo",
        "template": { "spec": {
            "clusterName": "demo",
            "bootstrap": { "dataSecretName": "data" },
            "infrastructureRef": { "kind": "TerraformMachinePool", "name": "a" },
        } },
    });
    pool
}

fn with(path: &str, value: Value) -> Value {
    let mut pool = pool();
    let (parent, field) = path.rsplit_once('/').unwrap();
    let mut place = &mut pool;
    for part in parent.split('/').filter(|part| !part.is_empty()) {
        place = &mut place[part];
    }
    place[field] = value;
    pool
}

fn bounded(min: &str, max: &str) -> Value {
    with("/metadata/annotations", json!({ MIN: min, MAX: max }))
}

fn replicas_on_update(new: &Value, stored: &Value) -> Value {
    let old = with("/spec/replicas", stored.clone());
    defaults(Kind::MachinePool, &Request::update(new, &old)).object()["spec"]["replicas"].clone()
}

/// Proves: CAPI-2.
#[test]
fn a_pool_is_completed() {
    let done = completed(Kind::MachinePool, &pool());
    assert_eq!(done["spec"]["replicas"], 1);
    let template = &done["spec"]["template"]["spec"];
    assert_eq!(template["deletion"]["nodeDeletionTimeoutSeconds"], 10);
    let labels = &done["metadata"]["labels"];
    assert_eq!(labels["cluster.x-k8s.io/cluster-name"], "demo");
    let given = with("/spec/replicas", json!(0));
    assert_eq!(completed(Kind::MachinePool, &given)["spec"]["replicas"], 0);
    let again = defaults(Kind::MachinePool, &Request::create(&done));
    assert_eq!(again.operations(), [] as [Value; 0]);
}

/// Proves: CAPI-3.
#[test]
fn the_count_stays_within_the_autoscalers_bounds() {
    let new = bounded("3", "6");
    assert_eq!(completed(Kind::MachinePool, &new)["spec"]["replicas"], 3);
    for (stored, wanted) in [
        (json!(9), 6),
        (json!(4), 4),
        (json!(1), 3),
        (Value::Null, 3),
    ] {
        assert_eq!(replicas_on_update(&new, &stored), wanted, "from {stored}");
    }
    let half = with("/metadata/annotations", json!({ MIN: "3" }));
    assert_eq!(completed(Kind::MachinePool, &half)["spec"]["replicas"], 1);
}

/// Proves: CAPI-4.
#[test]
fn bounds_that_are_no_numbers_are_refused() {
    let new = completed(Kind::MachinePool, &bounded("x", "5"));
    assert_eq!(new["spec"]["replicas"], Value::Null);
    assert_eq!(
        fields(Kind::MachinePool, &Request::create(&new)),
        [format!("metadata.annotations[{MIN}]")]
    );
    let mut given = bounded("x", "5");
    given["spec"]["replicas"] = json!(2);
    assert_eq!(fields(Kind::MachinePool, &Request::create(&given)), [""; 0]);
}

/// Proves: CAPI-5.
#[test]
fn versions_get_their_v_and_are_semantic() {
    let version = |text: &str| {
        let new = completed(
            Kind::MachinePool,
            &with("/spec/template/spec/version", json!(text)),
        );
        let fields = fields(Kind::MachinePool, &Request::create(&new));
        let stored = new["spec"]["template"]["spec"]["version"].clone();
        (stored, fields.is_empty())
    };
    for (given, stored, accepted) in [
        ("1.35.0", "v1.35.0", true),
        ("v1.35.0", "v1.35.0", true),
        ("v1.31.4+rke2r1", "v1.31.4+rke2r1", true),
        ("v1.36.0-alpha.1", "v1.36.0-alpha.1", true),
        ("latest", "latest", false),
        ("1.35", "v1.35", false),
        ("v1.035.0", "v1.035.0", false),
        ("v1.35.0\n", "v1.35.0\n", false),
    ] {
        assert_eq!(version(given), (json!(stored), accepted), "{given:?}");
    }
}

/// Proves: CAPI-6.
#[test]
fn a_pool_stays_with_its_cluster() {
    let stored = pool();
    let moved = with("/spec/clusterName", json!("other"));
    assert_eq!(
        fields(Kind::MachinePool, &Request::update(&moved, &stored)),
        ["spec.clusterName", "spec.template.spec.clusterName"]
    );
    let torn = with("/spec/template/spec/clusterName", json!("other"));
    for request in [Request::update(&torn, &stored), Request::create(&torn)] {
        assert_eq!(
            fields(Kind::MachinePool, &request),
            ["spec.template.spec.clusterName"]
        );
    }
}

/// Proves: CAPI-7.
#[test]
fn bootstrap_data_must_be_promised() {
    for bootstrap in [json!({}), json!({ "dataSecretName": "" })] {
        let bare = with("/spec/template/spec/bootstrap", bootstrap);
        assert_eq!(
            fields(Kind::MachinePool, &Request::create(&bare)),
            ["spec.template.spec.bootstrap"]
        );
    }
    let reference = json!({ "configRef": { "kind": "KubeadmConfig", "name": "a" } });
    let promised = with("/spec/template/spec/bootstrap", reference);
    assert_eq!(
        fields(Kind::MachinePool, &Request::create(&promised)),
        [""; 0]
    );
}

/// Proves: CAPI-105.
#[test]
fn without_its_gate_no_pool_is_created_and_stored_ones_stay() {
    let off = Gates::default().with(Gate::MachinePool, false);
    let refused = problems(
        Kind::MachinePool,
        &Request::create(&pool()),
        &off,
        &Facts::default(),
    );
    assert!(refused[0].remedy.contains("MachinePool"), "{refused:?}");
    let scaled = with("/spec/replicas", json!(5));
    let stored = pool();
    let update = Request::update(&scaled, &stored);
    assert_eq!(fields_with(Kind::MachinePool, &update, &off), [""; 0]);
    assert_eq!(
        fields(Kind::MachinePool, &Request::create(&pool())),
        [""; 0]
    );
}

#[test]
fn every_mistake_is_told_at_once() {
    let mut new = pool();
    new["spec"]["replicas"] = json!(-1);
    new["spec"]["template"]["metadata"] = json!({
        "labels": { "-bad": "x", "fine": "not fine" },
        "annotations": { "free": "any text at all", "no/good/key": "" },
    });
    new["spec"]["template"]["spec"] = json!({
        "clusterName": "other", "bootstrap": {}, "version": "new",
        "taints": [{ "key": "a", "effect": "NoSchedule", "propagation": "Always" }],
    });
    let off = Gates::default().with(Gate::MachineTaintPropagation, false);
    assert_eq!(
        fields_with(Kind::MachinePool, &Request::create(&new), &off),
        [
            "spec.replicas",
            "spec.template.spec.clusterName",
            "spec.template.spec.bootstrap",
            "spec.template.spec.version",
            "spec.template.spec.taints",
            "spec.template.metadata.labels[-bad]",
            "spec.template.metadata.labels[fine]",
            "spec.template.metadata.annotations[no/good/key]",
        ]
    );
}

#[test]
fn what_was_admitted_before_can_lose_its_finalizer() {
    let mut stored = with("/spec/template/spec/version", json!("latest"));
    stored["metadata"]["finalizers"] = json!(["machinepool.cluster.x-k8s.io"]);
    let mut released = stored.clone();
    released["metadata"]["finalizers"] = json!([]);
    let request = Request::update(&released, &stored);
    assert_eq!(fields(Kind::MachinePool, &request), [""; 0]);
}

#[test]
fn taints_of_a_template_need_their_gate_and_keys_of_their_own() {
    let on = Gates::default();
    let off = on.clone().with(Gate::MachineTaintPropagation, false);
    let taint = |key: &str| json!([{ "key": key, "effect": "NoSchedule" }]);
    let fine = with("/spec/template/spec/taints", taint("team/a"));
    assert_eq!(
        fields_with(Kind::MachinePool, &Request::create(&fine), &off),
        ["spec.template.spec.taints"]
    );
    assert_eq!(
        fields_with(Kind::MachinePool, &Request::create(&fine), &on),
        [""; 0]
    );
    let reserved = with(
        "/spec/template/spec/taints",
        taint("node-role.kubernetes.io/control-plane"),
    );
    assert_eq!(
        fields_with(Kind::MachinePool, &Request::create(&reserved), &on),
        ["spec.template.spec.taints[0].key"]
    );
}
