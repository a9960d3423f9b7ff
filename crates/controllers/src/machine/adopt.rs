//! A Machine's place among its objects: under its Cluster, over its infrastructure object.

use remuda_api::keys::{finalizer, label};
use remuda_plan::pool::objects::Metadata;
use serde_json::{Value, json};

use super::{gather::Gathered, publish};
use crate::{
    adopt::{self, Adopter, Referenced},
    context::Context,
    kinds::Kind,
    objects::{ApiError, Written},
};

/// Everything that is written on the Machine itself beside its status, in one write: finalizer,
/// cluster label, the Cluster as the owner of one that stands alone, provider ID and bootstrap
/// Secret. A Machine that is not yet `worked_on` gets its finalizer only.
///
/// # Errors
/// The write failed, or the objects it refers to contradict themselves.
pub(super) async fn machine(
    gathered: &mut Gathered,
    worked_on: bool,
    ctx: &Context,
) -> Result<(), ApiError> {
    let mut patch = json!({});
    let mut problem = Ok(());
    if worked_on {
        patch = joining(gathered).unwrap_or(patch);
        match publish::spec(gathered) {
            Ok(spec) if spec.is_empty() => {}
            Ok(spec) => patch["spec"] = Value::Object(spec),
            Err(error) => problem = Err(error),
        }
    }
    let metadata = &gathered.machine.metadata;
    if let Some(finalizers) = missing_finalizer(gathered) {
        patch["metadata"]["finalizers"] = json!(finalizers);
    }
    if patch != json!({}) {
        patch["metadata"]["resourceVersion"] = json!(metadata.resource_version);
        let written = patch_machine(metadata, &patch, ctx).await?;
        gathered.rewrite(written.object()?);
    }
    problem
}

/// The finalizers as they should be, where ours is missing on a Machine that stays.
pub(super) fn missing_finalizer(gathered: &Gathered) -> Option<Vec<String>> {
    let metadata = &gathered.machine.metadata;
    let stays = metadata.deletion_timestamp.is_none();
    stays.then(|| adopt::with_finalizer(metadata, finalizer::MACHINE))?
}

fn joining(gathered: &Gathered) -> Option<Value> {
    let metadata = &gathered.machine.metadata;
    let cluster = gathered.cluster.as_ref()?;
    let grouped = [label::POOL_NAME, label::SET_NAME, label::CONTROL_PLANE]
        .iter()
        .any(|key| metadata.labels.contains_key(*key));
    let alone = metadata.controller().is_none() && !grouped;
    adopt::joining(&gathered.live, metadata, &cluster.metadata, alone)
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
) -> Result<Written, ApiError> {
    adopt::patch(Kind::Machine, metadata, patch, ctx).await
}
