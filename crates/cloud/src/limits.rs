//! How many calls may leave for one account, over all of its credentials.
//!
//! ```text
//! account          calls in flight          Slots
//! account, region  what the cloud counts    Budget
//! credential too   what it counts for each  Budget
//! ```

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, Weak},
    time::Duration,
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    budget::{Budget, Ceiling, PATIENCE, TooLong},
    locked,
};

/// Calls in flight for one account where nobody says otherwise. Ours: at 200 ms a call that is 160
/// calls a second, more than either cloud refills for the kinds of calls made here; what it bounds
/// is the crowd that gathers while a cloud is slow.
pub const IN_FLIGHT: usize = 32;

/// What bounds the calls of a backend.
#[derive(Debug, Clone)]
pub struct LimitSettings {
    /// Calls in flight for one account; at least one.
    pub in_flight: usize,
    /// Client-side ceilings for one account and region; empty for none.
    pub ceilings: Vec<(&'static str, Ceiling)>,
    /// Buckets that the cloud keeps for each credential by itself.
    pub own_buckets: &'static [&'static str],
    /// Seed of the jitter.
    pub seed: u64,
}

/// Limits of all accounts of a backend. What nobody holds any more is forgotten.
#[derive(Debug)]
pub(crate) struct Registry {
    settings: LimitSettings,
    slots: Mutex<BTreeMap<String, Weak<Semaphore>>>,
    budgets: Mutex<BTreeMap<(String, String), Weak<Budget>>>,
}

impl Registry {
    pub(crate) fn new(settings: LimitSettings) -> Self {
        Self {
            settings,
            slots: Mutex::default(),
            budgets: Mutex::default(),
        }
    }

    /// The limits of one more credential in an account and region.
    pub(crate) fn limits(&self, account: &str, region: &str) -> Limits {
        let settings = &self.settings;
        let budget = || Budget::new(&settings.ceilings, settings.seed);
        let place = (account.to_owned(), region.to_owned());
        Limits {
            slots: shared(&self.slots, account.to_owned(), || {
                Semaphore::new(settings.in_flight.clamp(1, Semaphore::MAX_PERMITS))
            }),
            account: shared(&self.budgets, place, budget),
            own: budget(),
            own_buckets: settings.own_buckets,
        }
    }
}

fn shared<K: Ord, V>(
    held: &Mutex<BTreeMap<K, Weak<V>>>,
    key: K,
    make: impl FnOnce() -> V,
) -> Arc<V> {
    let mut held = locked(held);
    held.retain(|_, value| value.strong_count() > 0);
    if let Some(value) = held.get(&key).and_then(Weak::upgrade) {
        return value;
    }
    let value = Arc::new(make());
    held.insert(key, Arc::downgrade(&value));
    value
}

/// What bounds the calls of one credential in one account and region.
#[derive(Debug)]
pub struct Limits {
    slots: Arc<Semaphore>,
    account: Arc<Budget>,
    own: Budget,
    own_buckets: &'static [&'static str],
}

/// The right to have one call in flight; dropped when its answer is there.
#[derive(Debug)]
pub(crate) struct Turn(#[allow(dead_code, reason = "held, not read")] OwnedSemaphorePermit);

impl Limits {
    /// Waits for the turn of one call: in each of its buckets, then among the calls in flight.
    ///
    /// # Errors
    /// [`TooLong`] when the turn is more than [`PATIENCE`] away.
    pub(crate) async fn turn(&self, buckets: &[&'static str]) -> Result<Turn, TooLong> {
        for bucket in buckets {
            self.budget(bucket).admit(bucket).await?;
        }
        let slot = Arc::clone(&self.slots).acquire_owned();
        match tokio::time::timeout(PATIENCE, slot).await {
            Ok(Ok(permit)) => Ok(Turn(permit)),
            // Nobody closes the semaphore; a crowd this large is told to come back.
            Ok(Err(_)) | Err(_) => Err(TooLong { wait: PATIENCE }),
        }
    }

    /// The cloud throttled a call: everyone who shares the bucket waits.
    pub(crate) fn throttled(
        &self,
        bucket: &'static str,
        retry_after: Option<Duration>,
    ) -> Duration {
        self.budget(bucket).throttled(bucket, retry_after)
    }

    fn budget(&self, bucket: &str) -> &Budget {
        if self.own_buckets.contains(&bucket) {
            &self.own
        } else {
            &self.account
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    const SHARED: &str = "shared";
    const OWN: &str = "own";

    fn registry(in_flight: usize) -> Registry {
        let one_a_second = Ceiling {
            per_second: 1.0,
            burst: 1.0,
        };
        Registry::new(LimitSettings {
            in_flight,
            ceilings: vec![(SHARED, one_a_second), (OWN, one_a_second)],
            own_buckets: &[OWN],
            seed: 1,
        })
    }

    /// Makes calls that take ten seconds each, all at once; how long until the last is answered.
    async fn crowd(limits: &[&Limits], calls: usize) -> Result<u64, TooLong> {
        let started = Instant::now();
        let calls = limits.iter().cycle().take(calls).map(|limits| async {
            let turn = limits.turn(&[]).await?;
            tokio::time::sleep(Duration::from_secs(10)).await;
            drop(turn);
            Ok(())
        });
        futures::future::try_join_all(calls).await?;
        Ok(started.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn credentials_of_one_account_share_its_calls_in_flight_in_all_regions() {
        let registry = registry(3);
        let (one, other) = (registry.limits("a", "east"), registry.limits("a", "west"));
        assert_eq!(crowd(&[&one, &other], 6).await, Ok(20));
        let stranger = registry.limits("b", "east");
        assert_eq!(crowd(&[&one, &stranger], 6).await, Ok(10));
    }

    #[tokio::test(start_paused = true)]
    async fn a_crowd_beyond_patience_is_told_to_come_back() {
        let registry = registry(1);
        let limits = registry.limits("a", "east");
        let refused = crowd(&[&limits], 4).await;
        assert_eq!(refused, Err(TooLong { wait: PATIENCE }));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_goes_away_leaves_its_place() {
        let registry = registry(1);
        let limits = registry.limits("a", "east");
        let turn = limits.turn(&[]).await.expect("the first");
        let waited = tokio::time::timeout(Duration::from_secs(1), limits.turn(&[])).await;
        assert!(waited.is_err(), "one at a time");
        drop(turn);
        assert_eq!(crowd(&[&limits], 1).await, Ok(10));
    }

    #[tokio::test(start_paused = true)]
    async fn ceilings_are_an_accounts_unless_the_cloud_keeps_them_for_each_credential() {
        let registry = registry(9);
        let (one, other) = (registry.limits("a", "east"), registry.limits("a", "east"));
        let took = async |bucket| {
            let started = Instant::now();
            for limits in [&one, &other] {
                limits.turn(&[bucket]).await.expect("within patience");
            }
            started.elapsed().as_secs()
        };
        assert_eq!(took(OWN).await, 0);
        assert_eq!(took(SHARED).await, 1);
        one.throttled(SHARED, Some(Duration::from_secs(7)));
        let started = Instant::now();
        other.turn(&[SHARED]).await.expect("within patience");
        assert!(started.elapsed() >= Duration::from_secs(7));
    }
}
