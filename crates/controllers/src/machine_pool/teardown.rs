//! Deletion of a MachinePool: the infrastructure object and the bootstrap config first, then the
//! Nodes, the finalizer last.

use std::time::Duration;

use jiff::SignedDuration;
use remuda_api::keys::finalizer;
use remuda_plan::{machines::pool_machine::is_of_pool, status::publication::Requeue};
use serde_json::json;

use super::{
    gather::Gathered,
    members::{self, Stored},
    nodes,
};
use crate::{
    adopt::Referenced,
    context::{Context, FIELD_MANAGER},
    kinds::Kind,
    objects::{ApiError, Target},
};

/// How long Nodes that cannot be deleted are tried (cluster-api document 3.1).
const NODE_DELETION_SECONDS: i64 = 10;
/// The watch tells when the infrastructure object is gone; this only bounds a missed event. Ours.
const WAITING: Duration = Duration::from_mins(1);
/// Between two tries to reach the workload cluster.
const AGAIN: Duration = Duration::from_secs(2);

/// Does what can be done now. `OnChange`: the pool is done.
pub(super) async fn step(gathered: &Gathered, ctx: &Context) -> Result<Requeue, ApiError> {
    let mut waiting = false;
    for referenced in [&gathered.infra, &gathered.config].into_iter().flatten() {
        waiting = true;
        delete_referenced(gathered, referenced, ctx).await?;
    }
    if let super::facts::Infrastructure::Unreadable(why) = &gathered.facts.infrastructure {
        return Err(ApiError::Failed {
            what: "read the infrastructure object".to_owned(),
            why: why.clone(),
        });
    }
    if waiting {
        return Ok(Requeue::After(WAITING));
    }
    if machines_remain(gathered, ctx).await? {
        return Ok(Requeue::After(WAITING));
    }
    if !gathered.facts.cluster_deleting {
        let left = match &gathered.workload {
            Some(workload) => nodes::retire(workload, &gathered.facts.previous.node_refs).await,
            None if gathered.facts.previous.node_refs.is_empty() => Ok(()),
            None => Err(ApiError::Failed {
                what: "delete the pool's Nodes".to_owned(),
                why: "the workload cluster cannot be reached".to_owned(),
            }),
        };
        if let Err(error) = left
            && !given_up(gathered)
        {
            tracing::warn!(%error, pool = %gathered.pool.metadata.name, "Nodes remain");
            return Ok(Requeue::After(AGAIN));
        }
    }
    release(gathered, ctx).await?;
    Ok(Requeue::OnChange)
}

/// The provider deletes its Machines before it goes. One that it left behind has no instance any
/// more, and goes now.
async fn machines_remain(gathered: &Gathered, ctx: &Context) -> Result<bool, ApiError> {
    let pool = &gathered.pool;
    let machines = members::list_machines(&ctx.objects, pool).await?;
    let ours = machines
        .values()
        .map(Stored::view)
        .filter(|machine| is_of_pool(machine, &pool.metadata));
    let mut remain = false;
    for machine in ours {
        remain = true;
        if !machine.is_deleting() {
            let (metadata, resource) = (&machine.metadata, Kind::Machine.resource());
            ctx.objects
                .delete(
                    &resource,
                    Some(&pool.metadata.namespace),
                    &metadata.name,
                    Some(&metadata.uid),
                )
                .await?;
        }
    }
    Ok(remain)
}

/// The time for deleting Nodes is over; 0 means that it never is.
fn given_up(gathered: &Gathered) -> bool {
    let spec = &gathered.pool.spec.template.spec;
    let seconds = spec
        .deletion
        .node_deletion_timeout_seconds
        .unwrap_or(NODE_DELETION_SECONDS);
    let Some(since) = gathered.pool.metadata.deletion_timestamp else {
        return false;
    };
    seconds > 0 && gathered.facts.now.duration_since(since) > SignedDuration::from_secs(seconds)
}

async fn delete_referenced(
    gathered: &Gathered,
    referenced: &Referenced,
    ctx: &Context,
) -> Result<(), ApiError> {
    if referenced.metadata.deletion_timestamp.is_some() {
        return Ok(());
    }
    ctx.objects
        .delete(
            &referenced.resource,
            Some(&gathered.pool.metadata.namespace),
            &referenced.metadata.name,
            Some(&referenced.metadata.uid),
        )
        .await
}

async fn release(gathered: &Gathered, ctx: &Context) -> Result<(), ApiError> {
    let metadata = &gathered.pool.metadata;
    if !metadata
        .finalizers
        .iter()
        .any(|name| name == finalizer::MACHINE_POOL)
    {
        return Ok(());
    }
    let others: Vec<&String> = metadata
        .finalizers
        .iter()
        .filter(|name| *name != finalizer::MACHINE_POOL)
        .collect();
    // No resourceVersion: the status was written a moment ago. The UID keeps a successor safe.
    let patch = json!({ "metadata": { "uid": metadata.uid, "finalizers": others } });
    let resource = Kind::MachinePool.resource();
    let target = Target {
        resource: &resource,
        namespace: Some(&metadata.namespace),
        name: &metadata.name,
        subresource: None,
    };
    match ctx
        .objects
        .merge_patch(&target, &patch, FIELD_MANAGER)
        .await
    {
        Ok(_) | Err(ApiError::NotFound(_)) => Ok(()),
        Err(error) => Err(error),
    }
}
