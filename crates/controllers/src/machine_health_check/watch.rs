//! What wakes a MachineHealthCheck: itself, its Cluster, the Machines it selects. Nodes wake it
//! through their Machines.

use std::hash::{DefaultHasher, Hash, Hasher};

use kube::{api::DynamicObject, runtime::reflector::Store};
use remuda_plan::pool::{objects::LabelSelector, selector::selects};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::{
    kinds::Kind,
    watching::{ObjectKey, Route, intent, intent_and, itself},
};

/// The routes into the MachineHealthChecks' queue: the kind watched and the route.
pub(crate) fn routes(
    queue: &mpsc::UnboundedSender<ObjectKey>,
    checks: &Store<DynamicObject>,
) -> Vec<(Kind, Option<&'static str>, Route)> {
    let (by_cluster, by_machine) = (checks.clone(), checks.clone());
    vec![
        (
            Kind::MachineHealthCheck,
            None,
            Route::new(queue, intent, itself),
        ),
        (
            Kind::Cluster,
            None,
            Route::new(queue, cluster_facts, move |cluster| {
                let name = cluster.metadata.name.clone().unwrap_or_default();
                keys(&by_cluster, cluster, |check| check_of(check, &name))
            }),
        ),
        (
            Kind::Machine,
            None,
            Route::new(queue, machine_facts, move |machine| {
                keys(&by_machine, machine, |check| {
                    selects_machine(check, machine)
                })
            }),
        ),
    ]
}

/// Whether the check may be made, and since when its clocks run.
fn cluster_facts(cluster: &DynamicObject) -> u64 {
    let gates = states(cluster, &["ControlPlaneInitialized", "InfrastructureReady"]);
    let mut hasher = DefaultHasher::new();
    (intent(cluster), gates).hash(&mut hasher);
    hasher.finish()
}

/// Conditions with their times: a condition that came back has a new clock.
fn machine_facts(machine: &DynamicObject) -> u64 {
    let facts = intent_and(machine, &["/status/nodeRef"]);
    let mut hasher = DefaultHasher::new();
    (facts, states(machine, &[])).hash(&mut hasher);
    hasher.finish()
}

/// Type, status and time of the conditions of these types; of all, when none is named.
fn states(object: &DynamicObject, kinds: &[&str]) -> Value {
    let conditions = object.data.pointer("/status/conditions");
    let conditions = conditions.and_then(Value::as_array).into_iter().flatten();
    let states = conditions.filter(|condition| {
        let kind = condition["type"].as_str().unwrap_or_default();
        kinds.is_empty() || kinds.contains(&kind)
    });
    let fields = ["type", "status", "lastTransitionTime"];
    let states: Vec<[&Value; 3]> = states
        .map(|condition| fields.map(|field| &condition[field]))
        .collect();
    serde_json::json!(states)
}

fn keys(
    checks: &Store<DynamicObject>,
    object: &DynamicObject,
    concerns: impl Fn(&DynamicObject) -> bool,
) -> Vec<ObjectKey> {
    checks
        .state()
        .iter()
        .filter(|check| check.metadata.namespace == object.metadata.namespace)
        .filter(|check| concerns(check))
        .map(|check| ObjectKey::of(check))
        .collect()
}

fn check_of(check: &DynamicObject, cluster: &str) -> bool {
    let name = check.data.pointer("/spec/clusterName");
    name.and_then(Value::as_str) == Some(cluster)
}

/// The check selects the Machine, or did so last time.
fn selects_machine(check: &DynamicObject, machine: &DynamicObject) -> bool {
    let cluster = machine.data.pointer("/spec/clusterName");
    if !check_of(check, cluster.and_then(Value::as_str).unwrap_or_default()) {
        return false;
    }
    let targets = check.data.pointer("/status/targets");
    let name = machine.metadata.name.as_deref();
    let mut known = targets.and_then(Value::as_array).into_iter().flatten();
    if known.any(|target| target.as_str() == name) {
        return true;
    }
    let selector = check.data.pointer("/spec/selector");
    let selector: Option<LabelSelector> =
        selector.and_then(|selector| serde::Deserialize::deserialize(selector).ok());
    let labels = machine.metadata.labels.clone().unwrap_or_default();
    selector.is_some_and(|selector| selects(&selector, &labels))
}
