//! Machines that a pool makes of its infrastructure machines.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail loudly, as tests do"
)]

use std::collections::BTreeMap;

use remuda_plan::{
    machines::pool_machine::{InfraMachine, MANAGER, OWNED, PoolTemplate, Surfacing, surface},
    pool::objects::Metadata,
};
use serde_json::{Value, json};

fn pool(name: &str) -> Metadata {
    Metadata {
        name: name.to_owned(),
        namespace: "team-a".to_owned(),
        uid: "pool-uid".to_owned(),
        ..Metadata::default()
    }
}

fn infra(change: impl FnOnce(&mut Value)) -> InfraMachine {
    let mut infra = json!({
        "metadata": { "name": "demo-pool-0-1a2b", "uid": "im" },
        "spec": { "providerID": "aws:///us-east-1a/i-1" },
    });
    change(&mut infra);
    serde_json::from_value(infra).unwrap()
}

struct Made {
    pool: Metadata,
    labels: BTreeMap<String, String>,
    spec: Value,
}

impl Default for Made {
    fn default() -> Self {
        Self {
            pool: pool("demo-pool-0"),
            labels: BTreeMap::from([("tier".to_owned(), "web".to_owned())]),
            spec: json!({
                "clusterName": "demo",
                "failureDomain": "us-east-1a",
                "version": "v1.34.0",
                "deletion": { "nodeDrainTimeoutSeconds": 60 },
                "minReadySeconds": 5,
                "readinessGates": [{ "conditionType": "Fit" }],
                "taints": [{ "key": "a", "effect": "NoSchedule", "propagation": "Always" }],
            }),
        }
    }
}

impl Made {
    fn surface(
        &self,
        infra: &InfraMachine,
        live: Option<&Value>,
        kubelet: Option<&str>,
    ) -> Surfacing {
        let annotations = BTreeMap::new();
        let template = PoolTemplate {
            pool: &self.pool,
            api_version: "cluster.x-k8s.io/v1beta2",
            cluster_name: "demo",
            labels: &self.labels,
            annotations: &annotations,
            spec: &self.spec,
            infra_group: "infrastructure.cluster.x-k8s.io",
            infra_kind: "TerraformMachinePoolMachine",
        };
        surface(&template, infra, live, kubelet, true)
    }

    fn applied(&self, infra: &InfraMachine, live: Option<&Value>, kubelet: Option<&str>) -> Value {
        match self.surface(infra, live, kubelet) {
            Surfacing::Apply(machine) => machine,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_member_gets_a_machine_of_its_name_that_the_pool_controls() {
    let machine = Made::default().applied(&infra(|_| {}), None, None);
    assert_eq!(machine["metadata"]["name"], "demo-pool-0-1a2b");
    let owner = &machine["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["uid"], &owner["controller"]),
        (&json!("MachinePool"), &json!("pool-uid"), &json!(true))
    );
    assert_eq!(
        machine["metadata"]["labels"],
        json!({
            "tier": "web",
            "cluster.x-k8s.io/cluster-name": "demo",
            "cluster.x-k8s.io/pool-name": "demo-pool-0",
        })
    );
    assert_eq!(
        machine["spec"],
        json!({
            "clusterName": "demo",
            "bootstrap": { "dataSecretName": "" },
            "infrastructureRef": {
                "apiGroup": "infrastructure.cluster.x-k8s.io",
                "kind": "TerraformMachinePoolMachine",
                "name": "demo-pool-0-1a2b",
            },
            "deletion": { "nodeDrainTimeoutSeconds": 60 },
            "minReadySeconds": 5,
            "readinessGates": [{ "conditionType": "Fit" }],
            "taints": [{ "key": "a", "effect": "NoSchedule", "propagation": "Always" }],
        }),
        "the version comes from the Node, the zone from the instance"
    );
}

#[test]
fn a_pool_owns_no_other_field_of_a_spec_than_it_says() {
    let machine = Made::default().applied(&infra(|_| {}), None, Some("v1.34.1"));
    let owned: Vec<&String> = machine["spec"].as_object().unwrap().keys().collect();
    assert_eq!(
        owned, OWNED,
        "what a Machine's pool may set, all of it set here"
    );
}

#[test]
fn the_version_is_the_nodes_and_stays_while_the_node_is_away() {
    let made = Made::default();
    let machine = made.applied(&infra(|_| {}), None, Some("v1.34.1"));
    assert_eq!(machine["spec"]["version"], "v1.34.1");
    let live = stored(machine);
    assert_eq!(
        made.surface(&infra(|_| {}), Some(&live), None),
        Surfacing::Settled
    );
    let next = made.applied(&infra(|_| {}), Some(&live), Some("v1.35.0"));
    assert_eq!(next["spec"]["version"], "v1.35.0");
    assert_eq!(next["metadata"]["uid"], "m", "an update never creates");
}

#[test]
fn a_broken_instance_without_a_provider_id_has_a_machine_too() {
    let broken = infra(|infra| infra["spec"] = json!({}));
    assert!(matches!(
        Made::default().surface(&broken, None, None),
        Surfacing::Apply(_)
    ));
}

#[test]
fn a_member_on_its_way_out_gets_no_machine() {
    let going = infra(|infra| {
        infra["metadata"]["deletionTimestamp"] = json!("2026-10-01T12:00:00Z");
    });
    assert_eq!(
        Made::default().surface(&going, None, None),
        Surfacing::Settled
    );
}

/// The object as a server stores what this manager applied.
fn stored(mut machine: Value) -> Value {
    let fields = |labels: &Value| -> Value {
        let labels = labels.as_object().unwrap().keys();
        labels.map(|key| (format!("f:{key}"), json!({}))).collect()
    };
    let labels = fields(&machine["metadata"]["labels"]);
    machine["metadata"]["uid"] = json!("m");
    machine["metadata"]["managedFields"] = json!([{
        "manager": MANAGER, "operation": "Apply", "fieldsV1": {
            "f:metadata": { "f:labels": labels },
            "f:spec": { "f:deletion": { "f:nodeDrainTimeoutSeconds": {} } },
        },
    }]);
    machine
}

#[test]
fn what_leaves_the_template_leaves_the_machine() {
    let made = Made::default();
    let mut live = stored(made.applied(&infra(|_| {}), None, None));
    live["metadata"]["labels"]["theirs"] = json!("stays");
    assert_eq!(
        made.surface(&infra(|_| {}), Some(&live), None),
        Surfacing::Settled
    );
    let bare = Made {
        labels: BTreeMap::new(),
        ..Made::default()
    };
    let machine = bare.applied(&infra(|_| {}), Some(&live), None);
    let labels = machine["metadata"]["labels"].as_object().unwrap();
    assert!(
        !labels.contains_key("tier") && !labels.contains_key("theirs"),
        "{labels:?}"
    );
}

#[test]
fn a_machine_of_somebody_else_is_left() {
    let made = Made::default();
    let bare = json!({ "metadata": { "name": "demo-pool-0-1a2b", "uid": "m" } });
    assert_eq!(
        made.surface(&infra(|_| {}), Some(&bare), None),
        Surfacing::Foreign("it has no pool label".to_owned())
    );
    let mut owned = stored(made.applied(&infra(|_| {}), None, None));
    owned["metadata"]["ownerReferences"] = json!([
        { "kind": "MachineSet", "name": "web", "uid": "set", "controller": true },
    ]);
    assert_eq!(
        made.surface(&infra(|_| {}), Some(&owned), None),
        Surfacing::Foreign("it belongs to MachineSet web".to_owned())
    );
}

#[test]
fn a_machine_that_lost_its_labels_is_still_the_pools() {
    let made = Made::default();
    let mut live = stored(made.applied(&infra(|_| {}), None, None));
    live["metadata"]["labels"] = json!({});
    let again = made.applied(&infra(|_| {}), Some(&live), None);
    assert_eq!(again["metadata"]["labels"]["tier"], "web");
}

/// A restored Machine has its labels and no owner yet.
#[test]
fn a_machine_without_an_owner_is_taken_by_its_label() {
    let made = Made {
        pool: pool(&"p".repeat(80)),
        ..Made::default()
    };
    let mut live = stored(made.applied(&infra(|_| {}), None, None));
    let value = live["metadata"]["labels"]["cluster.x-k8s.io/pool-name"].clone();
    assert!(value.as_str().unwrap().starts_with("hash_"));
    live["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("ownerReferences");
    let again = made.applied(&infra(|_| {}), Some(&live), None);
    assert_eq!(again["metadata"]["ownerReferences"][0]["uid"], "pool-uid");
}
