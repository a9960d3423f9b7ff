//! Where the time of a pass comes from. A reconcile never asks the system itself, so that every
//! scenario can be replayed in virtual time.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Tells the time.
pub trait Clock: fmt::Debug + Send + Sync {
    /// The current time.
    fn now(&self) -> Timestamp;
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// Runs with the tokio runtime's time from a given start: in a paused runtime, virtual time.
#[derive(Debug, Clone, Copy)]
pub struct RuntimeClock {
    start: Timestamp,
    origin: Instant,
}

impl RuntimeClock {
    /// A clock that shows `start` now and advances with the runtime's time.
    pub fn starting_at(start: Timestamp) -> Self {
        Self {
            start,
            origin: Instant::now(),
        }
    }
}

impl Clock for RuntimeClock {
    fn now(&self) -> Timestamp {
        let elapsed =
            SignedDuration::try_from(self.origin.elapsed()).unwrap_or(SignedDuration::ZERO);
        self.start.saturating_add(elapsed).unwrap_or(self.start)
    }
}
