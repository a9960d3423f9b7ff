//! Counts calls to clouds, for the dashboard.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use remuda_cloud::measured::{CallMeter, CallRecord};
use remuda_dashboard::{CallFigure, CallFigures, CallMinute, CallReport};
use remuda_plan::error::FailureClass;

/// Minutes that are kept one by one.
const MINUTES: usize = 60;

/// What was counted. Bounded: calls and regions are few, and minutes are forgotten.
pub(crate) struct CallLedger {
    since: Timestamp,
    clock: fn() -> Timestamp,
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    entries: BTreeMap<(&'static str, String, &'static str), Entry>,
    minutes: VecDeque<(i64, CallMinute)>,
}

#[derive(Default)]
struct Entry {
    mutating: bool,
    calls: u64,
    failed: u64,
    throttled: u64,
    spent: Duration,
    slowest: Duration,
    last_failure: Option<(Timestamp, FailureClass)>,
}

impl CallLedger {
    /// Counts from now on.
    pub(crate) fn new(clock: fn() -> Timestamp) -> Arc<Self> {
        Arc::new(Self {
            since: clock(),
            clock,
            book: Mutex::default(),
        })
    }

    /// What counts the calls of one cloud into it.
    pub(crate) fn meter(self: &Arc<Self>, cloud: &'static str) -> Arc<dyn CallMeter> {
        Arc::new(CloudMeter {
            cloud,
            ledger: self.clone(),
        })
    }

    fn count(&self, cloud: &'static str, call: &CallRecord) {
        let now = (self.clock)();
        let throttled = call.failed == Some(FailureClass::Throttled);
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (cloud, call.region.clone(), call.call);
        let entry = book.entries.entry(key).or_default();
        entry.mutating = call.mutating;
        entry.calls += 1;
        entry.failed += u64::from(call.failed.is_some());
        entry.throttled += u64::from(throttled);
        entry.spent += call.latency;
        entry.slowest = entry.slowest.max(call.latency);
        if let Some(class) = call.failed {
            entry.last_failure = Some((now, class));
        }
        let minute = minute(now);
        if book.minutes.back().is_none_or(|(last, _)| *last < minute) {
            book.minutes.push_back((minute, CallMinute::default()));
        }
        if book.minutes.len() > MINUTES {
            book.minutes.pop_front();
        }
        if let Some((_, counted)) = book.minutes.back_mut() {
            counted.calls += 1;
            counted.throttled += u64::from(throttled);
        }
    }
}

fn minute(at: Timestamp) -> i64 {
    at.as_second().div_euclid(60)
}

impl CallFigures for CallLedger {
    fn report(&self) -> CallReport {
        let book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = book
            .entries
            .iter()
            .map(|((cloud, region, call), entry)| CallFigure {
                cloud,
                region: region.clone(),
                call: (*call).to_owned(),
                mutating: entry.mutating,
                calls: entry.calls,
                failed: entry.failed,
                throttled: entry.throttled,
                mean_milliseconds: milliseconds(entry.spent) / entry.calls.max(1),
                slowest_milliseconds: milliseconds(entry.slowest),
                last_failure: entry
                    .last_failure
                    .map(|(at, class)| (at, format!("{class:?}"))),
            });
        let this = minute((self.clock)());
        let first = this - i64::try_from(MINUTES).unwrap_or(60) + 1;
        let counted = |wanted: i64| {
            let mut minutes = book.minutes.iter();
            let found = minutes.find(|(minute, _)| *minute == wanted);
            found.map_or_else(CallMinute::default, |(_, counted)| *counted)
        };
        CallReport {
            since: Some(self.since),
            rows: rows.collect(),
            minutes: (first..=this).map(counted).collect(),
        }
    }
}

fn milliseconds(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

struct CloudMeter {
    cloud: &'static str,
    ledger: Arc<CallLedger>,
}

impl std::fmt::Debug for CloudMeter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("CloudMeter").field(&self.cloud).finish()
    }
}

impl CallMeter for CloudMeter {
    fn record(&self, call: &CallRecord) {
        self.ledger.count(self.cloud, call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noon() -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn call(failed: Option<FailureClass>, latency: u64) -> CallRecord {
        CallRecord {
            call: "ec2:DescribeInstances",
            region: "us-east-1".into(),
            mutating: false,
            latency: Duration::from_millis(latency),
            failed,
        }
    }

    #[test]
    fn calls_are_counted_by_cloud_region_and_name() {
        let ledger = CallLedger::new(noon);
        let aws = ledger.meter("AWS");
        aws.record(&call(None, 10));
        aws.record(&call(Some(FailureClass::Throttled), 30));
        ledger
            .meter("Azure")
            .record(&call(Some(FailureClass::Denied), 5));
        let report = ledger.report();
        assert_eq!(report.rows.len(), 2);
        let of_aws = &report.rows[0];
        assert_eq!((of_aws.calls, of_aws.failed, of_aws.throttled), (2, 1, 1));
        assert_eq!(
            (of_aws.mean_milliseconds, of_aws.slowest_milliseconds),
            (20, 30)
        );
        assert_eq!(report.rows[1].last_failure, Some((noon(), "Denied".into())));
        assert_eq!(report.minutes.len(), MINUTES);
        let last = report.minutes.last().unwrap();
        assert_eq!((last.calls, last.throttled), (3, 1));
    }
}
