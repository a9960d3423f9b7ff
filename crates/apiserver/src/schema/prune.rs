//! Removes what the schema doesn't know.
//!
//! In: an object and its schema. Out: the object without unknown fields, and their paths.
//! `x-kubernetes-preserve-unknown-fields` keeps what lies below unless a property is named there;
//! embedded resources keep their `apiVersion`, `kind` and `metadata`.

use serde_json::Value;

use super::path::Path;
use super::structural::{Additional, Node, Structural};

/// Removes unknown fields and returns their paths, for example `spec.foo` or
/// `spec.ports[0].foo`, in the order in which the object holds them.
pub fn prune(object: &mut Value, schema: &Structural) -> Vec<String> {
    let mut unknown = Vec::new();
    prune_node(object, &schema.root, &Path::Root, &mut unknown);
    unknown
}

fn prune_node(value: &mut Value, node: &Node, path: &Path<'_>, unknown: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            let keep =
                node.preserve_unknown || matches!(node.additional, Additional::Allowed(true));
            map.retain(|name, child| {
                if let Some(below) = node.properties.get(name) {
                    prune_node(child, below, &path.field(name), unknown);
                    return true;
                }
                if let Additional::Schema(below) = &node.additional {
                    prune_node(child, below, &path.field(name), unknown);
                    return true;
                }
                if !keep {
                    unknown.push(path.field(name).to_string());
                }
                keep
            });
        }
        Value::Array(list) => {
            let Some(items) = &node.items else { return };
            for (index, child) in list.iter_mut().enumerate() {
                prune_node(child, items, &path.index(index), unknown);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
