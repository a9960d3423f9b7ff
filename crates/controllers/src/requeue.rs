//! When a controller looks again after its own writes failed. When the cloud failed is `fold`'s
//! decision.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use crate::objects::ApiError;

/// After a conflict the object is read again soon: somebody else's write is in the cache by then.
const AFTER_CONFLICT: Duration = Duration::from_secs(1);
/// First wait after a failed write. Ours.
const FIRST: Duration = Duration::from_secs(1);
/// Longest wait after failed writes. Ours: within a minute of the API server's return.
const LONGEST: Duration = Duration::from_mins(1);

/// Counts failures in a row by key.
#[derive(Debug)]
pub(crate) struct Failures<K> {
    counts: Mutex<HashMap<K, u32>>,
}

impl<K> Default for Failures<K> {
    fn default() -> Self {
        Self {
            counts: Mutex::default(),
        }
    }
}

impl<K: Eq + Hash + Clone> Failures<K> {
    /// The key succeeded.
    pub(crate) fn forget(&self, key: &K) {
        self.counts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(key);
    }

    /// The key failed: how long to wait.
    pub(crate) fn wait(&self, key: &K, error: &ApiError) -> Duration {
        if matches!(error, ApiError::Conflict(_)) {
            return AFTER_CONFLICT;
        }
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(key.clone()).or_insert(0);
        *count = count.saturating_add(1);
        FIRST.saturating_mul(1 << (*count - 1).min(16)).min(LONGEST)
    }
}
