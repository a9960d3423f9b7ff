//! Machines of pools and what they stand for, as their watches last showed them.
//!
//! A pass over a pool looks at all of its Machines; read anew by each pass they were most of what a
//! thousand pools cost. Passes that take something away read them all the same.

use std::hash::{DefaultHasher, Hash, Hasher};

use kube::{api::DynamicObject, core::ObjectMeta};
use remuda_api::keys::label;
use remuda_plan::machines::{
    objects::InfraMachine,
    pool_machine::{MANAGER, OWNED},
    view::{HEALTH_CHECK_SUCCEEDED, MachineView},
};
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::{
    terraform_machine_pool::drop_nulls,
    watching::{Glances, Term},
};

/// By cluster and pool, as their labels name them.
const POOL: &str = "pool";

/// What the watches of both kinds show.
#[derive(Clone)]
pub(crate) struct PoolMembers {
    pub(crate) infra: Glances<Packed>,
    pub(crate) machines: Glances<Packed>,
}

/// What is looked at of an object, as text: it takes a third of what it would take as values, and is
/// read far less often than it is kept.
pub(crate) struct Packed {
    text: Box<[u8]>,
    applied: u64,
}

/// A Machine as its watch showed it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeenMachine {
    /// What is decided on.
    pub view: MachineView,
    /// A digest of all that tells whether an apply would change it.
    pub applied: u64,
}

/// The members of one pool, sorted by name.
#[derive(Debug, Clone, Default)]
pub struct MembersOf {
    /// What stands for the instances.
    pub infra: Vec<InfraMachine>,
    /// Their Machines.
    pub machines: Vec<SeenMachine>,
}

impl SeenMachine {
    /// The same of a Machine as it was read, with its managers.
    pub(crate) fn of(machine: &Value) -> Option<Self> {
        let object = DynamicObject::deserialize(machine).ok()?;
        Self::unpacked(&Packed::machine(&object))
    }

    fn unpacked(packed: &Packed) -> Option<Self> {
        Some(Self {
            view: serde_json::from_slice(&packed.text).ok()?,
            applied: packed.applied,
        })
    }
}

impl Default for PoolMembers {
    fn default() -> Self {
        Self {
            infra: Glances::new(Packed::infra, labeled),
            machines: Glances::new(Packed::machine, labeled),
        }
    }
}

impl PoolMembers {
    /// The members with these labels; `None`: a watch does not know, or shows something of
    /// unexpected shape.
    pub(crate) fn of(&self, namespace: &str, cluster: &str, pool: &str) -> Option<MembersOf> {
        let term = Term::new(POOL, namespace, format!("{cluster}/{pool}"));
        let infra = self.infra.group(&term)?.into_iter();
        let machines = self.machines.group(&term)?.into_iter();
        Some(MembersOf {
            infra: infra
                .map(|infra| serde_json::from_slice(&infra.text).ok())
                .collect::<Option<_>>()?,
            machines: machines
                .map(|machine| SeenMachine::unpacked(&machine))
                .collect::<Option<_>>()?,
        })
    }
}

impl Packed {
    fn infra(object: &DynamicObject) -> Self {
        let part = |part: &str| object.data.get(part).cloned().unwrap_or_default();
        Self {
            text: text(json!({
                "metadata": metadata(object),
                "spec": part("spec"),
                "status": part("status"),
            })),
            applied: 0,
        }
    }

    /// Of a Machine that which [`MachineView`] shows, but for what conditions say to people: pools
    /// tell why one is unhealthy, and nothing else.
    fn machine(object: &DynamicObject) -> Self {
        let data = |pointer: &str| object.data.pointer(pointer).cloned().unwrap_or_default();
        let mut conditions = data("/status/conditions");
        for condition in conditions.as_array_mut().into_iter().flatten() {
            let tells = condition["type"] == HEALTH_CHECK_SUCCEEDED;
            if let Some(fields) = condition.as_object_mut() {
                fields.retain(|field, _| match field.as_str() {
                    "type" | "status" | "reason" => true,
                    "message" => tells,
                    _ => false,
                });
            }
        }
        let value = json!({
            "metadata": metadata(object),
            "spec": {
                "clusterName": data("/spec/clusterName"),
                "providerID": data("/spec/providerID"),
                "version": data("/spec/version"),
                "infrastructureRef": data("/spec/infrastructureRef"),
            },
            "status": {
                "conditions": conditions,
                "nodeRef": data("/status/nodeRef"),
                "nodeInfo": { "kubeletVersion": data("/status/nodeInfo/kubeletVersion") },
            },
        });
        Self {
            text: text(value),
            applied: applied_print(object),
        }
    }
}

fn metadata(object: &DynamicObject) -> ObjectMeta {
    ObjectMeta {
        managed_fields: None,
        ..object.metadata.clone()
    }
}

/// The text of a value. An explicit `null` means the same as an absent field.
fn text(mut value: Value) -> Box<[u8]> {
    drop_nulls(&mut value);
    value.to_string().into_bytes().into_boxed_slice()
}

fn labeled(object: &DynamicObject) -> Option<Term> {
    let labels = object.metadata.labels.as_ref()?;
    let (cluster, pool) = (
        labels.get(label::CLUSTER_NAME)?,
        labels.get(label::POOL_NAME)?,
    );
    Some(Term::about(POOL, object, format!("{cluster}/{pool}")))
}

/// A digest of everything of a Machine that tells whether applying it once more would change it: the
/// fields that its pool owns or may own. As long as it is the same, what was applied is applied still.
fn applied_print(object: &DynamicObject) -> u64 {
    let metadata = &object.metadata;
    let mut hasher = DefaultHasher::new();
    (&metadata.uid, &metadata.labels, &metadata.annotations).hash(&mut hasher);
    for owner in metadata.owner_references.iter().flatten() {
        (&owner.api_version, &owner.kind, &owner.name, &owner.uid).hash(&mut hasher);
        (owner.controller, owner.block_owner_deletion).hash(&mut hasher);
    }
    for entry in metadata.managed_fields.iter().flatten() {
        let is_apply = entry.operation.as_deref() == Some("Apply")
            && entry.subresource.as_deref().unwrap_or_default().is_empty();
        if is_apply && entry.manager.as_deref() == Some(MANAGER) {
            entry.fields_v1.as_ref().map(|it| &it.0).hash(&mut hasher);
        }
    }
    for field in OWNED {
        object
            .data
            .get("spec")
            .and_then(|spec| spec.get(field))
            .hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use kube::runtime::watcher::Event;

    use super::*;
    use crate::watching::Onlooker;

    fn machine() -> Value {
        json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
            "metadata": {
                "name": "m", "namespace": "n", "uid": "u", "resourceVersion": "7",
                "labels": { label::CLUSTER_NAME: "demo", label::POOL_NAME: "workers" },
                "managedFields": [
                    { "manager": MANAGER, "operation": "Apply", "time": "2026-01-01T00:00:00Z",
                      "fieldsV1": { "f:spec": { "f:clusterName": {} } } },
                    { "manager": "b", "operation": "Update", "subresource": "status",
                      "fieldsV1": { "f:status": {} } },
                ],
            },
            "spec": { "clusterName": "demo", "version": null },
            "status": { "phase": "Running" },
        })
    }

    fn print(change: impl Fn(&mut Value)) -> u64 {
        let mut object = machine();
        change(&mut object);
        applied_print(&serde_json::from_value(object).unwrap())
    }

    #[test]
    fn a_print_moves_with_what_an_apply_depends_on_and_with_nothing_else() {
        let before = print(|_| {});
        let same: [fn(&mut Value); 5] = [
            |it| it["metadata"]["finalizers"] = json!(["f"]),
            |it| it["spec"]["providerID"] = json!("aws:///a/i-1"),
            |it| it["status"]["phase"] = json!("Failed"),
            |it| it["metadata"]["resourceVersion"] = json!("8"),
            |it| {
                it["metadata"]["managedFields"][1]["fieldsV1"] =
                    json!({ "f:status": { "f:x": {} } });
            },
        ];
        for change in same {
            assert_eq!(print(change), before);
        }
        let other: [fn(&mut Value); 6] = [
            |it| it["spec"]["version"] = json!("v1"),
            |it| it["metadata"]["labels"]["x"] = json!("y"),
            |it| it["metadata"]["annotations"] = json!({ "x": "y" }),
            |it| {
                it["metadata"]["ownerReferences"] =
                    json!([{ "apiVersion": "v", "kind": "k", "name": "n", "uid": "u" }]);
            },
            |it| it["metadata"]["managedFields"][0]["manager"] = json!("c"),
            |it| it["metadata"]["managedFields"][0]["fieldsV1"] = json!({ "f:spec": {} }),
        ];
        for change in other {
            assert_ne!(print(change), before);
        }
    }

    #[test]
    fn members_are_found_by_the_labels_of_their_pool() {
        let members = PoolMembers::default();
        let object: DynamicObject = serde_json::from_value(machine()).unwrap();
        for kind in [&members.machines as &dyn Onlooker, &members.infra] {
            assert!(members.of("n", "demo", "workers").is_none());
            kind.take(&Event::Init);
            kind.take(&Event::InitDone);
        }
        members.machines.take(&Event::Apply(object));
        let found = members.of("n", "demo", "workers").unwrap();
        assert_eq!(found.machines[0].view.spec.cluster_name, "demo");
        assert!(found.infra.is_empty());
        for (namespace, cluster, pool) in [
            ("o", "demo", "workers"),
            ("n", "d", "workers"),
            ("n", "demo", "w"),
        ] {
            assert!(
                members
                    .of(namespace, cluster, pool)
                    .unwrap()
                    .machines
                    .is_empty()
            );
        }
    }
}
