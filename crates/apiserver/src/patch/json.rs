//! JSON patches (RFC 6902).

use json_patch::{Patch, PatchOperation};
use serde_json::Value;

use super::PatchError;
use crate::request::go_json::type_name;

/// Most operations of one patch (Kubernetes' own bound).
const MAX_OPERATIONS: usize = 10_000;

/// Most bytes that the copies of one patch add up to (Kubernetes' own bound).
const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;

/// What Kubernetes says, without the reason, when an operation doesn't fit the object.
const UNPROCESSABLE: &str = "the server rejected our request due to an error in our request";

/// Carries out a JSON patch; either every operation or none.
///
/// # Errors
/// [`PatchError::Malformed`] for something that isn't a JSON patch, [`PatchError::TooLarge`] for
/// too many operations, [`PatchError::Unprocessable`] for an operation that doesn't fit the object
/// and for copies that would make it too large.
pub fn json(live: &Value, patch: &Value) -> Result<Value, PatchError> {
    if patch.is_null() {
        return Ok(live.clone());
    }
    let Some(operations) = patch.as_array() else {
        let kind = type_name(patch);
        return Err(PatchError::Malformed(format!(
            "error decoding patch: json: cannot unmarshal {kind} into Go value of type \
             []handlers.jsonPatchOp"
        )));
    };
    if operations.len() > MAX_OPERATIONS {
        return Err(PatchError::TooLarge(format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        )));
    }
    let mut out = live.clone();
    let mut copied = 0;
    for operation in operations {
        copied += size_of_copy(&out, operation);
        if copied > MAX_COPIED_BYTES {
            return Err(PatchError::Unprocessable(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {copied}, \
                 exceeding the limit {MAX_COPIED_BYTES}"
            )));
        }
        step(&mut out, operation)?;
    }
    Ok(out)
}

/// How much an operation copies inside the object. Without a bound a short patch could double
/// the object with every operation.
fn size_of_copy(object: &Value, operation: &Value) -> usize {
    let text = |field: &str| operation.get(field).and_then(Value::as_str);
    if text("op") != Some("copy") {
        return 0;
    }
    let source = text("from").and_then(|from| object.pointer(from));
    source.map_or(0, |source| source.to_string().len())
}

fn step(object: &mut Value, operation: &Value) -> Result<(), PatchError> {
    let malformed =
        |what: &str| PatchError::Malformed(format!("invalid operation {operation}: {what}"));
    let name = operation
        .get("op")
        .and_then(Value::as_str)
        .unwrap_or_default();
    match name {
        "add" | "replace" | "test" if operation.get("value").is_none() => {
            return Err(malformed(
                "failed to decode 'value': operation, missing value field: missing value",
            ));
        }
        "copy" | "move" if operation.get("from").is_none() => {
            return Err(malformed(
                "failed to decode 'from': operation, missing from field: missing value",
            ));
        }
        "add" | "replace" | "test" | "copy" | "move" | "remove" => {}
        _ => return Err(malformed("unsupported operation")),
    }
    if operation.get("path").is_none() {
        return Err(malformed(
            "failed to decode 'path': operation, missing path field: missing value",
        ));
    }
    let parsed: PatchOperation =
        serde_json::from_value(operation.clone()).map_err(|error| malformed(&error.to_string()))?;
    // A test for null holds where nothing is, as on a genuine server.
    if let PatchOperation::Test(test) = &parsed
        && test.value.is_null()
        && object.pointer(test.path.as_str()).is_none()
    {
        return Ok(());
    }
    json_patch::patch(object, &Patch(vec![parsed]))
        .map_err(|_| PatchError::Unprocessable(UNPROCESSABLE.to_owned()))
}
