//! Counters and references of a MachinePool. Pure.

use std::{collections::BTreeMap, sync::Arc};

use jiff::{SignedDuration, Timestamp};

use super::{
    super::facts::{Facts, MachineFact, Machines, NodeRef, Nodes, PoolMachines},
    is_a_machines,
};
use crate::workload::NodeFact;

/// Counters and references as they should read now.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Counters {
    /// `status.replicas`.
    pub replicas: Option<i32>,
    /// Machines that are Ready; without Machines, members whose Node is.
    pub ready: Option<i32>,
    /// Machines that are Available; without Machines, members whose Node has been Ready for
    /// `minReadySeconds`.
    pub available: Option<i32>,
    /// Machines that are UpToDate; without Machines, members whose kubelet runs the version asked
    /// for.
    pub up_to_date: Option<i32>,
    /// Members whose Node is Ready; `None` while the Nodes are not known.
    pub nodes_ready: Option<i32>,
    /// Node references in list order.
    pub node_refs: Vec<NodeRef>,
    /// Kubelet versions and how many run each.
    pub versions: Vec<(String, i32)>,
}

/// Counts; without Nodes or Machines to look at, the last counts stay.
pub(super) fn count(
    facts: &Facts,
    replicas: Option<i32>,
    current: &[String],
    members: Option<&[Arc<NodeFact>]>,
) -> (Counters, Option<SignedDuration>) {
    let (counters, recheck) = match members {
        Some(members) => of_nodes(facts, replicas, current, members),
        None => (kept(facts, replicas), None),
    };
    match &facts.machines {
        Machines::Off => (counters, recheck),
        // A Machine tells by itself when it becomes available.
        Machines::Known(pool) => (of_machines(pool, counters), None),
        Machines::Unknown(_) => {
            let known = kept(facts, replicas);
            let counters = Counters {
                nodes_ready: counters.nodes_ready,
                node_refs: counters.node_refs,
                ..known
            };
            (counters, None)
        }
    }
}

/// What the last pass counted.
fn kept(facts: &Facts, replicas: Option<i32>) -> Counters {
    let previous = &facts.previous;
    Counters {
        replicas,
        ready: previous.ready,
        available: previous.available,
        up_to_date: previous.up_to_date,
        nodes_ready: None,
        node_refs: previous.node_refs.clone(),
        versions: previous.versions.clone(),
    }
}

fn of_nodes(
    facts: &Facts,
    replicas: Option<i32>,
    current: &[String],
    members: &[Arc<NodeFact>],
) -> (Counters, Option<SignedDuration>) {
    let mut recheck: Option<SignedDuration> = None;
    let mut available = 0;
    for node in members.iter().filter(|node| node.ready) {
        match remaining(node, facts.min_ready_seconds, facts.now) {
            None => available += 1,
            Some(left) => recheck = Some(recheck.map_or(left, |soonest| soonest.min(left))),
        }
    }
    let versions = members
        .iter()
        .filter_map(|node| node.kubelet_version.as_deref());
    let up_to_date = members
        .iter()
        .filter(|node| runs(node, facts.version.as_deref()));
    let mut matched: Vec<NodeRef> = members
        .iter()
        .map(|node| NodeRef {
            name: node.name.clone(),
            uid: node.uid.clone(),
        })
        .collect();
    // A list without any matching Node keeps the old references: the Nodes may only be late.
    let node_refs = if matched.is_empty() && !current.is_empty() {
        facts.previous.node_refs.clone()
    } else {
        matched.extend(leaving(facts, current));
        matched
    };
    let ready = number(members.iter().filter(|node| node.ready).count());
    let counted = Counters {
        replicas,
        ready: Some(ready),
        available: Some(available),
        up_to_date: Some(number(up_to_date.count())),
        nodes_ready: Some(ready),
        node_refs,
        versions: tally(versions),
    };
    (counted, recheck)
}

/// Nodes of members that left, while their Machines still see to them. Should a Machine go without
/// its Node, the Node is retired like one that never had a Machine.
fn leaving<'a>(facts: &'a Facts, current: &'a [String]) -> impl Iterator<Item = NodeRef> + 'a {
    let references = facts.previous.node_refs.iter();
    references.filter_map(move |reference| {
        let Nodes::Known { by_name, .. } = &facts.nodes else {
            return None;
        };
        let node = by_name.get(&reference.name)?.as_ref()?;
        let left = node
            .provider_id
            .as_ref()
            .is_some_and(|id| !current.contains(id));
        (left && is_a_machines(facts, node)).then(|| NodeRef {
            name: node.name.clone(),
            uid: node.uid.clone(),
        })
    })
}

/// The same with what the Machines say in place of what Nodes say.
fn of_machines(pool: &PoolMachines, counters: Counters) -> Counters {
    let holding = |holds: fn(&MachineFact) -> Option<bool>| {
        let machines = pool.machines.iter();
        Some(number(
            machines
                .filter(|machine| holds(machine) == Some(true))
                .count(),
        ))
    };
    Counters {
        ready: holding(|machine| machine.ready),
        available: holding(|machine| machine.available),
        up_to_date: holding(|machine| machine.up_to_date),
        versions: tally(pool.machines.iter().filter_map(|m| m.version.as_deref())),
        ..counters
    }
}

fn tally<'a>(versions: impl Iterator<Item = &'a str>) -> Vec<(String, i32)> {
    let mut counts: BTreeMap<&str, i32> = BTreeMap::new();
    for version in versions {
        *counts.entry(version).or_default() += 1;
    }
    counts
        .into_iter()
        .map(|(version, count)| (version.to_owned(), count))
        .collect()
}

pub(super) fn number(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

/// Time until a Ready Node counts as available; `None` when it does.
fn remaining(node: &NodeFact, min_ready_seconds: i64, now: Timestamp) -> Option<SignedDuration> {
    if min_ready_seconds <= 0 {
        return None;
    }
    let since = node.ready_since?;
    let left = SignedDuration::from_secs(min_ready_seconds) - now.duration_since(since);
    left.is_positive().then_some(left)
}

fn runs(node: &NodeFact, version: Option<&str>) -> bool {
    match version {
        None => true,
        Some(version) => node.kubelet_version.as_deref() == Some(version),
    }
}
