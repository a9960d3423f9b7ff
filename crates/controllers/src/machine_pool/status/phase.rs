//! The phase of a MachinePool. Pure.

use super::{super::facts::Facts, bootstrap_created, counters::Counters};

/// The phase: each rule that matches overrides those before it. Its "ready" are Nodes that are
/// Ready, also in a pool with Machines (cluster-api document 3.5).
pub(super) fn phase(facts: &Facts, provisioned: bool, counters: &Counters) -> &'static str {
    let ready = counters.nodes_ready.or(counters.ready).unwrap_or(0);
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
