//! Writes to Nodes of the workload cluster: members get their back-pointers and lose the
//! uninitialized taint; Nodes of members that are gone are deleted.

use remuda_api::keys::{annotation, taint};
use serde_json::{Map, Value, json};

use super::{facts::NodeRef, gather::Gathered, status::Verdict};
use crate::{
    context::FIELD_MANAGER,
    kinds::Kind,
    objects::{ApiError, LiveObjects, Objects, Target},
    workload::NodeFact,
};

/// Brings the Nodes in line. The first failure is returned after every Node was tried: one broken
/// Node must not keep the others waiting.
pub(super) async fn settle(gathered: &Gathered, verdict: &Verdict) -> Result<(), ApiError> {
    let Some(workload) = &gathered.workload else {
        return Ok(());
    };
    let mut outcome = retire(workload, &verdict.retired).await;
    for node in &verdict.members {
        outcome = outcome.and(initialize(gathered, workload, node).await);
    }
    outcome
}

/// Deletes Nodes, each only while it is still the one that was meant.
pub(super) async fn retire(workload: &LiveObjects, nodes: &[NodeRef]) -> Result<(), ApiError> {
    let resource = Kind::Node.resource();
    let mut outcome = Ok(());
    for node in nodes {
        let deleted = workload
            .delete(&resource, None, &node.name, Some(&node.uid))
            .await;
        outcome = outcome.and(match deleted {
            // Another Node has taken the name: it is not ours to delete.
            Err(ApiError::Conflict(_)) => Ok(()),
            other => other,
        });
    }
    outcome
}

async fn initialize(
    gathered: &Gathered,
    workload: &LiveObjects,
    node: &NodeFact,
) -> Result<(), ApiError> {
    let wanted = back_pointers(gathered);
    let missing: Map<String, Value> = wanted
        .into_iter()
        .filter(|(key, value)| {
            let mut known = node.back_pointers.iter();
            !known.any(|(other, text)| other == key && text == value)
        })
        .map(|(key, value)| (key.to_owned(), Value::from(value)))
        .collect();
    if missing.is_empty() && !node.uninitialized {
        return Ok(());
    }
    let mut patch = json!({ "metadata": { "annotations": missing } });
    if node.uninitialized
        && let Some(live) = workload.get(Kind::Node, "", &node.name).await?
    {
        let taints = live.pointer("/spec/taints").and_then(Value::as_array);
        let kept: Vec<&Value> = taints
            .into_iter()
            .flatten()
            .filter(|taint| taint["key"] != taint::UNINITIALIZED)
            .collect();
        patch["spec"] = json!({ "taints": kept });
        patch["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
    }
    let resource = Kind::Node.resource();
    let target = Target {
        resource: &resource,
        namespace: None,
        name: &node.name,
        subresource: None,
    };
    match workload.merge_patch(&target, &patch, FIELD_MANAGER).await {
        Ok(_) | Err(ApiError::NotFound(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

fn back_pointers(gathered: &Gathered) -> [(&'static str, String); 4] {
    let metadata = &gathered.pool.metadata;
    [
        (
            annotation::CLUSTER_NAME,
            gathered.pool.spec.cluster_name.clone(),
        ),
        (annotation::CLUSTER_NAMESPACE, metadata.namespace.clone()),
        (annotation::OWNER_KIND, "MachinePool".to_owned()),
        (annotation::OWNER_NAME, metadata.name.clone()),
    ]
}
