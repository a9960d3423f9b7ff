//! The Cluster controller of standalone mode: as much as machine pools need.
//!
//! Owns: the Cluster's status, which counts its machine pools, and its finalizer; on the infrastructure cluster the controller owner
//! reference and the cluster-name label. It builds no infrastructure and no control plane: a
//! Cluster without a control plane object counts as externally managed (design page, section 8).

mod status;
mod watch;
pub(crate) mod workers;

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use kube::core::ApiResource;
use remuda_api::keys::{finalizer, label};
use remuda_plan::{pool::objects::Metadata, status::publication::Requeue};
use serde_json::{Value, json};
use tokio::time::Instant;

use self::status::{ClusterFacts, Infra, wanted};
pub(crate) use self::{
    watch::routes,
    workers::{COUNTED, COUNTED_CONDITION},
};
use crate::{
    context::{Context, FIELD_MANAGER},
    contract::Contracts,
    kinds::Kind,
    objects::{ApiError, LiveObjects, Objects, Target},
    patch,
    watching::{Kept, ObjectKey},
};

/// Counters of the workers are written no more often than this: pools of a large cluster change one
/// after the other. Ours.
const BETWEEN_COUNTS: Duration = Duration::from_secs(2);

/// What this controller needs besides the context.
pub(crate) struct Workplace {
    pub contracts: Contracts,
    /// The machine pools, cut down to what is counted.
    pub machine_pools: Kept,
    /// When the status of each Cluster was written last.
    pub written: Mutex<HashMap<ObjectKey, Instant>>,
}

impl Workplace {
    /// How long counters have to wait; `None`: they are due.
    fn wait(&self, key: &ObjectKey) -> Option<Duration> {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let due = *written.get(key)? + BETWEEN_COUNTS;
        let left = due.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    fn wrote(&self, key: ObjectKey) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.insert(key, Instant::now());
    }
}

/// One pass over one Cluster.
///
/// # Errors
/// A read or a write failed.
pub(crate) async fn reconcile(
    key: &ObjectKey,
    work: &Workplace,
    ctx: &Context,
) -> Result<Requeue, ApiError> {
    let Some(live) = ctx
        .objects
        .get(Kind::Cluster, &key.namespace, &key.name)
        .await?
    else {
        return Ok(Requeue::OnChange);
    };
    let cluster = Cluster::of(&live);
    if !ctx.is_ours(&cluster.metadata) {
        return Ok(Requeue::OnChange);
    }
    let infra = infra(&live, &cluster, &work.contracts, &ctx.objects).await?;
    if cluster.deleting() {
        publish(&live, &cluster, infra.as_ref(), work, ctx).await?;
        return delete(&cluster, infra.as_ref(), ctx).await;
    }
    if !cluster
        .metadata
        .finalizers
        .iter()
        .any(|name| name == finalizer::CLUSTER)
    {
        let mut finalizers = cluster.metadata.finalizers.clone();
        finalizers.push(finalizer::CLUSTER.to_owned());
        cluster.write_finalizers(&finalizers, ctx).await?;
        return Ok(Requeue::OnChange);
    }
    if !cluster.paused
        && let Some(infra) = &infra
    {
        adopt(&cluster, infra, ctx).await?;
    }
    publish(&live, &cluster, infra.as_ref(), work, ctx).await
}

/// The parts of a Cluster that this controller decides on.
struct Cluster {
    metadata: Metadata,
    paused: bool,
}

impl Cluster {
    fn of(live: &Value) -> Self {
        Self {
            metadata: metadata(live),
            paused: live
                .pointer("/spec/paused")
                .and_then(Value::as_bool)
                .unwrap_or(false),
        }
    }

    fn deleting(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    async fn write_finalizers(&self, finalizers: &[String], ctx: &Context) -> Result<(), ApiError> {
        let patch = json!({ "metadata": { "uid": self.metadata.uid, "finalizers": finalizers } });
        self.write(None, &patch, ctx).await
    }

    async fn write(
        &self,
        subresource: Option<&'static str>,
        patch: &Value,
        ctx: &Context,
    ) -> Result<(), ApiError> {
        let resource = Kind::Cluster.resource();
        let target = Target {
            resource: &resource,
            namespace: Some(&self.metadata.namespace),
            name: &self.metadata.name,
            subresource,
        };
        match ctx.objects.merge_patch(&target, patch, FIELD_MANAGER).await {
            Ok(_) | Err(ApiError::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// An infrastructure cluster.
struct InfraCluster {
    resource: ApiResource,
    metadata: Metadata,
    object: Value,
}

fn metadata(object: &Value) -> Metadata {
    object
        .get("metadata")
        .and_then(|metadata| serde::Deserialize::deserialize(metadata).ok())
        .unwrap_or_default()
}

async fn infra(
    live: &Value,
    cluster: &Cluster,
    contracts: &Contracts,
    objects: &LiveObjects,
) -> Result<Option<InfraCluster>, ApiError> {
    let reference = |field: &str| {
        live.pointer(&format!("/spec/infrastructureRef/{field}"))
            .and_then(Value::as_str)
    };
    let (Some(group), Some(kind), Some(name)) =
        (reference("apiGroup"), reference("kind"), reference("name"))
    else {
        return Ok(None);
    };
    let resource = contracts.resolve(objects, group, kind).await?;
    let object = objects
        .get_of(&resource, Some(&cluster.metadata.namespace), name)
        .await
        .inspect_err(|_| contracts.forget(group, kind))?;
    Ok(object.map(|object| InfraCluster {
        resource,
        metadata: metadata(&object),
        object,
    }))
}

/// Makes the Cluster the controller of its infrastructure cluster.
async fn adopt(cluster: &Cluster, infra: &InfraCluster, ctx: &Context) -> Result<(), ApiError> {
    let owned = infra
        .metadata
        .owner_references
        .iter()
        .any(|o| o.uid == cluster.metadata.uid);
    let labeled = infra.metadata.labels.get(label::CLUSTER_NAME) == Some(&cluster.metadata.name);
    let going = infra.metadata.deletion_timestamp.is_some();
    if going || owned && labeled || !ctx.is_ours(&infra.metadata) {
        return Ok(());
    }
    let owners = infra
        .object
        .pointer("/metadata/ownerReferences")
        .and_then(Value::as_array);
    let mut owners: Vec<Value> = owners.cloned().unwrap_or_default();
    owners.retain(|owner| owner["kind"] != "Cluster");
    owners.push(json!({
        "apiVersion": Kind::Cluster.resource().api_version,
        "kind": "Cluster",
        "name": cluster.metadata.name,
        "uid": cluster.metadata.uid,
        "controller": true,
        "blockOwnerDeletion": true,
    }));
    let patch = json!({
        "metadata": {
            "resourceVersion": infra.metadata.resource_version,
            "labels": { label::CLUSTER_NAME: cluster.metadata.name },
            "ownerReferences": owners,
        },
    });
    let target = Target {
        resource: &infra.resource,
        namespace: Some(&cluster.metadata.namespace),
        name: &infra.metadata.name,
        subresource: None,
    };
    ctx.objects
        .merge_patch(&target, &patch, FIELD_MANAGER)
        .await?;
    Ok(())
}

async fn publish(
    live: &Value,
    cluster: &Cluster,
    infra: Option<&InfraCluster>,
    work: &Workplace,
    ctx: &Context,
) -> Result<Requeue, ApiError> {
    let (namespace, name) = (&cluster.metadata.namespace, &cluster.metadata.name);
    let facts = ClusterFacts {
        pools: workers::pools(&work.machine_pools, namespace, name),
        paused: cluster.paused,
        deleting: cluster.deleting(),
        generation: cluster.metadata.generation,
        has_control_plane: live.pointer("/spec/controlPlaneRef").is_some(),
        infra: infra.map(|infra| Infra {
            provisioned: infra
                .object
                .pointer("/status/initialization/provisioned")
                .or_else(|| infra.object.pointer("/status/ready"))
                .and_then(Value::as_bool)
                .unwrap_or(false),
            failure_domains: infra.object.pointer("/status/failureDomains").cloned(),
        }),
        now: ctx.now(),
    };
    let stored = live.get("status").cloned().unwrap_or_else(|| json!({}));
    let wanted = wanted(&stored, &facts);
    let Some(change) = patch::between(&stored, &wanted) else {
        return Ok(Requeue::OnChange);
    };
    let key = ObjectKey::new(namespace, name);
    if status::without_counters(&stored) == status::without_counters(&wanted)
        && let Some(wait) = work.wait(&key)
    {
        return Ok(Requeue::After(wait));
    }
    cluster
        .write(Some("status"), &json!({ "status": change }), ctx)
        .await?;
    work.wrote(key);
    Ok(Requeue::OnChange)
}

/// Pools first, then the infrastructure cluster, the finalizer last.
async fn delete(
    cluster: &Cluster,
    infra: Option<&InfraCluster>,
    ctx: &Context,
) -> Result<Requeue, ApiError> {
    if cluster.paused {
        return Ok(Requeue::OnChange);
    }
    let namespace = &cluster.metadata.namespace;
    let selector = format!("{}={}", label::CLUSTER_NAME, cluster.metadata.name);
    let pools = ctx
        .objects
        .list(Kind::MachinePool, namespace, &selector)
        .await?;
    for pool in &pools {
        let pool = metadata(pool);
        if pool.deletion_timestamp.is_none() {
            let resource = Kind::MachinePool.resource();
            ctx.objects
                .delete(&resource, Some(namespace), &pool.name, Some(&pool.uid))
                .await?;
        }
    }
    if !pools.is_empty() {
        return Ok(Requeue::OnChange);
    }
    if let Some(infra) = infra {
        if infra.metadata.deletion_timestamp.is_none() {
            let (name, uid) = (&infra.metadata.name, &infra.metadata.uid);
            ctx.objects
                .delete(&infra.resource, Some(namespace), name, Some(uid))
                .await?;
        }
        return Ok(Requeue::OnChange);
    }
    let finalizers = &cluster.metadata.finalizers;
    if finalizers.iter().any(|name| name == finalizer::CLUSTER) {
        let others: Vec<String> = finalizers
            .iter()
            .filter(|name| *name != finalizer::CLUSTER)
            .cloned()
            .collect();
        cluster.write_finalizers(&others, ctx).await?;
    }
    Ok(Requeue::OnChange)
}
