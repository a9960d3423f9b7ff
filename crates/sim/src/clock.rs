//! Simulated time.
//!
//! In: the time the world starts at and how fast it runs. Out: the present of the world, and the
//! tokio instant at which a future moment of the world comes. The clock stands on tokio's time, so
//! a test with a paused runtime runs the world in virtual time. It never reads the wall clock.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// The clock of one simulated world.
#[derive(Debug, Clone)]
pub struct SimClock {
    start: Timestamp,
    origin: Instant,
    speed: f64,
    immediate: bool,
}

impl SimClock {
    /// A clock that shows `start` now and runs as fast as tokio's.
    pub fn starting_at(start: Timestamp) -> Self {
        Self {
            start,
            origin: Instant::now(),
            speed: 1.0,
            immediate: false,
        }
    }

    /// A clock at normal speed in a world whose processes (boot, scaling, health checks) take no
    /// time at all; see [`crate::aws::Timing::immediate`].
    pub fn immediate(start: Timestamp) -> Self {
        Self {
            immediate: true,
            ..Self::starting_at(start)
        }
    }

    /// The same clock, `factor` times as fast. Factors that are not positive are ignored.
    #[must_use]
    pub fn with_speed(mut self, factor: f64) -> Self {
        if factor.is_finite() && factor > 0.0 {
            self.speed = factor;
        }
        self
    }

    /// The same clock, set to `moment` if it is behind.
    #[must_use]
    pub(crate) fn no_earlier_than(mut self, moment: Timestamp) -> Self {
        if self.now() < moment {
            self.start = moment;
            self.origin = Instant::now();
        }
        self
    }

    /// The present of the world.
    pub fn now(&self) -> Timestamp {
        later(self.start, self.origin.elapsed().mul_f64(self.speed))
    }

    /// Whether processes take no time.
    pub fn is_immediate(&self) -> bool {
        self.immediate
    }

    /// The tokio instant at which the world's clock shows `at`; now for moments that passed.
    pub fn instant_of(&self, at: Timestamp) -> Instant {
        let ahead = at.duration_since(self.now());
        match Duration::try_from(ahead) {
            Ok(ahead) => Instant::now() + self.tokio_time(ahead),
            Err(_) => Instant::now(),
        }
    }

    /// Waits for `span` of simulated time.
    pub async fn sleep(&self, span: Duration) {
        tokio::time::sleep(self.tokio_time(span)).await;
    }

    /// A microsecond is added so that rounding never wakes a sleeper before its event is due.
    fn tokio_time(&self, span: Duration) -> Duration {
        const LONGEST: Duration = Duration::from_hours(24 * 365);
        let scaled = (span.as_secs_f64() / self.speed).min(LONGEST.as_secs_f64());
        Duration::from_secs_f64(scaled) + Duration::from_micros(1)
    }
}

/// `at` plus `span`, held at the end of representable time.
pub(crate) fn later(at: Timestamp, span: Duration) -> Timestamp {
    SignedDuration::try_from(span)
        .ok()
        .and_then(|span| at.checked_add(span).ok())
        .unwrap_or(Timestamp::MAX)
}

/// `at` the way AWS writes moments: `2026-10-01T08:00:00.000Z`.
pub(crate) fn iso(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> Timestamp {
        "2026-10-01T00:00:00Z".parse().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_fast_clock_sleeps_a_fraction() {
        let clock = SimClock::starting_at(start()).with_speed(60.0);
        let before = Instant::now();
        clock.sleep(Duration::from_mins(10)).await;
        assert_eq!(before.elapsed().as_secs(), 10);
        assert!(clock.now() >= later(start(), Duration::from_mins(10)));
    }

    #[test]
    fn moments_are_written_with_milliseconds() {
        assert_eq!(iso(start()), "2026-10-01T00:00:00.000Z");
    }

    #[test]
    fn the_end_of_time_does_not_overflow() {
        assert_eq!(later(start(), Duration::MAX), Timestamp::MAX);
    }
}
