//! The smallest merge patch (RFC 7396) that makes one JSON value equal another. Pure.

use serde_json::{Map, Value};

/// The patch from `live` to `wanted`; `None` when they are equal and nothing needs to be written.
///
/// Lists are replaced as a whole. A key of `live` that `wanted` lacks is removed, so the caller
/// must own all of the value it compares.
pub(crate) fn between(live: &Value, wanted: &Value) -> Option<Value> {
    if live == wanted {
        return None;
    }
    let (Value::Object(live), Value::Object(wanted)) = (live, wanted) else {
        return Some(wanted.clone());
    };
    let mut patch = Map::new();
    for (key, value) in wanted {
        match live.get(key) {
            None => {
                patch.insert(key.clone(), value.clone());
            }
            Some(old) => {
                if let Some(change) = between(old, value) {
                    patch.insert(key.clone(), change);
                }
            }
        }
    }
    for key in live.keys().filter(|key| !wanted.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    Some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::between;

    #[test]
    fn equal_values_need_no_patch() {
        let value = json!({"a": [1, {"b": 2}], "c": {}});
        assert_eq!(between(&value, &value), None);
    }

    #[test]
    fn a_patch_holds_only_what_differs() {
        let live = json!({"a": 1, "b": {"c": 2, "d": 3}, "list": [1, 2], "gone": true});
        let wanted = json!({"a": 1, "b": {"c": 4, "d": 3}, "list": [1], "new": "x"});
        assert_eq!(
            between(&live, &wanted),
            Some(json!({"b": {"c": 4}, "list": [1], "gone": null, "new": "x"}))
        );
    }

    #[test]
    fn applying_the_patch_gives_the_wanted_value() {
        let live = json!({"a": {"x": 1}, "b": 2});
        let wanted = json!({"a": {"y": [1]}, "c": null});
        let mut patched = live.clone();
        // A null in the wanted value cannot be expressed by a merge patch: it reads as absent.
        json_merge(&mut patched, &between(&live, &wanted).unwrap());
        assert_eq!(patched, json!({"a": {"y": [1]}}));
    }

    fn json_merge(target: &mut serde_json::Value, patch: &serde_json::Value) {
        let serde_json::Value::Object(patch) = patch else {
            *target = patch.clone();
            return;
        };
        if !target.is_object() {
            *target = json!({});
        }
        let map = target.as_object_mut().unwrap();
        for (key, value) in patch {
            if value.is_null() {
                map.remove(key);
            } else {
                json_merge(map.entry(key.clone()).or_insert(json!(null)), value);
            }
        }
    }
}
