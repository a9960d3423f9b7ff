//! The OpenAPI v2 document: what kubectl falls back to where it does not use v3, such as
//! `kubectl explain --output=plaintext-openapiv2`.
//!
//! In: the v3 documents of all groups. Out: one document with the definitions of all kinds, and
//! no paths, which no kubectl since 1.29 reads here. What v2 cannot say is left out.

use serde_json::{Map, Value, json};

/// Parts of a schema that v2 does not have.
const NEWER: [&str; 5] = [
    "nullable",
    "oneOf",
    "anyOf",
    "not",
    "x-kubernetes-validations",
];

/// The document of all kinds.
pub(crate) fn document(newer: impl Iterator<Item = Value>) -> Value {
    let mut definitions = Map::new();
    for mut document in newer {
        let schemas = document
            .pointer_mut("/components/schemas")
            .and_then(Value::as_object_mut);
        for (name, mut schema) in schemas.map(std::mem::take).into_iter().flatten() {
            downgrade(&mut schema);
            definitions.insert(name, schema);
        }
    }
    json!({
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "unversioned"},
        "paths": {},
        "definitions": definitions,
    })
}

/// A schema as v2 writes it: a reference stands beside its description.
fn downgrade(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            for field in NEWER {
                map.remove(field);
            }
            if let Some(Value::Array(all)) = map.get("allOf")
                && let [Value::Object(only)] = all.as_slice()
                && let Some(target) = only.get("$ref").cloned()
            {
                map.remove("allOf");
                map.insert("$ref".into(), target);
            }
            if let Some(Value::String(target)) = map.get_mut("$ref") {
                *target = target.replace("#/components/schemas/", "#/definitions/");
            }
            for (field, below) in map.iter_mut() {
                match (field.as_str(), below) {
                    ("properties", Value::Object(properties)) => {
                        properties.values_mut().for_each(downgrade);
                    }
                    ("items" | "additionalProperties", below) => downgrade(below),
                    ("allOf", Value::Array(all)) => all.iter_mut().for_each(downgrade),
                    _ => {}
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(downgrade),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
