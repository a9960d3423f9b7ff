//! What is counted, for Prometheus.
//!
//! | file | what |
//! | --- | --- |
//! | `table` | every metric, once |
//! | `series` | counters, gauges and histograms of a metric |
//! | `meter` | what counts calls to a cloud |
//! | `standing` | what is read at the moment of a scrape |
//! | `captf` | the same and more under captf's names |
//!
//! What alerts count from the first one on is shown from the start, with 0: Prometheus sees no
//! increase in a series that begins with 1.
//!
//! Labels take few values, or such as go with their object (the table states the bound): no names
//! but those of pools, no messages, no ids.

mod captf;
mod meter;
mod series;
mod standing;
pub mod table;

use std::{fmt, sync::Arc, time::Duration};

use jiff::Timestamp;
use prometheus_client::{
    encoding::{prometheus_text, text},
    registry::Registry,
};
use remuda_cloud::measured::CallMeter;
use remuda_plan::{
    driver::Driver,
    error::FailureClass,
    pool::{action::Effect, gate::Next, world::World},
    status::{
        pass::{Pass, PassEnd},
        publication::Publication,
        wire::Operation,
    },
};
use tokio::time::Instant;

pub(crate) use self::standing::PoolStores;
use self::{
    captf::{Captf, Told},
    meter::CloudMeter,
    series::{Counters, Gauges, Histograms},
    standing::Standing,
};
use crate::{clock::Clock, kinds::Kind, watching::ObjectKey};

/// How figures are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposition {
    /// OpenMetrics 1.0, which Prometheus asks for.
    OpenMetrics,
    /// Prometheus' own text format, 0.0.4.
    Text,
}

impl Exposition {
    /// What an `Accept` header asks for.
    pub fn accepted(accept: &str) -> Self {
        if accept.contains("application/openmetrics-text") {
            Self::OpenMetrics
        } else {
            Self::Text
        }
    }

    /// The `Content-Type`.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Text => prometheus_text::CONTENT_TYPE,
        }
    }
}

/// How a drain ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DrainEnd {
    /// The Node is empty.
    Done,
    /// Its time was over.
    TimedOut,
    /// Something else came in between.
    GivenUp,
}

impl DrainEnd {
    const ALL: [Self; 3] = [Self::Done, Self::TimedOut, Self::GivenUp];

    fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::TimedOut => "timed_out",
            Self::GivenUp => "given_up",
        }
    }
}

/// What became of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventEnd {
    /// It is stored.
    Written,
    /// The object's rate was used up.
    Dropped,
    /// The API server did not take it.
    Failed,
}

impl EventEnd {
    fn as_str(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Dropped => "dropped",
            Self::Failed => "failed",
        }
    }
}

/// How a step of a plan ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepEnd {
    /// Done.
    Done,
    /// Accepted; it takes time.
    Pending,
    /// Refused, or never arrived.
    Failed,
}

/// What this process counts.
pub struct Metrics {
    registry: Registry,
    clock: Arc<dyn Clock>,
    standing: Standing,
    reconciles: Counters<2>,
    reconcile_seconds: Histograms<1>,
    running: Gauges<1>,
    queue_seconds: Histograms<1>,
    operations: Counters<3>,
    steps: Counters<3>,
    calls: Counters<4>,
    call_seconds: Histograms<2>,
    throttles: Counters<3>,
    sweep_age: Histograms<1>,
    sweep_last: Gauges<2>,
    drains: Counters<1>,
    drain_seconds: Histograms<1>,
    events: Counters<2>,
    captf: Captf,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

impl Metrics {
    /// Nothing counted yet. `version` is the build's.
    pub fn new(version: &str, clock: Arc<dyn Clock>) -> Arc<Self> {
        let mut registry = Registry::default();
        let standing = Standing::default();
        registry.register_collector(Box::new(standing.clone()));
        let all = &mut registry;
        let build = Gauges::new(all, &table::BUILD);
        build.set([version.to_owned().into()], 1);
        let dropped =
            ["Normal", "Warning"].map(|of| [of.into(), EventEnd::Dropped.as_str().into()]);
        Arc::new(Self {
            reconciles: Counters::new(all, &table::RECONCILES),
            reconcile_seconds: Histograms::new(all, &table::RECONCILE_SECONDS),
            running: Gauges::new(all, &table::RUNNING),
            queue_seconds: Histograms::new(all, &table::QUEUE_SECONDS),
            operations: Counters::new(all, &table::OPERATIONS),
            steps: Counters::new(all, &table::STEPS),
            calls: Counters::new(all, &table::CALLS),
            call_seconds: Histograms::new(all, &table::CALL_DURATION),
            throttles: Counters::new(all, &table::THROTTLES),
            sweep_age: Histograms::new(all, &table::SWEEP_AGE),
            sweep_last: Gauges::new(all, &table::SWEEP_LAST),
            drains: Counters::from_zero(
                all,
                &table::DRAINS,
                DrainEnd::ALL.map(|end| [end.as_str().into()]),
            ),
            drain_seconds: Histograms::new(all, &table::DRAIN_DURATION),
            events: Counters::from_zero(all, &table::EVENTS, dropped),
            captf: Captf::new(all, version),
            standing,
            clock,
            registry,
        })
    }

    /// Everything, as a scrape shows it.
    pub fn scrape(&self, exposition: Exposition) -> String {
        let mut text = String::new();
        let written = match exposition {
            Exposition::OpenMetrics => text::encode(&mut text, &self.registry),
            Exposition::Text => prometheus_text::encode(&mut text, &self.registry),
        };
        if let Err(error) = written {
            tracing::error!(%error, "metrics could not be written down");
        }
        text
    }

    /// What counts the calls to a cloud.
    pub fn meter(self: &Arc<Self>, cloud: Driver) -> Arc<dyn CallMeter> {
        Arc::new(CloudMeter {
            cloud: name(cloud),
            metrics: self.clone(),
        })
    }

    /// The controllers run, and pools are in these stores, until the guard is dropped.
    pub(crate) fn leading(&self, pools: PoolStores) -> Leading {
        Leading {
            run: self.standing.begin(pools),
            standing: self.standing.clone(),
        }
    }

    /// Something woke an object.
    pub(crate) fn woken(&self, kind: Kind, key: ObjectKey) {
        self.standing.woken(kind, key);
    }

    /// A controller of this kind runs.
    pub(crate) fn works_on(&self, kind: Kind) {
        let of = kind.resource().kind;
        for result in ["error", "panic"] {
            self.reconciles.begin([of.clone().into(), result.into()]);
        }
    }

    /// The object was woken, but it is gone.
    pub(crate) fn gone(&self, kind: Kind, key: &ObjectKey) {
        self.standing.begun(kind, key);
        if kind == Kind::Machine {
            self.standing.draining(key, false);
        }
    }

    /// A pass begins; it ends when the guard is told how, or dropped.
    pub(crate) fn pass_begins(self: &Arc<Self>, kind: Kind, key: &ObjectKey) -> Running {
        let of = kind.resource().kind;
        if let Some(since) = self.standing.begun(kind, key) {
            self.queue_seconds
                .observe([of.clone().into()], since.elapsed());
        }
        self.running.gauge([of.clone().into()]).inc();
        Running {
            metrics: self.clone(),
            kind: of,
            since: Instant::now(),
        }
    }

    /// A pass over a pool was made.
    pub(crate) fn passed(&self, world: &World, pass: &Pass) {
        self.captf.passed(world, pass);
        self.operation(pass);
    }

    /// What a pass over a pool came to is stored.
    pub(crate) fn published(
        &self,
        world: &World,
        pass: &Pass,
        publication: &Publication,
        now: Timestamp,
    ) {
        self.captf.published(world, pass, publication, now);
        let uid = &world.pool.metadata.uid;
        let tell = |before: Option<&Told>| Told::after(before, world, pass, publication);
        self.standing.told(uid, tell);
    }

    /// A pool that rests was refreshed: the cloud shows what it showed.
    pub(crate) fn refreshed(&self, driver: Driver, uid: &str, at: Timestamp) {
        let operation = Operation::Refresh.as_str();
        self.operations
            .count([name(driver).into(), operation.into(), "done".into()]);
        self.standing
            .told(uid, |before| Some(before?.refreshed(at)));
    }

    /// A pass over a pool looked at the cloud.
    fn operation(&self, pass: &Pass) {
        let Next::Go(goal) = &pass.gate.next else {
            return;
        };
        let result = match &pass.end {
            PassEnd::AtGate => return,
            PassEnd::Done => "done",
            PassEnd::Refused(_) => "refused",
            PassEnd::Failed(failure) => class(failure.class),
            PassEnd::Unrecoverable(_) => "unrecoverable",
            PassEnd::RecordUnwritable(_) => "record_unwritable",
            PassEnd::DeadlineExceeded => "deadline_exceeded",
            PassEnd::Interrupted => "interrupted",
        };
        let operation = goal.operation.as_str();
        self.operations
            .count([name(goal.driver).into(), operation.into(), result.into()]);
    }

    /// A step of a plan was carried out, or not.
    pub(crate) fn step(&self, cloud: Driver, effect: Effect, end: StepEnd) {
        let effect = match effect {
            Effect::None => "none",
            Effect::NewMachinesOnly => "new_machines_only",
            Effect::Rolls => "rolls",
            Effect::Replaces => "replaces",
            Effect::Removes => "removes",
        };
        let result = match end {
            StepEnd::Done => "done",
            StepEnd::Pending => "pending",
            StepEnd::Failed => "failed",
        };
        self.steps
            .count([name(cloud).into(), effect.into(), result.into()]);
    }

    /// Whether the Node of a Machine is being drained.
    pub(crate) fn draining(&self, machine: &ObjectKey, is_so: bool) {
        self.standing.draining(machine, is_so);
    }

    /// A drain ended.
    pub(crate) fn drained(&self, end: DrainEnd, took: Duration) {
        let result = end.as_str();
        self.drains.count([result.into()]);
        self.drain_seconds.observe([result.into()], took);
    }

    /// An event was to be written.
    pub(crate) fn event(&self, severity: &'static str, end: EventEnd) {
        self.events.count([severity.into(), end.as_str().into()]);
    }
}

/// The controllers run. Dropping it says that they do no longer.
pub(crate) struct Leading {
    standing: Standing,
    run: u64,
}

impl Drop for Leading {
    fn drop(&mut self) {
        self.standing.end(self.run);
    }
}

/// A pass at work.
pub(crate) struct Running {
    metrics: Arc<Metrics>,
    kind: String,
    since: Instant,
}

impl Running {
    /// It ended so.
    pub(crate) fn ended(&self, result: &'static str) {
        let metrics = &self.metrics;
        let kind = || self.kind.clone().into();
        metrics.reconciles.count([kind(), result.into()]);
        metrics
            .reconcile_seconds
            .observe([kind()], self.since.elapsed());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.metrics.running.gauge([self.kind.clone().into()]).dec();
    }
}

/// A cloud as a label.
fn name(cloud: Driver) -> &'static str {
    match cloud {
        Driver::Aws => "aws",
        Driver::Azure => "azure",
    }
}

/// A class of failures as a label.
fn class(class: FailureClass) -> &'static str {
    match class {
        FailureClass::Throttled => "throttled",
        FailureClass::Transient => "transient",
        FailureClass::Contended => "contended",
        FailureClass::AlreadyExists => "already_exists",
        FailureClass::NotFound => "not_found",
        FailureClass::Denied => "denied",
        FailureClass::Quota => "quota",
        FailureClass::Capacity => "capacity",
        FailureClass::Constraint => "constraint",
        FailureClass::Locked => "locked",
        FailureClass::Rejected => "rejected",
        FailureClass::NotReadyYet => "not_ready_yet",
        FailureClass::NoCredentials => "no_credentials",
        FailureClass::Bug => "bug",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;

    /// What has counted nothing yet is not shown; what has no labels always is.
    #[test]
    fn what_is_scraped_is_in_the_table_and_all_without_labels_is_scraped() {
        let metrics = Metrics::new("1", Arc::new(SystemClock));
        let text = metrics.scrape(Exposition::Text);
        let scraped: Vec<(&str, &str)> = text
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
            .collect();
        let known = |metric: &table::Metric| (metric.name, metric.kind.as_str());
        let table: Vec<(&str, &str)> = table::METRICS.iter().map(|metric| known(metric)).collect();
        for family in &scraped {
            assert!(table.contains(family), "{family:?}");
        }
        for metric in table::METRICS.iter().filter(|it| it.labels.is_empty()) {
            assert!(scraped.contains(&known(metric)), "{}", metric.name);
        }
    }

    #[test]
    fn what_alerts_count_from_the_first_one_on_is_shown_with_zero() {
        let metrics = Metrics::new("1", Arc::new(SystemClock));
        metrics.works_on(Kind::Machine);
        let text = metrics.scrape(Exposition::Text);
        for series in [
            "remuda_drains_total{result=\"timed_out\"} 0\n",
            "remuda_events_total{type=\"Warning\",result=\"dropped\"} 0\n",
            "remuda_reconciles_total{kind=\"Machine\",result=\"panic\"} 0\n",
        ] {
            assert!(text.contains(series), "{series}{text}");
        }
    }

    #[test]
    fn names_follow_prometheus_conventions() {
        for metric in table::METRICS {
            let name = metric.name;
            let is_captfs = name.starts_with("captf_");
            assert!(is_captfs || name.starts_with("remuda_"), "{name}");
            let is_counter = metric.kind == table::MetricKind::Counter;
            assert_eq!(name.ends_with("_total"), is_counter, "{name}");
            if matches!(metric.kind, table::MetricKind::Histogram(_)) && !is_captfs {
                assert!(name.ends_with("_seconds"), "{name}");
            }
            assert!(!metric.help.ends_with('.'), "{name}: {}", metric.help);
        }
    }

    #[test]
    fn the_format_is_what_was_asked_for() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.2";
        assert_eq!(Exposition::accepted(prometheus), Exposition::OpenMetrics);
        assert_eq!(Exposition::accepted("*/*"), Exposition::Text);
        let metrics = Metrics::new("1", Arc::new(SystemClock));
        let ends = metrics.scrape(Exposition::OpenMetrics);
        assert!(ends.ends_with("# EOF\n"), "{ends}");
    }

    #[test]
    fn a_run_that_was_superseded_does_not_end_the_next_one() {
        let metrics = Metrics::new("1", Arc::new(SystemClock));
        let stores = || PoolStores {
            pools: crate::watching::Watch::new(Kind::TerraformMachinePool)
                .keep(|_| {})
                .1,
            machine_pools: crate::watching::Watch::new(Kind::MachinePool)
                .keep(|_| {})
                .1,
            watch_filter: String::new(),
        };
        let leads = || {
            metrics
                .scrape(Exposition::Text)
                .contains("remuda_leader 1\n")
        };
        assert!(!leads());
        let first = metrics.leading(stores());
        let second = metrics.leading(stores());
        drop(first);
        assert!(leads(), "the second runs");
        drop(second);
        assert!(!leads());
    }
}
