//! Whether an object of a built-in kind can be read at all: a field of another type than its own ends
//! the reading, in the words of Go's decoder.

use serde_json::Value;

use super::structural::{Additional, JsonType, Node, Structural};
use crate::request::go_json::type_name;

/// The first field whose value is of the wrong type.
pub(crate) fn problem(object: &Value, schema: &Structural, kind: &str) -> Option<String> {
    walk(object, schema.root(), &mut Vec::new()).map(|(path, found, wanted)| {
        format!(
            "json: cannot unmarshal {found} into Go struct field {kind}.{path} of type {wanted}"
        )
    })
}

/// The path, the type that is there and the one that should be.
type Mismatch = (String, &'static str, String);

fn walk<'a>(value: &'a Value, node: &Node, path: &mut Vec<&'a str>) -> Option<Mismatch> {
    let wanted = node.json_type.filter(|_| !node.int_or_string)?;
    match (wanted, value) {
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
        _ => Some((path.join("."), type_name(value), go_name(node, wanted))),
    }
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
