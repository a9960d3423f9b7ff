//! Finds the old value of a new one: what transition rules compare with and what ratcheting lets
//! through.
//!
//! Objects correlate by name, maps and lists of type `map` by key. Sets and atomic lists don't
//! correlate entry by entry.

use std::collections::HashMap;

use serde_json::Value;

use super::structural::Node;

/// The entries of an old list of type `map`, by their keys.
pub(crate) struct ListIndex<'a> {
    entries: HashMap<String, &'a Value>,
}

impl<'a> ListIndex<'a> {
    /// Indexes a list by `keys`, taking defaults of absent keys from the schema of its items.
    pub(crate) fn new(list: &'a [Value], keys: &[String], items: &Node) -> Self {
        let mut entries = HashMap::with_capacity(list.len());
        for entry in list {
            if let Some(key) = list_key(entry, keys, items) {
                entries.entry(key).or_insert(entry);
            }
        }
        Self { entries }
    }

    /// The old entry with the keys of a new one.
    pub(crate) fn find(&self, entry: &Value, keys: &[String], items: &Node) -> Option<&'a Value> {
        self.entries.get(&list_key(entry, keys, items)?).copied()
    }
}

/// The key of a list entry as text; `None` when the entry isn't an object.
pub(crate) fn list_key(entry: &Value, keys: &[String], items: &Node) -> Option<String> {
    let map = entry.as_object()?;
    if let [only] = keys
        && let Some(Value::String(text)) = map.get(only)
    {
        return Some(format!("\"{text}\""));
    }
    let mut out = String::new();
    for key in keys {
        let default = || {
            items
                .properties
                .get(key)
                .and_then(|field| field.default.as_ref())
        };
        match map.get(key).or_else(default) {
            Some(value) => out.push_str(&value.to_string()),
            None => out.push_str("null"),
        }
        out.push(',');
    }
    Some(out)
}
