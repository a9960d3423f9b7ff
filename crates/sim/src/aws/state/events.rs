//! What happens next: a queue of events by time. Nothing in the world is found by scanning.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Name;

/// Index of an estate in the state.
pub(crate) type EstateId = usize;

/// Something that happens by itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Event {
    /// A group looks at itself and acts.
    GroupWork(EstateId, Name),
    /// A target-tracking policy looks at its metric.
    Metric(EstateId, Name),
    /// A lifecycle hook's heartbeat may have run out.
    HookDeadline {
        estate: EstateId,
        group: Name,
        instance: Name,
    },
    /// A member leaves `Pending:Proceed`.
    Proceeds {
        estate: EstateId,
        group: Name,
        instance: Name,
    },
    /// An instance leaves `pending`.
    Running(EstateId, Name),
    /// An instance leaves `stopping`.
    Stopped(EstateId, Name),
    /// An instance leaves `shutting-down`.
    Terminated(EstateId, Name),
    /// A terminated instance is not shown any longer.
    Forgotten(EstateId, Name),
    /// A Spot notice ends.
    SpotEnds(EstateId, Name),
}

impl Event {
    fn estate(&self) -> EstateId {
        match self {
            Self::GroupWork(estate, _)
            | Self::Metric(estate, _)
            | Self::HookDeadline { estate, .. }
            | Self::Proceeds { estate, .. }
            | Self::Running(estate, _)
            | Self::Stopped(estate, _)
            | Self::Terminated(estate, _)
            | Self::Forgotten(estate, _)
            | Self::SpotEnds(estate, _) => *estate,
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Due {
    at: Timestamp,
    order: u64,
    event: Event,
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

/// Events by time; those of one moment in the order they were added.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Reverse<Due>>,
    added: u64,
}

impl EventQueue {
    /// Adds an event.
    pub(crate) fn push(&mut self, at: Timestamp, event: Event) {
        self.added += 1;
        self.heap.push(Reverse(Due {
            at,
            order: self.added,
            event,
        }));
    }

    /// Whether each event happens in one of so many estates.
    pub(crate) fn all_within(&self, estates: usize) -> bool {
        self.heap
            .iter()
            .all(|Reverse(due)| due.event.estate() < estates)
    }

    /// The time of the next event.
    pub(crate) fn next_at(&self) -> Option<Timestamp> {
        self.heap.peek().map(|Reverse(due)| due.at)
    }

    /// The next event that is due at `present`.
    pub(crate) fn pop_due(&mut self, present: Timestamp) -> Option<(Timestamp, Event)> {
        if self.next_at()? > present {
            return None;
        }
        self.heap.pop().map(|Reverse(due)| (due.at, due.event))
    }
}
