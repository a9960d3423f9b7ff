//! Conditions that controllers other than the Machine's own write on a Machine. They are written
//! against the version they were decided on: the list holds conditions of several writers.

use remuda_plan::{machines::remediation::Mark, pool::objects::Metadata};
use serde_json::{Value, json};

use crate::{
    conditions::{Wanted, merged},
    context::{Context, FIELD_MANAGER},
    kinds::Kind,
    objects::{ApiError, Target},
};

/// A mark in the shape of a condition.
pub(crate) fn wanted(mark: &Mark) -> Wanted {
    Wanted {
        kind: mark.condition.to_owned(),
        status: if mark.holds { "True" } else { "False" },
        reason: mark.reason.as_str(),
        message: mark.message.clone(),
    }
}

/// Sets conditions and removes others; `true`: something was written. A Machine that is gone is no
/// error.
pub(crate) async fn write(
    machine: &Value,
    metadata: &Metadata,
    wanted: &[Wanted],
    removed: &[&str],
    ctx: &Context,
) -> Result<bool, ApiError> {
    let live = machine.pointer("/status/conditions");
    let mut all = merged(live, wanted, metadata.generation, ctx.now());
    if let Some(list) = all.as_array_mut() {
        list.retain(|condition| {
            let kind = condition.get("type").and_then(Value::as_str);
            !kind.is_some_and(|kind| removed.contains(&kind))
        });
    }
    if is_so_already(live, &all) {
        return Ok(false);
    }
    let patch = json!({
        "metadata": { "resourceVersion": metadata.resource_version },
        "status": { "conditions": all },
    });
    let resource = Kind::Machine.resource();
    let target = Target {
        resource: &resource,
        namespace: Some(&metadata.namespace),
        name: &metadata.name,
        subresource: Some("status"),
    };
    match ctx
        .objects
        .merge_patch(&target, &patch, FIELD_MANAGER)
        .await
    {
        Ok(_) => Ok(true),
        Err(ApiError::NotFound(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The same conditions, whatever order they are in and whichever generation they were seen at.
fn is_so_already(live: Option<&Value>, wanted: &Value) -> bool {
    let plain = |list: &Value| {
        let mut list: Vec<Value> = list.as_array().cloned().unwrap_or_default();
        for condition in &mut list {
            if let Some(fields) = condition.as_object_mut() {
                fields.remove("observedGeneration");
            }
        }
        list.sort_by_key(|condition| condition["type"].as_str().unwrap_or_default().to_owned());
        list
    };
    live.map(plain).unwrap_or_default() == plain(wanted)
}
