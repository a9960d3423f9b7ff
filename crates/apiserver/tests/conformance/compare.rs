//! What two servers may differ in: identities, times, revisions, the order of managed fields.

use serde_json::Value;

/// Fields whose values are identities, times or revisions.
const OPAQUE: [&str; 10] = [
    "uid",
    "creationTimestamp",
    "resourceVersion",
    "time",
    "deletionTimestamp",
    "lastTransitionTime",
    "storageVersionHash",
    "renewTime",
    "acquireTime",
    "date",
];

/// Replaces what may differ.
pub(crate) fn normalize(value: Value) -> Value {
    let mut value = replace(value);
    if let Some(body) = value.get_mut("body") {
        sort_causes(body);
    }
    value
}

/// A genuine server names several problems in no certain order.
fn sort_causes(body: &mut Value) {
    let causes = body
        .pointer_mut("/details/causes")
        .and_then(Value::as_array_mut);
    let Some(causes) = causes.filter(|causes| causes.len() > 1) else {
        return;
    };
    causes.sort_by_key(Value::to_string);
    body["message"] = "see causes".into();
}

fn replace(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let fields = map
                .into_iter()
                .filter(|(name, _)| !hidden(name))
                .map(|(name, value)| {
                    let value = match value {
                        Value::String(_) if OPAQUE.contains(&name.as_str()) => "*".into(),
                        Value::Array(list) if name == "managedFields" => {
                            let mut list: Vec<Value> = list.into_iter().map(replace).collect();
                            list.sort_by_key(Value::to_string);
                            Value::Array(list)
                        }
                        other => replace(other),
                    };
                    (name, value)
                });
            Value::Object(fields.collect())
        }
        Value::Array(list) => Value::Array(list.into_iter().map(replace).collect()),
        Value::String(text) => Value::String(without_uids(&text)),
        other => other,
    }
}

fn hidden(name: &str) -> bool {
    matches!(name, "selfLink" | "continue")
}

/// Replaces every uid inside a text.
fn without_uids(text: &str) -> String {
    let is_uid = |word: &str| {
        let parts: Vec<usize> = word.split('-').map(str::len).collect();
        parts == [8, 4, 4, 4, 12] && word.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())
    };
    text.split_inclusive(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-')
        .map(|piece| {
            let word = piece.trim_end_matches(|l: char| !l.is_ascii_alphanumeric() && l != '-');
            if is_uid(word) {
                piece.replace(word, "*")
            } else {
                piece.to_owned()
            }
        })
        .collect()
}

/// Also without what one server answers differently each time: numbers in texts, the order of
/// causes.
pub(crate) fn settled(value: &Value) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(name, value)| (name.clone(), settled(value)))
            .collect(),
        Value::Array(list) => {
            let mut list: Vec<Value> = list.iter().map(settled).collect();
            list.sort_by_key(Value::to_string);
            Value::Array(list)
        }
        Value::String(text) => {
            let mut letters: Vec<char> = text.chars().filter(|l| !l.is_ascii_digit()).collect();
            letters.sort_unstable();
            letters.into_iter().collect::<String>().into()
        }
        other => other.clone(),
    }
}

/// Lays `change` over `object`, map by map.
pub(crate) fn overlay(object: &mut Value, change: &Value) {
    match (object, change) {
        (Value::Object(object), Value::Object(change)) => {
            for (name, value) in change {
                overlay(object.entry(name).or_insert(Value::Null), value);
            }
        }
        (object, change) => *object = change.clone(),
    }
}
