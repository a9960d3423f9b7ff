//! Strategic merge patches: merge patches that know which lists have identities.
//!
//! Directives: `$patch: replace|delete|merge`, `$setElementOrder/FIELD`,
//! `$deleteFromPrimitiveList/FIELD`, `$retainKeys`.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::PatchError;
use crate::request::go_json::type_name;
use crate::schema::Structural;
use crate::schema::printed::plain;
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
        return Err(PatchError::Malformed(format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            type_name(patch)
        )));
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
    for (name, order) in patch {
        if let Some(field) = name.strip_prefix(SET_ORDER) {
            let below = node.and_then(|node| node.child(field));
            check_order(field, order, patch, below)?;
        }
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
            && let Some(Value::Array(list)) = live.remove(field)
        {
            let key = node.and_then(|node| node.child(field)).and_then(merge_key);
            let order = order.as_array().map(Vec::as_slice).unwrap_or_default();
            let before = list.clone();
            live.insert(
                field.to_owned(),
                Value::Array(arrange(list, order, &before, key)),
            );
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
            let order = patch
                .get(&format!("{SET_ORDER}{name}"))
                .and_then(Value::as_array);
            let merged = merge_list(ours, entries, order, below)?;
            live.insert(name.to_owned(), Value::Array(merged));
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
    order: Option<&Vec<Value>>,
    node: Option<&Node>,
) -> Result<Vec<Value>, PatchError> {
    let merges = match node.map(|node| &node.patch) {
        Some(PatchStrategy::MergeByKey(_) | PatchStrategy::MergeByKeyRetainKeys(_)) => true,
        Some(PatchStrategy::MergeScalars) => true,
        Some(PatchStrategy::Replace | PatchStrategy::RetainKeys) | None => false,
    };
    if !merges {
        return Ok(patch
            .iter()
            .filter(|entry| !is_directive_only(entry))
            .cloned()
            .collect());
    }
    let key = node.and_then(merge_key);
    let before = live.clone();
    let merged = match key {
        None => unite(live, patch),
        Some(key) => merge_entries(live, patch, key, node.and_then(|n| n.items.as_deref()))?,
    };
    Ok(arrange(
        merged,
        order.map_or(patch, Vec::as_slice),
        &before,
        key,
    ))
}

/// The key by which entries of a list are told apart.
fn merge_key(node: &Node) -> Option<&str> {
    match &node.patch {
        PatchStrategy::MergeByKey(key) | PatchStrategy::MergeByKeyRetainKeys(key) => Some(key),
        PatchStrategy::Replace | PatchStrategy::MergeScalars | PatchStrategy::RetainKeys => None,
    }
}

fn merge_entries(
    live: Vec<Value>,
    patch: &[Value],
    key: &str,
    items: Option<&Node>,
) -> Result<Vec<Value>, PatchError> {
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
    let mut out: Vec<Option<Value>> = live.into_iter().map(Some).collect();
    let mut index: HashMap<String, Vec<usize>> = HashMap::new();
    for (place, entry) in out.iter().enumerate() {
        if let Some(identity) = entry.as_ref().and_then(|entry| identity(entry, Some(key))) {
            index.entry(identity).or_default().push(place);
        }
    }
    for entry in patch {
        let map = entry.as_object().ok_or_else(|| missing_key(entry, key))?;
        let name = map
            .get(key)
            .ok_or_else(|| missing_key(entry, key))?
            .to_string();
        if directive(entry) == Some("delete") {
            for place in index.remove(&name).unwrap_or_default() {
                if let Some(slot) = out.get_mut(place) {
                    *slot = None;
                }
            }
            continue;
        }
        let place = index.get(&name).and_then(|places| places.first()).copied();
        if let Some(slot) = place.and_then(|place| out.get_mut(place)) {
            let known = match slot.take() {
                Some(Value::Object(known)) => known,
                _ => Map::new(),
            };
            *slot = Some(Value::Object(merge_map(known, map, items)?));
        } else {
            index.entry(name).or_default().push(out.len());
            out.push(Some(Value::Object(merge_map(Map::new(), map, items)?)));
        }
    }
    Ok(out.into_iter().flatten().collect())
}

fn directive(entry: &Value) -> Option<&str> {
    entry.get(PATCH)?.as_str()
}

fn is_directive_only(entry: &Value) -> bool {
    directive(entry).is_some() && entry.as_object().is_some_and(|map| map.len() == 1)
}

fn unite(mut live: Vec<Value>, patch: &[Value]) -> Vec<Value> {
    let mut known: HashSet<String> = live.iter().map(Value::to_string).collect();
    live.extend(
        patch
            .iter()
            .filter(|entry| known.insert(entry.to_string()))
            .cloned(),
    );
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

/// What tells an entry from others: its merge key, or itself.
fn identity(entry: &Value, key: Option<&str>) -> Option<String> {
    match key {
        Some(key) => entry.get(key).map(Value::to_string),
        None => Some(entry.to_string()),
    }
}

/// The first place of each entry.
fn places(list: &[Value], key: Option<&str>) -> HashMap<String, usize> {
    let mut out = HashMap::with_capacity(list.len());
    for (place, entry) in list.iter().enumerate() {
        if let Some(identity) = identity(entry, key) {
            out.entry(identity).or_insert(place);
        }
    }
    out
}

/// Puts what `wanted` names into its order; everything else keeps its place relative to its
/// neighbours of before, as far as that order allows.
fn arrange(
    merged: Vec<Value>,
    wanted: &[Value],
    before: &[Value],
    key: Option<&str>,
) -> Vec<Value> {
    let (wanted, before) = (places(wanted, key), places(before, key));
    let place = |places: &HashMap<String, usize>, value: &Value| {
        identity(value, key).and_then(|identity| places.get(&identity).copied())
    };
    let (mut named, mut others): (Vec<Value>, Vec<Value>) = merged
        .into_iter()
        .partition(|value| place(&wanted, value).is_some());
    named.sort_by_cached_key(|value| place(&wanted, value));
    others.sort_by_cached_key(|value| place(&before, value));
    let mut out = Vec::with_capacity(named.len() + others.len());
    let mut others = others.into_iter().peekable();
    for value in named {
        let until = place(&before, &value);
        while let Some(other) = others.next_if(|other| match (place(&before, other), until) {
            (Some(other), Some(until)) => other < until,
            _ => false,
        }) {
            out.push(other);
        }
        out.push(value);
    }
    out.extend(others);
    out
}

/// A patch must list its entries in the order that it asks for.
fn check_order(
    field: &str,
    order: &Value,
    patch: &Map<String, Value>,
    node: Option<&Node>,
) -> Result<(), PatchError> {
    let (Some(order), Some(entries)) =
        (order.as_array(), patch.get(field).and_then(Value::as_array))
    else {
        return Ok(());
    };
    let key = node.and_then(merge_key);
    let same = |one: &Value, other: &Value| match key {
        Some(key) => one.get(key) == other.get(key),
        None => one == other,
    };
    let mut wanted = order.iter();
    let kept = entries.iter().filter(|entry| directive(entry).is_none());
    for entry in kept {
        if !wanted.any(|wanted| same(wanted, entry)) {
            return Err(PatchError::Malformed(format!(
                "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
                plain(&Value::Array(entries.clone())),
                plain(&Value::Array(order.clone())),
            )));
        }
    }
    Ok(())
}

fn missing_key(entry: &Value, key: &str) -> PatchError {
    let entry = plain(entry);
    PatchError::Ambiguous(format!(
        "map: {entry} does not contain declared merge key: {key}"
    ))
}

fn unknown_directive(value: &Value) -> PatchError {
    PatchError::Malformed(format!(
        "Unknown patch directive {value} in map: use replace, delete or merge"
    ))
}
