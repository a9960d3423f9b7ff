//! What Azure says went wrong: the four shapes of error bodies (Azure document 10.2) as one.
//!
//! Texts are made fit to be published: what differs from call to call is cut off, and whatever
//! looks like a token or a payload is left out.

use serde_json::{Map, Value};

/// An error as Azure worded it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Worded {
    /// The code that decides the class.
    pub(crate) code: String,
    /// Its text, and the outer code and text where they differ.
    pub(crate) message: String,
}

/// Codes that say nothing by themselves: the first detail below them does.
const GENERIC: [&str; 4] = [
    "ResourceOperationFailure",
    "DeploymentFailed",
    "BadRequest",
    "Conflict",
];

/// A body nested deeper than this is nonsense. Ours.
const DEEPEST: usize = 8;

/// Reads a body; `None` when it has none of the known shapes.
pub(crate) fn read(body: &[u8]) -> Option<Worded> {
    worded(&serde_json::from_slice(body).ok()?)
}

/// Reads an error that came as JSON, for example that of an operation.
pub(crate) fn worded(body: &Value) -> Option<Worded> {
    let body = body.as_object()?;
    // The token endpoint puts a word where ARM puts an object.
    if let Some(Value::String(code)) = body.get("error") {
        let message = text(body, "error_description");
        return Some(Worded {
            code: aadsts(message).unwrap_or_else(|| code.clone()),
            message: deterministic(message),
        });
    }
    let error = match body.get("error") {
        Some(Value::Object(error)) => error,
        _ => body,
    };
    let outer = Level::of(error)?;
    let worded = match deepest(error).filter(|inner| outer.gives_way_to(inner)) {
        Some(inner) => Worded {
            message: deterministic(&format!(
                "{} ({}: {})",
                inner.message, outer.code, outer.message
            )),
            code: inner.code,
        },
        None => Worded {
            message: deterministic(&outer.message),
            code: outer.code,
        },
    };
    Some(worded)
}

#[derive(Debug)]
struct Level {
    code: String,
    message: String,
}

impl Level {
    /// Code and text of one level; a text that is itself such a body keeps only its own text.
    fn of(error: &Map<String, Value>) -> Option<Self> {
        let code = text(error, "code");
        let message = text(error, "message");
        (!code.is_empty()).then(|| Self {
            code: code.to_owned(),
            message: match packed(message) {
                Some(_) => "see the detail".to_owned(),
                None => message.to_owned(),
            },
        })
    }

    fn gives_way_to(&self, inner: &Self) -> bool {
        GENERIC.contains(&self.code.as_str())
            || (self.code == "OperationNotAllowed" && inner.code == "TooManyRequests")
    }
}

/// The deepest first detail, through details and through texts that are bodies themselves.
fn deepest(error: &Map<String, Value>) -> Option<Level> {
    let mut found = None;
    let mut here = error.clone();
    for _ in 0..DEEPEST {
        let detail = here
            .get("details")
            .and_then(Value::as_array)
            .and_then(|details| details.first())
            .and_then(Value::as_object)
            .cloned();
        let Some(below) = detail.or_else(|| packed(text(&here, "message"))) else {
            break;
        };
        found = Level::of(&below).or(found);
        here = below;
    }
    found
}

/// A text that is an error body.
fn packed(message: &str) -> Option<Map<String, Value>> {
    if !message.trim_start().starts_with('{') {
        return None;
    }
    match serde_json::from_str(message).ok()? {
        Value::Object(mut body) => match body.remove("error") {
            Some(Value::Object(error)) => Some(error),
            _ => body.contains_key("code").then_some(body),
        },
        _ => None,
    }
}

fn text<'a>(object: &'a Map<String, Value>, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// `AADSTS7000215` of the text that begins with it: it says more than `invalid_client`.
fn aadsts(message: &str) -> Option<String> {
    let start = message.find("AADSTS")?;
    let digits: String = message[start + 6..]
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    (!digits.is_empty()).then(|| format!("AADSTS{digits}"))
}

/// Where Azure starts to write what is different in every answer.
const VARYING: [&str; 8] = [
    "Trace ID:",
    "Correlation ID:",
    "CorrelationId:",
    "Timestamp:",
    "RequestId",
    "Activity ID",
    "ActivityId",
    "racking id",
];

/// Cuts off what differs from call to call, so that a failing pass writes the same status twice,
/// and leaves out what may be secret.
pub(crate) fn deterministic(message: &str) -> String {
    let end = VARYING
        .iter()
        .filter_map(|mark| message.find(mark))
        .min()
        .unwrap_or(message.len());
    without_secrets(message[..end].trim_end())
}

/// A run of base64 this long is a payload, not a word. Ours: no name or ARM ID holds one.
const PAYLOAD_RUN: usize = 100;

/// A JSON Web Token begins so and is at least this long.
const TOKEN_MARK: &str = "eyJ";
const TOKEN_RUN: usize = 40;

fn without_secrets(message: &str) -> String {
    let part_of = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '-' | '_');
    let mut kept = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(start) = rest.find(part_of) {
        let (before, from) = rest.split_at(start);
        let length = from.find(|c| !part_of(c)).unwrap_or(from.len());
        let (run, after) = from.split_at(length);
        kept.push_str(before);
        let is_payload = run
            .split(['-', '_'])
            .any(|plain| plain.len() >= PAYLOAD_RUN);
        let is_token = run.len() >= TOKEN_RUN && run.starts_with(TOKEN_MARK);
        kept.push_str(if is_payload || is_token {
            "[redacted]"
        } else {
            run
        });
        rest = after;
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn code_and_text(body: &Value) -> (String, String) {
        let worded = worded(body).expect("a known shape");
        (worded.code, worded.message)
    }

    #[test]
    fn all_four_shapes_are_read() {
        let pair = |code: &str, text: &str| (code.to_owned(), text.to_owned());
        let arm = json!({ "error": { "code": "ScopeLocked", "message": "a lock" } });
        assert_eq!(code_and_text(&arm), pair("ScopeLocked", "a lock"));
        let compute = json!({
            "code": "OperationNotAllowed", "message": "slow down",
            "details": [{ "code": "TooManyRequests", "target": "PutVMScaleSet3Min", "message": "13 of 12" }],
        });
        assert_eq!(
            code_and_text(&compute),
            pair(
                "TooManyRequests",
                "13 of 12 (OperationNotAllowed: slow down)"
            )
        );
        let operation = json!({ "status": "Failed", "error": {
            "code": "ResourceOperationFailure", "message": "it failed",
            "details": [{ "code": "OverconstrainedZonalAllocationRequest", "message": "no such VM" }],
        }});
        assert_eq!(
            code_and_text(&operation),
            pair(
                "OverconstrainedZonalAllocationRequest",
                "no such VM (ResourceOperationFailure: it failed)"
            )
        );
        let token = json!({
            "error": "invalid_client",
            "error_description": "AADSTS7000215: Invalid client secret provided. Trace ID: 1 Timestamp: 2",
            "error_codes": [7_000_215], "trace_id": "1",
        });
        assert_eq!(
            code_and_text(&token),
            pair(
                "AADSTS7000215",
                "AADSTS7000215: Invalid client secret provided."
            )
        );
    }

    #[test]
    fn a_quota_is_not_replaced_by_its_detail_and_a_text_may_be_a_body() {
        let quota = json!({ "error": {
            "code": "OperationNotAllowed", "message": "exceeding approved cores quota",
            "details": [{ "code": "Other", "message": "more" }],
        }});
        assert_eq!(code_and_text(&quota).0, "OperationNotAllowed");
        let packed = json!({ "error": {
            "code": "BadRequest",
            "message": "{\"error\":{\"code\":\"SubnetIsFull\",\"message\":\"no address left\"}}",
        }});
        let (code, text) = code_and_text(&packed);
        assert_eq!(code, "SubnetIsFull");
        assert!(text.starts_with("no address left (BadRequest"), "{text}");
        let nested = json!({ "error": {
            "code": "Conflict", "message": "one",
            "details": [{ "code": "BadRequest", "message": "two",
                "details": [{ "code": "ImageNotFound", "message": "three" }] }],
        }});
        assert_eq!(code_and_text(&nested).0, "ImageNotFound");
    }

    #[test]
    fn a_text_repeats_neither_payloads_nor_tokens() {
        let payload = "QUJD".repeat(40);
        let token = format!("eyJ0eXAiOiJKV1QiLCJh.{}", "eyJhdWQi-_x".repeat(8));
        let text = format!(
            "customData '{payload}' and {token} in /subscriptions/6f1c1e1a-3b7e-4a3c-9a39-5d2f1c0b8e11/resourceGroups/captf-team-a-demo-2a8d5f7c/providers/Microsoft.Compute/virtualMachineScaleSets/workers-7d91b187"
        );
        let clean = deterministic(&text);
        assert!(
            !clean.contains("QUJDQUJD") && !clean.contains("eyJhdWQi"),
            "{clean}"
        );
        assert!(
            clean.ends_with("virtualMachineScaleSets/workers-7d91b187"),
            "{clean}"
        );
    }

    #[test]
    fn what_has_no_known_shape_is_nothing() {
        for body in ["", "<html>", "[]", "{}", "{\"value\":[]}"] {
            assert_eq!(read(body.as_bytes()), None, "{body}");
        }
    }
}
