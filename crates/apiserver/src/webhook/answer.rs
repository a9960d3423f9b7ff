//! From the status and body of an answer to a JSON object, or to the reason why there is none, in
//! the words that Kubernetes' own client has.

use http::response::Parts;
use http::{StatusCode, header};
use serde_json::Value;

use crate::object::text;

/// What Kubernetes decodes the type of an object into.
const TYPE: &str = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

/// The object of an answer.
pub(super) fn object(parts: &Parts, body: &[u8]) -> Result<Value, String> {
    let content_type = parts
        .headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if !parts.status.is_success() {
        return Err(refusal(parts.status, content_type, body));
    }
    if body.is_empty() {
        let code = parts.status.as_u16();
        return Err(format!(
            "0-length response with status code: {code} and content type: {content_type}"
        ));
    }
    let failed = |why: &str| format!("couldn't get version/kind; json parse error: {why}");
    // What is no JSON counts as text, since text is what the decoder tries next.
    let value: Value =
        serde_json::from_slice(body).unwrap_or_else(|_| Value::String(String::new()));
    let shape = match value {
        Value::Object(_) => return Ok(value),
        Value::Null => return Ok(Value::Object(serde_json::Map::new())),
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
    };
    let why = format!("json: cannot unmarshal {shape} into Go value of type {TYPE}");
    Err(failed(&why))
}

fn refusal(status: StatusCode, content_type: &str, body: &[u8]) -> String {
    if let Ok(status) = serde_json::from_slice::<Value>(body)
        && text(&status, &["kind"]) == "Status"
        && text(&status, &["apiVersion"]) == "v1"
        && text(&status, &["status"]) != "Success"
    {
        return text(&status, &["message"]).to_owned();
    }
    let is_text = content_type.is_empty() || content_type.starts_with("text/");
    let said = if is_text {
        String::from_utf8_lossy(body).trim().to_owned()
    } else {
        "unknown".to_owned()
    };
    let fixed = match status.as_u16() {
        400 => "the server rejected our request for an unknown reason",
        401 => "the server has asked for the client to provide credentials",
        403 | 415 => return said,
        404 => "the server could not find the requested resource",
        405 => "the server does not allow this method on the requested resource",
        406 if said.is_empty() || said == "unknown" => {
            "the server was unable to respond with a content type that the client supports"
        }
        406 => return said,
        409 => "the server reported a conflict",
        422 => "the server rejected our request due to an error in our request",
        429 => "the server has received too many requests and has asked us to try again later",
        503 => "the server is currently unable to handle the request",
        504 => {
            "the server was unable to return a response in the time allotted, but may still be \
             processing the request"
        }
        500.. => {
            return format!(
                "an error on the server ({said:?}) has prevented the request from succeeding"
            );
        }
        code => {
            return format!(
                "the server responded with the status code {code} but did not return more \
                 information"
            );
        }
    };
    fixed.to_owned()
}
