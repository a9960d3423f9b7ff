//! Machines of a pool, and what the pool tells of them. What `members` reads is decided on here, in
//! the terms of `remuda_plan::machines`.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{DefaultHasher, Hash, Hasher},
};

use remuda_api::keys::annotation;
use remuda_plan::machines::{
    pool_machine::{self, InfraMachine, PoolTemplate, Surfacing, is_of_pool, surface},
    remediation::{Reason, owner},
    view::{MachineView, OWNER_REMEDIATED},
};
use serde_json::Value;

use super::{
    facts::{MachineFact, Machines, Nodes, PoolMachines, Remediation},
    members::{Applied, Prints, Read, Stored},
    objects::MachinePool,
};

/// What is to be done about the Machines of a pool.
pub(super) struct Surfaced {
    /// The pool's Machines, by name.
    pub machines: BTreeMap<String, Stored>,
    /// What each infrastructure machine needs, by name.
    pub surfacings: Vec<(String, Surfacing)>,
    /// What is done about unhealthy ones.
    pub replacements: owner::Replacements,
}

/// What the Machines of a pool are decided with, besides themselves.
pub(super) struct Surface<'a> {
    pub pool: &'a MachinePool,
    /// The pool exactly as stored.
    pub live: &'a Value,
    pub nodes: &'a Nodes,
    pub may_create: bool,
    pub applied: &'a Applied,
}

impl Surface<'_> {
    pub(super) fn template<'t>(&'t self, read: &'t Read) -> PoolTemplate<'t> {
        const NOTHING: &Value = &Value::Null;
        let pool = self.pool;
        PoolTemplate {
            pool: &pool.metadata,
            api_version: self.live["apiVersion"].as_str().unwrap_or_default(),
            cluster_name: &pool.spec.cluster_name,
            labels: &pool.spec.template.metadata.labels,
            annotations: &pool.spec.template.metadata.annotations,
            spec: self.live.pointer("/spec/template/spec").unwrap_or(NOTHING),
            infra_group: &read.resource.group,
            infra_kind: &read.resource.kind,
        }
    }

    /// Digests of a Machine as it is and as it should be.
    pub(super) fn prints(
        &self,
        template: &PoolTemplate<'_>,
        infra: &InfraMachine,
        stored: &Stored,
    ) -> Prints {
        let kubelet = kubelet(self.nodes, infra);
        let wanted =
            pool_machine::machine(template, infra, Some(stored.view()), kubelet.as_deref());
        (stored.seen.applied, digest(&wanted))
    }

    /// Decides what is to be done, and what the pool's status is made of.
    pub(super) fn decide(&self, read: Read) -> (Surfaced, PoolMachines) {
        let template = self.template(&read);
        let mut bare = 0;
        let mut foreign = Vec::new();
        let mut surfacings = Vec::new();
        let mut applied = HashMap::new();
        for infra in &read.infra {
            let name = &infra.metadata.name;
            let stored = read.machines.get(name);
            bare += usize::from(stored.is_none() && infra.metadata.deletion_timestamp.is_none());
            let surfacing = if let Some(Stored { raw: None, .. }) = stored {
                // Else it would have been read.
                Surfacing::Settled
            } else {
                let live = stored.and_then(|stored| stored.raw.as_ref());
                let kubelet = kubelet(self.nodes, infra);
                surface(&template, infra, live, kubelet.as_deref(), self.may_create)
            };
            match (&surfacing, stored) {
                (Surfacing::Foreign(why), _) => {
                    foreign.push(format!("the Machine {name} is not this pool's: {why}"));
                }
                (Surfacing::Settled, Some(stored)) => {
                    applied.insert(name.clone(), self.prints(&template, infra, stored));
                }
                (Surfacing::Settled | Surfacing::Apply(_), _) => {}
            }
            surfacings.push((name.clone(), surfacing));
        }
        self.applied.set(&self.pool.metadata, applied);
        let Read {
            infra,
            mut machines,
            ..
        } = read;
        machines.retain(|_, stored| is_of_pool(stored.view(), &self.pool.metadata));
        let (facts, replacements) = self.facts(&infra, &machines);
        let facts = PoolMachines {
            bare,
            foreign,
            ..facts
        };
        let surfaced = Surfaced {
            machines,
            surfacings,
            replacements,
        };
        (surfaced, facts)
    }

    /// What the pool tells of its Machines, and which are to be replaced.
    fn facts(
        &self,
        infra: &[InfraMachine],
        machines: &BTreeMap<String, Stored>,
    ) -> (PoolMachines, owner::Replacements) {
        let infra: BTreeMap<&str, &InfraMachine> = infra
            .iter()
            .map(|infra| (infra.metadata.name.as_str(), infra))
            .collect();
        let of = |view: &MachineView| {
            let name = view.spec.infrastructure_ref.name.as_str();
            infra.get(name).copied()
        };
        let views: Vec<&MachineView> = machines.values().map(Stored::view).collect();
        let replacements = owner::replacements(&views, owner::IN_FLIGHT);
        let machines = views.iter().map(|view| fact(view, of(view), &replacements));
        let facts = PoolMachines {
            machines: machines.collect(),
            history: history(self.pool),
            ..PoolMachines::default()
        };
        (facts, replacements)
    }
}

/// A digest of what is wanted of a Machine; which one it is does not count.
pub(super) fn digest(wanted: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    wanted["spec"].hash(&mut hasher);
    let metadata = wanted["metadata"].as_object();
    for (field, value) in metadata.into_iter().flatten() {
        if field != "uid" {
            (field, value).hash(&mut hasher);
        }
    }
    hasher.finish()
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
