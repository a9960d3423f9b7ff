//! Which unhealthy Machines their owner replaces now.

use std::cmp::Reverse;

use super::{Mark, Reason};
use crate::machines::view::{MachineView, OWNER_REMEDIATED, named};

/// How many Machines of a pool are replaced at once.
pub const IN_FLIGHT: usize = 1;

/// What an owner does about its unhealthy Machines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Replacements {
    /// Conditions to write, before anything is deleted.
    pub marks: Vec<Mark>,
    /// Names of Machines to delete.
    pub deletes: Vec<String>,
    /// Names of Machines that are healthy again: nothing about a replacement remains.
    pub recovered: Vec<String>,
}

impl Replacements {
    /// Nothing is to be done.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty() && self.deletes.is_empty() && self.recovered.is_empty()
    }
}

/// Decides for all Machines of one owner; at most `limit` are on their way at once.
pub fn replacements(machines: &[&MachineView], limit: usize) -> Replacements {
    let mut result = Replacements::default();
    let mut under_way = Vec::new();
    let mut waiting = Vec::new();
    for machine in machines {
        let name = &machine.metadata.name;
        let Some(remediated) = machine.condition(OWNER_REMEDIATED) else {
            continue;
        };
        let asked = remediated.holds() == Some(false);
        let begun = asked && remediated.reason == Reason::MachineDeleting.as_str();
        match (machine.is_deleting(), machine.is_unhealthy(), begun) {
            (true, _, true) => under_way.push(name.as_str()),
            (true, _, false) => {}
            (false, false, _) => result.recovered.push(name.clone()),
            (false, true, true) => {
                // The word was given and the deletion did not follow: it does now.
                under_way.push(name.as_str());
                result.deletes.push(name.clone());
            }
            (false, true, false) if asked => waiting.push(*machine),
            (false, true, false) => {}
        }
    }
    waiting.sort_by_key(|machine| {
        let metadata = &machine.metadata;
        let asked_by_person = machine.asks_for_remediation();
        (
            Reverse(asked_by_person),
            Reverse(metadata.creation_timestamp),
            metadata.name.clone(),
        )
    });
    let free = limit.saturating_sub(under_way.len()).min(waiting.len());
    let (now, later) = waiting.split_at(free);
    for machine in now {
        let name = &machine.metadata.name;
        under_way.push(name);
        result.deletes.push(name.clone());
        result.marks.push(mark(
            name,
            Reason::MachineDeleting,
            "the pool deletes the Machine, and another takes its place".to_owned(),
        ));
    }
    for machine in later {
        let message = format!(
            "at most {limit} is replaced at a time, and this is under way: {}",
            named(under_way.iter().copied())
        );
        let name = &machine.metadata.name;
        result
            .marks
            .push(mark(name, Reason::RemediationDeferred, message));
    }
    result
}

fn mark(machine: &str, reason: Reason, message: String) -> Mark {
    Mark {
        machine: machine.to_owned(),
        condition: OWNER_REMEDIATED,
        holds: false,
        reason,
        message,
    }
}
