//! What wakes a MachinePool: itself, its Cluster, its infrastructure object. Nodes wake it through
//! their own watches.

use kube::{api::DynamicObject, runtime::reflector::Store};
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
    ]
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
