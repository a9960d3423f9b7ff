//! Bodies: bounded, then decoded from JSON, YAML or the few protobuf messages that kubectl sends.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::HeaderMap;
use http_body_util::{BodyExt, Limited};
use serde_json::Value;

use super::protobuf;
use crate::status_error::{Failure, Outcome};

/// The largest body that is read: the bound of a genuine server.
const LIMIT: usize = 3 * 1024 * 1024;
/// What an object may be sent as.
const MEDIA_TYPES: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];

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

/// Decodes an object. A missing media type means JSON, as kubectl's `scale` relies on.
pub(crate) fn object(media_type: &str, bytes: &Bytes) -> Outcome<Value> {
    let value = match media_type {
        "" | "application/json" => json(bytes)?,
        "application/yaml" => yaml(bytes)?,
        "application/vnd.kubernetes.protobuf" => {
            protobuf::decode(bytes).map_err(Failure::bad_request)?
        }
        _ => return Err(Failure::unsupported_media_type(MEDIA_TYPES)),
    };
    if value.is_object() {
        Ok(value)
    } else {
        Err(Failure::bad_request(
            "the body of the request is not an object",
        ))
    }
}

/// Decodes JSON.
pub(crate) fn json(bytes: &Bytes) -> Outcome<Value> {
    serde_json::from_slice(bytes).map_err(|error| {
        Failure::bad_request(format!("the object provided is unrecognized: {error}"))
    })
}

/// Decodes one YAML document, or JSON.
pub(crate) fn yaml(bytes: &Bytes) -> Outcome<Value> {
    if let Ok(value) = serde_json::from_slice(bytes) {
        return Ok(value);
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|_| Failure::bad_request("the body of the request is not UTF-8"))?;
    serde_saphyr::from_str(text)
        .map_err(|error| Failure::bad_request(format!("error decoding YAML: {error}")))
}
