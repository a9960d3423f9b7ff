//! A set of fields of one object, as managed fields name them.
//!
//! A trie over path elements in their written form: `f:NAME` for a field or map key,
//! `k:{"KEY":VALUE}` for an entry of a list of type `map`, `v:VALUE` for one of type `set`, `i:N` for
//! a position. Invariant: every entry is a member or has members below.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;
use std::fmt;

use serde_json::{Map, Value};

use crate::schema::field_error::quote;
use crate::schema::structural::Node;

/// A set of fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    entries: BTreeMap<String, Entry>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Entry {
    member: bool,
    below: FieldSet,
}

impl FieldSet {
    /// Whether nothing is in the set.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Count of members.
    pub fn len(&self) -> usize {
        self.entries
            .values()
            .map(|entry| usize::from(entry.member) + entry.below.len())
            .sum()
    }

    /// Puts a direct member into the set.
    pub(crate) fn insert(&mut self, element: String) {
        self.entries.entry(element).or_default().member = true;
    }

    /// Puts a member and a set below it into the set; nothing when both are empty.
    pub(crate) fn insert_below(&mut self, element: String, member: bool, below: FieldSet) {
        if !member && below.is_empty() {
            return;
        }
        match self.entries.entry(element) {
            Slot::Vacant(slot) => {
                slot.insert(Entry { member, below });
            }
            Slot::Occupied(mut slot) => {
                let entry = slot.get_mut();
                entry.member |= member;
                entry.below.absorb(below);
            }
        }
    }

    /// Puts a path of elements into the set.
    pub(crate) fn insert_path(&mut self, path: &[&str]) {
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        let entry = self.entries.entry((*first).to_owned()).or_default();
        if rest.is_empty() {
            entry.member = true;
        } else {
            entry.below.insert_path(rest);
        }
    }

    /// Whether the element is a direct member.
    pub(crate) fn has(&self, element: &str) -> bool {
        self.entries.get(element).is_some_and(|entry| entry.member)
    }

    /// What lies below an element.
    pub(crate) fn below(&self, element: &str) -> Option<&FieldSet> {
        let below = &self.entries.get(element)?.below;
        (!below.is_empty()).then_some(below)
    }

    /// Adds everything of another set.
    pub(crate) fn absorb(&mut self, other: FieldSet) {
        for (element, entry) in other.entries {
            self.insert_below(element, entry.member, entry.below);
        }
    }

    /// Both sets together.
    #[must_use]
    pub fn union(&self, other: &FieldSet) -> FieldSet {
        let mut out = self.clone();
        out.absorb(other.clone());
        out
    }

    /// What is in this set but not in the other; what lies below a member of the other stays.
    #[must_use]
    pub fn difference(&self, other: &FieldSet) -> FieldSet {
        self.without(other, false)
    }

    /// What is in this set and not at or below a member of the other.
    #[must_use]
    pub fn recursive_difference(&self, other: &FieldSet) -> FieldSet {
        self.without(other, true)
    }

    fn without(&self, other: &FieldSet, recursive: bool) -> FieldSet {
        if other.is_empty() {
            return self.clone();
        }
        let mut out = FieldSet::default();
        for (element, entry) in &self.entries {
            match other.entries.get(element) {
                None => {
                    out.entries.insert(element.clone(), entry.clone());
                }
                Some(theirs) if recursive && theirs.member => {}
                Some(theirs) => {
                    let below = entry.below.without(&theirs.below, recursive);
                    out.insert_below(element.clone(), entry.member && !theirs.member, below);
                }
            }
        }
        out
    }

    /// What is in both sets.
    #[must_use]
    pub fn intersection(&self, other: &FieldSet) -> FieldSet {
        let mut out = FieldSet::default();
        for (element, entry) in &self.entries {
            if let Some(theirs) = other.entries.get(element) {
                let below = entry.below.intersection(&theirs.below);
                out.insert_below(element.clone(), entry.member && theirs.member, below);
            }
        }
        out
    }

    /// The set with every named property on the way to a member as a member itself, so that
    /// removing the set removes emptied objects, too.
    #[must_use]
    pub(crate) fn with_named_fields(&self, node: Option<&Node>) -> FieldSet {
        let mut out = FieldSet::default();
        for (element, entry) in &self.entries {
            let field = element.strip_prefix("f:");
            let named = field.is_some_and(|f| node.is_some_and(|n| n.properties.contains_key(f)));
            let below_node = match field {
                Some(field) => node.and_then(|node| node.child(field)),
                None => node.and_then(|node| node.items.as_deref()),
            };
            let below = entry.below.with_named_fields(below_node);
            let member = entry.member || (named && !entry.below.is_empty());
            out.insert_below(element.clone(), member, below);
        }
        out
    }

    /// Whether a set in its `fieldsV1` form has a member in common with this one. Its elements must
    /// be in their one written form, as those are that were written here.
    pub(crate) fn meets(&self, json: &Value) -> bool {
        self.entries.iter().any(|(element, entry)| {
            let Some(below) = json.get(element) else {
                return false;
            };
            let fields = below.as_object();
            let is_member =
                fields.is_none_or(|fields| fields.is_empty() || fields.contains_key("."));
            (entry.member && is_member) || entry.below.meets(below)
        })
    }

    /// Whether a path is a member.
    pub(crate) fn covers(&self, path: &FieldPath) -> bool {
        let Some((last, parents)) = path.0.split_last() else {
            return false;
        };
        let mut set = self;
        for element in parents {
            match set.entries.get(element) {
                Some(entry) => set = &entry.below,
                None => return false,
            }
        }
        set.has(last)
    }

    /// Every member as a path, in the order of managed fields.
    pub fn paths(&self) -> Vec<FieldPath> {
        let mut out = Vec::new();
        self.collect(&mut Vec::new(), &mut out);
        out
    }

    fn collect(&self, prefix: &mut Vec<String>, out: &mut Vec<FieldPath>) {
        // Members of one level come before what lies below any of them.
        for (element, entry) in &self.entries {
            if entry.member {
                prefix.push(element.clone());
                out.push(FieldPath(prefix.clone()));
                prefix.pop();
            }
        }
        for (element, entry) in &self.entries {
            if !entry.below.is_empty() {
                prefix.push(element.clone());
                entry.below.collect(prefix, out);
                prefix.pop();
            }
        }
    }

    /// The `fieldsV1` form.
    pub fn to_json(&self) -> Value {
        let mut out = Map::new();
        for (element, entry) in &self.entries {
            let mut below = match entry.below.to_json() {
                Value::Object(map) => map,
                _ => Map::new(),
            };
            if entry.member && !below.is_empty() {
                below.insert(".".to_owned(), Value::Object(Map::new()));
            }
            out.insert(element.clone(), Value::Object(below));
        }
        Value::Object(out)
    }

    /// Reads the `fieldsV1` form.
    ///
    /// # Errors
    /// A key that isn't a path element, or a value that isn't an object.
    pub fn from_json(json: &Value) -> Result<Self, String> {
        let map = json
            .as_object()
            .ok_or_else(|| format!("{json} is not an object of fields"))?;
        let mut out = FieldSet::default();
        for (key, below) in map {
            if key == "." {
                continue;
            }
            let element = normal(key)?;
            let inner = FieldSet::from_json(below)?;
            let member = inner.is_empty() || below.get(".").is_some();
            out.insert_below(element, member, inner);
        }
        Ok(out)
    }
}

/// A path element in its one written form: keys sorted, no spaces.
fn normal(element: &str) -> Result<String, String> {
    let invalid = || format!("invalid field path element {element:?}");
    match element.split_once(':') {
        Some(("f", _)) => Ok(element.to_owned()),
        Some(("i", number)) if number.parse::<u64>().is_ok() => Ok(element.to_owned()),
        Some((kind @ ("k" | "v"), json)) => {
            let value: Value = serde_json::from_str(json).map_err(|_| invalid())?;
            Ok(format!("{kind}:{value}"))
        }
        _ => Err(invalid()),
    }
}

/// The way to one field, printed as Kubernetes prints it: `.spec.ports[port=80].name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath(Vec<String>);

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_path(&self.0, f)
    }
}

/// A path of elements as text.
pub(crate) fn path_text(path: &[String]) -> String {
    FieldPath(path.to_vec()).to_string()
}

fn write_path(path: &[String], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for element in path {
        match element.split_once(':') {
            Some(("f", name)) => write!(f, ".{name}")?,
            Some(("k", json)) => {
                let keys: Map<String, Value> = serde_json::from_str(json).unwrap_or_default();
                let keys: Vec<String> = keys
                    .iter()
                    .map(|(key, value)| format!("{key}={}", shown(value)))
                    .collect();
                write!(f, "[{}]", keys.join(","))?;
            }
            Some(("v", json)) => {
                let value: Value = serde_json::from_str(json).unwrap_or_default();
                write!(f, "[={}]", shown(&value))?;
            }
            Some((_, index)) => write!(f, "[{index}]")?,
            None => f.write_str(element)?,
        }
    }
    Ok(())
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        other => other.to_string(),
    }
}
