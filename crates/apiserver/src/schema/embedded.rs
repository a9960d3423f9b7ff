//! Embedded resources: objects inside of objects, whose type and metadata follow the rules of all.
//!
//! In: an object and its schema. Out: one error for each thing that is wrong with a resource below.

use serde_json::Value;

use super::field_error::FieldError;
use super::path::Path;
use super::structural::Node;
use crate::metadata::{label_key_problems, label_value_problem, path_segment_problem};

/// Reports what is wrong with embedded resources.
pub(crate) fn check(value: &Value, node: &Node, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(map) => {
            if node.embedded_resource {
                resource(value, path, errors);
            }
            for (name, child) in map {
                let Some(below) = node.child(name) else {
                    continue;
                };
                let at = if node.properties.contains_key(name) {
                    path.field(name)
                } else {
                    path.key(name)
                };
                check(child, below, &at, errors);
            }
        }
        Value::Array(list) => {
            let Some(items) = &node.items else { return };
            for (index, child) in list.iter().enumerate() {
                check(child, items, &path.index(index), errors);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn resource(object: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let mut wrong = |field: &str, value: &str, why: String| {
        errors.push(FieldError::invalid(
            format!("{path}.{field}"),
            value.into(),
            why,
        ));
    };
    let version = crate::object::text(object, &["apiVersion"]);
    if version.matches('/').count() > 1 {
        let why = format!("unexpected GroupVersion string: {version}");
        wrong("apiVersion", version, why);
    }
    let name = crate::object::name(object);
    if let Some(why) = path_segment_problem(name) {
        wrong("metadata.name", name, why);
    }
    let map = |field: &str| {
        let map = crate::object::at(object, &["metadata", field]).and_then(Value::as_object);
        map.into_iter().flatten()
    };
    for (key, value) in map("labels") {
        for why in label_key_problems(key) {
            wrong("metadata.labels", key, why);
        }
        let value = value.as_str().unwrap_or_default();
        if let Some(why) = label_value_problem(value) {
            wrong("metadata.labels", value, why);
        }
    }
    for (key, _) in map("annotations") {
        for why in label_key_problems(&key.to_ascii_lowercase()) {
            wrong("metadata.annotations", key, why);
        }
    }
}
