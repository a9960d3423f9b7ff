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
        step(&mut out, operation)?
            .map_err(|_| PatchError::Unprocessable(UNPROCESSABLE.to_owned()))?;
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

/// Carries out operations that were checked, for callers that are told the reason: either every
/// operation or none.
///
/// # Errors
/// Which operation doesn't fit the object, in the words of Kubernetes' library.
pub(crate) fn carry_out(object: &Value, operations: &[Value]) -> Result<Value, String> {
    let mut out = object.clone();
    for operation in operations {
        step(&mut out, operation).map_err(|error| error.to_string())??;
    }
    Ok(out)
}

/// Whether something is an operation at all.
///
/// # Errors
/// [`PatchError::Malformed`] with the reason.
pub(crate) fn check_operation(operation: &Value) -> Result<PatchOperation, PatchError> {
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
    serde_json::from_value(operation.clone()).map_err(|error| malformed(&error.to_string()))
}

/// Carries out one operation; the inner error says why it doesn't fit.
fn step(object: &mut Value, operation: &Value) -> Result<Result<(), String>, PatchError> {
    let parsed = check_operation(operation)?;
    // A test for null holds where nothing is, as on a genuine server.
    if let PatchOperation::Test(test) = &parsed
        && test.value.is_null()
        && object.pointer(test.path.as_str()).is_none()
    {
        return Ok(Ok(()));
    }
    let why = misfit(&parsed);
    Ok(json_patch::patch(object, &Patch(vec![parsed])).map_err(|_| why))
}

/// What the library that Kubernetes uses says of an operation that doesn't fit.
fn misfit(operation: &PatchOperation) -> String {
    match operation {
        PatchOperation::Add(add) => {
            let path = add.path.as_str();
            format!("add operation does not apply: doc is missing path: {path:?}: missing value")
        }
        PatchOperation::Remove(remove) => {
            let path = remove.path.as_str();
            let last = path.rsplit('/').next().unwrap_or_default();
            format!(
                "error in remove for path: '{path}': unable to remove nonexistent key: {last}: \
                 missing value"
            )
        }
        PatchOperation::Replace(replace) => format!(
            "replace operation does not apply: doc is missing key: {}: missing value",
            replace.path.as_str()
        ),
        PatchOperation::Test(test) => {
            format!("testing value {} failed: test failed", test.path.as_str())
        }
        PatchOperation::Move(from) => {
            let path = from.from.as_str();
            format!("error in move for path: '{path}': missing value")
        }
        PatchOperation::Copy(from) => {
            let path = from.from.as_str();
            format!("error in copy for from: '{path}': missing value")
        }
    }
}
