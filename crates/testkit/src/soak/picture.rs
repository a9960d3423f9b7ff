//! What a world looks like, for the words of a failure.

use std::fmt::Write as _;

use remuda_controllers::kinds::Kind;
use serde_json::Value;

use super::{cloud::Place, guard::all};
use crate::{demo::NAMESPACE, world::World};

/// The pool, its Machines, its Nodes and its instances, a few lines each.
pub(super) async fn picture(world: &World, place: &Place) -> String {
    let mut text = String::new();
    for kind in [
        Kind::MachinePool,
        Kind::TerraformMachinePool,
        Kind::TerraformMachinePoolMachine,
        Kind::Machine,
    ] {
        for object in all(&world.objects, kind, NAMESPACE).await {
            describe(&mut text, kind, &object);
        }
    }
    for node in all(&world.workload(), Kind::Node, "").await {
        describe(&mut text, Kind::Node, &node);
    }
    let _ = writeln!(text, "instances: {:#?}", place.instances());
    let _ = writeln!(text, "cloud: {}", place.described());
    text
}

fn describe(text: &mut String, kind: Kind, object: &Value) {
    let metadata = &object["metadata"];
    let _ = writeln!(
        text,
        "{kind:?} {} deleted {} {}",
        metadata["name"], metadata["deletionTimestamp"], object["spec"]["providerID"],
    );
    let conditions = object.pointer("/status/conditions");
    for condition in conditions.and_then(Value::as_array).into_iter().flatten() {
        let _ = writeln!(
            text,
            "    {} {} {} {}",
            condition["type"], condition["status"], condition["reason"], condition["message"],
        );
    }
}
