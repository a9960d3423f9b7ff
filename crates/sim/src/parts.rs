//! Parts of a world, each with the states it was in before, for reads that lag behind.

use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;

use crate::history::History;

/// Parts by their place.
#[derive(Debug)]
pub(crate) struct Parts<T> {
    present: Vec<T>,
    /// Earlier states of each.
    earlier: Vec<History<T>>,
}

impl<T> Default for Parts<T> {
    fn default() -> Self {
        Self {
            present: Vec::new(),
            earlier: Vec::new(),
        }
    }
}

impl<T> From<Vec<T>> for Parts<T> {
    fn from(present: Vec<T>) -> Self {
        Self {
            earlier: present.iter().map(|_| History::default()).collect(),
            present,
        }
    }
}

impl<T> Deref for Parts<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.present
    }
}

impl<T> DerefMut for Parts<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.present
    }
}

impl<T: Clone> Parts<T> {
    /// Adds a part behind all others.
    pub(crate) fn push(&mut self, part: T) {
        self.present.push(part);
        self.earlier.push(History::default());
    }

    /// Remembers a part that changes at `now`, for reads that lag by up to `span`.
    pub(crate) fn remember(&mut self, place: usize, now: Timestamp, span: Duration) {
        self.earlier[place].remember(&self.present[place], now, span);
    }

    /// The part as it was at `moment`; `None` when it has not changed since.
    pub(crate) fn as_of(&self, place: usize, moment: Timestamp) -> Option<Arc<T>> {
        self.earlier[place].as_of(moment)
    }
}
