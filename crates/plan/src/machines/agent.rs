//! What the node agent and the management side tell each other of an instance that its cloud is
//! about to end. Both sides write on the Node and nowhere else:
//!
//! ```text
//! cloud ── scheduled event ──▶ agent ── `remuda.dev/terminating` ──▶ its Machine is deleted
//! cloud ◀── acknowledged ───── agent ◀── `remuda.dev/drained` ────── its drain is over
//! ```
//!
//! The agent drains nothing: the drain is the Machine's. It holds the event back for as long as the
//! cloud waits; the cloud goes on by itself afterwards.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::group::Leaving;
use crate::pool::keys;

/// An event that the cloud announces to its machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduledEvent {
    /// Id, for the answer.
    pub id: String,
    /// What is about to happen.
    pub kind: EventKind,
    /// Names of the machines it happens to; others are only told.
    pub machines: Vec<String>,
    /// It is happening: no answer changes it.
    pub has_begun: bool,
    /// When it happens without an answer; `None` when the cloud does not say.
    pub not_before: Option<Timestamp>,
}

/// What an event does to a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventKind {
    /// Somebody deletes it, or makes its group smaller.
    Terminate,
    /// The cloud takes it back: spot.
    Preempt,
    /// Anything that it survives: a reboot, a redeployment, a freeze.
    Other,
}

/// The annotation `remuda.dev/terminating` of a Node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Told {
    /// Id of the event.
    pub event: String,
    /// What is about to happen.
    pub kind: EventKind,
    /// When the cloud stops waiting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
}

impl Told {
    /// The annotation's text.
    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// What a Node's annotations tell of its instance; `None`: nothing, or nothing that can be read.
pub fn told(annotations: &BTreeMap<String, String>) -> Option<Told> {
    serde_json::from_str(annotations.get(keys::NODE_TERMINATING)?).ok()
}

/// How the instance of a Node with these annotations leaves; `None` when nobody says that it does.
pub fn leaving(annotations: &BTreeMap<String, String>) -> Option<Leaving> {
    let told = told(annotations)?;
    let because = match told.kind {
        EventKind::Terminate => "terminate notification",
        EventKind::Preempt => "spot",
        EventKind::Other => return None,
    };
    Some(Leaving::Held {
        because: because.to_owned(),
        until: told.not_before,
    })
}

/// Whether the management side says that a Node's drain is over.
pub fn is_drained(annotations: &BTreeMap<String, String>) -> bool {
    annotations.contains_key(keys::NODE_DRAINED)
}

/// What the agent does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing is announced.
    Rest,
    /// Writes what it saw on its Node.
    Tell(Told),
    /// Waits for the drain.
    Wait,
    /// Tells the cloud that the event may begin.
    Acknowledge(String),
    /// Takes back what it wrote: the cloud changed its mind.
    Withdraw,
}

/// What the agent on `machine` does next. `node` is its Node's annotations, `None` when it has no
/// Node (any more): then there is nothing to drain.
pub fn step(
    events: &[ScheduledEvent],
    machine: &str,
    node: Option<&BTreeMap<String, String>>,
) -> Step {
    let ends = |event: &&ScheduledEvent| {
        matches!(event.kind, EventKind::Terminate | EventKind::Preempt)
            && event
                .machines
                .iter()
                .any(|name| name.eq_ignore_ascii_case(machine))
    };
    let mut own: Vec<&ScheduledEvent> = events.iter().filter(ends).collect();
    own.sort_by(|a, b| (a.has_begun, a.not_before, &a.id).cmp(&(b.has_begun, b.not_before, &b.id)));
    let Some(event) = own.first() else {
        let told = node.is_some_and(|node| node.contains_key(keys::NODE_TERMINATING));
        return if told { Step::Withdraw } else { Step::Rest };
    };
    if event.has_begun {
        return Step::Rest;
    }
    let Some(node) = node else {
        return Step::Acknowledge(event.id.clone());
    };
    let wanted = Told {
        event: event.id.clone(),
        kind: event.kind,
        not_before: event.not_before,
    };
    if told(node).as_ref() != Some(&wanted) {
        return Step::Tell(wanted);
    }
    if is_drained(node) {
        return Step::Acknowledge(wanted.event);
    }
    Step::Wait
}
