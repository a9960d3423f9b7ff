//! The three kinds of patches that change an object in place.
//!
//! In: the live object and the patch. Out: the changed object, or why the patch can't be carried
//! out. Server-side apply is a module of its own.

mod json;
mod strategic;

use std::fmt;

use serde_json::{Map, Value};

pub use json::json;
pub(crate) use json::{carry_out, check_operation};
pub use strategic::strategic;

/// Why a patch wasn't carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatchError {
    /// The patch isn't well formed: answer 400 `BadRequest`.
    Malformed(String),
    /// The patch is well formed but doesn't fit the object: answer 422 `Invalid`.
    Unprocessable(String),
    /// The patch has too many operations: answer 413 `RequestEntityTooLarge`.
    TooLarge(String),
    /// The patch leaves open which entry of a list it means: answer 500, as Kubernetes does.
    Ambiguous(String),
}

impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(message)
            | Self::Unprocessable(message)
            | Self::TooLarge(message)
            | Self::Ambiguous(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for PatchError {}

/// Carries out a JSON merge patch (RFC 7396).
///
/// # Errors
/// [`PatchError::Malformed`] when the patch isn't an object.
pub fn merge(live: &Value, patch: &Value) -> Result<Value, PatchError> {
    let Some(patch) = patch.as_object() else {
        let message = "the merge patch must be an object".to_owned();
        return Err(PatchError::Malformed(message));
    };
    let mut out = live.clone();
    merge_map(&mut out, patch);
    Ok(out)
}

fn merge_map(target: &mut Value, patch: &Map<String, Value>) {
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Some(map) = target.as_object_mut() else {
        return;
    };
    for (name, theirs) in patch {
        match theirs {
            Value::Null => {
                map.remove(name);
            }
            Value::Object(inner) => {
                merge_map(map.entry(name.clone()).or_insert(Value::Null), inner);
            }
            other => {
                map.insert(name.clone(), other.clone());
            }
        }
    }
}
