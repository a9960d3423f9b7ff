//! What the next apply (or the deletion) of a pool would do, without doing it: gather, gate,
//! desired, observe, diff, by the same functions as the controller. Writes nothing anywhere.

use jiff::Timestamp;
use remuda_api::keys::{annotation, finalizer, label};
use remuda_plan::{
    machines::pool::PoolDecision,
    pool::{
        action::Plan,
        gate::{Findings, Gate, Next, Release, gate, owner_reference},
        objects::{Metadata, OwnerReference, PoolObject},
        read::{Depth, Freshness},
        world::{Lookup, Memory, RecordRead, World},
    },
    status::{pass::PassEnd, wire::Operation},
};
use serde_json::Value;

use super::{
    attempt::{Access, Pool, desired, handle, observe, session},
    gather::{PoolKey, gather},
};
use crate::{
    context::Context,
    kinds::Kind,
    objects::{ApiError, GivenObjects, LiveObjects, Objects},
};

/// What a pool's next operation would do.
#[derive(Debug, Clone, PartialEq)]
pub struct Preview {
    /// Which pool.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// What would run; `None` when nothing can.
    pub operation: Option<Operation>,
    /// Why it would run, in one line.
    pub because: String,
    /// The pool is paused: nothing happens until it is resumed.
    pub paused: bool,
    /// Which Machines would go, and why; `None`: the pool has none, or was not looked at.
    pub machines: Option<PoolDecision>,
    /// What the gate found: which dependency is missing, what holds the pool.
    pub findings: Findings,
    /// How it came out.
    pub outcome: Outcome,
}

/// How a preview came out.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// These steps; none when everything is as desired.
    Plan(Plan),
    /// Nothing in the cloud is touched: the finalizer goes.
    Released(Release),
    /// The gate holds the pool; `findings` say why.
    Held,
    /// The inputs are refused, or the cloud could not be read.
    Stopped(PassEnd),
    /// Not this manager's pool.
    NotOurs,
}

/// Why there is no preview at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PreviewError {
    /// There is no such pool.
    #[error("there is no TerraformMachinePool {0}/{1}")]
    NoSuchPool(String, String),
    /// It could not be read.
    #[error(transparent)]
    Api(#[from] ApiError),
}

/// Where a preview reads objects: those given first, then (unless absent) the API server.
pub struct PreviewSource {
    given: GivenObjects,
    live: Option<LiveObjects>,
}

impl PreviewSource {
    /// Reads the API server only.
    pub fn live(ctx: &Context) -> Self {
        Self {
            given: GivenObjects::default(),
            live: Some(ctx.objects.clone()),
        }
    }

    /// Objects from manifests, laid over what the API server has when `live` is given.
    pub fn manifests(
        manifests: impl IntoIterator<Item = Value>,
        default_namespace: &str,
        live: Option<LiveObjects>,
    ) -> Self {
        Self {
            given: GivenObjects::new(manifests, default_namespace),
            live,
        }
    }

    /// The pools among the given manifests.
    pub fn given_pools(&self) -> Vec<PoolKey> {
        let pools = self.given.pools().into_iter();
        pools
            .map(|(namespace, name)| PoolKey { namespace, name })
            .collect()
    }
}

#[async_trait::async_trait]
impl Objects for PreviewSource {
    async fn get(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, ApiError> {
        let given = self.given.get(kind, namespace, name).await?;
        let Some(live) = &self.live else {
            return Ok(given);
        };
        // A manifest says what is wished; identity and status are what the server has.
        match given {
            Some(given) => Ok(Some(overlaid(
                live.get(kind, namespace, name).await?,
                given,
            ))),
            None => live.get(kind, namespace, name).await,
        }
    }

    async fn list(
        &self,
        kind: Kind,
        namespace: &str,
        selector: &str,
    ) -> Result<Vec<Value>, ApiError> {
        match &self.live {
            Some(live) => live.list(kind, namespace, selector).await,
            None => self.given.list(kind, namespace, selector).await,
        }
    }
}

/// The live object with everything that the manifest sets.
fn overlaid(live: Option<Value>, given: Value) -> Value {
    let Some(mut object) = live else {
        return given;
    };
    for (key, value) in given.as_object().into_iter().flatten() {
        if key != "metadata" {
            object[key] = value.clone();
            continue;
        }
        for (key, value) in value.as_object().into_iter().flatten() {
            object["metadata"][key] = value.clone();
        }
    }
    object
}

/// What the next operation of a pool would do.
///
/// # Errors
/// There is no such pool, or it could not be read.
pub async fn preview(
    key: &PoolKey,
    source: &PreviewSource,
    ctx: &Context,
) -> Result<Preview, PreviewError> {
    let Some(mut gathered) = gather(key, source, &ctx.manager).await? else {
        return Err(PreviewError::NoSuchPool(
            key.namespace.clone(),
            key.name.clone(),
        ));
    };
    if gathered.world.owner == Lookup::Missing {
        adopt(&mut gathered.world.pool, source).await?;
        // The owner leads to the bootstrap Secret, the cluster and so on: read everything again.
        let pool = gathered.world.pool.clone();
        gathered = gather_adopted(key, &pool, source, ctx).await?;
    }
    let paused = gathered
        .world
        .pool
        .metadata
        .annotations
        .contains_key(annotation::PAUSED)
        || gathered
            .world
            .cluster
            .found()
            .is_some_and(|cluster| cluster.spec.paused);
    make_due(&mut gathered.world, ctx.now());
    let gate = announced(&mut gathered.world, ctx.now());
    let mut preview = Preview {
        namespace: key.namespace.clone(),
        name: key.name.clone(),
        operation: None,
        because: String::new(),
        paused,
        machines: None,
        findings: gate.findings,
        outcome: Outcome::Held,
    };
    match gate.next {
        Next::Ignore => preview.outcome = Outcome::NotOurs,
        Next::Release(release) => preview.outcome = Outcome::Released(release),
        Next::AddFinalizer | Next::Prepare(_) | Next::Rest => {}
        // An apply is due but cannot start: what is due besides it is beside the point.
        Next::Go(goal)
            if preview.findings.apply_due.is_some() && goal.operation != Operation::Apply => {}
        Next::Go(mut goal) => {
            // A deleting pool's Machines are drained by refreshes.
            if goal.operation != Operation::Destroy && !preview.findings.deleting {
                // A drift check compares what an apply would.
                goal.operation = Operation::Apply;
                goal.depth = Depth::Full;
            }
            preview.operation = Some(goal.operation);
            preview.because.clone_from(&goal.because);
            let steps = async {
                let desired = desired(&goal)?;
                let Some(handle) = handle(&goal, desired.as_ref()) else {
                    return Ok(None);
                };
                let session = session(&Access::of(&goal), &gathered.credentials, ctx).await?;
                let observed =
                    observe(session.as_ref(), &handle, goal.depth, Freshness::Fresh).await?;
                let pool = Pool {
                    world: &gathered.world,
                    goal: &goal,
                    desired: desired.as_ref(),
                    handle: &handle,
                };
                pool.confirmed(session.as_ref(), observed, gathered.glanced, ctx)
                    .await
                    .map(Some)
            };
            preview.outcome = match steps.await {
                Ok(Some(view)) => {
                    preview.machines = view.decision;
                    view.plan.map_or(Outcome::Held, Outcome::Plan)
                }
                Ok(None) => Outcome::Held,
                Err(stop) => Outcome::Stopped(stop),
            };
        }
    }
    Ok(preview)
}

/// Gathers with the pool as it would be once the MachinePool controller has adopted it.
async fn gather_adopted(
    key: &PoolKey,
    pool: &PoolObject,
    source: &PreviewSource,
    ctx: &Context,
) -> Result<super::Gathered, PreviewError> {
    let adopted = PreviewSource {
        given: source.given.clone().with_pool(key, pool),
        live: source.live.clone(),
    };
    gather(key, &adopted, &ctx.manager)
        .await?
        .ok_or_else(|| PreviewError::NoSuchPool(key.namespace.clone(), key.name.clone()))
}

/// A pool straight from a manifest has no owner reference and maybe no cluster-name label yet; the
/// MachinePool that names it gives it both.
async fn adopt(pool: &mut PoolObject, source: &PreviewSource) -> Result<(), ApiError> {
    if owner_reference(pool).is_some() {
        return Ok(());
    }
    let mut owners = source
        .given
        .list(Kind::MachinePool, &pool.metadata.namespace, "")
        .await?;
    if let Some(live) = &source.live {
        owners.extend(
            live.list(Kind::MachinePool, &pool.metadata.namespace, "")
                .await?,
        );
    }
    let reference = |owner: &Value, field: &str| {
        owner
            .pointer(&format!("/spec/template/spec/infrastructureRef/{field}"))
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let Some(name) = owners.iter().find_map(|owner| {
        let ours = reference(owner, "kind").as_deref() == Some("TerraformMachinePool")
            && reference(owner, "name").as_deref() == Some(&pool.metadata.name);
        let name = owner.pointer("/metadata/name").and_then(Value::as_str);
        name.filter(|_| ours)
    }) else {
        return Ok(());
    };
    // Read the way `gather` will, so that the UIDs agree.
    let owner = source
        .get(Kind::MachinePool, &pool.metadata.namespace, name)
        .await?;
    let owner = owner.unwrap_or_default();
    let metadata: Metadata = owner
        .get("metadata")
        .and_then(|metadata| serde::Deserialize::deserialize(metadata).ok())
        .unwrap_or_default();
    pool.metadata.owner_references.push(OwnerReference {
        api_version: Kind::MachinePool.resource().api_version,
        kind: "MachinePool".to_owned(),
        name: metadata.name,
        uid: metadata.uid,
        controller: Some(true),
        block_owner_deletion: None,
    });
    if let Some(cluster) = owner.pointer("/spec/clusterName").and_then(Value::as_str) {
        pool.metadata
            .labels
            .entry(label::CLUSTER_NAME.to_owned())
            .or_insert_with(|| cluster.to_owned());
    }
    Ok(())
}

/// The gate's answer for the pass after the one that only announces an operation.
pub(super) fn announced(world: &mut World, now: Timestamp) -> Gate {
    let first = gate(world, now);
    if !matches!(first.next, Next::Prepare(_)) {
        return first;
    }
    if let RecordRead::Found { record, .. } = &mut world.record {
        record.history.apply_unfinished = true;
    }
    Gate {
        next: gate(world, now).next,
        findings: first.findings,
    }
}

/// Lets the gate pass everything that only says "not yet": a preview asks what, not when.
pub(super) fn make_due(world: &mut World, now: Timestamp) {
    let metadata = &mut world.pool.metadata;
    if !metadata
        .finalizers
        .iter()
        .any(|name| name == finalizer::TERRAFORM_MACHINE_POOL)
    {
        metadata
            .finalizers
            .push(finalizer::TERRAFORM_MACHINE_POOL.to_owned());
    }
    metadata
        .annotations
        .entry(annotation::BLOCK_MOVE.to_owned())
        .or_default();
    metadata.annotations.remove(annotation::PAUSED);
    if let Lookup::Found(cluster) = &mut world.cluster {
        cluster.spec.paused = false;
    }
    if let Lookup::Found(cluster) = &mut world.infra_cluster {
        cluster.status.active_job = None;
    }
    world.pool.status.active_job = None;
    world.memory = Some(Memory {
        refreshed_at: Some(now),
        ..Memory::new(Timestamp::UNIX_EPOCH)
    });
    if let RecordRead::Found { record, .. } = &mut world.record {
        record.history.apply.retry_at = None;
        record.history.destroy.retry_at = None;
        record.history.applied_at = record.history.applied_at.map(|_| Timestamp::UNIX_EPOCH);
    }
}
