//! Fills absent fields with the schema's defaults.
//!
//! In: an object and its schema. Out: the object, where each absent field with a default holds it,
//! also inside defaults just filled in. A `null` is replaced where the field has a default and may
//! not be null; other nulls of fields that may not be null are dropped. Numbers without a fraction
//! become whole numbers, as they would on the way through any JSON encoder of Kubernetes.

use serde_json::{Map, Value};

use super::structural::{Additional, Node, Structural};

/// Fills absent fields with their defaults.
pub fn default(object: &mut Value, schema: &Structural) {
    default_node(object, Some(&schema.root));
}

fn default_node(value: &mut Value, node: Option<&Node>) {
    match value {
        Value::Object(map) => {
            if let Some(node) = node {
                default_map(map, node);
            }
            for (name, child) in map.iter_mut() {
                default_node(child, node.and_then(|node| node.child(name)));
            }
        }
        Value::Array(list) => {
            let items = node.and_then(|node| node.items.as_deref());
            for child in list {
                if child.is_null()
                    && let Some(default) = replacement(items)
                {
                    *child = default;
                }
                default_node(child, items);
            }
        }
        Value::Number(number) if number.is_f64() => {
            if let Some(whole) = whole(number.as_f64()) {
                *value = whole.into();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Largest magnitude below which every whole double is a whole number of its own.
const EXACT: f64 = 9_007_199_254_740_992.0;

#[expect(
    clippy::cast_possible_truncation,
    reason = "the number is whole and below 2^53"
)]
fn whole(number: Option<f64>) -> Option<i64> {
    let number = number?;
    (number.fract() == 0.0 && number.abs() < EXACT).then_some(number as i64)
}

/// What replaces a null.
fn replacement(node: Option<&Node>) -> Option<Value> {
    node.filter(|node| !node.nullable)?.default.clone()
}

fn default_map(map: &mut Map<String, Value>, node: &Node) {
    if node.defaults_below {
        insert_defaults(map, node);
    }
    map.retain(|name, child| {
        !(child.is_null() && node.child(name).is_some_and(|below| !below.nullable))
    });
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
    if let Additional::Schema(below) = &node.additional {
        for (name, child) in map.iter_mut() {
            if child.is_null()
                && !node.properties.contains_key(name)
                && let Some(default) = replacement(Some(below))
            {
                *child = default;
            }
        }
    }
}
