//! The answer: whether it is one, and what it says. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::hook::Phase;
use crate::object::text;
use crate::status_error::Failure;

/// What a webhook answered.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) warnings: Vec<String>,
    /// The operations of its patch, none for an unchanged object; or its refusal.
    pub(crate) decision: Result<Vec<Value>, Failure>,
}

/// Reads the answer to a review.
///
/// # Errors
/// Why it is no answer, in the words of a genuine server.
pub(crate) fn verdict(
    hook: &str,
    phase: Phase,
    version: &str,
    uid: &str,
    answer: &Value,
) -> Result<Verdict, String> {
    let failed = |why: &str| format!("failed to call webhook: {why}");
    let invalid = |why: &str| format!("received invalid webhook response: {why}");
    check_type(version, answer).map_err(|why| failed(&why))?;
    let response = answer.get("response").filter(|value| !value.is_null());
    let fields = read(response).map_err(|why| failed(&why))?;
    let Some(fields) = fields else {
        return Err(invalid("webhook response was absent"));
    };
    if version == "v1" {
        check_v1(uid, answer, phase, &fields).map_err(|why| invalid(&why))?;
    }
    if !fields.allowed {
        let refusal = refusal(hook, response.and_then(|response| response.get("status")));
        return Ok(Verdict {
            warnings: fields.warnings,
            decision: Err(refusal),
        });
    }
    let operations = match phase {
        Phase::Mutating if !fields.patch.is_empty() => operations(&fields)?,
        Phase::Mutating | Phase::Validating => Vec::new(),
    };
    Ok(Verdict {
        warnings: fields.warnings,
        decision: Ok(operations),
    })
}

/// The fields of a response that count.
struct Fields {
    uid: String,
    allowed: bool,
    patch: Vec<u8>,
    patch_type: Option<String>,
    warnings: Vec<String>,
}

/// Whether the decoder knows the type of the answer. A missing type is found later.
fn check_type(version: &str, answer: &Value) -> Result<(), String> {
    let (given, kind) = (text(answer, &["apiVersion"]), text(answer, &["kind"]));
    let own = format!("admission.k8s.io/{version}");
    if given.is_empty() || kind.is_empty() || (given == own && kind == "AdmissionReview") {
        return Ok(());
    }
    match given.strip_prefix("admission.k8s.io/") {
        Some(other @ ("v1" | "v1beta1")) if kind == "AdmissionReview" => Err(format!(
            "converting ({other}.AdmissionReview) to ({version}.AdmissionReview): unknown conversion"
        )),
        _ => Err(format!(
            "no kind {kind:?} is registered for version {given:?} in scheme \
             \"pkg/util/webhook/client.go:71\""
        )),
    }
}

fn read(response: Option<&Value>) -> Result<Option<Fields>, String> {
    let Some(response) = response else {
        return Ok(None);
    };
    let mismatch = |value: &Value, field: &str, wanted: &str| {
        let given = match value {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        format!(
            "json: cannot unmarshal {given} into Go struct field \
             AdmissionResponse.response{field} of type {wanted}"
        )
    };
    if !response.is_object() {
        return Err(mismatch(response, "", "v1.AdmissionResponse"));
    }
    let field = |name: &str| response.get(name).filter(|value| !value.is_null());
    let string = |name: &str, wanted: &str| match field(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(mismatch(other, &format!(".{name}"), wanted)),
    };
    let allowed = match field("allowed") {
        None => false,
        Some(Value::Bool(allowed)) => *allowed,
        Some(other) => return Err(mismatch(other, ".allowed", "bool")),
    };
    let patch = string("patch", "[]uint8")?.unwrap_or_default();
    let patch = STANDARD.decode(patch).map_err(|error| match error {
        base64::DecodeError::InvalidByte(at, _) => {
            format!("illegal base64 data at input byte {at}")
        }
        _ => "illegal base64 data".to_owned(),
    })?;
    let warnings = field("warnings").and_then(Value::as_array);
    let warnings = warnings.into_iter().flatten().filter_map(Value::as_str);
    Ok(Some(Fields {
        uid: string("uid", "types.UID")?.unwrap_or_default(),
        allowed,
        patch,
        patch_type: string("patchType", "v1.PatchType")?,
        warnings: warnings.map(str::to_owned).collect(),
    }))
}

/// What version 1 demands of an answer.
fn check_v1(uid: &str, answer: &Value, phase: Phase, fields: &Fields) -> Result<(), String> {
    if fields.uid != uid {
        let given = &fields.uid;
        return Err(format!("expected response.uid={uid:?}, got {given:?}"));
    }
    let (api_version, kind) = (text(answer, &["apiVersion"]), text(answer, &["kind"]));
    if api_version.is_empty() || kind.is_empty() {
        let given = if api_version.is_empty() {
            "/"
        } else {
            api_version
        };
        return Err(format!(
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {given}, \
             Kind={kind}"
        ));
    }
    let wrong = match (phase, fields.patch.is_empty(), fields.patch_type.as_deref()) {
        (Phase::Validating, false, _) => "validating webhook may not return response.patch",
        (Phase::Validating, true, Some(_)) => {
            "validating webhook may not return response.patchType"
        }
        (Phase::Mutating, false, None) => {
            "webhook returned response.patch but not response.patchType"
        }
        (Phase::Mutating, true, Some(_)) => {
            "webhook returned response.patchType but not response.patch"
        }
        (Phase::Mutating, false, Some("")) => "webhook returned invalid response.patchType of \"\"",
        _ => return Ok(()),
    };
    Err(wrong.to_owned())
}

fn operations(fields: &Fields) -> Result<Vec<Value>, String> {
    let undecodable = |why: &str| format!("received undecodable patch in webhook response: {why}");
    let patch: Value =
        serde_json::from_slice(&fields.patch).map_err(|error| undecodable(&error.to_string()))?;
    let shape = match patch {
        Value::Array(operations) => {
            for operation in &operations {
                crate::patch::check_operation(operation)
                    .map_err(|error| undecodable(&error.to_string()))?;
            }
            let kind = fields.patch_type.as_deref().unwrap_or("JSONPatch");
            if kind != "JSONPatch" && !operations.is_empty() {
                return Err(format!("unsupported patch type {kind:?}"));
            }
            return Ok(operations);
        }
        Value::Null => return Ok(Vec::new()),
        Value::Object(_) => "object",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
    };
    let why = format!("json: cannot unmarshal {shape} into Go value of type jsonpatch.Patch");
    Err(undecodable(&why))
}

/// The refusal of a webhook: its own status, never a success.
fn refusal(hook: &str, status: Option<&Value>) -> Failure {
    let empty = Value::Null;
    let status = status.unwrap_or(&empty);
    let code = status.get("code").and_then(Value::as_u64);
    let code = code.and_then(|code| u16::try_from(code).ok());
    let code = code
        .filter(|code| (400..=999).contains(code))
        .unwrap_or(400);
    let (message, reason) = (text(status, &["message"]), text(status, &["reason"]));
    let denied = format!("admission webhook {hook:?} denied the request");
    let message = match (message, reason) {
        ("", "") => format!("{denied} without explanation"),
        ("", reason) => format!("{denied}: {reason}"),
        (message, _) => format!("{denied}: {message}"),
    };
    let mut failure = Failure::new(code, reason.to_owned(), message);
    let details = status.get("details").and_then(Value::as_object);
    let known = [
        "name",
        "group",
        "kind",
        "uid",
        "causes",
        "retryAfterSeconds",
    ];
    failure.details = details
        .into_iter()
        .flatten()
        .filter(|(field, value)| known.contains(&field.as_str()) && !value.is_null())
        .map(|(field, value)| (field.clone(), value.clone()))
        .collect::<Map<String, Value>>();
    failure
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer(response: &Value) -> Value {
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
    }

    fn read(phase: Phase, answer: &Value) -> Result<Verdict, String> {
        verdict("h", phase, "v1", "u", answer)
    }

    #[test]
    fn a_refusal_keeps_its_code_unless_it_would_be_a_success() {
        let table = [
            (
                json!({"code": 409, "reason": "Conflict", "message": "m"}),
                409,
                "Conflict",
                ": m",
            ),
            (json!({"code": 200, "message": "m"}), 400, "", ": m"),
            (json!({"reason": "R"}), 400, "R", ": R"),
            (json!({}), 400, "", " without explanation"),
            (json!(null), 400, "", " without explanation"),
        ];
        for (status, code, reason, end) in table {
            let response = json!({"uid": "u", "allowed": false, "status": status});
            let verdict = read(Phase::Validating, &answer(&response)).unwrap();
            let failure = verdict.decision.unwrap_err();
            assert_eq!((failure.code, failure.reason.as_ref()), (code, reason));
            let message = format!("admission webhook \"h\" denied the request{end}");
            assert_eq!(failure.message, message);
        }
    }

    #[test]
    fn the_first_review_version_has_no_type_of_patch() {
        let patch = STANDARD.encode(r#"[{"op":"remove","path":"/a"}]"#);
        let old = json!({"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview",
                         "response": {"allowed": true, "patch": patch}});
        let found = verdict("h", Phase::Mutating, "v1beta1", "u", &old).unwrap();
        assert_eq!(
            found.decision.unwrap(),
            [json!({"op": "remove", "path": "/a"})]
        );
    }
}
