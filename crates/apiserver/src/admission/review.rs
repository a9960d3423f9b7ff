//! The question: an `AdmissionReview`. Pure.

use serde_json::{Map, Value, json};

use super::attributes::{Attributes, Invocation};

/// The `request` of a review, its objects at the version that the webhook asked for. The objects
/// come apart, since conditions see them apart.
pub(crate) fn request(
    request: &Attributes,
    invocation: &Invocation,
    uid: &str,
) -> Map<String, Value> {
    let mut out = Map::new();
    let mut put = |field: &str, value: Value| {
        out.insert(field.to_owned(), value);
    };
    put("uid", uid.into());
    put("kind", invocation.kind.value());
    put("resource", invocation.resource.value());
    let subresource = request.subresource.as_str();
    if !subresource.is_empty() {
        put("subResource", subresource.into());
    }
    put("requestKind", request.kind.value());
    put("requestResource", request.resource.value());
    if !subresource.is_empty() {
        put("requestSubResource", subresource.into());
    }
    for (field, value) in [("name", &request.name), ("namespace", &request.namespace)] {
        if !value.is_empty() {
            put(field, value.as_str().into());
        }
    }
    put("operation", request.operation.name().into());
    put("userInfo", request.user.clone());
    put("dryRun", request.dry_run.into());
    put("options", request.options.clone());
    out
}

/// The whole review.
pub(crate) fn review(
    version: &str,
    mut request: Map<String, Value>,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Value {
    for (field, value) in [("object", object), ("oldObject", old)] {
        request.insert(field.to_owned(), value.cloned().unwrap_or(Value::Null));
    }
    json!({
        "kind": "AdmissionReview",
        "apiVersion": format!("admission.k8s.io/{version}"),
        "request": request,
    })
}
