//! What wakes a MachinePool: itself, its Cluster, its infrastructure object, its Machines. Nodes wake it through
//! their own watches.

use kube::{api::DynamicObject, runtime::reflector::Store};
use remuda_api::keys::label;
use remuda_plan::machines::names::label_value;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::{
    kinds::Kind,
    watching::{ObjectKey, Route, intent, intent_and, itself},
};

/// The routes into the MachinePools' queue: the kind watched and the route.
pub(crate) fn routes(
    queue: &mpsc::UnboundedSender<ObjectKey>,
    machine_pools: &Store<DynamicObject>,
) -> Vec<(Kind, Option<&'static str>, Route)> {
    let (by_cluster, by_infra) = (machine_pools.clone(), machine_pools.clone());
    let (by_member, by_machine) = (machine_pools.clone(), machine_pools.clone());
    vec![
        (Kind::MachinePool, None, Route::new(queue, intent, itself)),
        (
            Kind::Cluster,
            None,
            Route::new(queue, intent, move |cluster| {
                named(&by_cluster, cluster, "/spec/clusterName")
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
    let mut slim = machine.clone();
    let conditions = machine.data.pointer("/status/conditions");
    let conditions: Vec<[&Value; 3]> = conditions
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|condition| ["type", "status", "reason"].map(|field| &condition[field]))
        .collect();
    slim.data["states"] = serde_json::json!(conditions);
    intent_and(
        &slim,
        &[
            "/states",
            "/status/nodeRef",
            "/status/nodeInfo/kubeletVersion",
        ],
    )
}

/// The MachinePool that controls a Machine; of one without a controller, the one its label names.
fn of_machine(machine_pools: &Store<DynamicObject>, machine: &DynamicObject) -> Vec<ObjectKey> {
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
fn labeled(machine_pools: &Store<DynamicObject>, object: &DynamicObject) -> Vec<ObjectKey> {
    let labels = object.metadata.labels.as_ref();
    let Some(value) = labels.and_then(|labels| labels.get(label::POOL_NAME)) else {
        return Vec::new();
    };
    let namespace = object.metadata.namespace.clone().unwrap_or_default();
    // Only a hash holds an underscore: names of objects do not.
    if !value.contains('_') {
        return vec![ObjectKey::new(namespace, value.clone())];
    }
    machine_pools
        .state()
        .iter()
        .map(|pool| ObjectKey::of(pool))
        .filter(|pool| pool.namespace == namespace && label_value(&pool.name) == *value)
        .collect()
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
    let mut slim = infra.clone();
    slim.data["readyCondition"] = serde_json::json!(ready);
    // Annotations such as block-move come and go with every operation and concern no owner.
    slim.metadata.annotations = None;
    intent_and(
        &slim,
        &[
            "/spec/providerIDList",
            "/status/replicas",
            "/status/ready",
            "/status/initialization",
            "/status/infrastructureMachineKind",
            "/readyCondition",
        ],
    )
}

/// The MachinePool that controls an infrastructure object; before it is adopted, those that name it.
fn owning(machine_pools: &Store<DynamicObject>, infra: &DynamicObject) -> Vec<ObjectKey> {
    let owners = infra.metadata.owner_references.iter().flatten();
    let mut owners = owners.filter(|owner| owner.kind == "MachinePool");
    match owners.find(|owner| owner.controller == Some(true)) {
        Some(owner) => {
            let namespace = infra.metadata.namespace.clone().unwrap_or_default();
            vec![ObjectKey::new(namespace, owner.name.clone())]
        }
        None => named(
            machine_pools,
            infra,
            "/spec/template/spec/infrastructureRef/name",
        ),
    }
}

/// The MachinePools of the object's namespace that hold its name at `pointer`.
fn named(
    machine_pools: &Store<DynamicObject>,
    object: &DynamicObject,
    pointer: &str,
) -> Vec<ObjectKey> {
    let name = object.metadata.name.as_deref();
    machine_pools
        .state()
        .iter()
        .filter(|pool| pool.metadata.namespace == object.metadata.namespace)
        .filter(|pool| pool.data.pointer(pointer).and_then(Value::as_str) == name)
        .map(|pool| ObjectKey::of(pool))
        .collect()
}
