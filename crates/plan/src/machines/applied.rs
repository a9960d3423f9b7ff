//! Whether a server-side apply would change anything: an unchanged pool writes nothing.

use serde_json::{Map, Value};

/// Whether `live` is what applying `wanted` as `manager` would make of it: it holds all of
/// `wanted`, and the manager owns no field that `wanted` lacks (such a field would be removed).
///
/// `false` where it cannot be told; applying once more does no harm.
pub fn is_applied(live: &Value, wanted: &Value, manager: &str) -> bool {
    holds(live, wanted) && owned(live, manager).is_some_and(|fields| covers(wanted, fields))
}

/// Everything of `wanted` is in `live`. Entries of lists are looked for wherever they are.
fn holds(live: &Value, wanted: &Value) -> bool {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => wanted
            .iter()
            .all(|(key, value)| live.get(key).is_some_and(|live| holds(live, value))),
        (Value::Array(live), Value::Array(wanted)) => wanted
            .iter()
            .all(|wanted| live.iter().any(|live| holds(live, wanted))),
        (live, wanted) => live == wanted,
    }
}

/// The fields that the manager owns by apply, in the shape of `fieldsV1`.
fn owned<'a>(live: &'a Value, manager: &str) -> Option<&'a Map<String, Value>> {
    let managed = live.pointer("/metadata/managedFields")?.as_array()?;
    let entry = managed.iter().find(|entry| {
        let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
        text("manager") == manager && text("operation") == "Apply" && text("subresource").is_empty()
    })?;
    entry.get("fieldsV1")?.as_object()
}

/// Every owned field is in `wanted`.
fn covers(wanted: &Value, fields: &Map<String, Value>) -> bool {
    fields.iter().all(|(path, below)| {
        let Some((sort, rest)) = path.split_once(':') else {
            return true; // `.`: the place itself
        };
        let child = match sort {
            "f" => wanted.get(rest),
            "k" => serde_json::from_str::<Value>(rest)
                .ok()
                .and_then(|key| wanted.as_array()?.iter().find(|item| holds(item, &key))),
            "v" => serde_json::from_str::<Value>(rest)
                .ok()
                .and_then(|value| wanted.as_array()?.iter().find(|item| **item == value)),
            _ => None,
        };
        match (child, below.as_object()) {
            (Some(child), Some(below)) => covers(child, below),
            (found, _) => found.is_some(),
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::is_applied;

    fn live() -> Value {
        json!({
            "metadata": {
                "labels": { "ours": "1", "theirs": "2" },
                "managedFields": [
                    { "manager": "someone", "operation": "Update", "fieldsV1": {
                        "f:metadata": { "f:labels": { "f:theirs": {} } },
                    } },
                    { "manager": "me", "operation": "Apply", "fieldsV1": {
                        "f:metadata": { "f:labels": { ".": {}, "f:ours": {} } },
                        "f:spec": {
                            "f:deletion": { "f:nodeDrainTimeoutSeconds": {} },
                            "f:taints": { "k:{\"effect\":\"NoSchedule\",\"key\":\"a\"}": {
                                ".": {}, "f:key": {}, "f:effect": {},
                            } },
                        },
                    } },
                ],
            },
            "spec": {
                "deletion": { "nodeDrainTimeoutSeconds": 60, "nodeDeletionTimeoutSeconds": 10 },
                "taints": [
                    { "key": "b", "effect": "NoExecute" },
                    { "key": "a", "effect": "NoSchedule", "propagation": "Always" },
                ],
            },
        })
    }

    fn wanted() -> Value {
        json!({
            "metadata": { "labels": { "ours": "1" } },
            "spec": {
                "deletion": { "nodeDrainTimeoutSeconds": 60 },
                "taints": [{ "key": "a", "effect": "NoSchedule" }],
            },
        })
    }

    #[test]
    fn what_is_applied_already_is_not_applied_again() {
        assert!(is_applied(&live(), &wanted(), "me"));
        assert!(
            !is_applied(&live(), &wanted(), "other"),
            "not applied by this manager"
        );
    }

    #[test]
    fn every_difference_is_seen() {
        let differs = |change: fn(&mut Value)| {
            let mut wanted = wanted();
            change(&mut wanted);
            !is_applied(&live(), &wanted, "me")
        };
        assert!(differs(
            |wanted| wanted["metadata"]["labels"]["new"] = json!("x")
        ));
        assert!(differs(
            |wanted| wanted["metadata"]["labels"]["ours"] = json!("x")
        ));
        assert!(differs(|wanted| wanted["metadata"]["labels"] = json!({})));
        assert!(differs(
            |wanted| wanted["spec"]["deletion"]["nodeDrainTimeoutSeconds"] = json!(5)
        ));
        assert!(differs(|wanted| drop(
            wanted["spec"].as_object_mut().unwrap().remove("deletion")
        )));
        assert!(differs(|wanted| wanted["spec"]["taints"] = json!([])));
        assert!(differs(|wanted| {
            wanted["spec"]["taints"] = json!([{ "key": "c", "effect": "NoSchedule" }]);
        }));
    }
}
