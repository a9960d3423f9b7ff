//! How pools stand, under captf's names, at the moment of a scrape.

use std::{collections::BTreeMap, fmt};

use jiff::Timestamp;
use kube::api::DynamicObject;
use prometheus_client::encoding::DescriptorEncoder;
use remuda_plan::{
    pool::world::World,
    status::{
        pass::Pass,
        publication::{Publication, RecordWrite},
        wire::Operation,
    },
};

use super::{KIND, table};
use crate::{
    conditions::status_of,
    metrics::{
        standing::{Pool, gauges},
        table::Metric,
    },
};

/// What a pool's stored object shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::metrics) struct Shown {
    ready: i64,
    healthy: i64,
    drifted: i64,
    active: Option<String>,
}

impl Shown {
    /// Reads it off.
    pub(in crate::metrics) fn of(pool: &DynamicObject) -> Self {
        let conditions = pool.data.pointer("/status/conditions");
        let condition = |kind| match status_of(conditions, kind).as_deref() {
            Some("True") => 1,
            Some("False") => 0,
            _ => -1,
        };
        let active = pool.data.pointer("/status/activeJob/operation");
        Self {
            ready: condition("Ready"),
            healthy: condition("InfrastructureHealthy"),
            drifted: i64::from(condition("DriftDetected") == 1),
            active: active.and_then(|it| it.as_str()).map(str::to_owned),
        }
    }
}

/// What the passes over a pool told that its stored object does not show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::metrics) struct Told {
    inputs_bytes: Option<i64>,
    /// Newest success by operation, in seconds since 1970.
    succeeded: BTreeMap<&'static str, i64>,
}

impl Told {
    /// The same after one more refresh.
    pub(in crate::metrics) fn refreshed(&self, at: Timestamp) -> Self {
        let mut told = self.clone();
        let refresh = Operation::Refresh.as_str();
        told.succeeded.insert(refresh, at.as_second());
        told
    }

    /// What is known after one more pass; `None`: the pool is no longer looked after.
    pub(in crate::metrics) fn after(
        before: Option<&Self>,
        world: &World,
        pass: &Pass,
        publication: &Publication,
    ) -> Option<Self> {
        let memory = publication.memory.as_ref()?;
        let findings = &pass.gate.findings;
        let bytes = findings.inputs_bytes.and_then(|it| i64::try_from(it).ok());
        let record = match &publication.record {
            Some(RecordWrite::Save(record)) => Some(record.as_ref()),
            Some(RecordWrite::Retain | RecordWrite::Delete) | None => world.record.found(),
        };
        let status = &world.pool.status;
        let mut succeeded = BTreeMap::new();
        let mut add = |operation: Operation, at: Option<jiff::Timestamp>| {
            succeeded.extend(at.map(|at| (operation.as_str(), at.as_second())));
        };
        let applied = record.and_then(|record| record.history.applied_at);
        add(Operation::Apply, applied);
        if !findings.deleting && !findings.paused {
            let checked = memory.drift_checked_at.max(status.last_drift_check);
            add(Operation::Drift, checked);
            let refreshed = memory.refreshed_at.max(status.last_refresh);
            add(Operation::Refresh, refreshed);
        }
        Some(Self {
            inputs_bytes: bytes.or_else(|| before?.inputs_bytes),
            succeeded,
        })
    }
}

/// One number of a pool.
type Figure = fn(&Shown) -> i64;

/// Writes the gauges of pools.
pub(in crate::metrics) fn encode<'a>(
    encoder: &mut DescriptorEncoder<'_>,
    pools: &'a [Pool],
    told: impl Fn(&Pool) -> Option<&'a Told>,
) -> fmt::Result {
    let labels = |pool: &Pool| [KIND.to_owned(), pool.namespace.clone(), pool.name.clone()];
    let figures: [(&'static Metric, Figure); 3] = [
        (&table::READY, |shown| shown.ready),
        (&table::HEALTHY, |shown| shown.healthy),
        (&table::DRIFTED, |shown| shown.drifted),
    ];
    for (metric, figure) in figures {
        let of = |pool: &Pool| (labels(pool), figure(&pool.shown));
        gauges(encoder, metric, pools.iter().map(of))?;
    }
    let bytes = pools
        .iter()
        .filter_map(|pool| Some((labels(pool), told(pool)?.inputs_bytes?)));
    gauges(encoder, &table::INPUTS_BYTES, bytes)?;
    let succeeded = pools.iter().flat_map(|pool| {
        let [kind, namespace, name] = labels(pool);
        let times = told(pool).into_iter().flat_map(|told| &told.succeeded);
        times.map(move |(op, at)| {
            let op = (*op).to_owned();
            ([kind.clone(), namespace.clone(), name.clone(), op], *at)
        })
    });
    gauges(encoder, &table::LAST_SUCCESS, succeeded)
}

/// Writes how many operations are at work, none included.
pub(in crate::metrics) fn encode_active(
    encoder: &mut DescriptorEncoder<'_>,
    pools: Option<&[Pool]>,
) -> fmt::Result {
    let counts = pools.into_iter().flat_map(|pools| {
        [Operation::Apply, Operation::Destroy].map(|operation| {
            let op = operation.as_str();
            let works = |pool: &&Pool| pool.shown.active.as_deref() == Some(op);
            let count = pools.iter().filter(works).count();
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            ([KIND.to_owned(), op.to_owned()], count)
        })
    });
    gauges(encoder, &table::JOBS_ACTIVE, counts)
}
