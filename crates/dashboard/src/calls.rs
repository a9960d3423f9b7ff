//! What is known of calls to clouds. Whoever wires the process tells it: this crate knows no cloud.

use jiff::Timestamp;

/// Tells of cloud calls.
pub trait CallFigures: Send + Sync {
    /// Everything counted so far.
    fn report(&self) -> CallReport;
}

/// Figures of calls.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallReport {
    /// Since when calls are counted.
    pub since: Option<Timestamp>,
    /// One row a cloud, region and call.
    pub rows: Vec<CallFigure>,
    /// The last minutes, oldest first, without gaps.
    pub minutes: Vec<CallMinute>,
}

/// One sort of call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallFigure {
    /// `AWS`.
    pub cloud: &'static str,
    /// Region or location.
    pub region: String,
    /// In the cloud's words: `autoscaling:UpdateAutoScalingGroup`.
    pub call: String,
    /// It changes something.
    pub mutating: bool,
    /// Calls that were answered or failed.
    pub calls: u64,
    /// Calls that failed, the throttled ones included.
    pub failed: u64,
    /// Calls that the cloud refused because there were too many.
    pub throttled: u64,
    /// Mean time to the whole answer.
    pub mean_milliseconds: u64,
    /// The slowest.
    pub slowest_milliseconds: u64,
    /// When it last failed, and how.
    pub last_failure: Option<(Timestamp, String)>,
}

/// The calls of one minute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallMinute {
    /// All of them.
    pub calls: u64,
    /// Those that were throttled.
    pub throttled: u64,
}
