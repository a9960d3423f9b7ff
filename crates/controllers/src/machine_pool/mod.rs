//! The MachinePool controller of standalone mode (cluster-api document, section 3).
//!
//! Owns: the MachinePool's status, finalizer, cluster-name label and owner reference,
//! `spec.providerIDList`, and `spec.template.spec.bootstrap.dataSecretName` where a bootstrap
//! config is named; on the infrastructure object the controller owner reference and the
//! cluster-name label. Where the infrastructure object publishes a kind of its machines, it owns
//! the Machines that stand for them, and the replacement of those that health checks complain of; elsewhere, on Nodes of members the back-pointer annotations and the
//! removal of the uninitialized taint. Nodes whose member is gone are deleted, unless a Machine
//! does it. It never writes `spec.replicas`.
//!
//! | file | what |
//! | --- | --- |
//! | `gather` | reads → `facts` |
//! | `members` | Machines of the pool, read or glanced at |
//! | `machines` | Machines of the pool → what is to be done about them |
//! | `status` | facts → counters, phase, conditions, Nodes to retire (pure) |
//! | `surface` | writes to Machines |
//! | `adopt` | owner references and labels |
//! | `nodes` | writes to Nodes |
//! | `teardown` | deletion |
//! | `publish` | status |
//! | `watch` | what wakes a pool |

mod adopt;
pub(crate) mod conditions;
mod facts;
mod gather;
mod machines;
mod members;
mod nodes;
mod objects;
mod publish;
mod status;
mod surface;
mod teardown;
#[cfg(test)]
mod tests;
mod watch;

use std::{sync::Arc, time::Duration};

use remuda_api::keys::finalizer;
use remuda_plan::status::publication::Requeue;

pub(crate) use self::watch::{BOOTSTRAP, CLUSTER, LABEL, REGISTERED, routes, terms};
use self::{
    facts::{Infrastructure, Machines, Nodes},
    gather::{Gathered, Sources, gather},
    machines::Surfaced,
    members::Applied,
};
use crate::{
    context::Context,
    contract::Contracts,
    kinds::Kind,
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
    contracts: Contracts,
    nodes: Arc<NodeWatches>,
    applied: Applied,
}

impl Workplace {
    /// Works with these watches of Nodes.
    pub(crate) fn new(nodes: Arc<NodeWatches>) -> Self {
        Self {
            contracts: Contracts::default(),
            nodes,
            applied: Applied::default(),
        }
    }
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
        applied: &work.applied,
        now: ctx.now(),
    };
    let Some(mut gathered) = gather(key, &sources, true).await? else {
        return Ok(Requeue::OnChange);
    };
    if gathered.glanced && takes_away(&gathered) {
        // What takes something away is decided on what the API server says now.
        match gather(key, &sources, false).await? {
            Some(read) => gathered = read,
            None => return Ok(Requeue::OnChange),
        }
    }
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
    let metadata = &gathered.pool.metadata;
    let finalizer = finalizer::MACHINE_POOL;
    if crate::adopt::finalizer(Kind::MachinePool, metadata, finalizer, ctx).await? {
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
    let machines = surface::settle(&gathered, &work.applied, ctx).await;
    let nodes = nodes::settle(&gathered, &verdict).await;
    publish::spec(&gathered, &verdict, ctx).await?;
    let failed = known(&gathered).and(machines).and(nodes);
    publish::status(&gathered, &verdict, failed.is_ok(), ctx).await?;
    failed?;
    Ok(Requeue::After(next_look(&gathered, &verdict)))
}

/// Machines or Nodes are to go, or the whole pool.
fn takes_away(gathered: &Gathered) -> bool {
    let replaces = |surfaced: &Surfaced| !surfaced.replacements.is_empty();
    gathered.facts.deleting
        || gathered.machines.as_ref().is_some_and(replaces)
        || !status::decide(&gathered.facts).retired.is_empty()
}

/// What could not be read is an error of the pass; what could be is worked on all the same.
fn known(gathered: &Gathered) -> Result<(), ApiError> {
    let failed = |what: &str, why: &String| {
        Err(ApiError::Failed {
            what: what.to_owned(),
            why: why.clone(),
        })
    };
    match (&gathered.facts.infrastructure, &gathered.facts.machines) {
        (Infrastructure::Unreadable(why), _) => failed("read the infrastructure object", why),
        (_, Machines::Unknown(why)) => failed("read the Machines", why),
        _ => Ok(()),
    }
}

async fn delete(gathered: &Gathered, work: &Workplace, ctx: &Context) -> Result<Requeue, ApiError> {
    if gathered.facts.paused {
        publish::paused(gathered, ctx).await?;
        return Ok(Requeue::OnChange);
    }
    let verdict = status::decide(&gathered.facts);
    publish::status(gathered, &verdict, true, ctx).await?;
    // Machines that are still there follow the pool: a person may shorten a drain that is stuck.
    surface::settle(gathered, &work.applied, ctx).await?;
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
        work.applied.forget(metadata);
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
