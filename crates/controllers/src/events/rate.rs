//! How many events an object may have: a burst, and then one at a time. An object that fails in a
//! circle must not fill the cluster's storage. The figures are those of Kubernetes' own client.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

/// Until an object may have one more event.
const REFILL: SignedDuration = SignedDuration::from_mins(5);
/// A quiet time this long saves up a whole burst: 25 events.
const BURST: SignedDuration = SignedDuration::from_mins(25 * 5);
/// Objects that are remembered; who is forgotten begins with a full burst.
const OBJECTS: usize = 4_096;

/// The rates of all objects.
#[derive(Debug, Default)]
pub(super) struct Rates {
    objects: HashMap<String, Bucket>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    /// Time saved up; an event costs [`REFILL`].
    saved: SignedDuration,
    at: Timestamp,
}

impl Rates {
    /// Whether the object may have another event now; if so, it counts.
    pub(super) fn admit(&mut self, object: &str, now: Timestamp) -> bool {
        if !self.objects.contains_key(object) && self.objects.len() >= OBJECTS {
            self.forget_the_quietest();
        }
        let full = Bucket {
            saved: BURST,
            at: now,
        };
        let bucket = self.objects.entry(object.to_owned()).or_insert(full);
        // A clock that was set back refills nothing, and takes nothing away.
        let passed = now.duration_since(bucket.at).max(SignedDuration::ZERO);
        bucket.saved = bucket.saved.saturating_add(passed).min(BURST);
        bucket.at = now;
        if bucket.saved < REFILL {
            return false;
        }
        bucket.saved -= REFILL;
        true
    }

    /// Forgets the object whose last event is the longest ago.
    fn forget_the_quietest(&mut self) {
        let quietest = self.objects.iter().min_by_key(|(_, bucket)| bucket.at);
        if let Some(object) = quietest.map(|(object, _)| object.clone()) {
            self.objects.remove(&object);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(rates: &mut Rates, object: &str, at: Timestamp, tries: usize) -> usize {
        (0..tries).filter(|_| rates.admit(object, at)).count()
    }

    fn later(seconds: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_secs(1_000_000 + seconds)
    }

    #[test]
    fn a_burst_passes_and_then_one_in_five_minutes() {
        let mut rates = Rates::default();
        assert_eq!(admitted(&mut rates, "a", later(0), 100), 25);
        assert_eq!(admitted(&mut rates, "a", later(299), 100), 0);
        assert_eq!(admitted(&mut rates, "a", later(300), 100), 1);
        // An hour of trying every second is 12 events.
        let hour: usize = (301..=3_900)
            .map(|second| admitted(&mut rates, "a", later(second), 1))
            .sum();
        assert_eq!(hour, 12);
        assert_eq!(admitted(&mut rates, "a", later(100_000), 100), 25);
    }

    #[test]
    fn objects_have_rates_of_their_own() {
        let mut rates = Rates::default();
        assert_eq!(admitted(&mut rates, "a", later(0), 100), 25);
        assert_eq!(admitted(&mut rates, "b", later(0), 100), 25);
    }

    #[test]
    fn a_clock_that_was_set_back_changes_nothing() {
        let mut rates = Rates::default();
        assert_eq!(admitted(&mut rates, "a", later(0), 24), 24);
        assert_eq!(admitted(&mut rates, "a", later(-86_400), 100), 1);
    }

    #[test]
    fn memory_is_bounded_and_the_quietest_is_forgotten() {
        let mut rates = Rates::default();
        assert_eq!(admitted(&mut rates, "quiet", later(0), 25), 25);
        assert_eq!(admitted(&mut rates, "busy", later(0), 25), 25);
        for object in 0..OBJECTS {
            let at = later(1 + i64::try_from(object).unwrap());
            admitted(&mut rates, "busy", at, 1);
            admitted(&mut rates, &format!("pool-{object}"), at, 1);
        }
        assert_eq!(rates.objects.len(), OBJECTS);
        assert!(rates.objects.contains_key("busy"));
        assert!(!rates.objects.contains_key("quiet"));
    }
}
