//! Series of one metric: the table's names with values, over the library's families.

use std::{borrow::Cow, time::Duration};

use prometheus_client::{
    metrics::{
        counter::Counter,
        family::{Family, MetricConstructor},
        gauge::Gauge,
        histogram::Histogram,
    },
    registry::{Metric as Encoded, Registry},
};

use super::table::{Metric, MetricKind};

/// A label's value.
pub(super) type Value = Cow<'static, str>;

/// Labels of one series.
pub(super) type Labels<const N: usize> = [(&'static str, Value); N];

/// The series of one metric.
#[derive(Debug, Clone)]
pub(super) struct Series<const N: usize, M, C = fn() -> M> {
    of: &'static Metric,
    family: Family<Labels<N>, M, C>,
}

/// Makes the histograms of one metric.
#[derive(Debug, Clone, Copy)]
pub(super) struct Buckets(&'static [f64]);

impl MetricConstructor<Histogram> for Buckets {
    fn new_metric(&self) -> Histogram {
        Histogram::new(self.0.iter().copied())
    }
}

pub(super) type Counters<const N: usize> = Series<N, Counter>;
pub(super) type Gauges<const N: usize> = Series<N, Gauge>;
pub(super) type Histograms<const N: usize> = Series<N, Histogram, Buckets>;

/// A metric's labels with values, in the table's order.
pub(super) fn labels<const N: usize>(of: &'static Metric, values: [Value; N]) -> Labels<N> {
    let mut names = of.labels.iter();
    values.map(|value| (names.next().copied().unwrap_or_default(), value))
}

impl<const N: usize, M, C> Series<N, M, C>
where
    M: Clone,
    C: MetricConstructor<M> + Clone,
    Family<Labels<N>, M, C>: Encoded + Clone,
{
    fn registered(registry: &mut Registry, of: &'static Metric, constructor: C) -> Self {
        let family = Family::new_with_constructor(constructor);
        // The library adds a counter's `_total` itself.
        let name = of.name.strip_suffix("_total").unwrap_or(of.name);
        registry.register(name, of.help, family.clone());
        Self { of, family }
    }

    fn one(&self, values: [Value; N]) -> M {
        self.family.get_or_create_owned(&labels(self.of, values))
    }
}

impl<const N: usize> Counters<N> {
    /// Counters of a metric.
    pub(super) fn new(registry: &mut Registry, of: &'static Metric) -> Self {
        Self::registered(registry, of, Counter::default)
    }

    /// Counters of a metric, some of which are shown before they counted anything.
    pub(super) fn from_zero<const K: usize>(
        registry: &mut Registry,
        of: &'static Metric,
        shown: [[Value; N]; K],
    ) -> Self {
        let counters = Self::new(registry, of);
        for values in shown {
            counters.begin(values);
        }
        counters
    }

    /// Shows one, which counted nothing yet.
    pub(super) fn begin(&self, values: [Value; N]) {
        self.one(values);
    }

    /// Counts one.
    pub(super) fn count(&self, values: [Value; N]) {
        self.one(values).inc();
    }

    /// Counts several.
    pub(super) fn add(&self, values: [Value; N], by: u64) {
        self.one(values).inc_by(by);
    }
}

impl<const N: usize> Gauges<N> {
    /// Gauges of a metric.
    pub(super) fn new(registry: &mut Registry, of: &'static Metric) -> Self {
        Self::registered(registry, of, Gauge::default)
    }

    /// Sets one.
    pub(super) fn set(&self, values: [Value; N], to: i64) {
        self.one(values).set(to);
    }

    /// The gauge itself.
    pub(super) fn gauge(&self, values: [Value; N]) -> Gauge {
        self.one(values)
    }
}

impl<const N: usize> Histograms<N> {
    /// Histograms of a metric.
    pub(super) fn new(registry: &mut Registry, of: &'static Metric) -> Self {
        let buckets = match of.kind {
            MetricKind::Histogram(buckets) => buckets,
            MetricKind::Counter | MetricKind::Gauge => &[],
        };
        Self::registered(registry, of, Buckets(buckets))
    }

    /// Counts one span of time.
    pub(super) fn observe(&self, values: [Value; N], span: Duration) {
        self.observe_number(values, span.as_secs_f64());
    }

    /// Counts one number.
    pub(super) fn observe_number(&self, values: [Value; N], number: f64) {
        self.one(values).observe(number);
    }
}
