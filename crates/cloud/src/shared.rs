//! One read that many share: single flight, bounded in age, never older than a write.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use remuda_plan::error::CloudFailure;
use tokio::{sync::Mutex as AsyncMutex, time::Instant};

use crate::{CloudError, locked, sweep::FAILURE_HOLDS};

/// What a reader needs.
#[derive(Debug, Clone, Copy)]
pub struct Need {
    /// An answer serves this long.
    pub max_age: Duration,
    /// Only an answer that was asked for after this.
    pub newer_than: Option<Instant>,
    /// Two reads start at least this far apart.
    pub spacing: Duration,
    /// A read waits this long for others to join.
    pub gather: Duration,
}

/// An answer, whole or not at all.
#[derive(Debug)]
pub struct Answer<V> {
    /// What was read, or why there is nothing.
    pub value: Result<Arc<V>, CloudFailure>,
    /// When it was asked for.
    pub asked_at: Instant,
}

impl<V> Clone for Answer<V> {
    fn clone(&self) -> Self {
        Self {
            value: self.value.clone(),
            asked_at: self.asked_at,
        }
    }
}

/// A read and its last answer.
#[derive(Debug)]
pub struct Shared<V> {
    flight: AsyncMutex<()>,
    state: Mutex<State<V>>,
}

#[derive(Debug)]
struct State<V> {
    answer: Option<Answer<V>>,
    last_start: Option<Instant>,
}

impl<V> Default for Shared<V> {
    fn default() -> Self {
        Self {
            flight: AsyncMutex::default(),
            state: Mutex::new(State {
                answer: None,
                last_start: None,
            }),
        }
    }
}

impl<V> Shared<V> {
    /// The last answer that will do, or that of the next read. Those who ask while a read gathers
    /// or waits for its turn share it; those who ask while it runs share the next one.
    ///
    /// A failure is an answer too, for a short while.
    ///
    /// # Cancellation
    /// Whoever waits next reads in the place of a reader that went away.
    pub async fn read(
        &self,
        need: Need,
        fetch: impl Future<Output = Result<V, CloudError>>,
    ) -> Answer<V> {
        let wanted_at = Instant::now();
        if let Some(answer) = self.usable(need, wanted_at) {
            return answer;
        }
        let _flight = self.flight.lock().await;
        if let Some(answer) = self.usable(need, wanted_at) {
            return answer;
        }
        let spaced = locked(&self.state)
            .last_start
            .map(|last| last + need.spacing);
        let start = (Instant::now() + need.gather).max(spaced.unwrap_or(wanted_at));
        tokio::time::sleep_until(start).await;
        let asked_at = Instant::now();
        locked(&self.state).last_start = Some(asked_at);
        let answer = Answer {
            value: fetch.await.map(Arc::new).map_err(|error| error.failure),
            asked_at,
        };
        locked(&self.state).answer = Some(answer.clone());
        answer
    }

    /// When the last answer was asked for.
    pub fn answered_at(&self) -> Option<Instant> {
        locked(&self.state)
            .answer
            .as_ref()
            .map(|answer| answer.asked_at)
    }

    fn usable(&self, need: Need, wanted_at: Instant) -> Option<Answer<V>> {
        let state = locked(&self.state);
        let answer = state.answer.as_ref()?;
        if need.newer_than.is_some_and(|then| answer.asked_at <= then) {
            return None;
        }
        let limit = match answer.value {
            Ok(_) => need.max_age,
            Err(_) => need.max_age.min(FAILURE_HOLDS),
        };
        let age = Instant::now().saturating_duration_since(answer.asked_at);
        // A read that began after the question is as new as can be, even if it took long.
        (answer.asked_at >= wanted_at || age < limit).then(|| answer.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn need(max_age: u64, newer_than: Option<Instant>) -> Need {
        Need {
            max_age: Duration::from_secs(max_age),
            newer_than,
            spacing: Duration::from_secs(5),
            gather: Duration::from_millis(20),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn many_readers_share_one_read_until_it_is_old_or_void() {
        let shared = Shared::default();
        let reads = AtomicU32::new(0);
        let fetch = || async { Ok(reads.fetch_add(1, Ordering::Relaxed)) };
        let together =
            futures::future::join_all((0..10).map(|_| shared.read(need(30, None), fetch())));
        assert!(
            together
                .await
                .iter()
                .all(|answer| answer.value.as_deref() == Ok(&0))
        );
        tokio::time::advance(Duration::from_secs(29)).await;
        assert_eq!(
            shared.read(need(30, None), fetch()).await.value.as_deref(),
            Ok(&0)
        );
        let written = Some(Instant::now());
        assert_eq!(
            shared
                .read(need(30, written), fetch())
                .await
                .value
                .as_deref(),
            Ok(&1)
        );
        tokio::time::advance(Duration::from_millis(1)).await;
        let start = Instant::now();
        assert_eq!(
            shared.read(need(0, None), fetch()).await.value.as_deref(),
            Ok(&2)
        );
        assert!(
            start.elapsed() >= Duration::from_secs(4),
            "reads are spaced"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_not_asked_for_again_by_everyone() {
        let shared: Shared<u32> = Shared::default();
        let failed = || async {
            let failure = crate::error::failure(
                remuda_plan::error::FailureClass::Throttled,
                "LIST",
                "slow down",
            );
            Err(failure.into())
        };
        assert!(shared.read(need(30, None), failed()).await.value.is_err());
        tokio::time::advance(Duration::from_secs(4)).await;
        assert!(
            shared
                .read(need(30, None), async { Ok(1) })
                .await
                .value
                .is_err()
        );
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(
            shared
                .read(need(30, None), async { Ok(1) })
                .await
                .value
                .as_deref(),
            Ok(&1)
        );
    }
}
