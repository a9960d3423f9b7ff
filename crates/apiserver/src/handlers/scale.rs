//! The scale subresource: one number of an object, in a shape that every scaler knows.

use axum::body::Body;
use http::Response;
use serde_json::{Value, json};

use super::answer;
use super::call::Call;
use super::patch::Patch;
use super::write::Writing;
use crate::conversion;
use crate::object::{self, at};
use crate::registry::ScalePaths;
use crate::status_error::{Failure, Outcome};
use crate::store::Record;

fn paths(call: &Call) -> Outcome<ScalePaths> {
    call.served
        .version()
        .scale
        .clone()
        .ok_or_else(Failure::no_such_path)
}

fn number(object: &Value, path: &[String]) -> Option<i64> {
    path.iter()
        .try_fold(object, |value, field| value.get(field))
        .and_then(Value::as_i64)
}

/// The object's `Scale`.
fn scale_of(object: &Value, paths: &ScalePaths) -> Outcome<Value> {
    let Some(replicas) = number(object, &paths.replicas) else {
        let path = paths.replicas.join(".");
        return Err(Failure::internal(format!(
            "the spec replicas field \".{path}\" does not exist"
        )));
    };
    Ok(shape(object, paths, Some(replicas)))
}

/// The object's `Scale` as webhooks see it: without a number of replicas when it has none.
pub(crate) fn shown(object: &Value, paths: &ScalePaths) -> Value {
    shape(object, paths, number(object, &paths.replicas))
}

/// The object with the number of replicas of a `Scale`.
pub(crate) fn with_scale(mut object: Value, paths: &ScalePaths, scale: &Value) -> Value {
    let replicas = at(scale, &["spec", "replicas"]).and_then(Value::as_i64);
    set(&mut object, &paths.replicas, replicas.unwrap_or(0));
    object
}

fn shape(object: &Value, paths: &ScalePaths, replicas: Option<i64>) -> Value {
    let meta = |field: &str| {
        at(object, &["metadata", field])
            .cloned()
            .unwrap_or(Value::Null)
    };
    let selector = paths.selector.as_deref().and_then(|path| {
        path.iter()
            .try_fold(object, |value, field| value.get(field))
            .and_then(Value::as_str)
    });
    let mut status = json!({"replicas": number(object, &paths.status_replicas).unwrap_or(0)});
    if let Some(selector) = selector {
        status["selector"] = selector.into();
    }
    let mut metadata = json!({
        "name": meta("name"), "uid": meta("uid"), "resourceVersion": meta("resourceVersion"),
        "creationTimestamp": meta("creationTimestamp"),
    });
    if !object::namespace(object).is_empty() {
        metadata["namespace"] = meta("namespace");
    }
    let spec = replicas.map_or_else(|| json!({}), |replicas| json!({"replicas": replicas}));
    json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata,
        "spec": spec, "status": status,
    })
}

fn respond(call: &Call, record: &Record, paths: &ScalePaths) -> Outcome<Response<Body>> {
    let scale = scale_of(&conversion::value(record, &call.served), paths)?;
    Ok(answer::scale(call, &scale))
}

/// Answers with the scale of the named object.
pub(crate) async fn get(call: &Call) -> Outcome<Response<Body>> {
    let record = conversion::record(&call.instance, &call.served, call.current()?).await?;
    respond(call, &record, &paths(call)?)
}

/// Replaces the scale.
pub(crate) async fn update(call: &Call) -> Outcome<Response<Body>> {
    let wished = answer::decoded(call)?.value;
    change(call, |_| Ok(wished.clone())).await
}

/// Patches the scale.
pub(crate) async fn patch(call: &Call) -> Outcome<Response<Body>> {
    let patch = Patch::read(&call.media_type, &call.body, false)?;
    change(call, |scale| {
        // An apply configuration of a scale holds one number: merging is all it can mean.
        patch.on(scale, None)
    })
    .await
}

async fn change(
    call: &Call,
    mut wish: impl FnMut(&Value) -> Outcome<Value> + Send,
) -> Outcome<Response<Body>> {
    let paths = paths(call)?;
    let warn = |text| call.warn(text);
    let writing = Writing {
        unconditional: true,
        subresource: "",
        tracked_as: "scale",
        scale: Some(paths.clone()),
        ..Writing::of(call, &warn)
    };
    let record = writing
        .update(&call.key(), |live| {
            let before = scale_of(live, &paths).or_else(|_| {
                let mut object = live.clone();
                set(&mut object, &paths.replicas, 0);
                scale_of(&object, &paths)
            })?;
            let scale = wish(&before)?;
            let mut object = with_scale(live.clone(), &paths, &scale);
            let revision = object::meta_str(&scale, "resourceVersion").to_owned();
            object::meta_mut(&mut object).insert("resourceVersion".into(), revision.into());
            Ok(object)
        })
        .await?;
    respond(call, &record, &paths)
}

fn set(object: &mut Value, path: &[String], number: i64) {
    let mut value = object;
    for field in path {
        if !value.is_object() {
            *value = json!({});
        }
        value = &mut value[field.as_str()];
    }
    *value = number.into();
}
