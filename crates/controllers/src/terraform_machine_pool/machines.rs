//! The Kubernetes side of a pool's Machines: what a decision needs to know, and what it writes.
//!
//! Writes the objects of members, their status and their finalizer, and deletes Machines; an
//! instance is never touched from here.

use std::collections::{BTreeMap, BTreeSet};

use kube::{api::DynamicObject, core::ApiResource};
use remuda_api::keys::{finalizer, label};
use remuda_plan::{
    machines::{
        group::GroupMember,
        names::{instance_key, scaler_key},
        objects::InfraMachine,
        pool::{PoolDecision, Removed},
        surface::ObjectWrite,
    },
    pool::world::World,
};
use serde_json::{Value, json};

use crate::{
    context::{Context, FIELD_MANAGER},
    kinds::Kind,
    machine_pool::REGISTERED,
    objects::{ApiError, LiveObjects, Objects, Target, Written},
    watching::Term,
    workload::ClusterKey,
};

/// Which of the members' ids other MachinePools of the cluster have registered, as the watch shows
/// them. Without a watch (a preview) nobody is compared with.
pub(super) fn taken(
    world: &World,
    members: &[GroupMember],
    ctx: &Context,
) -> BTreeMap<String, String> {
    let metadata = &world.pool.metadata;
    let own = world
        .owner
        .found()
        .map(|owner| owner.metadata.name.as_str());
    let cluster = metadata.labels.get(label::CLUSTER_NAME);
    let (Some(machine_pools), Some(cluster)) = (ctx.machine_pools.get(), cluster) else {
        return BTreeMap::new();
    };
    let is_neighbour = |pool: &DynamicObject| {
        pool.metadata.name.as_deref() != own
            && pool
                .data
                .pointer("/spec/clusterName")
                .and_then(Value::as_str)
                == Some(cluster)
    };
    let published = &world.pool.spec.provider_id_list;
    let ids = members.iter().map(|member| &member.member.provider_id);
    let unknown = ids.filter(|id| !published.contains(id));
    let taken = unknown.filter_map(|id| {
        let key = scaler_key(id);
        let term = Term::new(REGISTERED, metadata.namespace.clone(), key.clone());
        let pools = machine_pools.objects(&term);
        let other = pools.iter().find(|pool| is_neighbour(pool))?;
        Some((key, other.metadata.name.clone().unwrap_or_default()))
    });
    taken.collect()
}

/// Members whose Node is cordoned. A workload cluster that cannot be asked shows none: then the
/// order rests on everything else.
pub(super) async fn cordoned(world: &World, ctx: &Context) -> BTreeSet<String> {
    let metadata = &world.pool.metadata;
    let Some(name) = metadata.labels.get(label::CLUSTER_NAME) else {
        return BTreeSet::new();
    };
    let cluster = ClusterKey {
        namespace: metadata.namespace.clone(),
        name: name.clone(),
    };
    let nodes = match ctx.workload.client(&cluster).await {
        Ok(client) => LiveObjects::new(client)
            .list(Kind::Node, "", "")
            .await
            .map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match nodes {
        Ok(nodes) => nodes
            .iter()
            .filter(|node| node.pointer("/spec/unschedulable") == Some(&Value::Bool(true)))
            .filter_map(|node| node.pointer("/spec/providerID").and_then(Value::as_str))
            .map(instance_key)
            .collect(),
        Err(why) => {
            tracing::debug!(%cluster, why, "Nodes could not be read: cordons are not known");
            BTreeSet::new()
        }
    }
}

/// Carries out what was decided.
///
/// # Errors
/// The first write that failed; everything is decided anew by the next pass.
pub(super) async fn carry_out(
    world: &World,
    decision: &PoolDecision,
    ctx: &Context,
) -> Result<(), ApiError> {
    let place = Place::of(world, ctx);
    for write in &decision.writes {
        place.write(write).await?;
    }
    for deletion in &decision.deletions {
        let machine = Kind::Machine.resource();
        place
            .delete(&machine, &deletion.machine, &deletion.uid)
            .await?;
    }
    for removed in &decision.object_deletions {
        place
            .delete(&place.kind, &removed.name, &removed.uid)
            .await?;
    }
    for removed in &decision.releases {
        place.release(removed).await?;
    }
    Ok(())
}

/// The pool goes and leaves its instances alone: nobody keeps its objects any longer.
///
/// # Errors
/// The first write that failed.
pub(super) async fn let_go(world: &World, ctx: &Context) -> Result<(), ApiError> {
    let place = Place::of(world, ctx);
    let objects = world.machines.found();
    for infra in objects.iter().flat_map(|objects| &objects.infra) {
        place.release(&Removed::of(infra)).await?;
    }
    Ok(())
}

/// Where the objects of one pool are.
struct Place<'a> {
    ctx: &'a Context,
    namespace: &'a str,
    kind: ApiResource,
    known: &'a [InfraMachine],
}

impl<'a> Place<'a> {
    fn of(world: &'a World, ctx: &'a Context) -> Self {
        let objects = world.machines.found();
        Self {
            ctx,
            namespace: &world.pool.metadata.namespace,
            kind: Kind::TerraformMachinePoolMachine.resource(),
            known: objects.map_or(&[], |objects| &objects.infra),
        }
    }

    fn target<'t>(&'t self, name: &'t str, subresource: Option<&'static str>) -> Target<'t> {
        Target {
            resource: &self.kind,
            namespace: Some(self.namespace),
            name,
            subresource,
        }
    }

    async fn write(&self, write: &ObjectWrite) -> Result<(), ApiError> {
        let objects = &self.ctx.objects;
        if let Some(body) = &write.body {
            let done = if write.exists {
                let target = self.target(&write.name, None);
                objects.merge_patch(&target, body, FIELD_MANAGER).await
            } else {
                objects
                    .create(&self.kind, Some(self.namespace), body, FIELD_MANAGER)
                    .await
            };
            match done {
                Ok(_) => {}
                // Somebody took its labels away, so it was not listed: they are put back.
                Err(ApiError::AlreadyExists(_)) => self.relabel(write, body).await?,
                Err(error) => return Err(error),
            }
        }
        let Some(status) = &write.status else {
            return Ok(());
        };
        let wanted = json!(status);
        let before = self
            .known
            .iter()
            .find(|infra| infra.metadata.name == write.name)
            .map_or_else(|| json!({}), |infra| json!(infra.status));
        let Some(change) = crate::patch::between(&before, &wanted) else {
            return Ok(());
        };
        let target = self.target(&write.name, Some("status"));
        let patch = json!({ "status": change });
        ignore_gone(objects.merge_patch(&target, &patch, FIELD_MANAGER).await)
    }

    async fn relabel(&self, write: &ObjectWrite, body: &Value) -> Result<(), ApiError> {
        let labels = body.pointer("/metadata/labels");
        let patch = json!({ "metadata": { "labels": labels } });
        let target = self.target(&write.name, None);
        let objects = &self.ctx.objects;
        ignore_gone(objects.merge_patch(&target, &patch, FIELD_MANAGER).await)
    }

    async fn delete(&self, kind: &ApiResource, name: &str, uid: &str) -> Result<(), ApiError> {
        self.ctx
            .objects
            .delete(kind, Some(self.namespace), name, Some(uid))
            .await
    }

    /// Takes our finalizer away; those of others stay.
    async fn release(&self, removed: &Removed) -> Result<(), ApiError> {
        let ours = finalizer::TERRAFORM_MACHINE_POOL_MACHINE;
        if !removed.finalizers.iter().any(|it| it == ours) {
            return Ok(());
        }
        let others: Vec<&String> = removed.finalizers.iter().filter(|it| *it != ours).collect();
        let patch = json!({ "metadata": {
            "finalizers": others,
            "resourceVersion": removed.resource_version,
        } });
        let target = self.target(&removed.name, None);
        let objects = &self.ctx.objects;
        ignore_gone(objects.merge_patch(&target, &patch, FIELD_MANAGER).await)
    }
}

fn ignore_gone(answer: Result<Written, ApiError>) -> Result<(), ApiError> {
    match answer {
        Ok(_) | Err(ApiError::NotFound(_)) => Ok(()),
        Err(error) => Err(error),
    }
}
