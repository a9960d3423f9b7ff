//! Uniqueness in lists of type `set` and `map`.
//!
//! In: an object and its schema. Out: one error for each entry that repeats an earlier one, at the
//! entry's place.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::field_error::FieldError;
use super::path::Path;
use super::structural::{ListType, Node};

/// Reports entries that occur twice where they may not.
pub(crate) fn check(value: &Value, node: &Node, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if !node.lists_below {
        return;
    }
    match value {
        Value::Object(map) => {
            for (name, child) in map {
                let Some(below) = node.child(name) else {
                    continue;
                };
                let at = if node.properties.contains_key(name) {
                    path.field(name)
                } else {
                    path.key(name)
                };
                check(child, below, &at, errors);
            }
        }
        Value::Array(list) => {
            unique(list, node, path, errors);
            let Some(items) = &node.items else { return };
            for (index, child) in list.iter().enumerate() {
                check(child, items, &path.index(index), errors);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn unique(list: &[Value], node: &Node, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let keys = match node.list_type() {
        ListType::Atomic => return,
        ListType::Set => None,
        ListType::Map(keys) => Some(keys),
    };
    let mut seen: HashMap<String, bool> = HashMap::with_capacity(list.len());
    for (index, entry) in list.iter().enumerate() {
        let identity = match keys {
            None => entry.clone(),
            Some(keys) => {
                if let Some(identity) = identity(entry, keys, node) {
                    Value::Object(identity)
                } else {
                    if !entry.is_null() {
                        let why = "must be an object for an array of list-type map";
                        let at = path.index(index).to_string();
                        errors.push(FieldError::invalid(at, entry.clone(), why));
                    }
                    continue;
                }
            }
        };
        // Each repeated value is told once, where it occurs the second time.
        match seen.get_mut(&identity.to_string()) {
            None => {
                seen.insert(identity.to_string(), false);
            }
            Some(told) if !*told => {
                *told = true;
                errors.push(FieldError::duplicate(
                    path.index(index).to_string(),
                    identity,
                ));
            }
            Some(_) => {}
        }
    }
}

/// The key fields of an entry.
fn identity(entry: &Value, keys: &[String], node: &Node) -> Option<Map<String, Value>> {
    let map = entry.as_object()?;
    let items = node.items.as_deref();
    let mut out = Map::new();
    for key in keys {
        let default = || items.and_then(|items| items.properties.get(key)?.default.clone());
        if let Some(value) = map.get(key).cloned().or_else(default) {
            out.insert(key.clone(), value);
        }
    }
    Some(out)
}
