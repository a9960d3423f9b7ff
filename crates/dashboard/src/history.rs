//! How many machines pools had, as far as this process has seen it: kept in memory, in bounds.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Mutex, PoisonError},
};

use futures::StreamExt;
use jiff::Timestamp;
use kube::{
    Api, Client,
    api::DynamicObject,
    runtime::{WatchStreamExt, watcher},
};
use serde_json::Value;

use crate::{Clock, kinds::Kind, object};

/// Changes kept of one pool.
const POINTS: usize = 240;
/// Pools kept; a pool beyond them has no history.
const POOLS: usize = 5_000;

/// The counts of a pool from a moment on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) at: Timestamp,
    pub(crate) wanted: Option<i64>,
    pub(crate) have: i64,
    pub(crate) ready: i64,
}

/// What was seen of all pools.
#[derive(Debug, Default)]
pub struct History {
    pools: Mutex<BTreeMap<String, VecDeque<Point>>>,
}

impl History {
    /// Takes a MachinePool as it is at a time.
    pub fn see(&self, pool: &Value, at: Timestamp) {
        let Some(uid) = object::uid(pool) else { return };
        let listed = object::list(pool, "/spec/providerIDList").len();
        let point = Point {
            at,
            wanted: object::int(pool, "/spec/replicas"),
            have: i64::try_from(listed).unwrap_or(i64::MAX),
            ready: object::int(pool, "/status/readyReplicas").unwrap_or(0),
        };
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        if pools.len() >= POOLS && !pools.contains_key(uid) {
            return;
        }
        let points = pools.entry(uid.to_owned()).or_default();
        let counts = |point: &Point| (point.wanted, point.have, point.ready);
        if points
            .back()
            .is_some_and(|last| counts(last) == counts(&point) || last.at > at)
        {
            return;
        }
        if points.len() == POINTS {
            points.pop_front();
        }
        points.push_back(point);
    }

    /// Forgets a pool that is gone.
    fn forget(&self, uid: &str) {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        pools.remove(uid);
    }

    /// What was seen of a pool, oldest first.
    pub(crate) fn of(&self, pool: &Value) -> Vec<Point> {
        let pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        let points = object::uid(pool).and_then(|uid| pools.get(uid));
        points.into_iter().flatten().copied().collect()
    }

    /// Follows every MachinePool with the rights of the process, for as long as it is polled. Only
    /// counts are kept; they are shown to people who may read the pool themselves.
    pub async fn follow(&self, client: Client, clock: Clock) {
        let pools: Api<DynamicObject> = Api::all_with(client, &Kind::MachinePool.resource());
        let changes = watcher(pools, watcher::Config::default()).default_backoff();
        let mut changes = std::pin::pin!(changes);
        let mut listed = BTreeSet::new();
        while let Some(change) = changes.next().await {
            match change {
                Ok(watcher::Event::Init) => listed.clear(),
                Ok(watcher::Event::InitApply(pool)) => {
                    listed.extend(pool.metadata.uid.clone());
                    self.see_typed(&pool, &clock);
                }
                Ok(watcher::Event::InitDone) => self.keep(&listed),
                Ok(watcher::Event::Apply(pool)) => self.see_typed(&pool, &clock),
                Ok(watcher::Event::Delete(pool)) => {
                    self.forget(pool.metadata.uid.as_deref().unwrap_or_default());
                }
                Err(error) => tracing::debug!(%error, "watching MachinePools for the dashboard"),
            }
        }
    }

    fn see_typed(&self, pool: &DynamicObject, clock: &Clock) {
        if let Ok(pool) = serde_json::to_value(pool) {
            self.see(&pool, clock());
        }
    }

    /// Forgets every pool but these: the others were deleted while nobody watched.
    fn keep(&self, uids: &BTreeSet<String>) {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        pools.retain(|uid, _| uids.contains(uid));
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use serde_json::json;

    use super::*;
    use crate::view_model::fixtures;

    #[test]
    fn only_changes_are_kept_and_not_for_ever() {
        let history = History::default();
        let mut pool = fixtures::pool("web", 3, 3);
        let mut at = fixtures::now();
        for number in 0..1_000 {
            pool["spec"]["replicas"] = json!(number / 2);
            history.see(&pool, at);
            at += SignedDuration::from_secs(1);
        }
        let points = history.of(&pool);
        assert_eq!(points.len(), POINTS);
        assert_eq!(points.last().unwrap().wanted, Some(499));
        history.keep(&BTreeSet::from(["web-uid".to_owned()]));
        assert_eq!(history.of(&pool).len(), POINTS);
        history.keep(&BTreeSet::new());
        assert_eq!(history.of(&pool), []);
    }

    #[test]
    fn a_late_report_does_not_turn_time_back() {
        let history = History::default();
        let pool = fixtures::pool("web", 3, 3);
        history.see(&pool, fixtures::now());
        history.see(
            &fixtures::pool("web", 5, 3),
            fixtures::now() - SignedDuration::from_secs(9),
        );
        assert_eq!(history.of(&pool).len(), 1);
    }
}
