//! Lookups that many pools share: what was found is kept for a while, "nothing" is not.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{sync::Mutex as AsyncMutex, time::Instant};

use crate::{CloudError, locked};

/// What was found is handed out this long (AWS document 6; ours on Azure).
const KEPT: Duration = Duration::from_mins(5);

/// Found values by what they were asked for with.
#[derive(Debug)]
pub struct Lookups<K, V> {
    slots: Mutex<BTreeMap<K, Arc<Slot<V>>>>,
}

/// Whoever holds it looks up; the others wait for what it finds.
type Slot<V> = AsyncMutex<Option<Found<V>>>;

#[derive(Debug)]
struct Found<V> {
    value: V,
    at: Instant,
}

impl<K, V> Default for Lookups<K, V> {
    fn default() -> Self {
        Self {
            slots: Mutex::default(),
        }
    }
}

impl<K: Ord, V: Clone> Lookups<K, V> {
    /// What was found lately, else what `look_up` finds. Callers with the same key share one
    /// lookup. "Nothing" is not kept: someone is about to publish what they are missing.
    ///
    /// # Errors
    /// The lookup's.
    pub async fn find(
        &self,
        key: K,
        look_up: impl Future<Output = Result<Option<V>, CloudError>>,
    ) -> Result<Option<V>, CloudError> {
        let slot = Arc::clone(locked(&self.slots).entry(key).or_default());
        let mut found = slot.lock().await;
        if let Some(found) = found.as_ref().filter(|found| found.at.elapsed() <= KEPT) {
            return Ok(Some(found.value.clone()));
        }
        let at = Instant::now();
        let value = look_up.await?;
        *found = value.clone().map(|value| Found { value, at });
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn found_is_kept_for_a_while_and_nothing_is_not() {
        let lookups = Lookups::default();
        let asked = AtomicU32::new(0);
        let look = async |found: bool| {
            let look_up = async {
                let number = asked.fetch_add(1, Ordering::Relaxed);
                Ok(found.then_some(number))
            };
            lookups.find("ubuntu", look_up).await.expect("no failure")
        };
        assert_eq!(look(false).await, None);
        assert_eq!(look(true).await, Some(1));
        tokio::time::advance(KEPT).await;
        assert_eq!(look(true).await, Some(1));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(look(true).await, Some(2));
    }
}
