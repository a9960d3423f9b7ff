//! JSON patches (RFC 6902).

use json_patch::{Patch, PatchErrorKind, PatchOperation};
use serde_json::Value;

use super::PatchError;

/// Most operations of one patch (Kubernetes' own bound).
const MAX_OPERATIONS: usize = 10_000;

/// Carries out a JSON patch; either every operation or none.
///
/// # Errors
/// [`PatchError::Malformed`] for something that isn't a JSON patch or has too many operations,
/// [`PatchError::Unprocessable`] for an operation that doesn't fit the object.
pub fn json(live: &Value, patch: &Value) -> Result<Value, PatchError> {
    let parsed: Patch = serde_json::from_value(patch.clone())
        .map_err(|error| PatchError::Malformed(format!("error decoding patch: {error}")))?;
    if parsed.0.len() > MAX_OPERATIONS {
        return Err(PatchError::Malformed(format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            parsed.0.len()
        )));
    }
    let mut out = live.clone();
    for operation in &parsed.0 {
        // A removal of something that isn't there is an error in the RFC and in Kubernetes alike.
        json_patch::patch(&mut out, std::slice::from_ref(operation))
            .map_err(|error| PatchError::Unprocessable(reason(operation, &error.kind)))?;
    }
    Ok(out)
}

fn reason(operation: &PatchOperation, kind: &PatchErrorKind) -> String {
    let path = operation.path();
    let name = match operation {
        PatchOperation::Add(_) => "add",
        PatchOperation::Remove(_) => "remove",
        PatchOperation::Replace(_) => "replace",
        PatchOperation::Move(_) => "move",
        PatchOperation::Copy(_) => "copy",
        PatchOperation::Test(_) => "test",
    };
    match kind {
        PatchErrorKind::TestFailed => format!("testing value {path} failed: test failed"),
        PatchErrorKind::InvalidFromPointer => {
            format!("{name} operation does not apply: from path doesn't exist: missing value")
        }
        PatchErrorKind::InvalidPointer => {
            format!("{name} operation does not apply: doc is missing path: {path}: missing value")
        }
        other => format!("{name} operation does not apply: {path}: {other}"),
    }
}
