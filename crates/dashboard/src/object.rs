//! Reads Kubernetes objects as JSON. A field that is missing, or of another shape than expected,
//! is absent: one odd object must not take a page away.

use jiff::Timestamp;
use serde_json::Value;

/// A text field that is there and not empty.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty())
}

/// A whole number.
pub(crate) fn int(object: &Value, pointer: &str) -> Option<i64> {
    object.pointer(pointer).and_then(Value::as_i64)
}

/// A point in time.
pub(crate) fn time(object: &Value, pointer: &str) -> Option<Timestamp> {
    text(object, pointer)?.parse().ok()
}

/// A list; empty when it is absent.
pub(crate) fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// `metadata.name`, or nothing.
pub(crate) fn name(object: &Value) -> &str {
    text(object, "/metadata/name").unwrap_or_default()
}

/// `metadata.namespace`, or nothing.
pub(crate) fn namespace(object: &Value) -> &str {
    text(object, "/metadata/namespace").unwrap_or_default()
}

/// `metadata.uid`.
pub(crate) fn uid(object: &Value) -> Option<&str> {
    text(object, "/metadata/uid")
}

/// An annotation, the empty one included.
pub(crate) fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.pointer("/metadata/annotations")?.get(key)?.as_str()
}

/// A label.
pub(crate) fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.pointer("/metadata/labels")?.get(key)?.as_str()
}

/// Whether the object is on its way out.
pub(crate) fn is_deleting(object: &Value) -> bool {
    text(object, "/metadata/deletionTimestamp").is_some()
}

/// One condition, as far as it says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Condition<'a> {
    pub(crate) kind: &'a str,
    pub(crate) status: &'a str,
    pub(crate) reason: &'a str,
    pub(crate) message: &'a str,
    pub(crate) since: Option<Timestamp>,
}

impl Condition<'_> {
    pub(crate) fn holds(&self) -> bool {
        self.status == "True"
    }

    pub(crate) fn fails(&self) -> bool {
        self.status == "False"
    }
}

/// Every condition, in the order in which they are written.
pub(crate) fn conditions(object: &Value) -> impl Iterator<Item = Condition<'_>> {
    list(object, "/status/conditions").iter().filter_map(|one| {
        Some(Condition {
            kind: text(one, "/type")?,
            status: text(one, "/status").unwrap_or("Unknown"),
            reason: text(one, "/reason").unwrap_or_default(),
            message: text(one, "/message").unwrap_or_default(),
            since: time(one, "/lastTransitionTime"),
        })
    })
}

/// One condition by its type.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> Option<Condition<'a>> {
    conditions(object).find(|condition| condition.kind == kind)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_of_another_shape_are_absent() {
        let odd = json!({
            "metadata": { "name": 7, "annotations": [], "labels": "no" },
            "status": { "replicas": "three", "conditions": { "type": "Ready" } },
        });
        assert_eq!(name(&odd), "");
        assert_eq!(annotation(&odd, "a"), None);
        assert_eq!(label(&odd, "a"), None);
        assert_eq!(int(&odd, "/status/replicas"), None);
        assert_eq!(conditions(&odd).count(), 0);
        assert_eq!(name(&Value::Null), "");
    }

    #[test]
    fn a_condition_without_a_type_is_passed_by() {
        let object = json!({ "status": { "conditions": [
            { "status": "True" }, "text", { "type": "Ready" },
        ] } });
        let found: Vec<_> = conditions(&object).collect();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].status, "Unknown");
        assert_eq!(found[0].since, None);
    }
}
