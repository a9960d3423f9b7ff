//! What happens next in a world: a queue of events by time. Nothing in a world is found by
//! scanning.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Due<E> {
    at: Timestamp,
    order: u64,
    event: E,
}

impl<E> PartialEq for Due<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Due<E> {}

impl<E> PartialOrd for Due<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Due<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

/// Events by time; those of one moment in the order they were added.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EventQueue<E> {
    heap: BinaryHeap<Reverse<Due<E>>>,
    added: u64,
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            added: 0,
        }
    }
}

impl<E> EventQueue<E> {
    /// Adds an event.
    pub(crate) fn push(&mut self, at: Timestamp, event: E) {
        self.added += 1;
        self.heap.push(Reverse(Due {
            at,
            order: self.added,
            event,
        }));
    }

    /// All events, in no order.
    pub(crate) fn all(&self) -> impl Iterator<Item = &E> {
        self.heap.iter().map(|Reverse(due)| &due.event)
    }

    /// The time of the next event.
    pub(crate) fn next_at(&self) -> Option<Timestamp> {
        self.heap.peek().map(|Reverse(due)| due.at)
    }

    /// The next event that is due at `present`.
    pub(crate) fn pop_due(&mut self, present: Timestamp) -> Option<(Timestamp, E)> {
        if self.next_at()? > present {
            return None;
        }
        self.heap.pop().map(|Reverse(due)| (due.at, due.event))
    }
}
