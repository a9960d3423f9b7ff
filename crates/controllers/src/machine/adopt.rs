//! A Machine's place among its objects: under its Cluster, over its infrastructure object.

use remuda_api::keys::label;
use remuda_plan::pool::objects::Metadata;
use serde_json::Value;

use super::gather::Gathered;
use crate::{
    adopt::{self, Adopter, Referenced},
    context::Context,
    kinds::Kind,
    objects::ApiError,
};

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
    let (live, cluster) = (&gathered.live, &cluster.metadata);
    let written = adopt::join(Kind::Machine, live, metadata, cluster, alone, ctx).await?;
    if let Some(written) = written {
        gathered.rewrite(written);
    }
    Ok(())
}

/// Makes the Machine the controller of an object it refers to. A set or control plane that made
/// the object lets go of it; anyone else's object is refused.
///
/// # Errors
/// It is somebody else's, or the write failed.
pub(super) async fn dependent(
    gathered: &Gathered,
    dependent: &Referenced,
    ctx: &Context,
) -> Result<(), ApiError> {
    let adopter = Adopter {
        kind: Kind::Machine,
        metadata: &gathered.machine.metadata,
        cluster: &gathered.machine.spec.cluster_name,
        frees: |kind| kind == "MachineSet" || kind.ends_with("ControlPlane"),
    };
    adopter.control(dependent, ctx).await
}

pub(super) async fn patch_machine(
    metadata: &Metadata,
    patch: &Value,
    ctx: &Context,
) -> Result<Value, ApiError> {
    adopt::patch(Kind::Machine, metadata, patch, ctx).await
}
