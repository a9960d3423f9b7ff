//! Machines of a pool: one for each infrastructure machine that its provider shows (cluster-api
//! document, section 4.3), and what the pool tells of them. What is read here is decided on in
//! `remuda_plan::machines`.

use std::collections::BTreeMap;

use kube::core::{ApiResource, GroupVersionKind};
use remuda_api::keys::{annotation, label};
use remuda_plan::machines::{
    names::label_value,
    pool_machine::{InfraMachine, PoolTemplate, Surfacing, is_of_pool, surface},
    remediation::{Reason, owner},
    view::{MachineView, OWNER_REMEDIATED},
};
use serde_json::Value;

use super::{
    facts::{MachineFact, Machines, Nodes, PoolMachines, Remediation},
    objects::MachinePool,
};
use crate::{
    adopt::Referenced,
    contract,
    kinds::Kind,
    objects::{ApiError, LiveObjects, Objects},
};

/// What was read of a pool with Machines.
pub(super) struct Read {
    /// The provider's objects, one a member.
    infra: Vec<InfraMachine>,
    /// Their resource.
    resource: ApiResource,
    /// Machines by name: the pool's, and those that have a name of ours.
    machines: BTreeMap<String, Stored>,
}

/// A Machine as stored.
pub(super) struct Stored {
    /// The whole object.
    pub raw: Value,
    /// What is decided on.
    pub view: MachineView,
}

/// What is to be done about the Machines of a pool.
pub(super) struct Surfaced {
    /// The pool's Machines, by name.
    pub machines: BTreeMap<String, Stored>,
    /// What each infrastructure machine needs, by name.
    pub surfacings: Vec<(String, Surfacing)>,
    /// What is done about unhealthy ones.
    pub replacements: owner::Replacements,
}

impl Read {
    /// Provider IDs of the members that have an object.
    pub(super) fn provider_ids(&self) -> impl Iterator<Item = &String> {
        let infra = self.infra.iter();
        infra.filter_map(|infra| infra.spec.provider_id.as_ref())
    }
}

/// Reads the infrastructure machines and Machines of a pool; `None`: its provider publishes no kind
/// of them.
///
/// # Errors
/// A read failed: nothing is known.
pub(super) async fn read(
    objects: &LiveObjects,
    pool: &MachinePool,
    infra: Option<&Referenced>,
) -> Result<Option<Read>, ApiError> {
    let Some((infra, kind)) = infra.and_then(|infra| Some((infra, kind(infra)?))) else {
        return Ok(None);
    };
    let namespace = &pool.metadata.namespace;
    // The kind lives where its pool's does (cluster-api document 2.4).
    let of = &infra.resource;
    let resource = ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk(&of.group, &of.version, kind),
        &contract::plural(kind),
    );
    let selector = selector(pool);
    let list = objects
        .list_of(&resource, Some(namespace), &selector)
        .await?;
    let infra: Vec<InfraMachine> = list
        .into_iter()
        .map(serde_json::from_value)
        .collect::<Result<_, _>>()
        .map_err(|error| ApiError::Failed {
            what: format!("read the {kind} objects of {}", pool.metadata.name),
            why: format!("unexpected shape: {error}"),
        })?;
    // Whether a field has to be applied again depends on who manages it.
    let objects = &objects.keeping_managers();
    let mut machines = list_machines(objects, pool).await?;
    for name in infra.iter().map(|infra| &infra.metadata.name) {
        if machines.contains_key(name) {
            continue;
        }
        // Its labels may have been taken off, or the name may be somebody else's.
        if let Some(raw) = objects.get(Kind::Machine, namespace, name).await? {
            machines.insert(name.clone(), Stored::of(raw));
        }
    }
    Ok(Some(Read {
        infra,
        resource,
        machines,
    }))
}

/// The Machines with the pool's labels, by name.
pub(super) async fn list_machines(
    objects: &LiveObjects,
    pool: &MachinePool,
) -> Result<BTreeMap<String, Stored>, ApiError> {
    let list = objects
        .list(Kind::Machine, &pool.metadata.namespace, &selector(pool))
        .await?;
    let stored = list.into_iter().map(Stored::of);
    Ok(stored
        .map(|stored| (stored.view.metadata.name.clone(), stored))
        .collect())
}

impl Stored {
    fn of(raw: Value) -> Self {
        let view = serde::Deserialize::deserialize(&raw).unwrap_or_default();
        Self { raw, view }
    }
}

fn kind(infra: &Referenced) -> Option<&str> {
    infra
        .object
        .pointer("/status/infrastructureMachineKind")
        .and_then(Value::as_str)
        .filter(|kind| !kind.is_empty())
}

fn selector(pool: &MachinePool) -> String {
    format!(
        "{}={},{}={}",
        label::CLUSTER_NAME,
        pool.spec.cluster_name,
        label::POOL_NAME,
        label_value(&pool.metadata.name)
    )
}

/// Decides what is to be done, and what the pool's status is made of.
pub(super) fn decide(
    read: Read,
    pool: &MachinePool,
    live: &Value,
    nodes: &Nodes,
    may_create: bool,
) -> (Surfaced, PoolMachines) {
    let empty = Value::Null;
    let resource = Kind::MachinePool.resource();
    let template = PoolTemplate {
        pool: &pool.metadata,
        api_version: &resource.api_version,
        cluster_name: &pool.spec.cluster_name,
        labels: &pool.spec.template.metadata.labels,
        annotations: &pool.spec.template.metadata.annotations,
        spec: live.pointer("/spec/template/spec").unwrap_or(&empty),
        infra_group: &read.resource.group,
        infra_kind: &read.resource.kind,
    };
    let mut bare = 0;
    let mut foreign = Vec::new();
    let mut surfacings = Vec::new();
    for infra in &read.infra {
        let name = &infra.metadata.name;
        let stored = read.machines.get(name).map(|stored| &stored.raw);
        bare += usize::from(stored.is_none() && infra.metadata.deletion_timestamp.is_none());
        let surfacing = surface(
            &template,
            infra,
            stored,
            kubelet(nodes, infra).as_deref(),
            may_create,
        );
        if let Surfacing::Foreign(why) = &surfacing {
            foreign.push(format!("the Machine {name} is not this pool's: {why}"));
        }
        surfacings.push((name.clone(), surfacing));
    }
    let mut machines = read.machines;
    machines.retain(|_, stored| is_of_pool(&stored.view, &pool.metadata));
    let infra: BTreeMap<&str, &InfraMachine> = read
        .infra
        .iter()
        .map(|infra| (infra.metadata.name.as_str(), infra))
        .collect();
    let of = |view: &MachineView| {
        infra
            .get(view.spec.infrastructure_ref.name.as_str())
            .copied()
    };
    let views: Vec<&MachineView> = machines.values().map(|stored| &stored.view).collect();
    let replacements = owner::replacements(&views, owner::IN_FLIGHT);
    let facts = PoolMachines {
        machines: machines
            .values()
            .map(|stored| fact(&stored.view, of(&stored.view), &replacements))
            .collect(),
        bare,
        foreign,
        history: history(pool),
    };
    let surfaced = Surfaced {
        machines,
        surfacings,
        replacements,
    };
    (surfaced, facts)
}

/// The kubelet's version on the Node of an infrastructure machine, as far as it is known.
fn kubelet(nodes: &Nodes, infra: &InfraMachine) -> Option<String> {
    let Nodes::Known { by_provider_id, .. } = nodes else {
        return None;
    };
    let node = by_provider_id.get(infra.spec.provider_id.as_ref()?)?;
    node.kubelet_version.clone()
}

fn fact(
    machine: &MachineView,
    infra: Option<&InfraMachine>,
    replacements: &owner::Replacements,
) -> MachineFact {
    let name = &machine.metadata.name;
    MachineFact {
        name: name.clone(),
        provider_id: machine.spec.provider_id.clone(),
        node: machine
            .status
            .node_ref
            .as_ref()
            .map(|node| node.name.clone()),
        ready: machine.holds("Ready"),
        available: machine.holds("Available"),
        up_to_date: machine.holds("UpToDate"),
        outdated: infra.is_some_and(|infra| infra.status.up_to_date == Some(false)),
        version: machine.version().map(str::to_owned),
        remediation: remediation(machine, replacements),
    }
}

fn remediation(machine: &MachineView, replacements: &owner::Replacements) -> Remediation {
    let name = &machine.metadata.name;
    let begun = machine
        .condition(OWNER_REMEDIATED)
        .is_some_and(|condition| condition.reason == Reason::MachineDeleting.as_str());
    let marked = replacements.marks.iter().any(|mark| mark.machine == *name);
    if replacements.deletes.contains(name) || begun && machine.is_deleting() {
        Remediation::Going
    } else if marked {
        Remediation::Waiting
    } else {
        Remediation::None
    }
}

/// What was replaced last, newest first: at most three.
fn history(pool: &MachinePool) -> String {
    let annotations = &pool.metadata.annotations;
    let lines = annotations.get(annotation::REMEDIATION_HISTORY);
    let lines: Vec<&str> = lines
        .map_or("", String::as_str)
        .lines()
        .rev()
        .take(3)
        .collect();
    match lines.as_slice() {
        [] => String::new(),
        lines => format!("replaced last: {}", lines.join("; ")),
    }
}

/// Machines as facts: read, or why not.
pub(super) fn facts(read: Result<Option<PoolMachines>, String>) -> Machines {
    match read {
        Ok(None) => Machines::Off,
        Ok(Some(pool)) => Machines::Known(pool),
        Err(why) => Machines::Unknown(why),
    }
}
