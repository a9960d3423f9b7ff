//! When to try again, as a pure schedule.
//!
//! A class of failure and a count go in, a wait comes out. Nothing here sleeps, reads a clock or
//! draws its own randomness: the caller passes a seeded generator, so that a run can be replayed.

use std::time::Duration;

/// May a call be sent again when nobody knows whether the first one arrived?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// Yes: it reads, or the second one finds its work done.
    Harmless,
    /// No: the next pass looks first.
    LookFirst,
}

/// Exponential backoff with full jitter: a wait is uniform between zero and a ceiling that doubles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// Ceiling of the first wait.
    pub base: Duration,
    /// No ceiling is above this.
    pub cap: Duration,
}

/// AWS document 10.3, A-1: base 1 s, factor 2, cap 60 s.
pub const THROTTLED: Backoff = Backoff {
    base: Duration::from_secs(1),
    cap: Duration::from_mins(1),
};

/// AWS document 10.3, A-2: the same with base 2 s.
pub const TRANSIENT: Backoff = Backoff {
    base: Duration::from_secs(2),
    cap: Duration::from_mins(1),
};

impl Backoff {
    /// The ceiling of wait number `attempt`, counted from 0.
    pub fn ceiling(&self, attempt: u32) -> Duration {
        // 2^16 s is far above every cap; the bound keeps the shift defined.
        let factor = 1_u32 << attempt.min(16);
        self.base.saturating_mul(factor).min(self.cap)
    }

    /// A wait: uniform between zero and the ceiling.
    pub fn wait(&self, attempt: u32, random: &mut fastrand::Rng) -> Duration {
        self.ceiling(attempt).mul_f64(random.f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ceilings_double_up_to_the_cap() {
        let seconds: Vec<u64> = (0..8)
            .map(|attempt| THROTTLED.ceiling(attempt).as_secs())
            .collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(TRANSIENT.ceiling(0).as_secs(), 2);
        assert_eq!(TRANSIENT.ceiling(u32::MAX).as_secs(), 60);
    }

    #[test]
    fn waits_use_the_whole_range_below_the_ceiling() {
        let mut random = fastrand::Rng::with_seed(7);
        let waits: Vec<Duration> = (0..200).map(|_| THROTTLED.wait(3, &mut random)).collect();
        assert!(waits.iter().all(|wait| *wait <= Duration::from_secs(8)));
        assert!(waits.iter().any(|wait| *wait < Duration::from_secs(1)));
        assert!(waits.iter().any(|wait| *wait > Duration::from_secs(7)));
    }

    #[test]
    fn the_same_seed_gives_the_same_waits() {
        let waits = |seed| {
            let mut random = fastrand::Rng::with_seed(seed);
            (0..5)
                .map(|attempt| TRANSIENT.wait(attempt, &mut random))
                .collect::<Vec<_>>()
        };
        assert_eq!(waits(1), waits(1));
        assert_ne!(waits(1), waits(2));
    }
}
