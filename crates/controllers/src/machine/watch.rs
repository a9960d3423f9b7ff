//! What wakes a Machine: itself, its Cluster, its infrastructure object. Its Node wakes it through
//! the workload cluster's watch.

use kube::{api::DynamicObject, runtime::reflector::Store};
use remuda_plan::machines::condition::MACHINE_CONDITIONS;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::{
    kinds::Kind,
    watching::{ObjectKey, Route, intent, intent_and, itself},
};

/// Parts of Machines that are kept for look-ups.
pub(crate) const KEPT: &[&[&str]] = &[&["spec", "clusterName"], &["spec", "infrastructureRef"]];

/// The routes into the Machines' queue: the kind watched and the route.
pub(crate) fn routes(
    queue: &mpsc::UnboundedSender<ObjectKey>,
    machines: &Store<DynamicObject>,
) -> Vec<(Kind, Option<&'static str>, Route)> {
    let (by_cluster, by_infra) = (machines.clone(), machines.clone());
    vec![
        (Kind::Machine, None, Route::new(queue, own, itself)),
        (
            Kind::Cluster,
            None,
            Route::new(queue, intent, move |cluster| {
                named(&by_cluster, cluster, "/spec/clusterName", None)
            }),
        ),
        (
            Kind::TerraformMachinePoolMachine,
            None,
            Route::new(queue, infra_facts, move |infra| {
                let kind = infra.types.as_ref().map(|types| types.kind.as_str());
                let kind = kind.unwrap_or("TerraformMachinePoolMachine");
                named(&by_infra, infra, "/spec/infrastructureRef/name", Some(kind))
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
    let mut slim = machine.clone();
    slim.data["theirConditions"] = json!(theirs);
    intent_and(&slim, &["/theirConditions"])
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
    let mut slim = infra.clone();
    slim.data["readyCondition"] = json!(ready);
    intent_and(
        &slim,
        &[
            "/spec/providerID",
            "/status/ready",
            "/status/initialization",
            "/status/addresses",
            "/status/failureDomain",
            "/status/interruptible",
            "/status/upToDate",
            "/readyCondition",
        ],
    )
}

/// Machines of the object's namespace that hold its name at `pointer`, and refer to its kind.
fn named(
    machines: &Store<DynamicObject>,
    object: &DynamicObject,
    pointer: &str,
    kind: Option<&str>,
) -> Vec<ObjectKey> {
    let name = object.metadata.name.as_deref();
    let text = |machine: &DynamicObject, pointer: &str| {
        let text = machine.data.pointer(pointer).and_then(Value::as_str);
        text.map(str::to_owned)
    };
    machines
        .state()
        .iter()
        .filter(|machine| machine.metadata.namespace == object.metadata.namespace)
        .filter(|machine| text(machine, pointer).as_deref() == name)
        .filter(|machine| {
            let of = text(machine, "/spec/infrastructureRef/kind");
            kind.is_none_or(|kind| of.as_deref() == Some(kind))
        })
        .map(|machine| ObjectKey::of(machine))
        .collect()
}
