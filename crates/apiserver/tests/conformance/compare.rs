//! What two servers may differ in: identities, times, revisions, the order of managed fields.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

/// Fields whose values are identities, times or revisions.
const OPAQUE: [&str; 12] = [
    "uid",
    "creationTimestamp",
    "resourceVersion",
    "time",
    "deletionTimestamp",
    "lastTransitionTime",
    "lastUpdateTime",
    "storageVersionHash",
    "responseKind",
    "renewTime",
    "acquireTime",
    "date",
];
/// Fields that are left out: pages are opaque, links are history.
const HIDDEN: [&str; 2] = ["selfLink", "continue"];

/// What texts may differ in, and what stands for it: uids, times, revisions, places in a store.
static IN_TEXTS: LazyLock<[(Regex, &str); 15]> = LazyLock::new(|| {
    let pattern = |text: &str| Regex::new(text).expect("a valid pattern");
    [
        (
            pattern("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
            "*",
        ),
        (pattern(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z"), "*"),
        (
            pattern(r#"Invalid value: "\{\\"apiVersion.*\}": "#),
            "Invalid value: OBJECT: ",
        ),
        // Where in a rule its compiler stumbled, and the rule with a mark below that place.
        (pattern("<input>:[0-9]+:[0-9]+: "), "<input>: "),
        (pattern(r"\n \| [^\n]*\n \| [.]*\^"), ""),
        (pattern(r" \| [^|]+ \| [.]*\^"), ""),
        (pattern(r"'\s+ERROR: <input>"), "' ERROR: <input>"),
        (pattern("selfType[0-9]+"), "object"),
        // Go's comparison of two values draws lots which kind of space it writes.
        (pattern("\u{a0}"), " "),
        (pattern("random-[a-z0-9]{5}"), "random-*"),
        (pattern("(Bad[_-]|bad/)[a-z0-9]{5}"), "${1}*"),
        (pattern("in scheme \"[^\"]*\""), "in scheme *"),
        (pattern(r"Key: [^,]+,"), "Key: *,"),
        (
            pattern(r"ResourceVersion in record \([0-9]+\)"),
            "ResourceVersion in record (*)",
        ),
        (
            pattern(r"resource version: [0-9]+( \([0-9]+\)|, current: [0-9]+)"),
            "resource version: *",
        ),
    ]
});

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
                .filter(|(name, _)| !HIDDEN.contains(&name.as_str()))
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
        Value::String(text) => {
            let fill = |text: String, (pattern, stand_in): &(Regex, &str)| {
                pattern.replace_all(&text, *stand_in).into_owned()
            };
            IN_TEXTS.iter().fold(text, fill).into()
        }
        other => other,
    }
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

/// An answer without some fields of metadata.
pub(crate) fn without(value: &Value, fields: &BTreeMap<String, String>) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(name, _)| !fields.contains_key(*name));
            kept.map(|(name, value)| (name.clone(), without(value, fields)))
                .collect()
        }
        Value::Array(list) => list.iter().map(|value| without(value, fields)).collect(),
        other => other.clone(),
    }
}

/// The places where two answers differ, each with both values.
pub(crate) fn places(at: &str, ours: &Value, genuine: &Value) -> Vec<String> {
    let none = Value::Null;
    match (ours, genuine) {
        _ if ours == genuine => Vec::new(),
        (Value::Object(one), Value::Object(other)) => {
            let extra = other.keys().filter(|name| !one.contains_key(*name));
            let names = one.keys().chain(extra);
            let place = |name: &String| {
                let (ours, theirs) = (
                    one.get(name).unwrap_or(&none),
                    other.get(name).unwrap_or(&none),
                );
                if ours == theirs && one.contains_key(name) != other.contains_key(name) {
                    return vec![format!("{at}/{name}: null on one side only")];
                }
                places(&format!("{at}/{name}"), ours, theirs)
            };
            names.flat_map(place).collect()
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let pairs = one.iter().zip(other).enumerate();
            pairs
                .flat_map(|(index, (ours, theirs))| places(&format!("{at}/{index}"), ours, theirs))
                .collect()
        }
        _ => vec![format!("{at}\n    ours:    {ours}\n    genuine: {genuine}")],
    }
}
