//! Workers of a Cluster: its machine pools, added up. Pure but for reading the kept pools.

use std::collections::BTreeMap;

use remuda_plan::machines::view::named;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    conditions::{Wanted, status_of},
    machine_pool::CLUSTER,
    watching::{Kept, Term},
};

remuda_plan::documented! {
    /// Reasons of condition `WorkersAvailable`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Reason {
        /// Every machine pool has as many replicas available as it wants.
        Available,
        /// A machine pool has fewer replicas available than it wants.
        NotAvailable,
        /// Whether enough replicas are available is not known.
        AvailableUnknown,
        /// The cluster has no machine pools.
        NoWorkers,
    }
}

/// A machine pool, as far as its Cluster counts it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Pool {
    /// `metadata.name`.
    #[serde(skip)]
    pub name: String,
    /// `spec`.
    pub spec: PoolSpec,
    /// `status`.
    pub status: PoolStatus,
}

/// `MachinePool.spec`, as far as it is counted.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PoolSpec {
    /// Absent is 1.
    pub replicas: Option<i64>,
}

/// `MachinePool.status`, as far as it is counted.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PoolStatus {
    pub replicas: i64,
    pub ready_replicas: i64,
    pub available_replicas: i64,
    pub up_to_date_replicas: i64,
    pub versions: Vec<Version>,
    pub conditions: Value,
}

/// One entry of `status.versions`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Version {
    pub version: String,
    pub replicas: i64,
}

/// Where a MachinePool holds what is counted.
pub(crate) const COUNTED: [&[&str]; 7] = [
    &["spec", "replicas"],
    &["status", "replicas"],
    &["status", "readyReplicas"],
    &["status", "availableReplicas"],
    &["status", "upToDateReplicas"],
    &["status", "versions"],
    &["status", "conditions"],
];

/// Of a MachinePool's conditions the one that is counted.
pub(crate) const COUNTED_CONDITION: &str = "Available";

/// The machine pools of a Cluster.
pub(super) fn pools(machine_pools: &Kept, namespace: &str, cluster: &str) -> Vec<Pool> {
    let of_cluster = machine_pools.objects(&Term::new(CLUSTER, namespace, cluster));
    of_cluster
        .iter()
        .map(|pool| Pool {
            name: pool.metadata.name.clone().unwrap_or_default(),
            ..serde::Deserialize::deserialize(&pool.data).unwrap_or_default()
        })
        .collect()
}

/// `status.workers`; `None` without pools.
pub(super) fn counters(pools: &[Pool]) -> Option<Value> {
    if pools.is_empty() {
        return None;
    }
    let sum = |count: fn(&Pool) -> i64| pools.iter().map(count).sum::<i64>();
    let mut versions: BTreeMap<&str, i64> = BTreeMap::new();
    for version in pools.iter().flat_map(|pool| &pool.status.versions) {
        *versions.entry(&version.version).or_default() += version.replicas;
    }
    let mut workers = json!({
        "desiredReplicas": sum(|pool| pool.spec.replicas.unwrap_or(1)),
        "replicas": sum(|pool| pool.status.replicas),
        "readyReplicas": sum(|pool| pool.status.ready_replicas),
        "availableReplicas": sum(|pool| pool.status.available_replicas),
        "upToDateReplicas": sum(|pool| pool.status.up_to_date_replicas),
    });
    if !versions.is_empty() {
        let versions: Vec<Value> = versions
            .iter()
            .map(|(version, replicas)| json!({ "version": version, "replicas": replicas }))
            .collect();
        workers["versions"] = Value::from(versions);
    }
    Some(workers)
}

/// Condition `WorkersAvailable`: every pool is Available.
pub(super) fn available(pools: &[Pool]) -> Wanted {
    let of = |status: Option<&str>| -> Vec<&str> {
        pools
            .iter()
            .filter(|pool| {
                status_of(Some(&pool.status.conditions), "Available").as_deref() == status
            })
            .map(|pool| pool.name.as_str())
            .collect()
    };
    let not = of(Some("False"));
    let known = not.len() + of(Some("True")).len();
    let (status, reason, message) = if pools.is_empty() {
        ("True", Reason::NoWorkers, String::new())
    } else if !not.is_empty() {
        let message = format!("machine pools that are not available: {}", named(not));
        ("False", Reason::NotAvailable, message)
    } else if known < pools.len() {
        let message = "some machine pools have not reported yet".to_owned();
        ("Unknown", Reason::AvailableUnknown, message)
    } else {
        ("True", Reason::Available, String::new())
    };
    Wanted {
        kind: "WorkersAvailable".to_owned(),
        status,
        reason: format!("{reason:?}"),
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::{Pool, Value, available, counters, json};

    fn pool(name: &str, object: Value) -> Pool {
        Pool {
            name: name.to_owned(),
            ..serde_json::from_value(object).unwrap()
        }
    }

    fn two() -> Vec<Pool> {
        let status = |ready: i64, available: &str| {
            json!({
                "replicas": 3, "readyReplicas": ready, "availableReplicas": ready,
                "upToDateReplicas": 3,
                "versions": [{ "version": "v1.34.1", "replicas": 3 }],
                "conditions": [{ "type": "Available", "status": available }],
            })
        };
        vec![
            pool(
                "a",
                json!({ "spec": { "replicas": 3 }, "status": status(3, "True") }),
            ),
            pool(
                "b",
                json!({ "spec": { "replicas": 4 }, "status": status(2, "False") }),
            ),
        ]
    }

    #[test]
    fn counters_of_pools_are_added_up() {
        assert_eq!(
            counters(&two()),
            Some(json!({
                "desiredReplicas": 7, "replicas": 6, "readyReplicas": 5, "availableReplicas": 5,
                "upToDateReplicas": 6,
                "versions": [{ "version": "v1.34.1", "replicas": 6 }],
            }))
        );
        assert_eq!(counters(&[]), None);
    }

    #[test]
    fn workers_are_available_when_every_pool_is() {
        let states = |pools: &[Pool]| {
            let condition = available(pools);
            (condition.status, condition.reason, condition.message)
        };
        let (status, reason, message) = states(&two());
        assert_eq!((status, reason.as_str()), ("False", "NotAvailable"));
        assert!(message.ends_with(": b"), "{message}");
        assert_eq!(states(&two()[..1]).0, "True");
        assert_eq!(states(&[]).1, "NoWorkers");
        let new = pool("c", json!({ "spec": {} }));
        assert_eq!(states(&[two()[0].clone(), new]).0, "Unknown");
    }
}
