//! Fills absent fields with the schema's defaults.
//!
//! In: an object and its schema. Out: the object, where each absent field with a default holds it,
//! also inside defaults just filled in. A `null` is replaced where the field has a default and may
//! not be null; other nulls of fields that may not be null are dropped.

use serde_json::{Map, Value};

use super::structural::{Additional, Node, Structural};

/// Fills absent fields with their defaults.
pub fn default(object: &mut Value, schema: &Structural) {
    default_node(object, &schema.root);
}

fn default_node(value: &mut Value, node: &Node) {
    match value {
        Value::Object(map) => default_map(map, node),
        Value::Array(list) => {
            let Some(items) = &node.items else { return };
            for child in list {
                if child.is_null()
                    && !items.nullable
                    && let Some(default) = &items.default
                {
                    *child = default.clone();
                }
                default_node(child, items);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn default_map(map: &mut Map<String, Value>, node: &Node) {
    if node.defaults_below {
        insert_defaults(map, node);
    }
    map.retain(|name, child| {
        !(child.is_null()
            && node
                .properties
                .get(name)
                .is_some_and(|below| !below.nullable))
    });
    for (name, child) in map.iter_mut() {
        if let Some(below) = node.properties.get(name) {
            default_node(child, below);
        } else if let Additional::Schema(below) = &node.additional {
            if child.is_null()
                && !below.nullable
                && let Some(default) = &below.default
            {
                *child = default.clone();
            }
            default_node(child, below);
        }
    }
}

fn insert_defaults(map: &mut Map<String, Value>, node: &Node) {
    for (name, below) in &node.properties {
        let Some(default) = &below.default else {
            continue;
        };
        match map.get(name) {
            None => {}
            Some(Value::Null) if !below.nullable => {}
            Some(_) => continue,
        }
        map.insert(name.clone(), default.clone());
    }
}
