//! Owner references, cluster label and finalizer: what every core controller puts on its own object
//! and on the objects that it refers to.

use kube::core::ApiResource;
use remuda_api::keys::label;
use remuda_plan::pool::objects::Metadata;
use serde_json::{Map, Value, json};

use crate::{
    context::{Context, FIELD_MANAGER},
    kinds::Kind,
    objects::{ApiError, Target, Written},
};

/// An object that another one refers to, as it was read.
pub(crate) struct Referenced {
    pub resource: ApiResource,
    pub metadata: Metadata,
    pub object: Value,
}

/// Who takes an object over.
pub(crate) struct Adopter<'a> {
    /// Its kind.
    pub kind: Kind,
    /// The adopter.
    pub metadata: &'a Metadata,
    /// Its cluster.
    pub cluster: &'a str,
    /// Kinds of other controllers that let go of the object.
    pub frees: fn(&str) -> bool,
}

impl Adopter<'_> {
    /// Becomes the controller of an object. One that goes, or that another manager looks after, is
    /// left alone.
    ///
    /// # Errors
    /// It is somebody else's, or the write failed.
    pub(crate) async fn control(
        &self,
        referenced: &Referenced,
        ctx: &Context,
    ) -> Result<(), ApiError> {
        let going = referenced.metadata.deletion_timestamp.is_some();
        if going || !ctx.is_ours(&referenced.metadata) {
            return Ok(());
        }
        let resource = self.kind.resource();
        if let Some(other) = self.other_controller(&referenced.metadata) {
            return Err(ApiError::Refused {
                what: format!("{} {}", referenced.resource.kind, referenced.metadata.name),
                why: format!(
                    "it is controlled by {other} already, not by this {}",
                    resource.kind
                ),
            });
        }
        let owner = owner(&resource, self.metadata, true);
        let frees = self.frees;
        let patch = adoption(
            &referenced.object,
            &referenced.metadata,
            self.cluster,
            Some(owner),
            frees,
        );
        let Some(patch) = patch else {
            return Ok(());
        };
        let target = Target {
            resource: &referenced.resource,
            namespace: Some(&self.metadata.namespace),
            name: &referenced.metadata.name,
            subresource: None,
        };
        ctx.objects
            .merge_patch(&target, &patch, FIELD_MANAGER)
            .await?;
        Ok(())
    }

    /// Who controls the object and does not let go. A controller of the adopter's kind is this one,
    /// or its predecessor under the same name.
    fn other_controller(&self, metadata: &Metadata) -> Option<String> {
        let controller = metadata.controller()?;
        let ours = controller.uid == self.metadata.uid;
        let free = (self.frees)(&controller.kind) || controller.kind == self.kind.resource().kind;
        (!ours && !free).then(|| format!("{} {}", controller.kind, controller.name))
    }
}

/// Puts a finalizer on an object of ours, alone; `true`: it was missing.
///
/// # Errors
/// The write failed.
pub(crate) async fn finalizer(
    kind: Kind,
    metadata: &Metadata,
    finalizer: &str,
    ctx: &Context,
) -> Result<bool, ApiError> {
    let Some(finalizers) = with_finalizer(metadata, finalizer) else {
        return Ok(false);
    };
    let change = json!({ "metadata": {
        "resourceVersion": metadata.resource_version,
        "finalizers": finalizers,
    } });
    patch(kind, metadata, &change, ctx).await?;
    Ok(true)
}

/// The finalizers with one more; `None` when it is there.
pub(crate) fn with_finalizer(metadata: &Metadata, finalizer: &str) -> Option<Vec<String>> {
    if metadata.finalizers.iter().any(|name| name == finalizer) {
        return None;
    }
    let mut finalizers = metadata.finalizers.clone();
    finalizers.push(finalizer.to_owned());
    Some(finalizers)
}

/// Sets the cluster label of an object of ours and, where it `is_owned`, its Cluster as an owner.
///
/// # Errors
/// The write failed.
pub(crate) async fn join(
    kind: Kind,
    live: &Value,
    metadata: &Metadata,
    cluster: &Metadata,
    is_owned: bool,
    ctx: &Context,
) -> Result<(), ApiError> {
    match joining(live, metadata, cluster, is_owned) {
        Some(change) => patch(kind, metadata, &change, ctx).await.map(drop),
        None => Ok(()),
    }
}

/// The patch for that; `None` when nothing is to be changed.
pub(crate) fn joining(
    live: &Value,
    metadata: &Metadata,
    cluster: &Metadata,
    is_owned: bool,
) -> Option<Value> {
    let owner = is_owned.then(|| owner(&Kind::Cluster.resource(), cluster, false));
    adoption(live, metadata, &cluster.name, owner, |_| false)
}

/// Changes an object of ours.
///
/// # Errors
/// The write failed.
pub(crate) async fn patch(
    kind: Kind,
    metadata: &Metadata,
    patch: &Value,
    ctx: &Context,
) -> Result<Written, ApiError> {
    let resource = kind.resource();
    let target = Target {
        resource: &resource,
        namespace: Some(&metadata.namespace),
        name: &metadata.name,
        subresource: None,
    };
    ctx.objects.merge_patch(&target, patch, FIELD_MANAGER).await
}

/// The patch that adds an owner and the cluster-name label; `None` when both are there.
fn adoption(
    live: &Value,
    metadata: &Metadata,
    cluster: &str,
    owner: Option<Value>,
    frees: fn(&str) -> bool,
) -> Option<Value> {
    let mut patch = Map::new();
    if metadata.labels.get(label::CLUSTER_NAME).map(String::as_str) != Some(cluster) {
        let labels = json!({ label::CLUSTER_NAME: cluster });
        patch.insert("labels".to_owned(), labels);
    }
    let owners = live
        .pointer("/metadata/ownerReferences")
        .and_then(Value::as_array);
    if let Some(owner) = owner
        && let Some(owners) = with_owner(owners.map_or(&[], Vec::as_slice), owner, frees)
    {
        patch.insert("ownerReferences".to_owned(), Value::Array(owners));
    }
    if patch.is_empty() {
        return None;
    }
    let version = Value::from(metadata.resource_version.clone());
    patch.insert("resourceVersion".to_owned(), version);
    Some(json!({ "metadata": patch }))
}

/// The owners with one more; `None` when it is there. What it takes the place of goes: a controller
/// that lets go, and an owner of its name with another UID, deleted and made anew.
fn with_owner(before: &[Value], owner: Value, frees: fn(&str) -> bool) -> Option<Vec<Value>> {
    let controls = is_controller(&owner);
    let gives_way = |known: &Value| {
        let kind = known["kind"].as_str().unwrap_or_default();
        let is_namesake = known["kind"] == owner["kind"] && known["name"] == owner["name"];
        let is_freed = controls && is_controller(known) && frees(kind);
        is_freed || is_namesake && !is_same(known, &owner)
    };
    let mut owners: Vec<Value> = before
        .iter()
        .filter(|known| !gives_way(known))
        .cloned()
        .collect();
    if !owners.iter().any(|known| is_same(known, &owner)) {
        owners.push(owner);
    }
    (owners != before).then_some(owners)
}

fn is_same(known: &Value, wanted: &Value) -> bool {
    known["uid"] == wanted["uid"]
        && known["apiVersion"] == wanted["apiVersion"]
        && is_controller(known) == is_controller(wanted)
}

fn is_controller(owner: &Value) -> bool {
    owner["controller"] == Value::Bool(true)
}

fn owner(resource: &ApiResource, metadata: &Metadata, controller: bool) -> Value {
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
