//! Writes other than apply that send the managed fields back as they were stored: nearly all of them.
//! Only the entries that the write touches are read and written anew; most it leaves alone.

use jiff::Timestamp;
use serde_json::Value;

use super::field_set::FieldSet;
use super::managed_fields::{MAX_UPDATE_MANAGERS, Managed, Manager, sort};
use super::ownership;
use super::walk::Comparison;
use crate::object::{at, meta_mut, text};

const FIELDS: &str = "managedFields";

fn list(object: &Value) -> &[Value] {
    let list = at(object, &["metadata", FIELDS]).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

/// Whether the managed fields of a new state are those of the old one, and so few that none need
/// be folded together.
pub(super) fn knows(old: &Value, new: &Value) -> bool {
    let known = list(old);
    !known.is_empty() && known.len() < MAX_UPDATE_MANAGERS && known == list(new)
}

/// Moves every changed field to the updating manager. Whether it could: a list with an entry that
/// cannot be read stays as it is.
pub(super) fn track(
    compared: &Comparison,
    new: &mut Value,
    updater: &Manager,
    now: Timestamp,
) -> bool {
    if compared.is_same() {
        return true;
    }
    let sets = [&compared.added, &compared.modified, &compared.removed];
    let is_touched = |entry: &Value| is_by(entry, updater) || meets(entry, &sets);
    let mut managed = Managed::default();
    let mut touched = list(new).iter().filter(|entry| is_touched(entry));
    if touched.any(|entry| managed.add(entry).is_err()) {
        return false;
    }
    ownership::take_over(compared, &mut managed, updater, now);
    managed.tidy();
    let meta = meta_mut(new);
    if let Some(list) = meta.get_mut(FIELDS).and_then(Value::as_array_mut) {
        list.retain(|entry| !is_touched(entry));
        list.extend(managed.entries());
        sort(list);
        if list.is_empty() {
            meta.remove(FIELDS);
        }
    }
    true
}

fn is_by(entry: &Value, updater: &Manager) -> bool {
    text(entry, &["manager"]) == updater.name && text(entry, &["operation"]) == "Update"
}

fn meets(entry: &Value, sets: &[&FieldSet]) -> bool {
    let fields = entry.get("fieldsV1");
    fields.is_some_and(|fields| sets.iter().any(|set| set.meets(fields)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{track_all, track_update, updater_of};
    use super::*;
    use crate::schema::Structural;

    fn schema() -> Structural {
        let port = json!({"type": "object", "required": ["port"], "properties": {
            "port": {"type": "integer"}, "name": {"type": "string"}}});
        Structural::parse(&json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                "size": {"type": "integer"},
                "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                "ports": {"type": "array", "items": port, "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["port"]}}},
            "status": {"type": "object", "additionalProperties": {"type": "string"}}}}))
        .unwrap()
    }

    /// One random change of an object.
    fn change(object: &mut Value, random: &mut fastrand::Rng) {
        let name = ["a", "b", "c"][random.usize(..3)];
        match random.u8(..6) {
            0 => object["spec"]["size"] = random.u8(..3).into(),
            1 => object["spec"]["tags"] = json!(["a", "b", "c"][..random.usize(..4)]),
            2 => object["status"][name] = random.u8(..3).to_string().into(),
            3 => object["metadata"]["labels"][name] = random.u8(..3).to_string().into(),
            4 => {
                if let Some(status) = object["status"].as_object_mut() {
                    status.remove(name);
                }
            }
            _ => {
                let ports = 1..=random.u8(..4);
                let ports =
                    ports.map(|port| json!({"port": port, "name": random.bool().to_string()}));
                object["spec"]["ports"] = ports.collect();
            }
        }
    }

    #[test]
    fn whoever_is_left_alone_would_have_come_back_as_they_were() {
        let schema = schema();
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..50 {
            let mut object = json!({"apiVersion": "v1", "kind": "W", "metadata": {"name": "w"},
                "spec": {"size": 1}, "status": {}});
            let at = |second: i64| Timestamp::from_second(second).unwrap();
            track_update(None, &mut object, "maker", &schema, at(0), "");
            for second in 1..60 {
                let mut new = object.clone();
                for _ in 0..random.u8(..3) {
                    change(&mut new, &mut random);
                }
                let manager = ["maker", "m1", "m2", "m3"][random.usize(..4)];
                let subresource = ["", "status"][random.usize(..2)];
                let updater = updater_of(&new, manager, subresource);
                let mut whole = new.clone();
                track_all(Some(&object), &mut whole, &updater, &schema, at(second));
                assert!(knows(&object, &new));
                track_update(
                    Some(&object),
                    &mut new,
                    manager,
                    &schema,
                    at(second),
                    subresource,
                );
                assert_eq!(new, whole);
                object = new;
            }
        }
    }
}
