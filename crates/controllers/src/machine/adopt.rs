//! Owner references, labels and the finalizer: on the Machine and on its infrastructure object.

use remuda_api::keys::{finalizer, label};
use remuda_plan::pool::objects::Metadata;
use serde_json::{Map, Value, json};

use super::gather::{Dependent, Gathered};
use crate::{
    context::{Context, FIELD_MANAGER},
    kinds::Kind,
    objects::{ApiError, Target},
};

/// Adds the finalizer, alone; `true`: it was missing.
pub(super) async fn finalizer(gathered: &Gathered, ctx: &Context) -> Result<bool, ApiError> {
    let metadata = &gathered.machine.metadata;
    let present = |name: &String| name == finalizer::MACHINE;
    if metadata.finalizers.iter().any(present) {
        return Ok(false);
    }
    let mut finalizers = metadata.finalizers.clone();
    finalizers.push(finalizer::MACHINE.to_owned());
    let patch = json!({ "metadata": {
        "resourceVersion": metadata.resource_version,
        "finalizers": finalizers,
    } });
    patch_machine(metadata, &patch, ctx).await?;
    Ok(true)
}

/// Sets the Machine's cluster label, and its Cluster as the owner of one that stands alone.
///
/// # Errors
/// A write failed.
pub(super) async fn machine(gathered: &mut Gathered, ctx: &Context) -> Result<(), ApiError> {
    let metadata = &gathered.machine.metadata;
    let Some(cluster) = &gathered.cluster else {
        return Ok(());
    };
    let grouped = [label::POOL_NAME, label::SET_NAME, label::CONTROL_PLANE]
        .iter()
        .any(|key| metadata.labels.contains_key(*key));
    let alone = metadata.controller().is_none() && !grouped;
    let owner = alone.then(|| owner(Kind::Cluster, &cluster.metadata, false));
    let patch = adoption(&gathered.live, metadata, &cluster.metadata.name, owner);
    let Some(patch) = patch else {
        return Ok(());
    };
    let written = patch_machine(metadata, &patch, ctx).await?;
    gathered.rewrite(written);
    Ok(())
}

/// Makes the Machine the controller of an object it refers to. A set or control plane that made
/// the object lets go of it; anyone else's object is refused.
///
/// # Errors
/// It is somebody else's, or the write failed.
pub(super) async fn dependent(
    gathered: &Gathered,
    dependent: &Dependent,
    ctx: &Context,
) -> Result<(), ApiError> {
    let metadata = &gathered.machine.metadata;
    let going = dependent.metadata.deletion_timestamp.is_some();
    if going || !ctx.is_ours(&dependent.metadata) {
        return Ok(());
    }
    if let Some(other) = other_controller(&dependent.metadata, &metadata.uid) {
        return Err(ApiError::Refused {
            what: format!("{} {}", dependent.resource.kind, dependent.metadata.name),
            why: format!("it is controlled by {other} already, not by this Machine"),
        });
    }
    let owner = owner(Kind::Machine, metadata, true);
    let cluster = &gathered.machine.spec.cluster_name;
    let patch = adoption(&dependent.object, &dependent.metadata, cluster, Some(owner));
    let Some(patch) = patch else {
        return Ok(());
    };
    let target = Target {
        resource: &dependent.resource,
        namespace: Some(&metadata.namespace),
        name: &dependent.metadata.name,
        subresource: None,
    };
    ctx.objects
        .merge_patch(&target, &patch, FIELD_MANAGER)
        .await?;
    Ok(())
}

/// Makers that hand an object over to its Machine.
fn hands_over(kind: &str) -> bool {
    kind == "MachineSet" || kind.ends_with("ControlPlane")
}

fn other_controller(metadata: &Metadata, uid: &str) -> Option<String> {
    let controller = metadata.controller()?;
    let ours = controller.uid == uid;
    // A Machine of another UID is this one's predecessor under the same name.
    let free = hands_over(&controller.kind) || controller.kind == "Machine";
    (!ours && !free).then(|| format!("{} {}", controller.kind, controller.name))
}

/// The patch that adds an owner and the cluster-name label; `None` when both are there.
fn adoption(
    live: &Value,
    metadata: &Metadata,
    cluster: &str,
    owner: Option<Value>,
) -> Option<Value> {
    let mut patch = Map::new();
    if metadata.labels.get(label::CLUSTER_NAME).map(String::as_str) != Some(cluster) {
        let labels = json!({ label::CLUSTER_NAME: cluster });
        patch.insert("labels".to_owned(), labels);
    }
    let owners = live.pointer("/metadata/ownerReferences");
    let before: Vec<Value> = owners
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    if let Some(owner) = owner {
        let controls = owner.get("controller").is_some();
        let mut owners = before.clone();
        owners.retain(|known| {
            let kind = known["kind"].as_str().unwrap_or_default();
            let same = known["kind"] == owner["kind"] && known["name"] == owner["name"];
            let handed = controls && known["controller"] == true && hands_over(kind);
            !(handed || (same && known != &owner))
        });
        if !owners.contains(&owner) {
            owners.push(owner);
        }
        if owners != before {
            patch.insert("ownerReferences".to_owned(), Value::Array(owners));
        }
    }
    if patch.is_empty() {
        return None;
    }
    let version = Value::from(metadata.resource_version.clone());
    patch.insert("resourceVersion".to_owned(), version);
    Some(json!({ "metadata": patch }))
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

pub(super) async fn patch_machine(
    metadata: &Metadata,
    patch: &Value,
    ctx: &Context,
) -> Result<Value, ApiError> {
    let resource = Kind::Machine.resource();
    let target = Target {
        resource: &resource,
        namespace: Some(&metadata.namespace),
        name: &metadata.name,
        subresource: None,
    };
    ctx.objects.merge_patch(&target, patch, FIELD_MANAGER).await
}
