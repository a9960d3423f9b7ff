//! What changed between two states of an object, and which part of a write counts.

use serde_json::{Map, Value, json};

use crate::handlers::grace;
use crate::object::{self, at, child_mut, meta_mut};
use crate::registry::{Behaviour, Kind};

pub(super) fn remove(object: &mut Value, field: &str) {
    if let Some(map) = object.as_object_mut() {
        map.remove(field);
    }
}

pub(super) fn copy_field(from: &Value, to: &mut Value, field: &str) {
    match from.get(field) {
        Some(value) => to[field] = value.clone(),
        None => remove(to, field),
    }
}

pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

/// The old object with only the part that the subresource is about.
pub(super) fn only_subresource(
    behaviour: Behaviour,
    subresource: &str,
    old: &Value,
    new: Value,
) -> Value {
    let of_status = !matches!(
        (behaviour, subresource),
        (Behaviour::Namespace, "finalize")
            | (Behaviour::CertificateSigningRequest, "approval")
            | (Behaviour::Pod, "binding")
    );
    if of_status {
        return only_status(behaviour, old, new);
    }
    let mut kept = old.clone();
    match (behaviour, subresource) {
        (Behaviour::Namespace, "finalize") => {
            let finalizers = at(&new, &["spec", "finalizers"]).filter(|list| !is_empty(list));
            let spec = child_mut(&mut kept, "spec");
            match finalizers {
                Some(finalizers) => spec.insert("finalizers".into(), finalizers.clone()),
                None => spec.remove("finalizers"),
            };
        }
        (Behaviour::CertificateSigningRequest, "approval") => {
            let conditions = at(&new, &["status", "conditions"])
                .cloned()
                .unwrap_or(json!([]));
            child_mut(&mut kept, "status").insert("conditions".into(), conditions);
        }
        _ => {
            let node = at(&new, &["spec", "nodeName"]).cloned();
            child_mut(&mut kept, "spec").insert("nodeName".into(), node.unwrap_or_default());
            copy_field(&new, &mut kept, "status");
        }
    }
    if let Some(fields) = at(&new, &["metadata", "managedFields"]) {
        meta_mut(&mut kept).insert("managedFields".into(), fields.clone());
    }
    kept
}

/// The old object with the new status. Most of what was sent is as it was: only what is not is
/// copied.
fn only_status(behaviour: Behaviour, old: &Value, mut new: Value) -> Value {
    // A kubelet labels its node along with the status; custom kinds have no such way.
    let fixed = matches!(
        behaviour,
        Behaviour::Custom | Behaviour::CustomResourceDefinition
    );
    restore(old, &mut new, |field| {
        matches!(field, "status" | "metadata")
    });
    if fixed {
        let empty = json!({});
        let before = old.get("metadata").unwrap_or(&empty);
        let tracked = at(&new, &["metadata", "managedFields"]).is_some();
        let meta = child_mut(&mut new, "metadata");
        restore_map(before, meta, |field| tracked && field == "managedFields");
    }
    new
}

/// Makes all fields of an object what they were, but for those that stay as they are.
fn restore(old: &Value, new: &mut Value, stays: impl Fn(&str) -> bool) {
    if let Some(new) = new.as_object_mut() {
        restore_map(old, new, stays);
    }
}

fn restore_map(old: &Value, new: &mut Map<String, Value>, stays: impl Fn(&str) -> bool) {
    new.retain(|field, _| stays(field) || old.get(field).is_some());
    let fields = old.as_object().into_iter().flatten();
    for (field, before) in fields.filter(|(field, _)| !stays(field)) {
        if new.get(field) != Some(before) {
            new.insert(field.clone(), before.clone());
        }
    }
}

/// Whether something changed that counts as a new generation.
pub(super) fn differs(kind: &Kind, old: &Value, new: &Value, has_status: bool) -> bool {
    if !kind.is_custom() {
        let changed = |field: &str| old.get(field) != new.get(field);
        return changed("spec") || changed("webhooks");
    }
    let counts = |field: &str| match field {
        "metadata" | "apiVersion" | "kind" => false,
        "status" => !has_status,
        _ => true,
    };
    let all = |map: &Map<String, Value>| map.keys().filter(|field| counts(field)).count();
    match (old.as_object(), new.as_object()) {
        (Some(old), Some(new)) => {
            let mut counted = old.iter().filter(|(field, _)| counts(field));
            all(old) != all(new) || !counted.all(|(field, value)| new.get(field) == Some(value))
        }
        (old, new) => old != new,
    }
}

/// Whether two states are the same but for the times of their managed fields.
pub(super) fn same(old: &Value, new: &Value) -> bool {
    const FIELDS: &str = "managedFields";
    if old == new {
        return true;
    }
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else {
        return false;
    };
    // Most changes show outside the metadata, where comparing needs no copy.
    if !equal_but(old, new, "metadata") {
        return false;
    }
    let meta = |object: &Map<String, Value>| object.get("metadata").cloned().unwrap_or_default();
    let (mut old, mut new) = (meta(old), meta(new));
    let timeless = |meta: &mut Value| {
        let fields = meta.get_mut(FIELDS).and_then(Value::as_array_mut);
        for entry in fields.into_iter().flatten() {
            remove(entry, "time");
        }
    };
    timeless(&mut old);
    timeless(&mut new);
    old == new
}

/// Whether two maps are equal but for one field.
fn equal_but(one: &Map<String, Value>, other: &Map<String, Value>, field: &str) -> bool {
    let others = |map: &Map<String, Value>| map.len() - usize::from(map.contains_key(field));
    others(one) == others(other)
        && one
            .iter()
            .all(|(name, value)| name == field || other.get(name) == Some(value))
}

/// Whether nothing holds an object that is being deleted.
pub(crate) fn is_gone(behaviour: Behaviour, object: &Value) -> bool {
    object::is_deleting(object)
        && object::finalizers(object).is_empty()
        && !grace::is_stopping(behaviour, object)
        && (behaviour != Behaviour::Namespace
            || at(object, &["spec", "finalizers"]).is_none_or(is_empty))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_all_that_a_write_of_it_changes() {
        let old = json!({
            "kind": "W", "spec": {"n": 1}, "kept": 1, "status": {"phase": "A"},
            "metadata": {"name": "w", "labels": {"a": "1"}, "managedFields": [1]},
        });
        let sent = json!({
            "kind": "W", "spec": {"n": 2}, "new": 1, "status": {"phase": "B"},
            "metadata": {"name": "w", "labels": {"a": "2"}, "annotations": {}, "managedFields": [2]},
        });
        let mut wanted = old.clone();
        wanted["status"] = sent["status"].clone();
        wanted["metadata"]["managedFields"] = json!([2]);
        let custom = only_subresource(Behaviour::Custom, "status", &old, sent.clone());
        assert_eq!(custom, wanted);
        wanted["metadata"] = sent["metadata"].clone();
        let node = only_subresource(Behaviour::Node, "status", &old, sent.clone());
        assert_eq!(node, wanted);
        let mut bare = sent;
        bare["metadata"] = json!({"name": "w"});
        remove(&mut bare, "status");
        let custom = only_subresource(Behaviour::Custom, "status", &old, bare);
        let mut wanted = old.clone();
        remove(&mut wanted, "status");
        assert_eq!(custom, wanted);
    }
}
