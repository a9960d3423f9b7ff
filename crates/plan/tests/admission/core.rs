//! The other kinds of the core.

use remuda_plan::admission::{Facts, Gates, Kind, Request, gates::Gate, problems};
use serde_json::{Value, json};

use super::{completed, fields, fields_with, named};

fn object(kind: Kind, spec: Value) -> Value {
    let mut object = named(kind);
    object["spec"] = spec;
    object
}

fn machine(spec: Value) -> Value {
    let mut machine = object(
        Kind::Machine,
        json!({
            "clusterName": "demo",
            "bootstrap": { "dataSecretName": "data" },
            "infrastructureRef": { "kind": "TerraformMachine", "name": "a" },
        }),
    );
    for (field, value) in spec.as_object().unwrap() {
        machine["spec"][field] = value.clone();
    }
    machine
}

#[test]
fn a_machine_is_completed() {
    let done = completed(Kind::Machine, &machine(json!({ "version": "1.35.0" })));
    assert_eq!(done["spec"]["deletion"]["nodeDeletionTimeoutSeconds"], 10);
    assert_eq!(done["spec"]["version"], "v1.35.0");
    assert_eq!(
        done["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"],
        "demo"
    );
}

#[test]
fn only_machines_of_pools_have_no_bootstrap_data() {
    let bare = json!({ "bootstrap": { "dataSecretName": "" } });
    let alone = machine(bare.clone());
    assert_eq!(
        fields(Kind::Machine, &Request::create(&alone)),
        ["spec.bootstrap"]
    );
    let mut labelled = machine(bare.clone());
    labelled["metadata"]["labels"] = json!({ "cluster.x-k8s.io/pool-name": "pool" });
    assert_eq!(fields(Kind::Machine, &Request::create(&labelled)), [""; 0]);
    let mut owned = machine(bare);
    owned["metadata"]["ownerReferences"] = json!([
        { "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachinePool", "name": "pool" },
    ]);
    assert_eq!(fields(Kind::Machine, &Request::create(&owned)), [""; 0]);
}

/// Proves: CAPI-12.
#[test]
fn reserved_taints_are_refused() {
    let on = Gates::default();
    let without = on.clone().with(Gate::MachineTaintPropagation, false);
    let tainted = |key: &str| {
        let taint = json!({ "key": key, "effect": "NoSchedule", "propagation": "Always" });
        machine(json!({ "taints": [taint] }))
    };
    for key in [
        "node.cluster.x-k8s.io/uninitialized",
        "node.cluster.x-k8s.io/outdated-revision",
        "node.kubernetes.io/not-ready",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "node-role.kubernetes.io/master",
        "node-role.kubernetes.io/control-plane",
    ] {
        let new = tainted(key);
        assert_eq!(
            fields_with(Kind::Machine, &Request::create(&new), &on),
            ["spec.taints[0].key"],
            "{key}"
        );
        let off = fields_with(Kind::Machine, &Request::create(&new), &without);
        assert!(
            off.contains(&"spec.taints[0].key".to_owned()),
            "{key}: {off:?}"
        );
    }
    for key in ["team/a", "node.kubernetes.io/out-of-service"] {
        let new = tainted(key);
        assert_eq!(
            fields_with(Kind::Machine, &Request::create(&new), &on),
            [""; 0]
        );
    }
    let mut control_plane = tainted("node-role.kubernetes.io/control-plane");
    control_plane["metadata"]["labels"] = json!({ "cluster.x-k8s.io/control-plane": "" });
    let request = Request::create(&control_plane);
    assert_eq!(fields_with(Kind::Machine, &request, &on), [""; 0]);
}

/// Proves: CAPI-9.
#[test]
fn only_drained_pods_have_an_order() {
    for (drain, expected) in [
        (
            json!({ "behavior": "Skip", "order": 1 }),
            vec!["spec.drain.order"],
        ),
        (
            json!({ "behavior": "WaitCompleted", "order": 1 }),
            vec!["spec.drain.order"],
        ),
        (json!({ "behavior": "Skip" }), vec![]),
        (json!({ "behavior": "Drain", "order": -5 }), vec![]),
    ] {
        let rule = object(Kind::MachineDrainRule, json!({ "drain": drain }));
        assert_eq!(
            fields(Kind::MachineDrainRule, &Request::create(&rule)),
            expected
        );
    }
}

#[test]
fn an_item_of_a_drain_rule_selects_something() {
    let rule = object(
        Kind::MachineDrainRule,
        json!({
            "drain": { "behavior": "Skip" },
            "machines": [{}, { "selector": { "matchLabels": { "-": "" } } }],
            "pods": [{ "namespaceSelector": { "matchExpressions": [
                { "key": "a", "operator": "In", "values": [] },
                { "key": "a", "operator": "Exists", "values": ["b"] },
                { "key": "a", "operator": "Near" },
            ] } }],
        }),
    );
    assert_eq!(
        fields(Kind::MachineDrainRule, &Request::create(&rule)),
        [
            "spec.machines[0]",
            "spec.machines[1].selector.matchLabels[-]",
            "spec.pods[0].namespaceSelector.matchExpressions[0].values",
            "spec.pods[0].namespaceSelector.matchExpressions[1].values",
            "spec.pods[0].namespaceSelector.matchExpressions[2].operator",
        ]
    );
}

fn check(spec: Value) -> Value {
    let mut check = object(
        Kind::MachineHealthCheck,
        json!({
            "clusterName": "demo",
            "selector": { "matchLabels": { "cluster.x-k8s.io/pool-name": "pool" } },
        }),
    );
    for (field, value) in spec.as_object().unwrap() {
        check["spec"][field] = value.clone();
    }
    check
}

#[test]
fn a_health_check_is_completed() {
    let done = completed(Kind::MachineHealthCheck, &check(json!({})));
    assert_eq!(done["spec"]["checks"]["nodeStartupTimeoutSeconds"], 600);
    let trigger = &done["spec"]["remediation"]["triggerIf"];
    assert_eq!(trigger["unhealthyLessThanOrEqualTo"], "100%");
    assert_eq!(
        done["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"],
        "demo"
    );
    let ranged = json!({ "remediation": { "triggerIf": { "unhealthyInRange": "[1-3]" } } });
    let done = completed(Kind::MachineHealthCheck, &check(ranged));
    let trigger = &done["spec"]["remediation"]["triggerIf"];
    assert_eq!(trigger["unhealthyLessThanOrEqualTo"], Value::Null);
}

#[test]
fn limits_of_remediation_are_numbers_percentages_and_ranges() {
    let judged = |field: &str, value: Value| {
        let new = check(json!({ "remediation": { "triggerIf": { field: value } } }));
        fields(Kind::MachineHealthCheck, &Request::create(&new)).is_empty()
    };
    for (limit, fine) in [
        (json!(0), true),
        (json!("40%"), true),
        (json!("40"), false),
        (json!("101%"), false),
        (json!(-1), false),
    ] {
        assert_eq!(
            judged("unhealthyLessThanOrEqualTo", limit.clone()),
            fine,
            "{limit}"
        );
    }
    for (range, fine) in [
        ("[2-5]", true),
        ("[2-2]", true),
        ("[5-2]", false),
        ("2-5", false),
    ] {
        assert_eq!(judged("unhealthyInRange", json!(range)), fine, "{range}");
    }
}

/// The first half of CAPI-106; the expansion comes with topologies.
#[test]
fn topologies_need_their_gate() {
    let topology = json!({ "topology": { "classRef": { "name": "fast" }, "version": "v1.35.0" } });
    let cluster = object(Kind::Cluster, topology);
    let class = object(Kind::ClusterClass, json!({}));
    let plain = object(Kind::Cluster, json!({ "paused": false }));
    let on = Gates::default().with(Gate::ClusterTopology, true);
    for (kind, object) in [(Kind::Cluster, &cluster), (Kind::ClusterClass, &class)] {
        let request = Request::create(object);
        let refused = problems(kind, &request, &Gates::default(), &Facts::default());
        assert!(refused[0].remedy.contains("ClusterTopology"), "{refused:?}");
        assert_eq!(fields_with(kind, &request, &on), [""; 0]);
    }
    let mut paused = cluster.clone();
    paused["spec"]["paused"] = json!(true);
    let stored = Request::update(&paused, &cluster);
    assert_eq!(
        fields(Kind::Cluster, &stored),
        [""; 0],
        "stored ones are left alone"
    );
    let added = Request::update(&cluster, &plain);
    assert_eq!(fields(Kind::Cluster, &added), ["spec.topology"]);
    assert_eq!(fields(Kind::Cluster, &Request::create(&plain)), [""; 0]);
}

#[test]
fn a_pool_machine_keeps_its_instance() {
    let kind = Kind::TerraformMachinePoolMachine;
    let of = |id: Value| object(kind, json!({ "providerID": id }));
    let (none, one, other) = (
        of(Value::Null),
        of(json!("aws:///a/i-1")),
        of(json!("aws:///a/i-2")),
    );
    assert_eq!(fields(kind, &Request::update(&one, &none)), [""; 0]);
    assert_eq!(fields(kind, &Request::update(&one, &one)), [""; 0]);
    assert_eq!(
        fields(kind, &Request::update(&other, &one)),
        ["spec.providerID"]
    );
    assert_eq!(
        fields(kind, &Request::update(&none, &one)),
        ["spec.providerID"]
    );
}
