//! Since when workload clusters have been silent. A restart forgets it: the grace period begins
//! anew, and what is known stays that much longer.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use jiff::Timestamp;

use crate::workload::ClusterKey;

/// Silent clusters.
#[derive(Debug, Default)]
pub(crate) struct Silence {
    since: Mutex<HashMap<ClusterKey, Timestamp>>,
}

impl Silence {
    /// The cluster is silent: since when.
    pub(super) fn since(&self, cluster: &ClusterKey, now: Timestamp) -> Timestamp {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let since = since.entry(cluster.clone()).or_insert(now);
        // A beginning in the future is a clock that was set back.
        *since = (*since).min(now);
        *since
    }

    /// The cluster answers.
    pub(super) fn is_over(&self, cluster: &ClusterKey) {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        since.remove(cluster);
    }
}
