//! How old answers may be, and how close reads may be.

use std::time::Duration;

/// What nobody asked for within this time is forgotten. Ours: two and a half times the default
/// refresh interval of a pool, so that a steady pool is not dropped between two refreshes.
pub const INTEREST: Duration = Duration::from_secs(150);

/// A failed read is not repeated for everyone who asks within this time. Ours.
pub const FAILURE_HOLDS: Duration = Duration::from_secs(5);

/// Ages and spacing of shared reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SweepTiming {
    /// An answer serves a steady pool this long.
    pub steady: Duration,
    /// An answer serves a converging pool this long.
    pub converging: Duration,
    /// Two reads of everything start at least this far apart.
    pub cycle_spacing: Duration,
    /// The same where somebody waits for his own write to be seen.
    pub supplement_spacing: Duration,
    /// A read waits this long for others to join.
    pub gather: Duration,
}

impl Default for SweepTiming {
    /// Design, section 5, and AWS document 11.2; the last two are ours: pools that wake together
    /// within a moment share a read, and a pool that wrote sees its write within about a second.
    fn default() -> Self {
        Self {
            steady: Duration::from_secs(30),
            converging: Duration::from_secs(10),
            cycle_spacing: Duration::from_secs(5),
            supplement_spacing: Duration::from_secs(1),
            gather: Duration::from_millis(20),
        }
    }
}

impl SweepTiming {
    /// The same in the time of a cloud that runs `speed` times faster; one that runs slower is read
    /// as often as a real one.
    #[must_use]
    pub fn at_speed(self, speed: f64) -> Self {
        let scaled = |span: Duration| span.div_f64(speed.max(1.0));
        Self {
            steady: scaled(self.steady),
            converging: scaled(self.converging),
            cycle_spacing: scaled(self.cycle_spacing),
            supplement_spacing: scaled(self.supplement_spacing),
            gather: self.gather,
        }
    }
}
