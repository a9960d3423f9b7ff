//! Counters, phase and conditions of a MachinePool, with and without Machines. Pure.
//!
//! | file | what |
//! | --- | --- |
//! | `counters` | counters and references |
//! | `phase` | the phase |
//! | `findings` | conditions |
//! | `machines` | conditions that speak of Machines |

mod counters;
mod findings;
mod machines;
mod phase;

use std::sync::Arc;

use jiff::SignedDuration;

pub(crate) use self::counters::Counters;
use super::{
    conditions::Finding,
    facts::{Bootstrap, Facts, InfraFacts, Infrastructure, Machines, NodeRef, Nodes},
};
use crate::workload::NodeFact;

/// What a pass publishes about a MachinePool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Verdict {
    /// `spec.providerIDList` to write; `None` leaves it.
    pub provider_ids: Option<Vec<String>>,
    /// Nodes to delete: their provider ID left the list.
    pub retired: Vec<NodeRef>,
    /// Nodes of members that no Machine stands for, in list order, with what they still lack.
    pub members: Vec<Arc<NodeFact>>,
    /// `status.initialization.infrastructureProvisioned`.
    pub provisioned: bool,
    /// `status.initialization.bootstrapDataSecretCreated`.
    pub bootstrap_created: bool,
    /// Counters and references.
    pub counters: Counters,
    /// `status.phase`.
    pub phase: &'static str,
    /// Conditions, one of every type.
    pub conditions: Vec<Finding>,
    /// When something becomes true by time alone.
    pub recheck: Option<SignedDuration>,
}

/// Decides everything that a pass publishes.
pub(crate) fn decide(facts: &Facts) -> Verdict {
    let infra = infra(facts);
    let provisioned = match (&facts.infrastructure, infra) {
        (Infrastructure::Unreadable(_), _) => facts.previous.provisioned,
        (_, Some(infra)) => infra.provisioned,
        (_, None) => false,
    };
    let copied = infra.filter(|infra| infra.provisioned && !infra.deleting);
    let provider_ids = copied.and_then(|infra| copied_list(facts, infra));
    let current = provider_ids
        .as_deref()
        .unwrap_or(&facts.previous.provider_ids);
    let replicas = copied
        .and_then(|infra| infra.replicas)
        .or(facts.previous.replicas);
    let members = members(facts, current);
    let (counters, recheck) = counters::count(facts, replicas, current, members.as_deref());
    let retired = if provisioned || facts.deleting {
        retired(facts, current)
    } else {
        Vec::new()
    };
    let phase = phase::phase(facts, provisioned, &counters);
    Verdict {
        conditions: findings::conditions(facts, provisioned, &counters),
        provider_ids,
        retired,
        members: match &facts.machines {
            Machines::Off => members.unwrap_or_default(),
            // The Machine controller initializes the Nodes of its Machines.
            Machines::Known(_) | Machines::Unknown(_) => Vec::new(),
        },
        provisioned,
        bootstrap_created: bootstrap_created(&facts.bootstrap),
        counters,
        phase,
        recheck,
    }
}

fn infra(facts: &Facts) -> Option<&InfraFacts> {
    match &facts.infrastructure {
        Infrastructure::Known(infra) => Some(infra),
        Infrastructure::Missing | Infrastructure::Unreadable(_) => None,
    }
}

fn bootstrap_created(bootstrap: &Bootstrap) -> bool {
    matches!(
        bootstrap,
        Bootstrap::SecretProvided | Bootstrap::ConfigReady(_)
    )
}

/// A provider that loses its inventory for a moment must not wipe the pool: an empty list counts
/// only together with zero replicas.
fn guarded(facts: &Facts, infra: &InfraFacts) -> bool {
    let replicas = infra.replicas.or(facts.previous.replicas).unwrap_or(0);
    infra.provider_ids.is_empty() && replicas != 0
}

/// The list to write onto the MachinePool, when it differs and may be believed. It follows the
/// reachable workload cluster: until then nobody could tell which Nodes a change retires.
fn copied_list(facts: &Facts, infra: &InfraFacts) -> Option<Vec<String>> {
    let reachable = matches!(facts.nodes, Nodes::Known { .. });
    let differs = infra.provider_ids != facts.previous.provider_ids;
    (reachable && differs && !guarded(facts, infra)).then(|| infra.provider_ids.clone())
}

/// The Nodes of the list, in its order; `None` while the workload cluster cannot be asked.
fn members(facts: &Facts, provider_ids: &[String]) -> Option<Vec<Arc<NodeFact>>> {
    match &facts.nodes {
        Nodes::Known { by_provider_id, .. } => Some(
            provider_ids
                .iter()
                .filter_map(|id| by_provider_id.get(id))
                .cloned()
                .collect(),
        ),
        Nodes::Listing | Nodes::Unknown(_) => None,
    }
}

/// Nodes that the last pass referred to and whose provider ID left the list. The Node of a Machine
/// goes with its Machine, after the drain.
fn retired(facts: &Facts, current: &[String]) -> Vec<NodeRef> {
    let Nodes::Known { by_name, .. } = &facts.nodes else {
        return Vec::new();
    };
    if current.is_empty() && facts.desired != 0 && !facts.deleting {
        return Vec::new();
    }
    facts
        .previous
        .node_refs
        .iter()
        .filter_map(|reference| by_name.get(&reference.name).and_then(Option::as_ref))
        .filter(|node| {
            node.provider_id
                .as_ref()
                .is_some_and(|id| !current.contains(id))
        })
        .filter(|node| !is_a_machines(facts, node))
        .map(|node| NodeRef {
            name: node.name.clone(),
            uid: node.uid.clone(),
        })
        .collect()
}

/// A Machine stands for the Node, or none can be told to.
fn is_a_machines(facts: &Facts, node: &NodeFact) -> bool {
    match &facts.machines {
        Machines::Off => false,
        Machines::Unknown(_) => true,
        Machines::Known(pool) => pool.machines.iter().any(|machine| {
            machine.node.as_ref() == Some(&node.name)
                || machine.provider_id.is_some() && machine.provider_id == node.provider_id
        }),
    }
}
