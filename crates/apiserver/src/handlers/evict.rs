//! Evicts a pod: a delete that disruption budgets can refuse.

use axum::body::Body;
use http::Response;
use serde_json::{Value, json};

use super::answer;
use super::call::Call;
use super::delete::{Order, begin, check_preconditions};
use super::write::Writing;
use crate::conversion;
use crate::disruption::{self, Budgeted};
use crate::object::{self, child_mut, meta_mut};
use crate::registry::set_condition;
use crate::request::body;
use crate::status_error::{Failure, Outcome};

/// Evicts the pod that the call names.
pub(crate) async fn evict(call: &Call) -> Outcome<Response<Body>> {
    let eviction = body::object(&call.media_type, &call.body)?;
    let name = object::name(&eviction);
    if !name.is_empty() && name != call.name() {
        return Err(Failure::bad_request(
            "name in URL does not match name in Eviction object",
        ));
    }
    let eviction = admitted(call, eviction).await?;
    let pod = conversion::value(&*call.current()?, &call.served);
    let mut options = call.options.clone();
    let body = eviction
        .get("deleteOptions")
        .cloned()
        .unwrap_or_else(|| json!({}));
    let preconditions = options.merge_delete_body(&body)?;
    let order = Order::of(&options, preconditions)?;
    if is_budgeted(&pod) {
        let budgeted = Budgeted {
            pod: &pod,
            dry_run: options.dry_run,
        };
        disruption::spend(&call.instance, &budgeted).await?;
    }
    let warn = |text| call.warn(text);
    let writing = Writing {
        dry_run: options.dry_run,
        // The eviction was admitted; the delete behind it is no request of its own.
        told: None,
        ..Writing::of(call, &warn)
    };
    let order = announce(&writing, order, call).await?;
    begin(&writing, &call.key(), &order).await?;
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
    });
    Ok(answer::value(201, &status, call.wish))
}

/// Whether a budget has a say: not about a pod that does not run yet or any more.
fn is_budgeted(pod: &Value) -> bool {
    let phase = object::text(pod, &["status", "phase"]);
    !matches!(phase, "Succeeded" | "Failed" | "Pending") && !object::is_deleting(pod)
}

/// Writes into the pod why it goes. Returns the order to delete it: what it demanded of the pod's
/// revision was true of the one before.
async fn announce(writing: &Writing<'_>, mut order: Order, call: &Call) -> Outcome<Order> {
    let now = writing.instance.stamp();
    let status = Writing {
        manager: "apiserver",
        tracked_as: "status",
        subresource: "status",
        repeated: Vec::new(),
        served: writing.served.clone(),
        caller: writing.caller.clone(),
        told: None,
        scale: None,
        ..*writing
    };
    let key = call.key();
    status
        .update(&key, |pod| {
            check_preconditions(writing, &key, pod, &order.preconditions)?;
            let mut new = pod.clone();
            let conditions = child_mut(&mut new, "status").entry("conditions");
            set_condition(
                conditions.or_insert_with(|| json!([])),
                json!({
                    "type": "DisruptionTarget", "status": "True",
                    "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting",
                    "lastTransitionTime": now,
                }),
            );
            Ok(new)
        })
        .await?;
    order.preconditions.resource_version = None;
    Ok(order)
}

/// The eviction as webhooks leave it.
async fn admitted(call: &Call, mut eviction: Value) -> Outcome<Value> {
    let namespace = call.target.namespace.as_deref().unwrap_or_default();
    for (field, value) in [("apiVersion", "policy/v1"), ("kind", "Eviction")] {
        if object::text(&eviction, &[field]).is_empty() {
            eviction[field] = value.into();
        }
    }
    let meta = meta_mut(&mut eviction);
    meta.entry("name").or_insert_with(|| call.name().into());
    meta.entry("namespace").or_insert_with(|| namespace.into());
    let warn = |text| call.warn(text);
    let writing = Writing::of(call, &warn);
    writing.admit_unstored(namespace, eviction).await
}
