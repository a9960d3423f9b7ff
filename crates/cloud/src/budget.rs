//! How many calls may leave for one account and region, and how many did.
//!
//! One [`Budget`] per account and region. A call names its bucket and waits for its turn; the
//! clouds' own limits are token buckets per API, so ours are too. A throttling answer pushes the
//! whole bucket back, for every pool that shares it: a thousand pools that each back off alone
//! would still be a thousand callers.
//!
//! Time is tokio's, so that tests run it in virtual time.

use std::{collections::BTreeMap, sync::Mutex, time::Duration};

use tokio::time::Instant;

use crate::{locked, retry};

/// A refill rate and how much may be saved up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ceiling {
    /// Calls a second in the long run.
    pub per_second: f64,
    /// Calls at once after a quiet time; at least 1.
    pub burst: f64,
}

/// A caller is not made to wait longer than this within a pass: a pass that sleeps holds a worker,
/// one that fails as throttled is asked again. Ours.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// After this long without a throttling answer one step of backoff is forgotten. Ours, because the
/// clouds refill their buckets within seconds, yet an answer in between says little about the
/// next: with every second call refused, a success must not reset the waits.
const CALM: Duration = Duration::from_secs(30);

/// Shared call budget of one account and region.
#[derive(Debug)]
pub struct Budget {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    buckets: BTreeMap<&'static str, Bucket>,
    random: fastrand::Rng,
}

#[derive(Debug)]
struct Bucket {
    ceiling: Option<Ceiling>,
    /// Below zero: that many callers hold reservations.
    tokens: f64,
    refilled_at: Instant,
    /// Steps of backoff.
    level: u32,
    calm_since: Instant,
    not_before: Instant,
    counts: Counts,
}

/// What a bucket has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls let through.
    pub admitted: u64,
    /// Throttling answers reported.
    pub throttled: u64,
}

/// The turn of a call is too far away to wait for within a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong {
    /// When it would have been.
    pub wait: Duration,
}

impl Budget {
    /// A budget with these ceilings. A bucket that is not listed has none, but still counts and
    /// still backs off when the cloud throttles it.
    pub fn new(ceilings: &[(&'static str, Ceiling)], seed: u64) -> Self {
        let now = Instant::now();
        let buckets = ceilings
            .iter()
            .map(|(name, ceiling)| (*name, Bucket::new(Some(*ceiling), now)))
            .collect();
        Self {
            state: Mutex::new(State {
                buckets,
                random: fastrand::Rng::with_seed(seed),
            }),
        }
    }

    /// Waits for the turn of one call, in order of asking.
    ///
    /// # Errors
    /// [`TooLong`] at once when the turn is more than [`PATIENCE`] away; nothing is used up then.
    ///
    /// # Cancellation
    /// A dropped wait keeps its token: the next caller waits a little longer, nothing else.
    pub async fn admit(&self, bucket: &'static str) -> Result<(), TooLong> {
        let turn = self.reserve(bucket, Instant::now())?;
        tokio::time::sleep_until(turn).await;
        // Somebody may have been throttled while this caller waited.
        loop {
            let now = Instant::now();
            let not_before = self.with(bucket, now, |bucket, _| bucket.not_before);
            if not_before <= now {
                break;
            }
            let wait = not_before - now;
            if wait > PATIENCE {
                return Err(TooLong { wait });
            }
            tokio::time::sleep_until(not_before).await;
        }
        self.with(bucket, Instant::now(), |bucket, _| {
            bucket.counts.admitted += 1;
        });
        Ok(())
    }

    /// The cloud throttled a call: the whole bucket waits, longer with each time. Returns the wait.
    pub fn throttled(&self, bucket: &'static str, retry_after: Option<Duration>) -> Duration {
        let now = Instant::now();
        self.with(bucket, now, |bucket, random| {
            let jittered = retry::THROTTLED.wait(bucket.level, random);
            let wait = jittered.max(retry_after.unwrap_or_default());
            bucket.level = bucket.level.saturating_add(1);
            bucket.calm_since = now;
            bucket.not_before = bucket.not_before.max(now + wait);
            bucket.counts.throttled += 1;
            wait
        })
    }

    /// Steps of backoff the bucket is at: 0 when the cloud has been content.
    pub fn level(&self, bucket: &'static str) -> u32 {
        self.with(bucket, Instant::now(), |bucket, _| bucket.level)
    }

    /// What each bucket has seen.
    pub fn counts(&self) -> BTreeMap<&'static str, Counts> {
        locked(&self.state)
            .buckets
            .iter()
            .map(|(name, bucket)| (*name, bucket.counts))
            .collect()
    }

    fn reserve(&self, bucket: &'static str, now: Instant) -> Result<Instant, TooLong> {
        self.with(bucket, now, |bucket, _| {
            let wait = bucket
                .wait_for_token()
                .max(bucket.not_before.saturating_duration_since(now));
            if wait > PATIENCE {
                return Err(TooLong { wait });
            }
            if bucket.ceiling.is_some() {
                bucket.tokens -= 1.0;
            }
            Ok(now + wait)
        })
    }

    fn with<T>(
        &self,
        bucket: &'static str,
        now: Instant,
        act: impl FnOnce(&mut Bucket, &mut fastrand::Rng) -> T,
    ) -> T {
        let mut state = locked(&self.state);
        let State { buckets, random } = &mut *state;
        let bucket = buckets
            .entry(bucket)
            .or_insert_with(|| Bucket::new(None, now));
        bucket.bring_up_to(now);
        act(bucket, random)
    }
}

impl Bucket {
    fn new(ceiling: Option<Ceiling>, now: Instant) -> Self {
        Self {
            ceiling,
            tokens: ceiling.map_or(0.0, |ceiling| ceiling.burst.max(1.0)),
            refilled_at: now,
            level: 0,
            calm_since: now,
            not_before: now,
            counts: Counts::default(),
        }
    }

    fn bring_up_to(&mut self, now: Instant) {
        if let Some(ceiling) = self.ceiling {
            let elapsed = now.saturating_duration_since(self.refilled_at);
            self.tokens = (self.tokens + elapsed.as_secs_f64() * ceiling.per_second)
                .min(ceiling.burst.max(1.0));
        }
        self.refilled_at = now;
        while self.level > 0 && now.saturating_duration_since(self.calm_since) >= CALM {
            self.level -= 1;
            self.calm_since += CALM;
        }
    }

    fn wait_for_token(&self) -> Duration {
        match self.ceiling {
            Some(ceiling) if self.tokens < 1.0 => {
                Duration::from_secs_f64((1.0 - self.tokens) / ceiling.per_second.max(f64::EPSILON))
            }
            _ => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READS: &str = "reads";
    const TWO_A_SECOND: Ceiling = Ceiling {
        per_second: 2.0,
        burst: 3.0,
    };

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_at_once_and_the_rest_at_the_rate() {
        let budget = Budget::new(&[(READS, TWO_A_SECOND)], 1);
        let start = Instant::now();
        let mut at_milliseconds = Vec::new();
        for _ in 0..6 {
            budget.admit(READS).await.expect("within patience");
            at_milliseconds.push((Instant::now() - start).as_millis());
        }
        assert_eq!(at_milliseconds, [0, 0, 0, 500, 1000, 1500]);
        assert_eq!(budget.counts()[READS].admitted, 6);
    }

    #[tokio::test(start_paused = true)]
    async fn a_throttled_bucket_holds_everyone_back_and_grows() {
        let budget = Budget::new(&[], 1);
        let mut levels = Vec::new();
        for _ in 0..4 {
            let before = Instant::now();
            let wait = budget.throttled(READS, None);
            budget.admit(READS).await.expect("within patience");
            assert!(Instant::now() - before >= wait);
            levels.push(budget.level(READS));
        }
        assert_eq!(levels, [1, 2, 3, 4]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_calm_time_forgets_one_step_each() {
        let budget = Budget::new(&[], 1);
        budget.throttled(READS, None);
        budget.throttled(READS, None);
        tokio::time::advance(CALM).await;
        assert_eq!(budget.level(READS), 1);
        tokio::time::advance(CALM).await;
        assert_eq!(budget.level(READS), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_beyond_patience_is_refused_with_its_wait() {
        let budget = Budget::new(&[], 1);
        budget.throttled(READS, Some(Duration::from_secs(90)));
        let refused = budget.admit(READS).await.expect_err("90 s is too long");
        assert_eq!(refused.wait, Duration::from_secs(90));
        assert_eq!(budget.counts()[READS].admitted, 0);
    }
}
