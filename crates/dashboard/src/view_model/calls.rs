//! Calls to clouds, and where they were throttled.

use jiff::Timestamp;
use serde::Serialize;

use super::{
    Level,
    words::{Moment, span},
};
use crate::calls::{CallFigure, CallReport};

/// The page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct CallsPage {
    /// Whether anybody counts calls.
    pub(crate) known: bool,
    pub(crate) says: String,
    pub(crate) level: Level,
    pub(crate) rows: Vec<CallRow>,
    pub(crate) bars: Vec<Bar>,
    /// Width of the drawing.
    pub(crate) width: usize,
    /// Calls of the busiest minute.
    pub(crate) most: u64,
}

/// One sort of call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct CallRow {
    pub(crate) cloud: &'static str,
    pub(crate) region: String,
    pub(crate) call: String,
    pub(crate) mutating: bool,
    pub(crate) calls: u64,
    pub(crate) failed: u64,
    pub(crate) throttled: u64,
    pub(crate) mean: String,
    pub(crate) slowest: String,
    pub(crate) failure: Option<(String, Moment)>,
}

/// One minute, in a box of height 60.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Bar {
    pub(crate) x: usize,
    pub(crate) y: u64,
    pub(crate) height: u64,
    pub(crate) throttled_y: u64,
    pub(crate) throttled_height: u64,
}

const HEIGHT: u64 = 60;
const STEP: usize = 10;

/// The page of a report; `None` when nobody counts.
pub(crate) fn calls(report: Option<&CallReport>, now: Timestamp) -> CallsPage {
    let Some(report) = report else {
        return CallsPage {
            known: false,
            says: "This process does not count its calls to clouds, or makes none.".to_owned(),
            level: Level::Unknown,
            rows: Vec::new(),
            bars: Vec::new(),
            width: 0,
            most: 0,
        };
    };
    let total = |of: fn(&CallFigure) -> u64| report.rows.iter().map(of).sum::<u64>();
    let (all, failed, throttled) = (
        total(|row| row.calls),
        total(|row| row.failed),
        total(|row| row.throttled),
    );
    let since = report
        .since
        .map_or(0, |since| now.duration_since(since).as_secs());
    let most = report
        .minutes
        .iter()
        .map(|minute| minute.calls)
        .max()
        .unwrap_or(0)
        .max(1);
    let bars = report.minutes.iter().enumerate().map(|(index, minute)| {
        let height = (minute.calls * HEIGHT).div_ceil(most);
        let throttled_height = (minute.throttled * HEIGHT).div_ceil(most);
        Bar {
            x: index * STEP,
            y: HEIGHT - height,
            height,
            throttled_y: HEIGHT - throttled_height,
            throttled_height,
        }
    });
    let mut rows: Vec<CallRow> = report.rows.iter().map(|row| call_row(row, now)).collect();
    rows.sort_by(|a, b| {
        (b.throttled, b.failed, b.calls)
            .cmp(&(a.throttled, a.failed, a.calls))
            .then_with(|| a.call.cmp(&b.call))
    });
    CallsPage {
        known: true,
        says: says(all, failed, throttled, since),
        level: match (throttled, failed) {
            (1.., _) => Level::Warn,
            _ => Level::Good,
        },
        rows,
        bars: bars.collect(),
        width: report.minutes.len() * STEP,
        most,
    }
}

fn says(all: u64, failed: u64, throttled: u64, since: i64) -> String {
    if all == 0 {
        return "No call to a cloud was made yet.".to_owned();
    }
    let calls = if all == 1 { "call" } else { "calls" };
    let throttled = match throttled {
        0 => "none was throttled".to_owned(),
        1 => "1 was throttled".to_owned(),
        many => format!("{many} were throttled"),
    };
    format!(
        "{all} {calls} in {}; {failed} failed, {throttled}.",
        span(since)
    )
}

fn call_row(row: &CallFigure, now: Timestamp) -> CallRow {
    let milliseconds = |ms: u64| format!("{ms} ms");
    CallRow {
        cloud: row.cloud,
        region: row.region.clone(),
        call: row.call.clone(),
        mutating: row.mutating,
        calls: row.calls,
        failed: row.failed,
        throttled: row.throttled,
        mean: milliseconds(row.mean_milliseconds),
        slowest: milliseconds(row.slowest_milliseconds),
        failure: row
            .last_failure
            .as_ref()
            .map(|(at, how)| (how.clone(), Moment::new(*at, now))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures;
    use super::*;
    use crate::calls::CallMinute;

    fn figure(call: &str, calls: u64, failed: u64, throttled: u64) -> CallFigure {
        CallFigure {
            cloud: "AWS",
            region: "us-east-1".into(),
            call: call.into(),
            mutating: false,
            calls,
            failed,
            throttled,
            mean_milliseconds: 12,
            slowest_milliseconds: 80,
            last_failure: None,
        }
    }

    #[test]
    fn nobody_counting_is_not_the_same_as_no_call() {
        assert!(!calls(None, fixtures::now()).known);
        let page = calls(Some(&CallReport::default()), fixtures::now());
        assert!(page.known);
        assert_eq!(page.says, "No call to a cloud was made yet.");
    }

    #[test]
    fn throttled_calls_come_first() {
        let report = CallReport {
            since: Some(fixtures::now() - jiff::SignedDuration::from_secs(120)),
            rows: vec![
                figure("a", 900, 0, 0),
                figure("b", 10, 2, 2),
                figure("c", 5, 3, 0),
            ],
            minutes: vec![
                CallMinute {
                    calls: 10,
                    throttled: 0,
                },
                CallMinute {
                    calls: 20,
                    throttled: 2,
                },
            ],
        };
        let page = calls(Some(&report), fixtures::now());
        let order: Vec<&str> = page.rows.iter().map(|row| row.call.as_str()).collect();
        assert_eq!(order, ["b", "c", "a"]);
        assert_eq!(page.says, "915 calls in 2 min; 5 failed, 2 were throttled.");
        assert_eq!(page.level, Level::Warn);
        assert_eq!((page.bars[0].y, page.bars[0].height), (30, 30));
        assert_eq!(
            (page.bars[1].throttled_y, page.bars[1].throttled_height),
            (54, 6)
        );
    }
}
