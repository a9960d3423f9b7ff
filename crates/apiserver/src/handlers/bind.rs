//! Binds a pod to a node: the one way a pod's node is decided after the pod was made.

use axum::body::Body;
use http::Response;
use serde_json::{Value, json};

use super::answer;
use super::call::Call;
use super::write::Writing;
use crate::object::{self, child_mut, text};
use crate::registry::set_condition;
use crate::request::body;
use crate::status_error::{Cause, Failure, Outcome};

/// Gives the pod that the call names its node.
pub(crate) async fn bind(call: &Call) -> Outcome<Response<Body>> {
    let mut binding = body::object(&call.media_type, &call.body)?;
    let name = object::name(&binding);
    if !name.is_empty() && name != call.name() {
        return Err(Failure::bad_request(
            "name in URL does not match name in Binding object",
        ));
    }
    for (field, value) in [("apiVersion", "v1"), ("kind", "Binding")] {
        if text(&binding, &[field]).is_empty() {
            binding[field] = value.into();
        }
    }
    let warn = |text| call.warn(text);
    let writing = Writing::of(call, &warn);
    let namespace = call.target.namespace.as_deref().unwrap_or_default();
    let binding = writing.admit_unstored(namespace, binding).await?;
    check(&binding)?;
    let node = text(&binding, &["target", "name"]).to_owned();
    let writing = Writing {
        // The binding was admitted; the change behind it is no request of its own.
        told: None,
        ..writing
    };
    let now = call.instance.stamp();
    writing
        .update(&call.key(), |pod| {
            let (name, bound) = (object::name(pod), text(pod, &["spec", "nodeName"]));
            let refused = if object::is_deleting(pod) {
                Some(format!(
                    "pod {name} is being deleted, cannot be assigned to a host"
                ))
            } else if bound.is_empty() {
                None
            } else {
                Some(format!("pod {name} is already assigned to node {bound:?}"))
            };
            if let Some(why) = refused {
                return Err(Failure::conflict_about(
                    "pods/binding",
                    name,
                    message(name, &why),
                ));
            }
            let mut new = pod.clone();
            child_mut(&mut new, "spec").insert("nodeName".into(), node.as_str().into());
            let conditions = child_mut(&mut new, "status").entry("conditions");
            set_condition(
                conditions.or_insert_with(|| json!([])),
                json!({
                    "type": "PodScheduled", "status": "True", "lastTransitionTime": now,
                }),
            );
            Ok(new)
        })
        .await?;
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
    });
    Ok(answer::value(201, &status, call.wish))
}

fn message(name: &str, why: &str) -> String {
    format!("Operation cannot be fulfilled on pods/binding {name:?}: {why}")
}

fn check(binding: &Value) -> Outcome<()> {
    let mut causes = Vec::new();
    let kind = text(binding, &["target", "kind"]);
    if !matches!(kind, "" | "Node") {
        let supported = ["Node", "<empty>"];
        causes.push(Cause::unsupported("target.kind", &kind.into(), &supported));
    }
    if text(binding, &["target", "name"]).is_empty() {
        causes.push(Cause::required("target.name", ""));
    }
    if causes.is_empty() {
        return Ok(());
    }
    // A genuine server takes this fault upon itself.
    let texts: Vec<String> = causes.iter().map(Cause::text).collect();
    let message = match texts.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    };
    Err(Failure::new(500, "", message))
}
