//! Conditions of a MachinePool that speak of its Machines; of its Nodes, where it has no Machines.
//! Pure.

use remuda_plan::machines::view::named;

use super::{
    super::{
        conditions::{ConditionType, Finding, Reason},
        facts::{Facts, MachineFact, Machines, Nodes, PoolMachines, Remediation},
    },
    counters::Counters,
};

pub(super) fn ready(facts: &Facts, counters: &Counters) -> Finding {
    let kind = ConditionType::MachinesReady;
    let pool = match (&facts.machines, &facts.nodes) {
        (Machines::Known(pool), _) => pool,
        (Machines::Unknown(why), _) | (Machines::Off, Nodes::Unknown(why)) => {
            return Finding::unknown(kind, Reason::ReadyUnknown, why.clone());
        }
        (Machines::Off, _) => return nodes_ready(counters),
    };
    if !pool.foreign.is_empty() {
        // Nothing mends itself here: it comes before what is only late.
        return Finding::no(kind, Reason::NotReady, pool.foreign.join("; "));
    }
    if pool.bare > 0 {
        let message = format!("{} instances have no Machine yet", pool.bare);
        return Finding::no(kind, Reason::NotReady, message);
    }
    every(pool, kind, |machine| machine.ready, &READY)
}

pub(super) fn up_to_date(facts: &Facts, counters: &Counters) -> Finding {
    let kind = ConditionType::MachinesUpToDate;
    match (&facts.machines, &facts.nodes) {
        (Machines::Known(pool), _) => every(pool, kind, |machine| machine.up_to_date, &UP_TO_DATE),
        (Machines::Unknown(why), _) | (Machines::Off, Nodes::Unknown(why)) => {
            Finding::unknown(kind, Reason::UpToDateUnknown, why.clone())
        }
        (Machines::Off, _) => nodes_up_to_date(facts, counters),
    }
}

/// Old revisions remain while an instance is made from an older model; without Machines, while
/// some Node runs another kubelet version than the one asked for.
pub(super) fn rolling_out(facts: &Facts, counters: &Counters) -> Finding {
    let kind = ConditionType::RollingOut;
    let Machines::Known(pool) = &facts.machines else {
        return nodes_rolling_out(facts, counters);
    };
    let old: Vec<&str> = names(pool, |machine| machine.outdated);
    if old.is_empty() {
        return Finding::no(kind, Reason::NotRollingOut, "");
    }
    let message = format!(
        "{} of {} Machines are of an older model: {}",
        old.len(),
        pool.machines.len(),
        named(old)
    );
    Finding::yes(kind, Reason::RollingOut, message)
}

pub(super) fn remediating(facts: &Facts) -> Finding {
    let kind = ConditionType::Remediating;
    let Machines::Known(pool) = &facts.machines else {
        return Finding::no(kind, Reason::NotRemediating, "");
    };
    let going = names(pool, |machine| machine.remediation == Remediation::Going);
    let waiting = names(pool, |machine| machine.remediation == Remediation::Waiting);
    let mut parts = Vec::new();
    if !going.is_empty() {
        parts.push(format!("being replaced: {}", named(going)));
    }
    if !waiting.is_empty() {
        parts.push(format!("waiting for their turn: {}", named(waiting)));
    }
    if parts.is_empty() {
        return Finding::no(kind, Reason::NotRemediating, pool.history.clone());
    }
    Finding::yes(kind, Reason::Remediating, parts.join("; "))
}

/// Reasons and words of a condition that holds when it holds for every Machine.
struct Words {
    yes: Reason,
    no: Reason,
    unknown: Reason,
    adjective: &'static str,
}

const READY: Words = Words {
    yes: Reason::Ready,
    no: Reason::NotReady,
    unknown: Reason::ReadyUnknown,
    adjective: "ready",
};

const UP_TO_DATE: Words = Words {
    yes: Reason::UpToDate,
    no: Reason::NotUpToDate,
    unknown: Reason::UpToDateUnknown,
    adjective: "up to date",
};

fn every(
    pool: &PoolMachines,
    kind: ConditionType,
    holds: fn(&MachineFact) -> Option<bool>,
    words: &Words,
) -> Finding {
    if pool.machines.is_empty() {
        return Finding::yes(kind, Reason::NoReplicas, "");
    }
    let no = names(pool, |machine| holds(machine) == Some(false));
    let unknown = names(pool, |machine| holds(machine).is_none());
    let said = |names: &[&str], how: &str| match names {
        [] => None,
        names => Some(format!(
            "{how} {}: {}",
            words.adjective,
            named(names.iter().copied())
        )),
    };
    let message: Vec<String> = [said(&no, "not"), said(&unknown, "not known to be")]
        .into_iter()
        .flatten()
        .collect();
    let message = message.join("; ");
    match (no.is_empty(), unknown.is_empty()) {
        (true, true) => Finding::yes(kind, words.yes, ""),
        (false, _) => Finding::no(kind, words.no, message),
        (true, false) => Finding::unknown(kind, words.unknown, message),
    }
}

fn names(pool: &PoolMachines, is: impl Fn(&MachineFact) -> bool) -> Vec<&str> {
    let machines = pool.machines.iter();
    machines
        .filter(|machine| is(machine))
        .map(|machine| machine.name.as_str())
        .collect()
}

fn nodes_ready(counters: &Counters) -> Finding {
    let kind = ConditionType::MachinesReady;
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

fn nodes_up_to_date(facts: &Facts, counters: &Counters) -> Finding {
    let kind = ConditionType::MachinesUpToDate;
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

fn nodes_rolling_out(facts: &Facts, counters: &Counters) -> Finding {
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
