//! Whether a configuration has the shape that its schema asks for, told in the words in which
//! Kubernetes refuses to apply it.
//!
//! This is coarser than validation: it asks for what merging needs (declared fields, the right
//! kind of value, keys of list entries), and it comes first.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::field_set::path_text;
use super::walk::list_element;
use crate::schema::field_error::quote;
use crate::schema::printed::{go_type, plain, syntax};
use crate::schema::structural::{Additional, JsonType, ListType, Node};

/// Every reason why a configuration can't be merged, for example
/// `.spec.foo: field not declared in schema`.
pub(super) fn problems(config: &Value, root: &Node) -> Vec<String> {
    let mut check = Check {
        path: Vec::new(),
        out: Vec::new(),
    };
    check.value(config, root);
    check.out
}

struct Check {
    path: Vec<String>,
    out: Vec<String>,
}

impl Check {
    fn problem(&mut self, what: &str) {
        let path = path_text(&self.path);
        self.out.push(if path.is_empty() {
            what.to_owned()
        } else {
            format!("{path}: {what}")
        });
    }

    fn value(&mut self, value: &Value, node: &Node) {
        if value.is_null() || node.int_or_string {
            return;
        }
        match (node.json_type, value) {
            (Some(JsonType::Object), Value::Object(map)) => self.map(map, node),
            (Some(JsonType::Array), Value::Array(list)) => self.list(list, node),
            (Some(JsonType::Object), other) => {
                self.problem(&format!("expected map, got &{{{}}}", plain(other)));
            }
            (Some(JsonType::Array), other) => {
                self.problem(&format!("expected list, got &{{{}}}", plain(other)));
            }
            (Some(JsonType::String), other) if !other.is_string() => self.problem(&format!(
                "expected string, got &value.valueUnstructured{{Value:{}}}",
                syntax(other)
            )),
            (Some(JsonType::Boolean), other) if !other.is_boolean() => {
                self.problem(&format!("expected boolean, got &{{{}}}", plain(other)));
            }
            (Some(JsonType::Integer | JsonType::Number), other) if !other.is_number() => {
                let given = go_type(other);
                self.problem(&format!("expected numeric (int or float), got {given}"));
            }
            (None, Value::Object(map)) => self.map(map, node),
            _ => {}
        }
    }

    /// A field that isn't declared ends the walk of its object.
    fn map(&mut self, map: &Map<String, Value>, node: &Node) {
        let open = node.preserve_unknown
            || node.json_type.is_none()
            || matches!(node.additional, Additional::Allowed(true));
        for (name, child) in map {
            self.path.push(format!("f:{name}"));
            match node.child(name) {
                Some(below) if !node.atomic_map => self.value(child, below),
                Some(_) => {}
                None if open => {}
                None => {
                    self.problem("field not declared in schema");
                    self.path.pop();
                    return;
                }
            }
            self.path.pop();
        }
    }

    fn list(&mut self, list: &[Value], node: &Node) {
        let Some(items) = node.items.as_deref() else {
            return;
        };
        let kind = node.list_type();
        let mut seen = HashSet::new();
        for (position, child) in list.iter().enumerate() {
            if let Some(what) = no_identity(child, kind, items) {
                self.problem(&format!("element {position}: {what}"));
                return;
            }
            let element = list_element(child, kind, Some(items), position);
            if *kind != ListType::Atomic && !seen.insert(element.clone()) {
                let key = path_text(std::slice::from_ref(&element));
                self.problem(&format!("duplicate entries for key {key}"));
            }
            self.path.push(element);
            self.value(child, items);
            self.path.pop();
        }
    }
}

/// Why an entry of a list can't be told from others.
fn no_identity(entry: &Value, kind: &ListType, items: &Node) -> Option<String> {
    match (kind, entry) {
        (ListType::Atomic, _) => None,
        (ListType::Set, Value::Null) => {
            Some("associative list without keys has an element that's an explicit null".to_owned())
        }
        (ListType::Set, Value::Object(_)) => {
            Some("associative list without keys has an element that's a map type".to_owned())
        }
        (ListType::Set, Value::Array(_)) => {
            Some("not supported: associative list with lists as elements".to_owned())
        }
        (ListType::Set, _) => None,
        (ListType::Map(_), Value::Null) => {
            Some("associative list with keys may not have a null element".to_owned())
        }
        (ListType::Map(keys), Value::Object(map)) => {
            let has_default = |key: &String| {
                items
                    .properties
                    .get(key)
                    .is_some_and(|field| field.default.is_some())
            };
            let known = keys
                .iter()
                .any(|key| map.contains_key(key) || has_default(key));
            let quoted: Vec<String> = keys.iter().map(|key| quote(key)).collect();
            (!known).then(|| {
                format!(
                    "associative list with keys has an element that omits all key fields [{}] \
                     (and doesn't have default values for any key fields)",
                    quoted.join(" ")
                )
            })
        }
        (ListType::Map(_), _) => {
            Some("associative list with keys may not have non-map elements".to_owned())
        }
    }
}
