//! Strategic merge patches: merge patches that know which lists have identities.
//!
//! Directives: `$patch: replace|delete|merge`, `$setElementOrder/FIELD`,
//! `$deleteFromPrimitiveList/FIELD`, `$retainKeys`.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::PatchError;
use crate::schema::Structural;
use crate::schema::structural::{Node, PatchStrategy};

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ORDER: &str = "$setElementOrder/";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";

/// Carries out a strategic merge patch.
///
/// # Errors
/// [`PatchError::Malformed`] for an unknown directive or a list entry without its merge key.
pub fn strategic(live: &Value, patch: &Value, schema: &Structural) -> Result<Value, PatchError> {
    let (Some(live), Some(patch)) = (live.as_object(), patch.as_object()) else {
        let message = "the strategic merge patch must be an object".to_owned();
        return Err(PatchError::Malformed(message));
    };
    Ok(Value::Object(merge_map(
        live.clone(),
        patch,
        Some(schema.root()),
    )?))
}

fn merge_map(
    mut live: Map<String, Value>,
    patch: &Map<String, Value>,
    node: Option<&Node>,
) -> Result<Map<String, Value>, PatchError> {
    match patch.get(PATCH) {
        None => {}
        Some(Value::String(directive)) if directive == "replace" => {
            let rest = patch.iter().filter(|(name, _)| *name != PATCH);
            return Ok(rest
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect());
        }
        Some(Value::String(directive)) if directive == "delete" => return Ok(Map::new()),
        Some(Value::String(directive)) if directive == "merge" => {}
        Some(other) => return Err(unknown_directive(other)),
    }
    if let Some(keep) = patch.get(RETAIN_KEYS) {
        retain_keys(&mut live, patch, keep)?;
    }
    for (name, theirs) in patch {
        if name == PATCH || name == RETAIN_KEYS || name.starts_with(SET_ORDER) {
            continue;
        }
        if let Some(field) = name.strip_prefix(DELETE_FROM) {
            delete_scalars(&mut live, field, theirs);
            continue;
        }
        merge_field(&mut live, name, theirs, patch, node)?;
    }
    for (name, order) in patch {
        if let Some(field) = name.strip_prefix(SET_ORDER)
            && !patch.contains_key(field)
        {
            let below = node.and_then(|node| node.child(field));
            order_list(&mut live, field, order, below);
        }
    }
    Ok(live)
}

fn merge_field(
    live: &mut Map<String, Value>,
    name: &str,
    theirs: &Value,
    patch: &Map<String, Value>,
    node: Option<&Node>,
) -> Result<(), PatchError> {
    let below = node.and_then(|node| node.child(name));
    match theirs {
        Value::Null => {
            live.remove(name);
        }
        Value::Object(inner) => {
            let ours = match live.remove(name) {
                Some(Value::Object(map)) => map,
                _ => Map::new(),
            };
            let merged = merge_map(ours, inner, below)?;
            let deleted = inner.get(PATCH).and_then(Value::as_str) == Some("delete");
            if !deleted {
                live.insert(name.to_owned(), Value::Object(merged));
            }
        }
        Value::Array(entries) => {
            let ours = match live.remove(name) {
                Some(Value::Array(list)) => list,
                _ => Vec::new(),
            };
            let merged = merge_list(ours, entries, below)?;
            live.insert(name.to_owned(), Value::Array(merged));
            if let Some(order) = patch.get(&format!("{SET_ORDER}{name}")) {
                order_list(live, name, order, below);
            }
        }
        other => {
            live.insert(name.to_owned(), other.clone());
        }
    }
    Ok(())
}

fn merge_list(
    live: Vec<Value>,
    patch: &[Value],
    node: Option<&Node>,
) -> Result<Vec<Value>, PatchError> {
    let key = match node.map(|node| &node.patch) {
        Some(PatchStrategy::MergeByKey(key) | PatchStrategy::MergeByKeyRetainKeys(key)) => key,
        Some(PatchStrategy::MergeScalars) => return Ok(unite(live, patch)),
        Some(PatchStrategy::Replace | PatchStrategy::RetainKeys) | None => {
            return Ok(patch
                .iter()
                .filter(|entry| !is_directive_only(entry))
                .cloned()
                .collect());
        }
    };
    let items = node.and_then(|node| node.items.as_deref());
    let replaces = |entry: &&Value| directive(entry) == Some("replace");
    if patch
        .iter()
        .any(|entry| replaces(&entry) && entry.get(key).is_none())
    {
        let rest = patch.iter().filter(|entry| !replaces(entry));
        return Ok(rest
            .filter(|entry| directive(entry) != Some("delete"))
            .cloned()
            .collect());
    }
    let mut out = live;
    for entry in patch {
        let map = entry.as_object().ok_or_else(|| missing_key(entry, key))?;
        let identity = map.get(key).ok_or_else(|| missing_key(entry, key))?;
        let place = out.iter().position(|ours| ours.get(key) == Some(identity));
        if directive(entry) == Some("delete") {
            out.retain(|ours| ours.get(key) != Some(identity));
            continue;
        }
        match place.and_then(|place| out.get_mut(place)) {
            Some(ours) => {
                let known = ours.as_object().cloned().unwrap_or_default();
                *ours = Value::Object(merge_map(known, map, items)?);
            }
            None => out.push(Value::Object(merge_map(Map::new(), map, items)?)),
        }
    }
    Ok(out)
}

fn directive(entry: &Value) -> Option<&str> {
    entry.get(PATCH)?.as_str()
}

fn is_directive_only(entry: &Value) -> bool {
    directive(entry).is_some() && entry.as_object().is_some_and(|map| map.len() == 1)
}

fn unite(mut live: Vec<Value>, patch: &[Value]) -> Vec<Value> {
    for entry in patch {
        if !live.contains(entry) {
            live.push(entry.clone());
        }
    }
    live
}

fn delete_scalars(live: &mut Map<String, Value>, field: &str, gone: &Value) {
    let gone = gone.as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(list) = live.get_mut(field).and_then(Value::as_array_mut) {
        list.retain(|entry| !gone.contains(entry));
    }
}

fn retain_keys(
    live: &mut Map<String, Value>,
    patch: &Map<String, Value>,
    keep: &Value,
) -> Result<(), PatchError> {
    let keep: HashSet<&str> = keep
        .as_array()
        .map(|list| list.iter().filter_map(Value::as_str).collect())
        .ok_or_else(|| PatchError::Malformed("invalid patch format of retainKeys".to_owned()))?;
    let outside = patch.iter().find(|(name, value)| {
        !name.starts_with('$') && !value.is_null() && !keep.contains(name.as_str())
    });
    if let Some((name, _)) = outside {
        return Err(PatchError::Malformed(format!(
            "patch has field {name:?}, which its $retainKeys list doesn't name: add it to the list"
        )));
    }
    live.retain(|name, _| keep.contains(name.as_str()));
    Ok(())
}

/// Orders a list as the patch asks; entries that the order doesn't name keep their places relative
/// to their neighbours.
fn order_list(live: &mut Map<String, Value>, field: &str, order: &Value, node: Option<&Node>) {
    let Some(order) = order.as_array() else {
        return;
    };
    let Some(list) = live.get_mut(field).and_then(Value::as_array_mut) else {
        return;
    };
    let key = match node.map(|node| &node.patch) {
        Some(PatchStrategy::MergeByKey(key) | PatchStrategy::MergeByKeyRetainKeys(key)) => {
            Some(key.as_str())
        }
        _ => None,
    };
    let identity = |value: &Value| match key {
        Some(key) => value.get(key).cloned().unwrap_or(Value::Null),
        None => value.clone(),
    };
    let place = |value: &Value| {
        let wanted = identity(value);
        order.iter().position(|entry| identity(entry) == wanted)
    };
    let mut named: Vec<Value> = Vec::new();
    let mut out: Vec<Value> = Vec::with_capacity(list.len());
    let mut pending: Vec<(usize, Value)> = Vec::new();
    for value in list.drain(..) {
        if place(&value).is_some() {
            named.push(value);
        } else {
            pending.push((named.len(), value));
        }
    }
    named.sort_by_key(|value| place(value));
    let mut pending = pending.into_iter().peekable();
    for (index, value) in named.into_iter().enumerate() {
        while let Some((_, extra)) = pending.next_if(|(before, _)| *before <= index) {
            out.push(extra);
        }
        out.push(value);
    }
    out.extend(pending.map(|(_, extra)| extra));
    *list = out;
}

fn missing_key(entry: &Value, key: &str) -> PatchError {
    PatchError::Malformed(format!(
        "map: {entry} does not contain declared merge key: {key}"
    ))
}

fn unknown_directive(value: &Value) -> PatchError {
    PatchError::Malformed(format!(
        "Unknown patch directive {value} in map: use replace, delete or merge"
    ))
}
