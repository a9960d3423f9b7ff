//! The `TerraformMachinePool` controller.
//!
//! Owns: the pool's status, finalizer, block-move annotation, `spec.providerID` and
//! `spec.providerIDList`; the record Secret; the cloud objects of the pool; and on the owning
//! MachinePool, while autoscaled, the claim and `spec.replicas`. While the pool has Machines, also
//! the `TerraformMachinePoolMachine` objects, and the deletion of Machines. Nothing else is written.
//!
//! Level triggered: a pass depends on what is stored and on what the cloud shows. Memory holds due
//! times, and of a pool that rests what the cloud showed: looking at that is enough until something
//! wakes the pool (`rest`).

mod attempt;
mod examine;
mod gather;
mod machines;
mod preview;
mod rest;
mod watch;

use remuda_plan::{
    pool::gate::{Next, gate},
    status::{fold::fold, publication::Requeue},
};

use self::{attempt::attempt, gather::gather, rest::Resting};
pub use self::{
    examine::{Examination, Examined, examine},
    gather::PoolKey,
    preview::{Outcome, Preview, PreviewError, PreviewSource, preview},
};
pub(crate) use self::{
    gather::{Gathered, drop_nulls, secret_data},
    rest::Rests,
    watch::{infrastructure, routes},
};
use crate::{context::Context, objects::ApiError, publish::publish, record::RecordStore};

/// One pass over one pool.
///
/// # Errors
/// The pool could not be read, or a write to Kubernetes failed. Everything else ends in conditions.
pub async fn reconcile(key: &PoolKey, ctx: &Context) -> Result<Requeue, ApiError> {
    let ended = whole(key, ctx).await?;
    Ok(ended.map_or(Requeue::OnChange, |ended| ended.requeue))
}

/// One pass where everything that wakes the pool is told to `rests`: while it rests, the cloud alone
/// is looked at.
///
/// # Errors
/// As [`reconcile`].
pub(crate) async fn reconcile_woken(
    key: &PoolKey,
    rests: &Rests,
    ctx: &Context,
) -> Result<Requeue, ApiError> {
    let (mark, resting) = rests.begin(key);
    if let Some(resting) = resting
        && let Some(requeue) = resting.look(ctx).await
    {
        return Ok(requeue);
    }
    let Some(ended) = whole(key, ctx).await? else {
        rests.forget(key);
        return Ok(Requeue::OnChange);
    };
    rests.end(key, mark, ended.resting);
    Ok(ended.requeue)
}

/// What a whole pass leaves behind.
struct Ended {
    requeue: Requeue,
    resting: Option<Resting>,
}

/// `None`: there is no such pool.
async fn whole(key: &PoolKey, ctx: &Context) -> Result<Option<Ended>, ApiError> {
    let Some(mut gathered) = gather(key, &ctx.objects, &ctx.manager).await? else {
        return Ok(None);
    };
    let uid = gathered.world.pool.metadata.uid.clone();
    gathered.world.memory = ctx.memories().get(&uid);
    let pool = &gathered.world.pool.metadata;
    let records = RecordStore::new(&ctx.objects, pool, gathered.record_version.clone());
    let gate = gate(&gathered.world, ctx.now());
    let (pass, shown) = attempt(&gathered, &records, gate, ctx).await;
    ctx.metrics.passed(&gathered.world, &pass);
    let now = ctx.now();
    let publication = fold(&gathered.world, &pass, now);
    if matches!(pass.gate.next, Next::Release(_)) {
        machines::let_go(&gathered.world, ctx).await?;
    }
    publish(&gathered, &records, &publication, ctx).await?;
    ctx.metrics
        .published(&gathered.world, &pass, &publication, now);
    ctx.memories().set(&uid, publication.memory);
    if let Some(decision) = &pass.machines {
        machines::carry_out(&gathered.world, decision, ctx).await?;
    }
    let rest = publication.rest;
    let resting = rest.and_then(|rest| Resting::after(rest, &gathered, &pass, shown?));
    Ok(Some(Ended {
        requeue: publication.requeue,
        resting,
    }))
}
