//! How a PATCH changes a resource.

use serde_json::Value;

/// Lays `patch` over `target`: objects are merged, null removes, everything else (arrays too)
/// replaces.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let (Value::Object(target), Value::Object(patch)) = (&mut *target, patch) else {
        *target = patch.clone();
        return;
    };
    for (name, value) in patch {
        if value.is_null() {
            target.remove(name);
        } else {
            merge(target.entry(name).or_insert(Value::Null), value);
        }
    }
}

/// Takes a member out of an object at a path, if both are there.
pub(crate) fn take(document: &mut Value, path: &[&str]) -> Option<Value> {
    let (last, parents) = path.split_last()?;
    let parent = parents
        .iter()
        .try_fold(document, |value, name| value.get_mut(name))?;
    parent.as_object_mut()?.remove(*last)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_merge_and_arrays_are_replaced() {
        let mut target = json!({ "a": { "b": 1, "c": [1, 2] }, "d": 1 });
        merge(
            &mut target,
            &json!({ "a": { "c": [3], "e": 2 }, "d": null }),
        );
        assert_eq!(target, json!({ "a": { "b": 1, "c": [3], "e": 2 } }));
    }
}
