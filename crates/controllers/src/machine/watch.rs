//! What wakes a Machine: itself, its Cluster, its infrastructure object. Its Node wakes it through
//! the workload cluster's watch.

use std::hash::{DefaultHasher, Hash, Hasher};

use kube::{api::DynamicObject, core::ObjectMeta};
use remuda_api::keys::label;
use remuda_plan::machines::condition::MACHINE_CONDITIONS;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::{
    kinds::Kind,
    watching::{Kept, ObjectKey, Route, Term, intent, intent_and, itself},
};

/// Leaves of a Machine what queues need: which one it is, and whose, in the labels of its cluster and
/// its pool. Those of its pool, too, when it vanished while the watch was broken.
pub(crate) fn slim(machine: &mut DynamicObject) {
    let mut labels = machine.metadata.labels.take().unwrap_or_default();
    labels.retain(|key, _| key == label::POOL_NAME || key == label::CLUSTER_NAME);
    let cluster = machine.data.pointer("/spec/clusterName");
    if let Some(cluster) = cluster.and_then(Value::as_str) {
        labels.insert(label::CLUSTER_NAME.to_owned(), cluster.to_owned());
    }
    machine.types = None;
    machine.data = Value::Null;
    machine.metadata = ObjectMeta {
        name: machine.metadata.name.take(),
        namespace: machine.metadata.namespace.take(),
        labels: Some(labels),
        owner_references: machine.metadata.owner_references.take(),
        ..ObjectMeta::default()
    };
}

/// A Machine's cluster, by name.
const CLUSTER: &str = "cluster";
/// A Machine's infrastructure object, by kind and name.
const INFRASTRUCTURE: &str = "infrastructure";

/// What a Machine is found by.
pub(crate) fn terms(machine: &DynamicObject) -> Vec<Term> {
    let text = |pointer: &str| machine.data.pointer(pointer).and_then(Value::as_str);
    let cluster = text("/spec/clusterName").map(|name| Term::about(CLUSTER, machine, name));
    let infra = text("/spec/infrastructureRef/kind").zip(text("/spec/infrastructureRef/name"));
    let infra =
        infra.map(|(kind, name)| Term::about(INFRASTRUCTURE, machine, format!("{kind}/{name}")));
    cluster.into_iter().chain(infra).collect()
}

/// The routes into the Machines' queue: the kind watched and the route.
pub(crate) fn routes(
    queue: &mpsc::UnboundedSender<ObjectKey>,
    machines: &Kept,
) -> Vec<(Kind, Option<&'static str>, Route)> {
    let (by_cluster, by_infra) = (machines.clone(), machines.clone());
    vec![
        (Kind::Machine, None, Route::new(queue, own, itself)),
        (
            Kind::Cluster,
            None,
            Route::new(queue, intent, move |cluster| {
                let name = cluster.metadata.name.as_deref().unwrap_or_default();
                by_cluster.keys(&Term::about(CLUSTER, cluster, name))
            }),
        ),
        (
            Kind::TerraformMachinePoolMachine,
            None,
            Route::new(queue, infra_facts, move |infra| {
                let kind = infra.types.as_ref().map(|types| types.kind.as_str());
                let kind = kind.unwrap_or("TerraformMachinePoolMachine");
                let name = infra.metadata.name.as_deref().unwrap_or_default();
                by_infra.keys(&Term::about(
                    INFRASTRUCTURE,
                    infra,
                    format!("{kind}/{name}"),
                ))
            }),
        ),
    ]
}

/// What others write on a Machine: its spec, and conditions that count towards `Ready`.
fn own(machine: &DynamicObject) -> u64 {
    let ours = MACHINE_CONDITIONS.map(remuda_plan::machines::condition::MachineCondition::as_str);
    let theirs: Vec<&Value> = conditions(machine)
        .filter(|condition| {
            let kind = condition["type"].as_str().unwrap_or_default();
            !ours.iter().any(|own| own == kind)
        })
        .collect();
    let mut hasher = DefaultHasher::new();
    (intent(machine), theirs).hash(&mut hasher);
    hasher.finish()
}

fn conditions(object: &DynamicObject) -> impl Iterator<Item = &Value> {
    let conditions = object.data.pointer("/status/conditions");
    conditions.and_then(Value::as_array).into_iter().flatten()
}

/// The contract fields of an infrastructure object.
fn infra_facts(infra: &DynamicObject) -> u64 {
    let ready: Vec<&Value> = conditions(infra)
        .filter(|condition| condition["type"] == "Ready")
        .collect();
    let facts = intent_and(
        infra,
        &[
            "/spec/providerID",
            "/status/ready",
            "/status/initialization",
            "/status/addresses",
            "/status/failureDomain",
            "/status/interruptible",
            "/status/upToDate",
        ],
    );
    let mut hasher = DefaultHasher::new();
    (facts, ready).hash(&mut hasher);
    hasher.finish()
}
