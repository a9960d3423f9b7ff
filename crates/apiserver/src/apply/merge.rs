//! Lays a configuration over a live object: what the configuration sets wins, everything else
//! stays.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::walk::list_element;
use crate::schema::structural::{ListType, Node};

/// The live value with the configuration's values in it.
pub(super) fn merge(live: &Value, config: &Value, node: Option<&Node>) -> Value {
    match (live, config) {
        (Value::Object(live), Value::Object(config))
            if !node.is_some_and(|node| node.atomic_map) =>
        {
            let mut out = live.clone();
            merge_map(&mut out, config, node);
            Value::Object(out)
        }
        (Value::Array(live), Value::Array(config)) => match node.map(Node::list_type) {
            Some(kind @ (ListType::Set | ListType::Map(_))) => {
                Value::Array(merge_list(live, config, kind, node))
            }
            Some(ListType::Atomic) | None => Value::Array(config.clone()),
        },
        _ => config.clone(),
    }
}

fn merge_map(out: &mut Map<String, Value>, config: &Map<String, Value>, node: Option<&Node>) {
    for (name, theirs) in config {
        let below = node.and_then(|node| node.child(name));
        let merged = match out.get(name) {
            Some(ours) => merge(ours, theirs, below),
            None => theirs.clone(),
        };
        out.insert(name.clone(), merged);
    }
}

/// The entries of both: live-only entries keep their place among the live ones, entries of the
/// configuration come in its order.
fn merge_list(
    live: &[Value],
    config: &[Value],
    kind: &ListType,
    node: Option<&Node>,
) -> Vec<Value> {
    let items = node.and_then(|node| node.items.as_deref());
    let name = |(position, value): (usize, &Value)| list_element(value, kind, items, position);
    let live_names: Vec<String> = live.iter().enumerate().map(name).collect();
    let config_names: Vec<String> = config.iter().enumerate().map(name).collect();
    let in_config: HashSet<&str> = config_names.iter().map(String::as_str).collect();
    let in_live: HashMap<&str, &Value> = live_names.iter().map(String::as_str).zip(live).collect();
    // For each entry of the configuration, the next one from there on that both have.
    let mut next_shared = vec![None; config.len()];
    let mut next = None;
    for (slot, name) in next_shared.iter_mut().zip(&config_names).rev() {
        if in_live.contains_key(name.as_str()) {
            next = Some(name.as_str());
        }
        *slot = next;
    }
    let mut ours = live
        .iter()
        .zip(live_names.iter().map(String::as_str))
        .peekable();
    let mut out = Vec::with_capacity(live.len() + config.len());
    let names = config_names.iter().map(String::as_str);
    for ((theirs, wanted), shared) in config.iter().zip(names).zip(next_shared) {
        // Live-only entries up to the next one that both have come first.
        while let Some((entry, name)) = ours.next_if(|(_, name)| Some(*name) != shared) {
            if !in_config.contains(name) {
                out.push(entry.clone());
            }
        }
        match in_live.get(wanted) {
            Some(entry) => {
                ours.next_if(|(_, name)| *name == wanted);
                out.push(merge(entry, theirs, items));
            }
            None => out.push(theirs.clone()),
        }
    }
    out.extend(
        ours.filter(|(_, name)| !in_config.contains(name))
            .map(|(entry, _)| entry.clone()),
    );
    out
}
