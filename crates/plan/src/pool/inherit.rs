//! Policies after inheritance (captf document 1.9): own field, the cluster's defaults, the
//! cluster's own field, the built-in default. Resolved on every pass, never stored.

use super::{
    findings::Policies,
    objects::{DeletionPolicy, InfraClusterObject, JobPolicy, PoolObject},
    world::{Lookup, World},
};
use crate::limits;

/// Merged policies; a contradictory job policy is reported beside them.
pub fn policies(world: &World) -> (Policies, Result<(), String>) {
    let spec = &world.pool.spec;
    let cluster = world.infra_cluster.found();
    let jobs = [
        spec.jobs.as_ref(),
        cluster.and_then(|it| it.spec.defaults.jobs.as_ref()),
        cluster.and_then(|it| it.spec.jobs.as_ref()),
    ];
    let job = |pick: fn(&JobPolicy) -> Option<i64>| jobs.iter().flatten().find_map(|it| pick(it));
    let deadline = job(|it| it.active_deadline_seconds)
        .unwrap_or(i64::from(limits::OPERATION_DEADLINE_SECONDS));
    let lock = job(|it| it.lock_timeout_seconds).unwrap_or(i64::from(limits::LOCK_TIMEOUT_SECONDS));
    let limit =
        job(|it| it.failed_jobs_history_limit).unwrap_or(i64::from(limits::FAILED_HISTORY_LIMIT));
    let verdict = if lock < deadline {
        Ok(())
    } else {
        Err(format!(
            "jobs.lockTimeoutSeconds ({lock}) must be less than jobs.activeDeadlineSeconds \
             ({deadline}); both are merged from the pool and its TerraformCluster"
        ))
    };
    let drift = [
        spec.drift.as_ref(),
        cluster.and_then(|it| it.spec.defaults.drift.as_ref()),
        cluster.and_then(|it| it.spec.drift.as_ref()),
    ];
    let drift_seconds = drift
        .iter()
        .flatten()
        .filter_map(|it| it.interval_seconds)
        .find(|seconds| *seconds > 0);
    let membership = [
        spec.membership_refresh_interval_seconds,
        cluster.and_then(|it| it.spec.defaults.membership_refresh_interval_seconds),
    ];
    let policies = Policies {
        membership_seconds: membership
            .into_iter()
            .flatten()
            .find(|seconds| *seconds > 0)
            .map_or(limits::MEMBERSHIP_INTERVAL_SECONDS, seconds),
        drift_seconds: drift_seconds.map_or(world.manager.drift_interval_seconds, seconds),
        drift_action: drift
            .iter()
            .flatten()
            .find_map(|it| it.action)
            .unwrap_or_default(),
        deadline_seconds: seconds(deadline),
        failed_limit: seconds(limit),
    };
    (policies, verdict)
}

/// A non-negative figure of a schema-checked field.
fn seconds(value: i64) -> u32 {
    u32::try_from(value.max(0)).unwrap_or(u32::MAX)
}

/// What deletion does, or why nobody knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeletionChoice {
    /// Decided.
    Known(DeletionPolicy),
    /// The pool says nothing and the TerraformCluster to inherit from is gone (DEL-7).
    Unresolved,
    /// A read failed.
    Unreadable(String),
}

/// Resolves the deletion policy. `Destroy` is assumed only when the TerraformCluster was read and
/// says nothing.
pub fn deletion_policy(
    pool: &PoolObject,
    infra_cluster: &Lookup<InfraClusterObject>,
) -> DeletionChoice {
    if let Some(own) = pool.spec.deletion_policy {
        return DeletionChoice::Known(own);
    }
    match infra_cluster {
        Lookup::Found(cluster) => DeletionChoice::Known(
            cluster
                .spec
                .defaults
                .deletion_policy
                .or(cluster.spec.deletion_policy)
                .unwrap_or(DeletionPolicy::Destroy),
        ),
        Lookup::Missing => DeletionChoice::Unresolved,
        Lookup::Failed(why) => DeletionChoice::Unreadable(why.clone()),
    }
}
