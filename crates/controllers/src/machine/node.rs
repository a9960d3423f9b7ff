//! What the Machine gives its Node.

use remuda_plan::machines::{
    node::NodeView,
    node_sync::{SyncFacts, changes},
};
use serde_json::Value;

use super::gather::Gathered;
use crate::{objects::ApiError, workload::evacuation::Workload};

/// Brings labels, annotations and taints of the Node in line. A Node that is gone is no error.
///
/// # Errors
/// The write failed.
pub(super) async fn sync(gathered: &Gathered, node: &NodeView) -> Result<(), ApiError> {
    let Some(workload) = &gathered.workload else {
        return Ok(());
    };
    let metadata = &gathered.machine.metadata;
    let owner = metadata.controller();
    let infra = gathered.infra.there();
    let facts = SyncFacts {
        machine: &metadata.name,
        namespace: &metadata.namespace,
        cluster: &gathered.machine.spec.cluster_name,
        owner: owner.map(|owner| (owner.kind.as_str(), owner.name.as_str())),
        labels: &metadata.labels,
        annotations: &metadata.annotations,
        taints: &gathered.machine.spec.taints,
        interruptible: infra.is_some_and(|infra| {
            infra.object.pointer("/status/interruptible") == Some(&Value::Bool(true))
        }),
    };
    let Some(change) = changes(&facts, node) else {
        return Ok(());
    };
    let workload = Workload { objects: workload };
    match workload.patch_node(&node.name, &change.patch(node)).await {
        Err(ApiError::NotFound(_)) => Ok(()),
        other => other,
    }
}
