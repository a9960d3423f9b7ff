//! Walks objects along their schema: which fields an object sets, how two objects differ, what is
//! left without some fields.
//!
//! Objects are walked field by field unless the schema calls them atomic; lists of type `map` and
//! `set` entry by entry, other lists as one value. Values without a schema are walked as maps, with
//! atomic lists.

use serde_json::{Map, Value, json};

use super::field_set::FieldSet;
use crate::schema::structural::{ListType, Node, NodeRef};

/// How a value is walked.
enum Shape<'a> {
    /// As one value.
    Leaf,
    /// Field by field.
    Map(&'a Map<String, Value>),
    /// Entry by entry.
    List(&'a [Value], &'a ListType),
}

fn shape<'a>(value: &'a Value, node: Option<&'a Node>) -> Shape<'a> {
    match value {
        Value::Object(map) if !node.is_some_and(|node| node.atomic_map) => Shape::Map(map),
        Value::Array(list) => match node.map(Node::list_type) {
            Some(list_type @ (ListType::Set | ListType::Map(_))) => Shape::List(list, list_type),
            Some(ListType::Atomic) | None => Shape::Leaf,
        },
        _ => Shape::Leaf,
    }
}

/// The path element of a list entry.
pub(super) fn list_element(
    entry: &Value,
    list_type: &ListType,
    items: Option<&Node>,
    position: usize,
) -> String {
    match (list_type, entry) {
        (ListType::Map(keys), Value::Object(map)) => {
            let mut out = Map::new();
            for key in keys {
                let field = items.and_then(|items| items.properties.get(key));
                let default = || field.and_then(|field| field.default.as_ref());
                if let Some(value) = map.get(key).or_else(default) {
                    out.insert(key.clone(), value.clone());
                }
            }
            if out.is_empty() {
                return format!("i:{position}");
            }
            format!("k:{}", Value::Object(out))
        }
        (ListType::Set, value) => format!("v:{value}"),
        _ => format!("i:{position}"),
    }
}

/// The fields that an object sets.
pub(super) fn fields_of(value: &Value, node: Option<&Node>) -> FieldSet {
    let mut out = FieldSet::default();
    match shape(value, node) {
        Shape::Leaf => {}
        Shape::Map(map) => {
            for (name, child) in map {
                let below = node.and_then(|node| node.child(name));
                let named = node.is_some_and(|node| node.properties.contains_key(name));
                let empty = matches!(child, Value::Object(map) if map.is_empty());
                let leaf = matches!(shape(child, below), Shape::Leaf);
                let member = leaf || empty || !named;
                out.insert_below(format!("f:{name}"), member, fields_of(child, below));
            }
        }
        Shape::List(list, list_type) => {
            let items = node.and_then(|node| node.items.as_deref());
            for (position, child) in list.iter().enumerate() {
                let element = list_element(child, list_type, items, position);
                out.insert_below(element, true, fields_of(child, items));
            }
        }
    }
    out
}

/// How a new object differs from an old one.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    pub(super) added: FieldSet,
    pub(super) modified: FieldSet,
    pub(super) removed: FieldSet,
}

impl Comparison {
    pub(super) fn is_same(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }
}

/// Compares the fields of two objects.
pub(super) fn compare(old: &Value, new: &Value, node: Option<&Node>) -> Comparison {
    let mut out = Comparison::default();
    if old == new {
        return out;
    }
    match (shape(old, node), shape(new, node)) {
        (Shape::Map(old), Shape::Map(new)) => compare_maps(old, new, node, &mut out),
        (Shape::List(old, kind), Shape::List(new, _)) => {
            compare_lists(old, new, kind, node, &mut out);
        }
        _ => {}
    }
    out
}

fn compare_maps(
    old: &Map<String, Value>,
    new: &Map<String, Value>,
    node: Option<&Node>,
    out: &mut Comparison,
) {
    for (name, old_child) in old {
        let below = node.and_then(|node| node.child(name));
        entry(
            format!("f:{name}"),
            Some(old_child),
            new.get(name),
            below,
            out,
        );
    }
    for (name, new_child) in new {
        if old.contains_key(name) {
            continue;
        }
        let below = node.and_then(|node| node.child(name));
        if always_there(name, node) {
            let empty = if new_child.is_array() {
                json!([])
            } else {
                json!({})
            };
            entry(
                format!("f:{name}"),
                Some(&empty),
                Some(new_child),
                below,
                out,
            );
        } else {
            entry(format!("f:{name}"), None, Some(new_child), below, out);
        }
    }
}

/// Whether a field of a built-in type is an object or list that is never absent, so that setting
/// something inside doesn't own the object or list itself.
fn always_there(name: &str, node: Option<&Node>) -> bool {
    const STRUCTS: [&str; 8] = [
        "metadata",
        "names",
        "acceptedNames",
        "spec",
        "status",
        "template",
        "strategy",
        "updateStrategy",
    ];
    let Some(node) = node else { return false };
    if name == "containers" {
        // A pod's containers are the one list of these kinds that is always written.
        return node.properties.contains_key("ephemeralContainers");
    }
    STRUCTS.contains(&name)
        && node.properties.get(name).is_some_and(|child| {
            matches!(child, NodeRef::Shared(_)) && !child.properties.is_empty()
        })
}

fn compare_lists(
    old: &[Value],
    new: &[Value],
    kind: &ListType,
    node: Option<&Node>,
    out: &mut Comparison,
) {
    let items = node.and_then(|node| node.items.as_deref());
    let old: Vec<(String, &Value)> = elements(old, kind, items);
    let new: Vec<(String, &Value)> = elements(new, kind, items);
    let by_element: std::collections::HashMap<&str, &Value> = new
        .iter()
        .map(|(element, value)| (element.as_str(), *value))
        .collect();
    for (element, value) in &old {
        let theirs = by_element.get(element.as_str()).copied();
        entry(element.clone(), Some(value), theirs, items, out);
    }
    let known: std::collections::HashSet<&str> =
        old.iter().map(|(element, _)| element.as_str()).collect();
    for (element, value) in &new {
        if !known.contains(element.as_str()) {
            entry(element.clone(), None, Some(value), items, out);
        }
    }
}

fn elements<'a>(
    list: &'a [Value],
    kind: &ListType,
    items: Option<&Node>,
) -> Vec<(String, &'a Value)> {
    list.iter()
        .enumerate()
        .map(|(position, value)| (list_element(value, kind, items, position), value))
        .collect()
}

/// Compares one field, present on at least one side.
fn entry(
    element: String,
    old: Option<&Value>,
    new: Option<&Value>,
    node: Option<&Node>,
    out: &mut Comparison,
) {
    match (old, new) {
        (Some(old), Some(new)) => {
            if old == new {
                return;
            }
            let leaf = |value| matches!(shape(value, node), Shape::Leaf);
            let empty = |value: &Value| match value {
                Value::Object(map) => map.is_empty(),
                Value::Array(list) => list.is_empty(),
                _ => false,
            };
            if leaf(old) && leaf(new) || (empty(old) && empty(new)) {
                out.modified.insert(element);
            } else if leaf(old) || leaf(new) {
                // The value changed its shape: what was below is gone, what is below is new.
                if !leaf(old) {
                    out.removed
                        .insert_below(element.clone(), false, all_of(old, node));
                }
                if !leaf(new) {
                    out.added
                        .insert_below(element.clone(), false, all_of(new, node));
                }
                out.modified.insert(element);
            } else {
                let below = compare(old, new, node);
                out.added.insert_below(element.clone(), false, below.added);
                out.modified
                    .insert_below(element.clone(), false, below.modified);
                out.removed.insert_below(element, false, below.removed);
            }
        }
        (None, Some(new)) => out.added.insert_below(element, true, all_of(new, node)),
        (Some(old), None) => out.removed.insert_below(element, true, all_of(old, node)),
        (None, None) => {}
    }
}

/// Everything below a value, containers included: what an update that adds or removes it touches.
fn all_of(value: &Value, node: Option<&Node>) -> FieldSet {
    let mut out = FieldSet::default();
    match shape(value, node) {
        Shape::Leaf => {}
        Shape::Map(map) => {
            for (name, child) in map {
                let below = node.and_then(|node| node.child(name));
                out.insert_below(format!("f:{name}"), true, all_of(child, below));
            }
        }
        Shape::List(list, kind) => {
            let items = node.and_then(|node| node.items.as_deref());
            for (position, child) in list.iter().enumerate() {
                let element = list_element(child, kind, items, position);
                out.insert_below(element, true, all_of(child, items));
            }
        }
    }
    out
}

/// Takes the fields of a set out of a value; emptied objects and lists stay.
pub(super) fn remove(value: Value, set: &FieldSet, node: Option<&Node>) -> Value {
    if set.is_empty() || matches!(shape(&value, node), Shape::Leaf) {
        return value;
    }
    match value {
        Value::Object(map) => {
            let mut out = Map::new();
            for (name, child) in map {
                let element = format!("f:{name}");
                if set.has(&element) {
                    continue;
                }
                let child = match set.below(&element) {
                    Some(inner) => remove(child, inner, node.and_then(|node| node.child(&name))),
                    None => child,
                };
                out.insert(name, child);
            }
            Value::Object(out)
        }
        Value::Array(list) => {
            let kind = node.map_or(&ListType::Atomic, Node::list_type);
            let items = node.and_then(|node| node.items.as_deref());
            let mut out = Vec::with_capacity(list.len());
            for (position, child) in list.into_iter().enumerate() {
                let element = list_element(&child, kind, items, position);
                if set.has(&element) {
                    continue;
                }
                out.push(match set.below(&element) {
                    Some(inner) => remove(child, inner, items),
                    None => child,
                });
            }
            Value::Array(out)
        }
        other => other,
    }
}
