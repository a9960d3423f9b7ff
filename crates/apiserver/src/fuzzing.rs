//! Entry points for fuzzers (`fuzz/` beside this crate's manifest) and for the bounded run of
//! `tests/suite/fuzz.rs`: bytes in, nothing out. Whatever the bytes are, nothing may panic and
//! nothing may take long.
//!
//! Where an entry needs several texts, a NUL byte divides them.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::request::go_json::syntax_problem;
use crate::request::selector::LabelSelector;
use crate::schema::{self, Structural, builtin};
use crate::table::json_path::JsonPath;
use crate::{apply, patch};

/// The parts of the input.
fn parts(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    data.split(|byte| *byte == 0)
}

fn json_or_null(data: Option<&[u8]>) -> Value {
    data.and_then(|data| serde_json::from_slice(data).ok())
        .unwrap_or_default()
}

/// An object, then a patch: every kind of patch is carried out on it, as a pod and as it is.
pub fn patches(data: &[u8]) {
    let mut parts = parts(data);
    let live = json_or_null(parts.next());
    let change = json_or_null(parts.next());
    let Some(pod) = builtin::schema("", "v1", "Pod") else {
        return;
    };
    let _ = patch::json(&live, &change);
    let _ = patch::merge(&live, &change);
    let _ = patch::strategic(&live, &change, &pod);
    let now = Timestamp::UNIX_EPOCH;
    let _ = apply::apply(Some(&live), &change, "fuzz", true, &pod, now, "");
    let _ = apply::apply(None, &change, "fuzz", false, &pod, now, "status");
    let mut new = change;
    apply::track_update(Some(&live), &mut new, "fuzz", &pod, now, "");
}

/// A label selector, then a column's path, then an object that both are about.
pub fn selectors(data: &[u8]) {
    let mut parts = parts(data);
    let mut text = || String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let (selector, path) = (text(), text());
    let object = json_or_null(parts.next());
    if let Ok(selector) = LabelSelector::parse(&selector) {
        selector.matches(|key| object.get(key).and_then(Value::as_str));
    }
    if let Some(path) = JsonPath::parse(&path) {
        let _ = path.find(&object);
    }
}

/// A schema, then an object: parsed, pruned, defaulted and validated.
pub fn schemas(data: &[u8]) {
    let mut parts = parts(data);
    let written = json_or_null(parts.next());
    let mut object = json_or_null(parts.next());
    if let Ok(structural) = Structural::parse(&written) {
        schema::prune(&mut object, &structural);
        schema::default(&mut object, &structural);
        let _ = schema::validate(&object, None, &structural);
        let _ = schema::validate(&object, Some(&json!({})), &structural);
    }
}

/// A rule, then an object that it is about.
pub fn rules(data: &[u8]) {
    let mut parts = parts(data);
    let rule = String::from_utf8_lossy(parts.next().unwrap_or_default());
    let mut object = json_or_null(parts.next());
    let written = json!({"type": "object", "properties": {"spec": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 9},
            "count": {"type": "integer"},
            "time": {"type": "string", "format": "date-time"},
            "ports": {"type": "array", "maxItems": 5, "items": {"type": "integer"}},
            "labels": {"type": "object", "maxProperties": 5, "additionalProperties": {"type": "string"}},
        },
        "x-kubernetes-validations": [{"rule": rule}],
    }}});
    if let Ok(structural) = Structural::parse(&written) {
        schema::prune(&mut object, &structural);
        let _ = schema::validate(&object, None, &structural);
        let full = json!({"spec": {
            "name": "a", "count": 1, "time": "2026-01-01T00:00:00Z", "ports": [1, 2],
            "labels": {"a": "b"},
        }});
        let _ = schema::validate(&full, Some(&object), &structural);
    }
}

/// A JSON text: what is wrong with it is told exactly when it cannot be parsed.
pub fn texts(data: &[u8]) {
    let parsed: Result<Value, _> = serde_json::from_slice(data);
    if parsed.is_ok() {
        let problem = syntax_problem(data);
        debug_assert!(problem.is_none(), "{problem:?}");
    }
    let _ = syntax_problem(data);
}
