//! Whether an object of a built-in kind can be read at all: a field of another type than its own ends
//! the reading, in the words of Go's decoder.

use base64::engine::general_purpose::STANDARD;
use base64::{DecodeError, Engine as _};
use serde_json::Value;

use super::structural::{Additional, JsonType, Node, Structural};
use crate::request::go_json::type_name;

/// The format of bytes in built-in kinds. They are checked here, where they are read; what the
/// definitions of custom kinds call `byte` also refuses an empty text.
pub(super) const BASE64: &str = "base64";

/// The first field whose value is of the wrong type.
pub(crate) fn problem(object: &Value, schema: &Structural, kind: &str) -> Option<String> {
    Some(match walk(object, schema.root(), &mut Vec::new())? {
        Mismatch::Type(path, found, wanted) => format!(
            "json: cannot unmarshal {found} into Go struct field {kind}.{path} of type {wanted}"
        ),
        // The text may be a secret and is not shown.
        Mismatch::Bytes(at) => format!("illegal base64 data at input byte {at}"),
    })
}

/// Why a value cannot be read.
enum Mismatch {
    /// The path, the type that is there and the one that should be.
    Type(String, &'static str, String),
    /// Where a text stops to be base64.
    Bytes(usize),
}

/// Where a text stops to be base64, as Go's decoder counts.
fn base64_problem(text: &str) -> Option<usize> {
    match STANDARD.decode(text) {
        Ok(_) | Err(DecodeError::InvalidLastSymbol(..)) => None,
        Err(DecodeError::InvalidByte(at, _)) => Some(at),
        Err(DecodeError::InvalidPadding) if text.ends_with('=') => Some(text.len()),
        Err(DecodeError::InvalidPadding | DecodeError::InvalidLength(_)) => {
            Some(text.len() - text.len() % 4)
        }
    }
}

fn walk<'a>(value: &'a Value, node: &Node, path: &mut Vec<&'a str>) -> Option<Mismatch> {
    let wanted = node.json_type.filter(|_| !node.int_or_string)?;
    match (wanted, value) {
        (JsonType::String, Value::String(text)) if is_bytes(node) => {
            base64_problem(text).map(Mismatch::Bytes)
        }
        (_, Value::Null)
        | (JsonType::Boolean, Value::Bool(_))
        | (JsonType::String, Value::String(_))
        | (JsonType::Number, Value::Number(_)) => None,
        (JsonType::Integer, Value::Number(number)) if !number.is_f64() => None,
        (JsonType::Object, Value::Object(map)) => map.iter().find_map(|(name, child)| {
            path.push(name);
            let found = node.child(name).and_then(|below| walk(child, below, path));
            path.pop();
            found
        }),
        (JsonType::Array, Value::Array(list)) => {
            let items = node.items.as_deref()?;
            list.iter().find_map(|child| walk(child, items, path))
        }
        _ => {
            let wanted = go_name(node, wanted);
            Some(Mismatch::Type(path.join("."), type_name(value), wanted))
        }
    }
}

fn is_bytes(node: &Node) -> bool {
    node.checks.format.as_deref() == Some(BASE64)
}

fn go_name(node: &Node, wanted: JsonType) -> String {
    match (wanted, &node.additional) {
        (JsonType::Boolean, _) => "bool".into(),
        (JsonType::Integer, _) => node.checks.format.clone().unwrap_or_else(|| "int64".into()),
        (JsonType::Number, _) => "float64".into(),
        (JsonType::String, _) => "string".into(),
        (JsonType::Array, _) => match node.items.as_deref() {
            Some(items) => {
                let inner = items.json_type.map(|inner| go_name(items, inner));
                format!("[]{}", inner.unwrap_or_else(|| "interface {}".into()))
            }
            None => "[]interface {}".into(),
        },
        (JsonType::Object, Additional::Schema(values)) => {
            let inner = values.json_type.map(|inner| go_name(values, inner));
            format!(
                "map[string]{}",
                inner.unwrap_or_else(|| "interface {}".into())
            )
        }
        (JsonType::Object, _) => "struct".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::base64_problem;

    #[test]
    fn bytes_are_refused_where_they_stop_to_be_base64() {
        let table = [
            ("", None),
            ("YQ==", None),
            ("not base64!", Some(3)),
            ("YWJjYQ", Some(4)),
            ("YQ=", Some(3)),
        ];
        for (text, expected) in table {
            assert_eq!(base64_problem(text), expected, "{text}");
        }
    }
}
