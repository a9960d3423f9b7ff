//! Patch an object: JSON patch, merge patch, strategic merge patch, server-side apply.

use axum::body::Body;
use bytes::Bytes;
use http::Response;
use serde_json::Value;

use super::answer;
use super::call::Call;
use super::write::{Writing, check_kind, check_version};
use crate::access::{self, Attributes, Resource};
use crate::apply;
use crate::object;
use crate::patch::{self as patches, PatchError};
use crate::request::body::{self, Decoded};
use crate::request::go_json::type_name;
use crate::request::yaml::Repeated;
use crate::schema::Structural;
use crate::status_error::{Cause, Failure, Outcome};

const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// A patch that was read.
pub(crate) enum Patch {
    Json(Value),
    Merge(Value),
    Strategic(Value),
    Apply(Decoded),
}

impl Patch {
    /// Reads a patch; `strategic` tells whether the kind takes strategic merge patches.
    pub(crate) fn read(media_type: &str, bytes: &Bytes, strategic: bool) -> Outcome<Self> {
        match media_type {
            JSON => Ok(Self::Json(body::patch(bytes)?)),
            MERGE => Ok(Self::Merge(object_of(body::patch(bytes)?)?)),
            STRATEGIC if strategic => Ok(Self::Strategic(body::patch(bytes)?)),
            APPLY => Ok(Self::Apply(body::configuration(bytes)?)),
            _ if strategic => Err(Failure::unknown_patch()),
            _ => Err(Failure::unsupported_media_type(&[JSON, MERGE, APPLY])),
        }
    }

    /// The patched object. An apply configuration is merged here: see [`apply_patch`] for the
    /// real rules.
    pub(crate) fn on(&self, live: &Value, schema: Option<&Structural>) -> Outcome<Value> {
        let patched = match (self, schema) {
            (Self::Json(patch), _) => patches::json(live, patch),
            (Self::Strategic(patch), Some(schema)) => patches::strategic(live, patch, schema),
            (Self::Apply(config), _) => patches::merge(live, &config.value),
            (Self::Merge(patch) | Self::Strategic(patch), _) => patches::merge(live, patch),
        };
        patched.map_err(patch_failure)
    }
}

fn object_of(value: Value) -> Outcome<Value> {
    match value {
        Value::Object(_) => Ok(value),
        Value::Null => Err(Failure::bad_request("Invalid JSON Patch")),
        other => Err(Failure::bad_request(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type \
             map[string]interface {{}}",
            type_name(&other)
        ))),
    }
}

/// Patches the named object, or its status.
pub(crate) async fn patch(call: &Call) -> Outcome<Response<Body>> {
    let strategic = !call.served.kind.is_custom();
    match Patch::read(&call.media_type, &call.body, strategic)? {
        Patch::Apply(config) => apply_patch(call, config).await,
        patch => {
            if call.options.force.is_some() {
                let cause = Cause::forbidden("force", "may not be specified for non-apply patch");
                return Err(Failure::invalid_options("PatchOptions", &[cause]));
            }
            let schema = call.served.version().schema.as_deref();
            let warn = |text| call.warn(text);
            let repeated = match &patch {
                Patch::Json(operations) => Repeated::in_operations(&call.body, operations),
                _ => Repeated::in_json(&call.body),
            };
            let writing = Writing {
                repeated,
                patches: true,
                ..Writing::of(call, &warn)
            };
            let record = writing
                .update(&call.key(), |live| patch.on(live, schema))
                .await?;
            Ok(answer::object(call, 200, &record))
        }
    }
}

/// Server-side apply: makes the object when it is absent.
async fn apply_patch(call: &Call, decoded: Decoded) -> Outcome<Response<Body>> {
    let mut config = decoded.value;
    if call.options.field_manager.is_empty() {
        let cause = Cause::required("fieldManager", "is required for apply patch");
        return Err(Failure::invalid_options("PatchOptions", &[cause]));
    }
    check_applied(call, &mut config)?;
    let warn = |text| call.warn(text);
    let writing = Writing {
        repeated: decoded.repeated,
        tracked: true,
        ..Writing::of(call, &warn)
    };
    // Another client may make or remove the object in between: then it is the other case.
    for _ in 0..8 {
        let key = call.key();
        if call.instance.latest(&key).is_none() {
            if !call.target.subresource.is_empty() {
                return Err(Failure::not_found(&call.served.kind, call.name()));
            }
            if !object::uid(&config).is_empty() {
                let why = format!(
                    "uid mismatch: the provided object specified uid {}, and no existing object was \
                     found",
                    object::uid(&config)
                );
                return Err(Failure::conflict(&call.served.kind, call.name(), &why));
            }
            let mut new = applied(call, None, &config)?;
            object::meta_mut(&mut new).remove("resourceVersion");
            may_create(call)?;
            match writing.create(call.target.namespace.as_deref(), new).await {
                Ok(record) => return Ok(answer::object(call, 201, &record)),
                Err(failure) if failure.reason == "AlreadyExists" => continue,
                Err(failure) => return Err(failure),
            }
        }
        match writing
            .update(&key, |live| applied(call, Some(live), &config))
            .await
        {
            Ok(record) => return Ok(answer::object(call, 200, &record)),
            Err(failure) if failure.reason == "NotFound" => {}
            Err(failure) => return Err(failure),
        }
    }
    Err(Failure::stale(&call.served.kind, call.name()))
}

/// An apply that makes an object needs the right to create, too.
fn may_create(call: &Call) -> Outcome<()> {
    if call.caller.is_master() {
        return Ok(());
    }
    let kind = &call.served.kind;
    let resource = Resource {
        group: kind.group.clone(),
        plural: kind.plural.clone(),
        subresource: String::new(),
        namespace: call.target.namespace.clone().unwrap_or_default(),
        name: call.name().to_owned(),
    };
    access::authorize(
        &call.instance,
        &call.caller,
        &Attributes::on("create", resource),
    )
}

/// Whether an applied configuration is one.
fn check_applied(call: &Call, config: &mut Value) -> Outcome<()> {
    let (api_version, kind) = (
        object::text(config, &["apiVersion"]),
        object::text(config, &["kind"]),
    );
    if api_version.is_empty() || kind.is_empty() {
        let (group, version) = object::split_api_version(api_version);
        return Err(Failure::bad_request(format!(
            "invalid object type: {group}/{version}, Kind={kind}"
        )));
    }
    check_version(&call.served, config)?;
    check_kind(&call.served, config)?;
    if object::at(config, &["metadata", "managedFields"]).is_some_and(|fields| !fields.is_null()) {
        return Err(Failure::bad_request("metadata.managedFields must be nil"));
    }
    let (name, own) = (call.name(), object::name(config).to_owned());
    if own.is_empty() {
        object::meta_mut(config).insert("name".into(), name.into());
    } else if own != name {
        return Err(Failure::bad_request(format!(
            "the name of the object ({own}) does not match the name on the URL ({name})"
        )));
    }
    if let Some(namespace) = &call.target.namespace {
        let own = object::namespace(config).to_owned();
        if !own.is_empty() && own != *namespace {
            return Err(Failure::bad_request(
                "the namespace of the provided object does not match the namespace sent on the \
                 request",
            ));
        }
    }
    Ok(())
}

fn applied(call: &Call, live: Option<&Value>, config: &Value) -> Outcome<Value> {
    let Some(schema) = &call.served.version().schema else {
        let object = live.cloned().unwrap_or_else(|| serde_json::json!({}));
        return patches::merge(&object, config).map_err(patch_failure);
    };
    let force = call.options.force.unwrap_or(false);
    let now = call.instance.now();
    let subresource = &call.target.subresource;
    apply::apply(live, config, &call.manager, force, schema, now, subresource)
        .map_err(apply_failure)
}

fn apply_failure(error: apply::ApplyError) -> Failure {
    match error {
        apply::ApplyError::Conflict(conflicts) => {
            let causes: Vec<Cause> = conflicts
                .iter()
                .map(|c| Cause::new("FieldManagerConflict", &c.field, c.message()))
                .collect();
            let message = apply::ApplyError::Conflict(conflicts).to_string();
            Failure::new(409, "Conflict", message).with_causes(&causes)
        }
        apply::ApplyError::BadRequest(message) => Failure::bad_request(message),
        apply::ApplyError::Untyped(message) => Failure::new(500, "", message),
    }
}

fn patch_failure(error: PatchError) -> Failure {
    match error {
        PatchError::Malformed(message) => Failure::bad_request(message),
        PatchError::Ambiguous(message) => Failure::new(500, "", message),
        PatchError::TooLarge(message) => {
            let message = format!("Request entity too large: {message}");
            Failure::new(413, "RequestEntityTooLarge", message)
        }
        PatchError::Unprocessable(why) => {
            // A genuine server keeps the reason to itself, and kubectl's output depends on it.
            tracing::debug!(%why, "a patch does not fit");
            let message = "the server rejected our request due to an error in our request";
            Failure::new(422, "Invalid", message).bare()
        }
    }
}
