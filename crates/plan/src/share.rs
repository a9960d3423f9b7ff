//! Which part of the work is a manager's, when several work at once.
//!
//! Everything of one cluster is one manager's, so that controllers which wake each other run side by
//! side. What belongs to no cluster is split by its own name.

use std::fmt;

use crate::machines::names::fnv1a;

/// One of several shares of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    index: u16,
    of: u16,
}

impl Default for Share {
    /// The whole work.
    fn default() -> Self {
        Self { index: 0, of: 1 }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl Share {
    /// Number `index`, counted from 0, of `of` shares; `None` when there is no such share.
    pub fn new(index: u16, of: u16) -> Option<Self> {
        (index < of).then_some(Self { index, of })
    }

    /// Which one, counted from 0.
    pub fn index(self) -> u16 {
        self.index
    }

    /// How many there are.
    pub fn of(self) -> u16 {
        self.of
    }

    /// Whether the work on a cluster is in this share. `cluster` is the name of the cluster, or of an
    /// object without one; `namespace` is empty for objects that live in none.
    pub fn holds(self, namespace: &str, cluster: &str) -> bool {
        // A name holds no slash.
        let hash = fnv1a(format!("{namespace}/{cluster}").as_bytes());
        hash % u32::from(self.of) == u32::from(self.index)
    }
}
