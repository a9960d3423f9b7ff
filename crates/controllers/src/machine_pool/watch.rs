//! What wakes a MachinePool: itself, its Cluster, its infrastructure object, its Machines. Nodes wake it through
//! their own watches.

use std::hash::{DefaultHasher, Hash, Hasher};

use kube::api::DynamicObject;
use remuda_api::keys::label;
use remuda_plan::machines::names::{label_value, scaler_key};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::{
    kinds::Kind,
    watching::{
        Kept, ObjectKey, Route, Term, intent, intent_and, intent_but_annotations, itself, parts,
    },
};

/// A pool's cluster, by name.
pub(crate) const CLUSTER: &str = "cluster";
/// A pool's infrastructure object, by name.
const INFRASTRUCTURE: &str = "infrastructure";
/// The value of the pool label on what belongs to a pool.
pub(crate) const LABEL: &str = "label";
/// The Secret that machines of a pool boot from.
pub(crate) const BOOTSTRAP: &str = "bootstrap";

/// An id that a pool has registered, as a cluster autoscaler sees it.
pub(crate) const REGISTERED: &str = "registered";

/// What a MachinePool is found by.
pub(crate) fn terms(pool: &DynamicObject) -> Vec<Term> {
    let name = pool.metadata.name.as_deref().unwrap_or_default();
    let template = "/spec/template/spec";
    let relations = [
        (CLUSTER, "/spec/clusterName".to_owned()),
        (INFRASTRUCTURE, format!("{template}/infrastructureRef/name")),
        (BOOTSTRAP, format!("{template}/bootstrap/dataSecretName")),
    ];
    let mut terms = vec![Term::about(LABEL, pool, label_value(name))];
    terms.extend(relations.iter().filter_map(|(relation, pointer)| {
        let of = pool.data.pointer(pointer)?.as_str()?;
        Some(Term::about(relation, pool, of))
    }));
    let ids = pool.data.pointer("/spec/providerIDList");
    let ids = ids.and_then(Value::as_array).into_iter().flatten();
    terms.extend(ids.filter_map(Value::as_str).map(|id| {
        let id = scaler_key(id);
        Term::about(REGISTERED, pool, id)
    }));
    terms
}

/// The routes into the MachinePools' queue: the kind watched and the route.
pub(crate) fn routes(
    queue: &mpsc::UnboundedSender<ObjectKey>,
    machine_pools: &Kept,
) -> Vec<(Kind, Option<&'static str>, Route)> {
    let (by_cluster, by_infra) = (machine_pools.clone(), machine_pools.clone());
    let (by_member, by_machine) = (machine_pools.clone(), machine_pools.clone());
    vec![
        (Kind::MachinePool, None, Route::new(queue, intent, itself)),
        (
            Kind::Cluster,
            None,
            Route::new(queue, intent, move |cluster| {
                named(&by_cluster, cluster, CLUSTER)
            }),
        ),
        (
            Kind::TerraformMachinePool,
            None,
            Route::new(queue, infra_facts, move |infra| owning(&by_infra, infra)),
        ),
        (
            Kind::TerraformMachinePoolMachine,
            None,
            Route::new(queue, member_facts, move |infra| labeled(&by_member, infra)),
        ),
        (
            Kind::Machine,
            None,
            Route::new(queue, machine_facts, move |machine| {
                of_machine(&by_machine, machine)
            }),
        ),
    ]
}

/// What a pool tells of its infrastructure machines.
fn member_facts(infra: &DynamicObject) -> u64 {
    intent_and(infra, &["/status/upToDate", "/status/revision"])
}

/// What a pool tells of its Machines.
fn machine_facts(machine: &DynamicObject) -> u64 {
    let conditions = machine.data.pointer("/status/conditions");
    let conditions: Vec<[&Value; 3]> = conditions
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|condition| ["type", "status", "reason"].map(|field| &condition[field]))
        .collect();
    let facts = intent_and(
        machine,
        &["/status/nodeRef", "/status/nodeInfo/kubeletVersion"],
    );
    let mut hasher = DefaultHasher::new();
    (facts, conditions).hash(&mut hasher);
    hasher.finish()
}

/// The MachinePool that controls a Machine; of one without a controller, the one its label names.
fn of_machine(machine_pools: &Kept, machine: &DynamicObject) -> Vec<ObjectKey> {
    let mut owners = machine.metadata.owner_references.iter().flatten();
    let Some(owner) = owners.find(|owner| owner.controller == Some(true)) else {
        return labeled(machine_pools, machine);
    };
    if owner.kind != "MachinePool" {
        return Vec::new();
    }
    let namespace = machine.metadata.namespace.clone().unwrap_or_default();
    vec![ObjectKey::new(namespace, owner.name.clone())]
}

/// The MachinePool that the object's pool label names.
fn labeled(machine_pools: &Kept, object: &DynamicObject) -> Vec<ObjectKey> {
    let labels = object.metadata.labels.as_ref();
    let Some(value) = labels.and_then(|labels| labels.get(label::POOL_NAME)) else {
        return Vec::new();
    };
    let namespace = object.metadata.namespace.clone().unwrap_or_default();
    // Only a hash holds an underscore: names of objects do not.
    if !value.contains('_') {
        return vec![ObjectKey::new(namespace, value.clone())];
    }
    machine_pools.keys(&Term::new(LABEL, namespace, value))
}

/// The contract fields of an infrastructure object.
fn infra_facts(infra: &DynamicObject) -> u64 {
    let ready: Vec<&Value> = infra
        .data
        .pointer("/status/conditions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|condition| condition.get("type").and_then(Value::as_str) == Some("Ready"))
        .collect();
    // Annotations such as block-move come and go with every operation and concern no owner.
    let intent = intent_but_annotations(infra);
    let facts = parts(
        infra,
        &[
            "/spec/providerIDList",
            "/status/replicas",
            "/status/ready",
            "/status/initialization",
            "/status/infrastructureMachineKind",
        ],
    );
    let mut hasher = DefaultHasher::new();
    (intent, facts, ready).hash(&mut hasher);
    hasher.finish()
}

/// The MachinePool that controls an infrastructure object; before it is adopted, those that name it.
fn owning(machine_pools: &Kept, infra: &DynamicObject) -> Vec<ObjectKey> {
    let owners = infra.metadata.owner_references.iter().flatten();
    let mut owners = owners.filter(|owner| owner.kind == "MachinePool");
    match owners.find(|owner| owner.controller == Some(true)) {
        Some(owner) => {
            let namespace = infra.metadata.namespace.clone().unwrap_or_default();
            vec![ObjectKey::new(namespace, owner.name.clone())]
        }
        None => named(machine_pools, infra, INFRASTRUCTURE),
    }
}

/// The MachinePools of the object's namespace that stand in a relation to its name.
fn named(machine_pools: &Kept, object: &DynamicObject, relation: &'static str) -> Vec<ObjectKey> {
    let name = object.metadata.name.as_deref().unwrap_or_default();
    machine_pools.keys(&Term::about(relation, object, name))
}
