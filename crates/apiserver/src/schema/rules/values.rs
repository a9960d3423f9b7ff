//! JSON as CEL sees it.
//!
//! In: a JSON value and its schema. Out: a CEL value where strings of format `date-time`,
//! `duration` and `byte` are timestamps, durations and bytes, whole numbers of type `number` are
//! doubles, and field names that aren't CEL identifiers are escaped as Kubernetes documents it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine;
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{ExecutionError, Value as Cel};
use serde_json::Value;

use super::types::NAMESPACE;
use crate::schema::correlate::list_key;
use crate::schema::format::go_duration_nanoseconds;
use crate::schema::structural::{JsonType, ListType, Node};

/// Words that CEL keeps for itself.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The CEL value of a JSON value.
pub(crate) fn to_cel(value: &Value, node: Option<&Node>) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(value) => Cel::Bool(*value),
        Value::Number(number) => {
            let double = node.is_some_and(|node| node.json_type == Some(JsonType::Number));
            match (number.as_i64(), number.as_u64()) {
                (Some(whole), _) if !double => Cel::Int(whole),
                (None, Some(whole)) if !double => Cel::UInt(whole),
                _ => Cel::Float(number.as_f64().unwrap_or(f64::NAN)),
            }
        }
        Value::String(text) => string(text, node),
        Value::Array(list) => {
            let items = node.and_then(|node| node.items.as_deref());
            Cel::List(Arc::new(
                list.iter().map(|child| to_cel(child, items)).collect(),
            ))
        }
        Value::Object(map) => {
            let is_map = node.is_some_and(Node::is_map);
            let mut out = HashMap::with_capacity(map.len());
            let whole = node.is_some_and(|node| node.whole_object);
            for (name, child) in map {
                let below = node.and_then(|node| node.child(name));
                if whole && name == "metadata" {
                    let key = Key::String(Arc::new("metadata".to_owned()));
                    out.insert(key, names_of(child));
                    continue;
                }
                let name = if is_map {
                    Cow::Borrowed(name.as_str())
                } else {
                    escape(name)
                };
                let value = to_cel(child, below);
                if name == "__namespace__" {
                    let plain = Key::String(Arc::new(NAMESPACE.to_owned()));
                    out.insert(plain, value.clone());
                }
                out.insert(Key::String(Arc::new(name.into_owned())), value);
            }
            Cel::Map(Map { map: Arc::new(out) })
        }
    }
}

/// The metadata of an object as rules see it: its names.
fn names_of(metadata: &Value) -> Cel {
    let names = ["name", "generateName"].into_iter().filter_map(|name| {
        let value = metadata.get(name)?;
        Some((Key::String(Arc::new(name.to_owned())), to_cel(value, None)))
    });
    Cel::Map(Map {
        map: Arc::new(names.collect()),
    })
}

fn string(text: &str, node: Option<&Node>) -> Cel {
    let format = node
        .filter(|node| !node.int_or_string)
        .and_then(|n| n.checks.format.as_deref());
    let special = match format {
        Some("date-time") => chrono::DateTime::parse_from_rfc3339(text)
            .ok()
            .map(Cel::Timestamp),
        Some("date") => chrono::DateTime::parse_from_rfc3339(&format!("{text}T00:00:00Z"))
            .ok()
            .map(Cel::Timestamp),
        Some("duration") => go_duration_nanoseconds(text)
            .map(|nanoseconds| Cel::Duration(chrono::Duration::nanoseconds(nanoseconds))),
        Some("byte") => base64::engine::general_purpose::STANDARD
            .decode(text)
            .ok()
            .map(|bytes| Cel::Bytes(Arc::new(bytes))),
        _ => None,
    };
    special.unwrap_or_else(|| Cel::String(Arc::new(text.to_owned())))
}

/// The CEL value of an old value, for comparison with a new one: the entries of lists whose order
/// means nothing come in the new list's order, so that a reordered list equals its old self.
pub(crate) fn to_cel_beside(old: &Value, new: &Value, node: &Node) -> Cel {
    match (old, new) {
        (Value::Array(old), Value::Array(new)) => {
            let items = node.items.as_deref();
            let in_order = |list: Vec<&Value>| {
                Cel::List(Arc::new(
                    list.into_iter().map(|child| to_cel(child, items)).collect(),
                ))
            };
            match node.list_type() {
                ListType::Atomic => in_order(old.iter().collect()),
                ListType::Set => in_order(beside(old, new, |entry| Some(entry.to_string()))),
                ListType::Map(keys) => in_order(beside(old, new, |entry| {
                    items.and_then(|items| list_key(entry, keys, items))
                })),
            }
        }
        (Value::Object(old), Value::Object(new)) => {
            let is_map = node.is_map();
            let mut out = HashMap::with_capacity(old.len());
            for (name, child) in old {
                let converted = match (node.child(name), new.get(name)) {
                    _ if node.whole_object && name == "metadata" => names_of(child),
                    (Some(below), Some(new)) => to_cel_beside(child, new, below),
                    (below, _) => to_cel(child, below),
                };
                let name = if is_map {
                    Cow::Borrowed(name.as_str())
                } else {
                    escape(name)
                };
                if name == "__namespace__" {
                    let plain = Key::String(Arc::new(NAMESPACE.to_owned()));
                    out.insert(plain, converted.clone());
                }
                out.insert(Key::String(Arc::new(name.into_owned())), converted);
            }
            Cel::Map(Map { map: Arc::new(out) })
        }
        _ => to_cel(old, Some(node)),
    }
}

/// The old entries: first those that the new list holds, in its order, then the others.
fn beside<'a>(
    old: &'a [Value],
    new: &[Value],
    identity: impl Fn(&Value) -> Option<String>,
) -> Vec<&'a Value> {
    let places: HashMap<String, usize> = new
        .iter()
        .enumerate()
        .filter_map(|(place, entry)| Some((identity(entry)?, place)))
        .collect();
    let mut out: Vec<&Value> = old.iter().collect();
    out.sort_by_cached_key(|entry| {
        identity(entry)
            .and_then(|key| places.get(&key).copied())
            .unwrap_or(usize::MAX)
    });
    out
}

/// A field name as CEL can select it.
pub(super) fn escape(name: &str) -> Cow<'_, str> {
    if RESERVED.contains(&name) {
        return Cow::Owned(format!("__{name}__"));
    }
    if !(name.contains("__") || name.contains(['.', '-', '/'])) {
        return Cow::Borrowed(name);
    }
    let escaped = name.replace("__", "__underscores__");
    let escaped = escaped
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__");
    Cow::Owned(escaped)
}

/// Why a rule couldn't be evaluated, in Kubernetes' words where there are some.
pub(crate) fn reason(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(name) => format!("no such key: {name}"),
        ExecutionError::NoSuchOverload => "no such overload".to_owned(),
        ExecutionError::UndeclaredReference(name) => {
            format!("undeclared reference to '{name}' (in container '')")
        }
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::IndexOutOfBounds(_) => "index out of bounds".to_owned(),
        ExecutionError::FunctionError { function, .. } if function == "quantity" => {
            "quantities must match the regular expression \
             '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
                .to_owned()
        }
        ExecutionError::FunctionError { message, .. } => message.clone(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        other => other.to_string(),
    }
}
