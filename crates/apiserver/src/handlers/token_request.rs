//! TokenRequest: a token for a ServiceAccount, with an end, audiences and perhaps a bond.

use std::sync::Arc;

use axum::body::Body;
use http::Response;
use serde_json::{Value, json};

use super::answer;
use super::call::Call;
use crate::access::tokens::service_account::{self, Bound, Reference};
use crate::clock::stamp;
use crate::object::{at, child_mut, meta_mut, split_api_version, text};
use crate::request::body;
use crate::status_error::{Cause, Failure, Outcome};
use crate::store::{Key, Record};

const GROUP: &str = "authentication.k8s.io";
/// Kubernetes' own bounds and default, in seconds.
const SHORTEST: i64 = 10 * 60;
const LONGEST: i64 = 1 << 32;
const USUAL: i64 = 60 * 60;

/// Answers with a token for the named ServiceAccount.
pub(crate) fn create(call: &Call) -> Outcome<Response<Body>> {
    let mut request = body::object(&call.media_type, &call.body)?;
    let account = call.current()?;
    let namespace = call.target.namespace.clone().unwrap_or_default();
    complete(call, &mut request)?;
    let seconds = at(&request, &["spec", "expirationSeconds"]).and_then(Value::as_i64);
    let seconds = seconds.unwrap_or(USUAL);
    let audiences = at(&request, &["spec", "audiences"]).and_then(Value::as_array);
    let audiences = audiences.into_iter().flatten().filter_map(Value::as_str);
    let audiences: Vec<String> = audiences.map(str::to_owned).collect();
    let bound = match at(&request, &["spec", "boundObjectRef"]).filter(|b| b.is_object()) {
        Some(reference) => bound(call, &namespace, reference)?,
        None => Bound::default(),
    };
    let own = Reference {
        name: call.name().to_owned(),
        uid: account.head.uid.to_string(),
    };
    let (token, end) = service_account::issue(
        &call.instance,
        &namespace,
        &own,
        &bound,
        &audiences,
        seconds,
    )?;
    let end = jiff::Timestamp::from_second(end).map_err(Failure::internal)?;
    request["status"] = json!({"token": token, "expirationTimestamp": stamp(end)});
    Ok(answer::value(201, &request, call.wish))
}

/// Fills in defaults and checks the bounds.
fn complete(call: &Call, request: &mut Value) -> Outcome<()> {
    let kind = text(request, &["kind"]);
    if !matches!(kind, "" | "TokenRequest") {
        return Err(Failure::bad_request(format!(
            "the object provided is unrecognized (must be of type TokenRequest): couldn't get \
             version/kind; got {kind:?}"
        )));
    }
    request["apiVersion"] = format!("{GROUP}/v1").into();
    request["kind"] = "TokenRequest".into();
    let (name, namespace) = (call.name(), call.target.namespace.as_deref());
    let meta = meta_mut(request);
    for (field, value) in [("name", Some(name)), ("namespace", namespace)] {
        if meta
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .is_empty()
        {
            meta.insert(field.into(), value.into());
        }
    }
    meta.insert("creationTimestamp".into(), call.instance.stamp().into());
    let spec = child_mut(request, "spec");
    if spec
        .get("audiences")
        .and_then(Value::as_array)
        .is_none_or(Vec::is_empty)
    {
        let own = service_account::issuer(call.instance.name());
        spec.insert("audiences".into(), json!([own]));
    }
    spec.entry("boundObjectRef").or_insert(Value::Null);
    let seconds = spec.entry("expirationSeconds").or_insert(USUAL.into());
    if seconds.is_null() {
        *seconds = USUAL.into();
    }
    let why = match seconds.as_i64() {
        Some(given) if given < SHORTEST => "may not specify a duration less than 10 minutes",
        Some(given) if given <= LONGEST => return Ok(()),
        Some(_) => "may not specify a duration larger than 2^32 seconds",
        None => {
            return Err(Failure::bad_request(
                "TokenRequest in version \"v1\" cannot be handled as a TokenRequest: \
                 spec.expirationSeconds is not a whole number",
            ));
        }
    };
    let cause = Cause::invalid("spec.expirationSeconds", seconds, why);
    Err(Failure::invalid_as(GROUP, "TokenRequest", "", &[cause]))
}

/// The object that the token is bound to, as it is now.
fn bound(call: &Call, namespace: &str, reference: &Value) -> Outcome<Bound> {
    let field = |name: &str| text(reference, &[name]);
    let (group, version) = split_api_version(field("apiVersion"));
    let kind = field("kind");
    let (plural, namespace) = match (group, kind) {
        ("", "Pod") => ("pods", namespace),
        ("", "Secret") => ("secrets", namespace),
        ("", "Node") => ("nodes", ""),
        _ => {
            return Err(Failure::bad_request(format!(
                "cannot bind token to object of type {group}/{version}, Kind={kind}"
            )));
        }
    };
    let name = field("name");
    let record = find(call, plural, namespace, name)?;
    let uid = field("uid");
    if !uid.is_empty() && *record.head.uid != *uid {
        let message = format!(
            "Operation cannot be fulfilled on {kind} {name:?}: the UID in the bound object \
             reference ({uid}) does not match the UID in record. The object might have been \
             deleted and then recreated"
        );
        return Err(Failure::conflict_about(kind, name, message));
    }
    let own = Some(Reference {
        name: name.to_owned(),
        uid: record.head.uid.to_string(),
    });
    Ok(match kind {
        "Pod" => Bound {
            node: pod(call, name, &record.value())?,
            pod: own,
            secret: None,
        },
        "Secret" => Bound {
            secret: own,
            ..Bound::default()
        },
        _ => Bound {
            node: own,
            ..Bound::default()
        },
    })
}

/// Checks that the pod runs as the ServiceAccount, and finds its node.
fn pod(call: &Call, name: &str, pod: &Value) -> Outcome<Option<Reference>> {
    let account = text(pod, &["spec", "serviceAccountName"]);
    if account != call.name() {
        tracing::debug!(pod = name, "a token was asked for another pod's account");
        return Err(Failure::bad_request(format!(
            "cannot bind token for serviceaccount {:?} to pod running with different \
             serviceaccount name.",
            call.name()
        )));
    }
    let node = text(pod, &["spec", "nodeName"]);
    let found = call.instance.get(&key("nodes", "", node));
    Ok(found.map(|record| Reference {
        name: node.to_owned(),
        uid: record.head.uid.to_string(),
    }))
}

fn key(shelf: &str, namespace: &str, name: &str) -> Key {
    Key {
        shelf: shelf.into(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

fn find(call: &Call, plural: &str, namespace: &str, name: &str) -> Outcome<Arc<Record>> {
    let found = call.instance.get(&key(plural, namespace, name));
    found.ok_or_else(|| Failure::not_found_in("", plural, name))
}
