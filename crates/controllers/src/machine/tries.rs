//! When the tries to delete a Node began, by the Machine's UID. A restart begins a new series.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use jiff::Timestamp;

/// Series of tries.
#[derive(Debug, Default)]
pub(crate) struct Tries {
    since: Mutex<HashMap<String, Timestamp>>,
}

impl Tries {
    /// When the series began, if there is one.
    pub(super) fn since(&self, uid: &str) -> Option<Timestamp> {
        let since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        since.get(uid).copied()
    }

    /// A try was made now.
    pub(super) fn made(&self, uid: &str, now: Timestamp) {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let first = since.entry(uid.to_owned()).or_insert(now);
        *first = (*first).min(now);
    }

    /// The Machine is gone.
    pub(super) fn forget(&self, uid: &str) {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        since.remove(uid);
    }
}
