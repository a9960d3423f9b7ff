//! Earlier states of a part of the world, for reads that lag behind.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use jiff::Timestamp;

use crate::clock::later;

/// The states something was in until the moment beside them, oldest first.
#[derive(Debug)]
pub(crate) struct History<T>(VecDeque<(Timestamp, Arc<T>)>);

impl<T> Default for History<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T: Clone> History<T> {
    /// Remembers `present`, which changes at `now`, for as long as a read may lag by `span`. With
    /// no lag nothing is kept.
    pub(crate) fn remember(&mut self, present: &T, now: Timestamp, span: Duration) {
        if span.is_zero() {
            self.0.clear();
            return;
        }
        while self
            .0
            .front()
            .is_some_and(|(until, _)| later(*until, span) < now)
        {
            self.0.pop_front();
        }
        self.0.push_back((now, Arc::new(present.clone())));
    }

    /// The state at `moment`; `None` when nothing has changed since.
    pub(crate) fn as_of(&self, moment: Timestamp) -> Option<Arc<T>> {
        self.0
            .iter()
            .find(|(until, _)| *until > moment)
            .map(|(_, old)| old.clone())
    }
}
