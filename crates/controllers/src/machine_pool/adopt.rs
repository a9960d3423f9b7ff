//! Owner references, labels and the finalizer: on the MachinePool and on its infrastructure object.

use remuda_api::keys::{finalizer, label};
use remuda_plan::pool::objects::Metadata;
use serde_json::{Map, Value, json};

use super::gather::{Gathered, Referenced};
use crate::{
    context::{Context, FIELD_MANAGER},
    kinds::Kind,
    objects::{ApiError, Target},
};

/// Adds the finalizer, alone; `true`: it was missing.
pub(super) async fn finalizer(gathered: &Gathered, ctx: &Context) -> Result<bool, ApiError> {
    let metadata = &gathered.pool.metadata;
    if metadata
        .finalizers
        .iter()
        .any(|name| name == finalizer::MACHINE_POOL)
    {
        return Ok(false);
    }
    let mut finalizers = metadata.finalizers.clone();
    finalizers.push(finalizer::MACHINE_POOL.to_owned());
    let patch = json!({
        "metadata": {
            "resourceVersion": metadata.resource_version,
            "finalizers": finalizers,
        },
    });
    patch_pool(metadata, &patch, ctx).await?;
    Ok(true)
}

/// Makes the Cluster an owner of the MachinePool, and the MachinePool the controller of its
/// infrastructure object and bootstrap config.
pub(super) async fn ownership(gathered: &Gathered, ctx: &Context) -> Result<(), ApiError> {
    let metadata = &gathered.pool.metadata;
    if let Some(cluster) = &gathered.cluster {
        let owner = owner(Kind::Cluster, &cluster.metadata, false);
        let cluster_name = &cluster.metadata.name;
        if let Some(patch) = adoption(&gathered.live, metadata, cluster_name, owner) {
            patch_pool(metadata, &patch, ctx).await?;
        }
    }
    for referenced in [&gathered.infra, &gathered.config].into_iter().flatten() {
        adopt_referenced(gathered, referenced, ctx).await?;
    }
    Ok(())
}

async fn adopt_referenced(
    gathered: &Gathered,
    referenced: &Referenced,
    ctx: &Context,
) -> Result<(), ApiError> {
    let metadata = &gathered.pool.metadata;
    let going = referenced.metadata.deletion_timestamp.is_some();
    if going || !ctx.is_ours(&referenced.metadata) {
        return Ok(());
    }
    if let Some(other) = other_controller(&referenced.object, &metadata.uid) {
        return Err(ApiError::Refused {
            what: format!("{} {}", referenced.resource.kind, referenced.metadata.name),
            why: format!("it is controlled by {other} already, not by this MachinePool"),
        });
    }
    let owner = owner(Kind::MachinePool, metadata, true);
    let cluster_name = &gathered.pool.spec.cluster_name;
    let patch = adoption(
        &referenced.object,
        &referenced.metadata,
        cluster_name,
        owner,
    );
    let Some(patch) = patch else {
        return Ok(());
    };
    let target = Target {
        resource: &referenced.resource,
        namespace: Some(&metadata.namespace),
        name: &referenced.metadata.name,
        subresource: None,
    };
    ctx.objects
        .merge_patch(&target, &patch, FIELD_MANAGER)
        .await?;
    Ok(())
}

/// The patch that adds an owner and the cluster-name label; `None` when both are there.
fn adoption(live: &Value, metadata: &Metadata, cluster_name: &str, owner: Value) -> Option<Value> {
    let mut patch = Map::new();
    if metadata.labels.get(label::CLUSTER_NAME).map(String::as_str) != Some(cluster_name) {
        patch.insert(
            "labels".to_owned(),
            json!({ label::CLUSTER_NAME: cluster_name }),
        );
    }
    let owners = live
        .pointer("/metadata/ownerReferences")
        .and_then(Value::as_array);
    let mut owners: Vec<Value> = owners.cloned().unwrap_or_default();
    if !owners.iter().any(|known| same_owner(known, &owner)) {
        // An owner of the same name that was deleted and made anew has another UID.
        owners.retain(|known| known["kind"] != owner["kind"] || known["name"] != owner["name"]);
        owners.push(owner);
        patch.insert("ownerReferences".to_owned(), Value::Array(owners));
    }
    if patch.is_empty() {
        return None;
    }
    patch.insert(
        "resourceVersion".to_owned(),
        Value::from(metadata.resource_version.clone()),
    );
    Some(json!({ "metadata": patch }))
}

fn same_owner(known: &Value, wanted: &Value) -> bool {
    known["uid"] == wanted["uid"]
        && known["apiVersion"] == wanted["apiVersion"]
        && known
            .get("controller")
            .and_then(Value::as_bool)
            .unwrap_or(false)
            == wanted
                .get("controller")
                .and_then(Value::as_bool)
                .unwrap_or(false)
}

fn owner(kind: Kind, metadata: &Metadata, controller: bool) -> Value {
    let resource = kind.resource();
    let mut owner = json!({
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": metadata.name,
        "uid": metadata.uid,
    });
    if controller {
        owner["controller"] = Value::Bool(true);
        owner["blockOwnerDeletion"] = Value::Bool(true);
    }
    owner
}

/// Another object that controls this one.
fn other_controller(object: &Value, uid: &str) -> Option<String> {
    let owners = object
        .pointer("/metadata/ownerReferences")
        .and_then(Value::as_array)?;
    let other = owners.iter().find(|owner| {
        owner.get("controller").and_then(Value::as_bool) == Some(true)
            && owner.get("uid").and_then(Value::as_str) != Some(uid)
    })?;
    // The same name with another UID is the pool's own predecessor.
    let text = |field: &str| other.get(field).and_then(Value::as_str).unwrap_or_default();
    (text("kind") != "MachinePool").then(|| format!("{} {}", text("kind"), text("name")))
}

async fn patch_pool(metadata: &Metadata, patch: &Value, ctx: &Context) -> Result<(), ApiError> {
    let resource = Kind::MachinePool.resource();
    let target = Target {
        resource: &resource,
        namespace: Some(&metadata.namespace),
        name: &metadata.name,
        subresource: None,
    };
    ctx.objects
        .merge_patch(&target, patch, FIELD_MANAGER)
        .await?;
    Ok(())
}
