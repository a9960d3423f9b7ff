//! Counters, phase and conditions of a MachinePool without Machines. Pure.

use std::{collections::BTreeMap, sync::Arc};

use jiff::{SignedDuration, Timestamp};

use super::{
    conditions::{ConditionType, Finding, Reason},
    facts::{Bootstrap, Facts, InfraFacts, Infrastructure, NodeRef, Nodes},
};
use crate::workload::NodeFact;

/// What a pass publishes about a MachinePool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Verdict {
    /// `spec.providerIDList` to write; `None` leaves it.
    pub provider_ids: Option<Vec<String>>,
    /// Nodes to delete: their provider ID left the list.
    pub retired: Vec<NodeRef>,
    /// Nodes of members, in list order, with what they still lack.
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

/// Counters and references as they should read now.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Counters {
    /// `status.replicas`.
    pub replicas: Option<i32>,
    /// Members whose Node is Ready.
    pub ready: Option<i32>,
    /// Members whose Node has been Ready for `minReadySeconds`.
    pub available: Option<i32>,
    /// Members whose kubelet runs the version asked for.
    pub up_to_date: Option<i32>,
    /// Node references in list order.
    pub node_refs: Vec<NodeRef>,
    /// Kubelet versions and how many run each.
    pub versions: Vec<(String, i32)>,
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
    let (counters, recheck) = counters(facts, replicas, current, members.as_deref());
    let retired = if provisioned || facts.deleting {
        retired(facts, current)
    } else {
        Vec::new()
    };
    let phase = phase(facts, provisioned, &counters);
    Verdict {
        conditions: conditions(facts, provisioned, &counters),
        provider_ids,
        retired,
        members: members.unwrap_or_default(),
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

/// Nodes that the last pass referred to and whose provider ID left the list.
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
        .map(|node| NodeRef {
            name: node.name.clone(),
            uid: node.uid.clone(),
        })
        .collect()
}

/// Counts; without Nodes to look at, the last counts stay.
fn counters(
    facts: &Facts,
    replicas: Option<i32>,
    current: &[String],
    members: Option<&[Arc<NodeFact>]>,
) -> (Counters, Option<SignedDuration>) {
    let previous = &facts.previous;
    let kept = |node_refs: Vec<NodeRef>| Counters {
        replicas,
        ready: previous.ready,
        available: previous.available,
        up_to_date: previous.up_to_date,
        node_refs,
        versions: previous.versions.clone(),
    };
    let Some(members) = members else {
        return (kept(previous.node_refs.clone()), None);
    };
    let mut recheck: Option<SignedDuration> = None;
    let mut available = 0;
    for node in members.iter().filter(|node| node.ready) {
        match remaining(node, facts.min_ready_seconds, facts.now) {
            None => available += 1,
            Some(left) => recheck = Some(recheck.map_or(left, |soonest| soonest.min(left))),
        }
    }
    let mut versions: BTreeMap<String, i32> = BTreeMap::new();
    for version in members
        .iter()
        .filter_map(|node| node.kubelet_version.clone())
    {
        *versions.entry(version).or_default() += 1;
    }
    let up_to_date = members
        .iter()
        .filter(|node| runs(node, facts.version.as_deref()));
    let matched: Vec<NodeRef> = members
        .iter()
        .map(|node| NodeRef {
            name: node.name.clone(),
            uid: node.uid.clone(),
        })
        .collect();
    // A list without any matching Node keeps the old references: the Nodes may only be late.
    let node_refs = if matched.is_empty() && !current.is_empty() {
        previous.node_refs.clone()
    } else {
        matched
    };
    let counted = Counters {
        replicas,
        ready: Some(count(members.iter().filter(|node| node.ready).count())),
        available: Some(available),
        up_to_date: Some(count(up_to_date.count())),
        node_refs,
        versions: versions.into_iter().collect(),
    };
    (counted, recheck)
}

fn count(n: usize) -> i32 {
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

/// The phase: each rule that matches overrides those before it.
fn phase(facts: &Facts, provisioned: bool, counters: &Counters) -> &'static str {
    let ready = counters.ready.unwrap_or(0);
    if facts.deleting {
        return "Deleting";
    }
    if provisioned {
        return match (facts.desired.cmp(&ready), facts.replicas_managed) {
            (std::cmp::Ordering::Equal, _) => "Running",
            (_, true) => "Scaling",
            (std::cmp::Ordering::Greater, false) => "ScalingUp",
            (std::cmp::Ordering::Less, false) => "ScalingDown",
        };
    }
    if !counters.node_refs.is_empty() {
        return "Provisioned";
    }
    if bootstrap_created(&facts.bootstrap) {
        return "Provisioning";
    }
    match facts.previous.phase.as_deref() {
        Some("Provisioning") => "Provisioning",
        Some("Provisioned") => "Provisioned",
        _ => "Pending",
    }
}

fn conditions(facts: &Facts, provisioned: bool, counters: &Counters) -> Vec<Finding> {
    vec![
        available(facts, provisioned, counters),
        bootstrap_ready(&facts.bootstrap),
        infrastructure_ready(&facts.infrastructure, provisioned),
        machines_ready(facts, counters),
        machines_up_to_date(facts, counters),
        rolling_out(facts, counters),
        scaling_up(facts, counters),
        scaling_down(facts, counters),
        Finding::no(ConditionType::Remediating, Reason::NotRemediating, ""),
        deleting(facts, counters),
    ]
}

fn available(facts: &Facts, provisioned: bool, counters: &Counters) -> Finding {
    let have = counters.available.unwrap_or(0);
    if counters.replicas.is_none() && !provisioned {
        return Finding::unknown(
            ConditionType::Available,
            Reason::WaitingForReplicasSet,
            "waiting for the infrastructure to report its replicas",
        );
    }
    if provisioned && have >= facts.desired {
        return Finding::yes(ConditionType::Available, Reason::Available, "");
    }
    let message = if provisioned {
        format!("{have} of {} replicas available", facts.desired)
    } else {
        "the infrastructure is not provisioned".to_owned()
    };
    Finding::no(ConditionType::Available, Reason::NotAvailable, message)
}

fn bootstrap_ready(bootstrap: &Bootstrap) -> Finding {
    let kind = ConditionType::BootstrapConfigReady;
    match bootstrap {
        Bootstrap::SecretProvided => Finding::yes(kind, Reason::DataSecretProvided, ""),
        Bootstrap::ConfigReady(_) => Finding::yes(kind, Reason::Ready, ""),
        Bootstrap::ConfigNotReady => Finding::no(
            kind,
            Reason::NotReady,
            "the bootstrap config has not created its data Secret yet",
        ),
        Bootstrap::ConfigMissing => Finding::no(
            kind,
            Reason::ObjectDoesNotExist,
            "the object named by spec.template.spec.bootstrap.configRef does not exist",
        ),
        Bootstrap::Unset => Finding::unknown(
            kind,
            Reason::NotReady,
            "set spec.template.spec.bootstrap.dataSecretName or configRef",
        ),
    }
}

fn infrastructure_ready(infrastructure: &Infrastructure, provisioned: bool) -> Finding {
    let kind = ConditionType::InfrastructureReady;
    match infrastructure {
        Infrastructure::Missing => Finding::no(
            kind,
            Reason::ObjectDoesNotExist,
            "the object named by spec.template.spec.infrastructureRef does not exist",
        ),
        Infrastructure::Unreadable(why) => {
            Finding::unknown(kind, Reason::InternalError, why.clone())
        }
        Infrastructure::Known(infra) if infra.deleting => Finding::no(
            kind,
            Reason::ObjectDeleted,
            "the infrastructure object is being deleted",
        ),
        Infrastructure::Known(infra) => match &infra.ready {
            Some((status, reason, message)) => {
                Finding::mirrored(kind, status, reason, message.clone())
            }
            None if provisioned => Finding::yes(kind, Reason::Ready, ""),
            None => Finding::no(
                kind,
                Reason::NotReady,
                "the infrastructure object reports no Ready condition yet",
            ),
        },
    }
}

fn machines_ready(facts: &Facts, counters: &Counters) -> Finding {
    let kind = ConditionType::MachinesReady;
    if let Nodes::Unknown(why) = &facts.nodes {
        return Finding::unknown(kind, Reason::ReadyUnknown, why.clone());
    }
    let (have, all) = (counters.ready.unwrap_or(0), counters.replicas.unwrap_or(0));
    match (all, have >= all) {
        (0, _) => Finding::yes(kind, Reason::NoReplicas, ""),
        (_, true) => Finding::yes(kind, Reason::Ready, ""),
        (_, false) => Finding::no(
            kind,
            Reason::NotReady,
            format!("{have} of {all} Nodes are Ready"),
        ),
    }
}

fn machines_up_to_date(facts: &Facts, counters: &Counters) -> Finding {
    let kind = ConditionType::MachinesUpToDate;
    if let Nodes::Unknown(why) = &facts.nodes {
        return Finding::unknown(kind, Reason::UpToDateUnknown, why.clone());
    }
    let have = counters.up_to_date.unwrap_or(0);
    let all = counters.replicas.unwrap_or(0);
    match (all, have >= all) {
        (0, _) => Finding::yes(kind, Reason::NoReplicas, ""),
        (_, true) => Finding::yes(kind, Reason::UpToDate, ""),
        (_, false) => Finding::no(
            kind,
            Reason::NotUpToDate,
            format!(
                "{have} of {all} Nodes run {}",
                facts.version.as_deref().unwrap_or_default()
            ),
        ),
    }
}

/// Old revisions remain while some Node runs another kubelet version than the one asked for.
fn rolling_out(facts: &Facts, counters: &Counters) -> Finding {
    let kind = ConditionType::RollingOut;
    let old: i32 = counters
        .versions
        .iter()
        .filter(|(version, _)| {
            facts
                .version
                .as_ref()
                .is_some_and(|wanted| wanted != version)
        })
        .map(|(_, nodes)| nodes)
        .sum();
    if old > 0 {
        return Finding::yes(
            kind,
            Reason::RollingOut,
            format!("{old} Nodes of another version remain"),
        );
    }
    Finding::no(kind, Reason::NotRollingOut, "")
}

fn scaling_up(facts: &Facts, counters: &Counters) -> Finding {
    let kind = ConditionType::ScalingUp;
    let have = observed(facts, counters);
    if !facts.deleting && have < facts.desired {
        let message = format!("scaling up from {have} to {} replicas", facts.desired);
        return Finding::yes(kind, Reason::ScalingUp, message);
    }
    Finding::no(kind, Reason::NotScalingUp, "")
}

fn scaling_down(facts: &Facts, counters: &Counters) -> Finding {
    let kind = ConditionType::ScalingDown;
    let have = observed(facts, counters);
    let wanted = if facts.deleting { 0 } else { facts.desired };
    if have > wanted {
        let message = format!("scaling down from {have} to {wanted} replicas");
        return Finding::yes(kind, Reason::ScalingDown, message);
    }
    Finding::no(kind, Reason::NotScalingDown, "")
}

/// The members there are: the list, which runs ahead of the Nodes.
fn observed(facts: &Facts, counters: &Counters) -> i32 {
    infra(facts).map_or_else(
        || counters.replicas.unwrap_or(0),
        |infra| count(infra.provider_ids.len()),
    )
}

fn deleting(facts: &Facts, counters: &Counters) -> Finding {
    let kind = ConditionType::Deleting;
    if !facts.deleting {
        return Finding::no(kind, Reason::NotDeleting, "");
    }
    let message = match &facts.infrastructure {
        Infrastructure::Missing => format!("{} Nodes to remove", counters.node_refs.len()),
        Infrastructure::Known(_) | Infrastructure::Unreadable(_) => {
            "waiting for the infrastructure object to go".to_owned()
        }
    };
    Finding::yes(kind, Reason::Deleting, message)
}
