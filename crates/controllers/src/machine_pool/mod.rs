//! The MachinePool controller of standalone mode (cluster-api document, section 3).
//!
//! Owns: the MachinePool's status, finalizer, cluster-name label and owner reference,
//! `spec.providerIDList`, and `spec.template.spec.bootstrap.dataSecretName` where a bootstrap
//! config is named; on the infrastructure object the controller owner reference and the
//! cluster-name label; on Nodes of members the back-pointer annotations and the removal of the
//! uninitialized taint; and the deletion of Nodes whose member is gone. It never writes
//! `spec.replicas`.
//!
//! | file | what |
//! | --- | --- |
//! | `gather` | reads → `facts` |
//! | `status` | facts → counters, phase, conditions, Nodes to retire (pure) |
//! | `adopt` | owner references and labels |
//! | `nodes` | writes to Nodes |
//! | `teardown` | deletion |
//! | `publish` | status |
//! | `watch` | what wakes a pool |

mod adopt;
mod conditions;
mod facts;
mod gather;
mod nodes;
mod objects;
mod publish;
mod status;
mod teardown;
#[cfg(test)]
mod tests;
mod watch;

use std::time::Duration;

use remuda_plan::status::publication::Requeue;

pub(crate) use self::watch::routes;
use self::{
    facts::{Infrastructure, Nodes},
    gather::{Gathered, Sources, gather},
};
use crate::{
    context::Context,
    contract::Contracts,
    objects::ApiError,
    watching::ObjectKey,
    workload::{ClusterKey, NodeWake, NodeWatches},
};

/// Looks again without any event (cluster-api document, section 0).
const SYNC_PERIOD: Duration = Duration::from_mins(10);
/// Tries a workload cluster that cannot be reached no sooner than this (same place).
const RECONNECT: Duration = Duration::from_secs(30);

/// What this controller needs besides the context.
pub(crate) struct Workplace {
    pub contracts: Contracts,
    pub nodes: NodeWatches,
}

/// One pass over one MachinePool.
///
/// # Errors
/// A read of the pool or its Cluster, or a write, failed; a Cluster that does not exist is an error.
/// Status is published all the same where the pool could be read.
pub(crate) async fn reconcile(
    key: &ObjectKey,
    work: &Workplace,
    ctx: &Context,
) -> Result<Requeue, ApiError> {
    let sources = Sources {
        objects: &ctx.objects,
        contracts: &work.contracts,
        nodes: &work.nodes,
        now: ctx.now(),
    };
    let Some(gathered) = gather(key, &sources).await? else {
        return Ok(Requeue::OnChange);
    };
    if !ctx.is_ours(&gathered.pool.metadata) {
        return Ok(Requeue::OnChange);
    }
    if gathered.facts.deleting {
        return delete(&gathered, work, ctx).await;
    }
    if gathered.cluster.is_none() {
        let cluster = &gathered.pool.spec.cluster_name;
        return Err(ApiError::NotFound(format!(
            "the Cluster {}/{cluster}",
            key.namespace
        )));
    }
    if adopt::finalizer(&gathered, ctx).await? {
        // The write is visible before anything is made; it wakes the pool again.
        return Ok(Requeue::OnChange);
    }
    if gathered.facts.paused {
        publish::paused(&gathered, ctx).await?;
        return Ok(Requeue::OnChange);
    }
    adopt::ownership(&gathered, ctx).await?;
    if matches!(gathered.facts.nodes, Nodes::Listing) {
        // A moment later the Nodes are known: no status in between that says they are not.
        return Ok(Requeue::OnChange);
    }
    let verdict = status::decide(&gathered.facts);
    let nodes = nodes::settle(&gathered, &verdict).await;
    publish::spec(&gathered, &verdict, ctx).await?;
    let failed = match (&gathered.facts.infrastructure, nodes) {
        (Infrastructure::Unreadable(why), _) => Err(ApiError::Failed {
            what: "read the infrastructure object".to_owned(),
            why: why.clone(),
        }),
        (_, nodes) => nodes,
    };
    publish::status(&gathered, &verdict, failed.is_ok(), ctx).await?;
    failed?;
    Ok(Requeue::After(next_look(&gathered, &verdict)))
}

async fn delete(gathered: &Gathered, work: &Workplace, ctx: &Context) -> Result<Requeue, ApiError> {
    if gathered.facts.paused {
        publish::paused(gathered, ctx).await?;
        return Ok(Requeue::OnChange);
    }
    let verdict = status::decide(&gathered.facts);
    publish::status(gathered, &verdict, true, ctx).await?;
    let requeue = teardown::step(gathered, ctx).await?;
    if requeue == Requeue::OnChange {
        let metadata = &gathered.pool.metadata;
        let (namespace, name) = (metadata.namespace.clone(), metadata.name.clone());
        let cluster = ClusterKey {
            namespace: namespace.clone(),
            name: gathered.pool.spec.cluster_name.clone(),
        };
        work.nodes
            .forget_pool(&cluster, &NodeWake { namespace, name });
    }
    Ok(requeue)
}

fn next_look(gathered: &Gathered, verdict: &status::Verdict) -> Duration {
    let recheck = verdict
        .recheck
        .and_then(|left| Duration::try_from(left).ok());
    let reconnect = matches!(gathered.facts.nodes, Nodes::Unknown(_)).then_some(RECONNECT);
    [recheck, reconnect]
        .into_iter()
        .flatten()
        .fold(SYNC_PERIOD, Duration::min)
}
