//! Bodies: bounded, then decoded from JSON, YAML or the few protobuf messages that kubectl sends.

use std::fmt::Write as _;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::HeaderMap;
use http_body_util::{BodyExt, Limited};
use serde_json::Value;

use super::go_json::{syntax_problem, type_name};
use super::protobuf;
use super::yaml::{self, Repeated};
use crate::registry::Kind;
use crate::status_error::{Failure, Outcome};

/// The largest body that is read: the bound of a genuine server.
const LIMIT: usize = 3 * 1024 * 1024;
/// What an object may be sent as.
const MEDIA_TYPES: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];
/// Bytes of a body that a refusal repeats.
const SUMMARY: usize = 30;

/// A decoded body, and the fields that its text names more than once.
pub(crate) struct Decoded {
    pub(crate) value: Value,
    pub(crate) repeated: Vec<Repeated>,
}

/// A client that does not send its body in this time is refused: the time that a genuine server
/// gives a request.
const PATIENCE: Duration = Duration::from_mins(1);

/// Reads the whole body.
pub(crate) async fn read(body: Body) -> Outcome<Bytes> {
    let collected = Limited::new(body, LIMIT).collect();
    let Ok(collected) = tokio::time::timeout(PATIENCE, collected).await else {
        let message = "Timeout: request did not complete within requested timeout";
        return Err(Failure::new(504, "Timeout", message));
    };
    match collected {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => Err(Failure::too_large()),
        Err(error) => Err(Failure::bad_request(format!(
            "the body could not be read: {error}"
        ))),
    }
}

/// The media type of the body, without parameters; empty when the client named none.
pub(crate) fn media_type(headers: &HeaderMap) -> &str {
    let header = headers
        .get(http::header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    header
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
}

/// Decodes something that is no object of a kind: options of a delete, a review.
pub(crate) fn object(media_type: &str, bytes: &Bytes) -> Outcome<Value> {
    let decoded = decode(media_type, bytes)?.map_err(Failure::bad_request)?;
    type_of(&decoded.value).map_err(Failure::bad_request)?;
    if decoded.value.is_object() {
        Ok(decoded.value)
    } else {
        Err(Failure::bad_request(
            "the body of the request is not an object",
        ))
    }
}

/// Decodes an object of a kind.
pub(crate) fn typed(kind: &Kind, media_type: &str, bytes: &Bytes) -> Outcome<Decoded> {
    let refused = |why: String| {
        Failure::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): {why} ({})",
            kind.kind,
            summary(bytes)
        ))
    };
    let decoded = decode(media_type, bytes)?.map_err(refused)?;
    let (api_version, given) = type_of(&decoded.value).map_err(refused)?;
    if api_version.matches('/').count() > 1 {
        return Err(refused(format!(
            "unexpected GroupVersion string: {api_version}"
        )));
    }
    // A built-in kind follows from the path.
    let known = !given.is_empty() || !kind.is_custom();
    if !known || !decoded.value.is_object() {
        let text = String::from_utf8_lossy(bytes);
        return Err(refused(format!("Object 'Kind' is missing in '{text}'")));
    }
    Ok(decoded)
}

/// The beginning of a body, as far as it can be shown.
fn summary(bytes: &Bytes) -> String {
    let (head, more) = match bytes.get(..SUMMARY) {
        Some(head) if bytes.len() > SUMMARY => (head, " ..."),
        _ => (&bytes[..], ""),
    };
    if bytes.is_empty() {
        return "<empty>".to_owned();
    }
    if bytes.first() == Some(&b'{') {
        return format!("{}{more}", String::from_utf8_lossy(head));
    }
    let mut digits = String::new();
    for byte in head {
        let _ = write!(digits, "{byte:02x}");
    }
    digits + more
}

/// Decodes a body; the inner error tells what is wrong with the text. A missing media type means
/// JSON, as kubectl's `scale` relies on.
fn decode(media_type: &str, bytes: &Bytes) -> Outcome<Result<Decoded, String>> {
    let plain = |value| Decoded {
        value,
        repeated: Vec::new(),
    };
    Ok(match media_type {
        "" | "application/json" => parsed(bytes)
            .map(|value| Decoded {
                value,
                repeated: Repeated::in_json(bytes),
            })
            .map_err(|why| format!("couldn't get version/kind; json parse error: {why}")),
        "application/yaml" => {
            yaml::parse(bytes).map(|(value, repeated)| Decoded { value, repeated })
        }
        "application/vnd.kubernetes.protobuf" => protobuf::decode(bytes).map(plain),
        _ => return Err(Failure::unsupported_media_type(MEDIA_TYPES)),
    })
}

/// The type that a value names.
fn type_of(value: &Value) -> Result<(&str, &str), String> {
    let mismatch = |given: &Value, into: &str| {
        let given = type_name(given);
        format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {given} into Go \
             {into}"
        )
    };
    if !value.is_object() && !value.is_null() {
        let into = r#"value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
        return Err(mismatch(value, into));
    }
    let field = |name: &str| match value.get(name) {
        Some(Value::String(text)) => Ok(text.as_str()),
        None | Some(Value::Null) => Ok(""),
        Some(other) => Err(mismatch(
            other,
            &format!("struct field .{name} of type string"),
        )),
    };
    Ok((field("apiVersion")?, field("kind")?))
}

/// Parses JSON; the error tells what is wrong with it.
fn parsed(bytes: &Bytes) -> Result<Value, String> {
    serde_json::from_slice(bytes)
        .map_err(|error| syntax_problem(bytes).unwrap_or_else(|| error.to_string()))
}

/// Decodes the JSON of a patch.
pub(crate) fn patch(bytes: &Bytes) -> Outcome<Value> {
    parsed(bytes).map_err(|why| Failure::bad_request(format!("error decoding patch: {why}")))
}

/// Decodes an applied configuration: one YAML document, or JSON.
pub(crate) fn configuration(bytes: &Bytes) -> Outcome<Decoded> {
    let refused = |why: String| Failure::bad_request(format!("error decoding YAML: {why}"));
    let (value, repeated) = yaml::parse(bytes)
        .map_err(|why| refused(format!("error converting YAML to JSON: {why}")))?;
    if value.is_object() {
        return Ok(Decoded { value, repeated });
    }
    let given = type_name(&value);
    Err(refused(format!(
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {given} into Go value \
         of type map[string]interface {{}}"
    )))
}
