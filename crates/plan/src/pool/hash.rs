//! The inputs hash: what alone decides that an apply is due (captf document 2.8).
//!
//! Canonical form: sorted keys, no spaces, whole numbers. It covers the image as written, the
//! inputs (without `replicas` while autoscaling is on), and the variables with their sensitivity.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{inputs::Inputs, variables::Merged};

/// Marks the scheme, so that a later one never equals an earlier one by chance.
const SCHEME: &str = "remuda-inputs-1";

/// A hash of the inputs and how large they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputsHash {
    /// `r1:` and 64 hex digits.
    pub hash: String,
    /// Bytes of inputs and variables in canonical form.
    pub bytes: usize,
}

/// Hashes image, inputs and variables.
pub fn of(image: &str, inputs: &Inputs, variables: &Merged) -> InputsHash {
    let mut rendered = inputs.contract_json();
    let mut text = canonical(rendered.reveal());
    let bytes = text.len()
        + if variables.values.is_empty() {
            0
        } else {
            canonical(&Value::Object(variables.values.clone())).len()
        };
    if inputs.autoscaling.enabled {
        rendered = rendered.map(|mut value| {
            if let Some(object) = value.as_object_mut() {
                object.remove("replicas");
            }
            value
        });
        text = canonical(rendered.reveal());
    }
    let mut hasher = Sha256::new();
    for part in [SCHEME, "v1alpha1", "machinepool", image, text.as_str()] {
        hasher.update(part.len().to_be_bytes());
        hasher.update(part.as_bytes());
    }
    if !variables.values.is_empty() {
        let marked: Map<String, Value> = variables
            .values
            .iter()
            .map(|(name, value)| {
                let sensitive = variables.sensitive.contains(name);
                (name.clone(), json!([value, sensitive]))
            })
            .collect();
        hasher.update(canonical(&Value::Object(marked)).as_bytes());
    }
    InputsHash {
        hash: format!("r1:{}", hex(&hasher.finalize())),
        bytes,
    }
}

/// Lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Whether every number is whole: others have no canonical form.
pub fn hashable(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_i64() || number.is_u64(),
        Value::Array(items) => items.iter().all(hashable),
        Value::Object(fields) => fields.values().all(hashable),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

/// JSON with sorted keys and no spaces, whatever map the parser was built with.
fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_canonical(item, text);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
            sorted.sort_unstable_by_key(|(key, _)| *key);
            text.push('{');
            for (index, (key, field)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write_canonical(field, text);
            }
            text.push('}');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text.push_str(&value.to_string());
        }
    }
}
