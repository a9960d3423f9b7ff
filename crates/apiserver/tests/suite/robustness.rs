//! Whatever clients send, nothing panics; and what two ways of saying the same mean is the same.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use jiff::Timestamp;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use remuda_apiserver::schema::{self, Structural, builtin};
use remuda_apiserver::table::json_path::JsonPath;
use remuda_apiserver::{apply, patch, table};
use serde_json::{Map, Value, json};

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        ".{0,6}".prop_map(Value::from),
    ]
}

/// JSON whose keys come from a vocabulary, so that some of it makes sense.
fn json_of(words: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![scalar(), prop::sample::select(words).prop_map(Value::from)];
    leaf.prop_recursive(4, 40, 5, move |inner| {
        let key = prop::sample::select(words).prop_map(str::to_owned);
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(key, inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

const SCHEMA: &[&str] = &[
    "type",
    "object",
    "array",
    "string",
    "integer",
    "properties",
    "items",
    "spec",
    "metadata",
    "a",
    "additionalProperties",
    "required",
    "default",
    "enum",
    "pattern",
    "minimum",
    "maxLength",
    "x-kubernetes-list-type",
    "map",
    "set",
    "x-kubernetes-list-map-keys",
    "nullable",
    "anyOf",
    "x-kubernetes-validations",
    "rule",
    "self",
    "message",
    "x-kubernetes-int-or-string",
    "format",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "oneOf",
    "not",
];

const POD: &[&str] = &[
    "spec",
    "containers",
    "name",
    "image",
    "metadata",
    "labels",
    "finalizers",
    "ports",
    "env",
    "containerPort",
    "$patch",
    "replace",
    "delete",
    "merge",
    "$setElementOrder/containers",
    "$deleteFromPrimitiveList/finalizers",
    "$retainKeys",
    "volumes",
    "managedFields",
    "fieldsV1",
    "f:spec",
    "operation",
    "Apply",
    "Update",
    "fieldsType",
    "FieldsV1",
    "manager",
    "op",
    "path",
    "value",
    "add",
    "/spec",
    "/spec/-",
    "from",
    "move",
    "copy",
    "test",
    "remove",
    "k:{}",
    "v:1",
    ".",
];

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_schema_is_parsed_or_refused(schema in json_of(SCHEMA), object in json_of(SCHEMA)) {
        for written in [schema.clone(), json!({"type": "object", "properties": {"a": schema}})] {
            match Structural::parse(&written) {
                Err(errors) => prop_assert!(!errors.is_empty()),
                Ok(structural) => {
                    let mut new = json!({"a": object});
                    schema::prune(&mut new, &structural);
                    schema::default(&mut new, &structural);
                    for error in schema::validate(&new, Some(&json!({"a": 1})), &structural) {
                        prop_assert!(!error.to_string().is_empty());
                    }
                }
            }
        }
    }

    #[test]
    fn any_patch_is_carried_out_or_refused(live in json_of(POD), change in json_of(POD)) {
        let pod = builtin::schema("", "v1", "Pod").unwrap();
        let _ = patch::json(&live, &change);
        let _ = patch::json(&live, &json!([change]));
        let _ = patch::strategic(&live, &change, &pod);
        if let Ok(merged) = patch::merge(&live, &change) {
            let mut expected = live.clone();
            json_patch::merge(&mut expected, &change);
            prop_assert_eq!(merged, expected);
        }
    }

    #[test]
    fn any_configuration_is_applied_or_refused(live in json_of(POD), change in json_of(POD)) {
        let pod = builtin::schema("", "v1", "Pod").unwrap();
        let mut new = change.clone();
        let _ = apply::apply(Some(&live), &change, "m", true, &pod, now(), "");
        let _ = apply::apply(None, &change, "m", false, &pod, now(), "status");
        apply::track_update(Some(&live), &mut new, "m", &pod, now(), "");
        schema::prune(&mut new, &pod);
        schema::default(&mut new, &pod);
        let _ = schema::validate(&new, Some(&live), &pod);
    }

    #[test]
    fn any_column_is_printed(path in "[.\\[\\]?(@=='\"a0:*,\\\\<>!){}$-]{0,16}", object in json_of(POD)) {
        if let Some(path) = JsonPath::parse(&path) {
            let _ = path.find(&object);
        }
        let kinds = ["integer", "number", "boolean", "string", "date", "x"];
        let columns: Vec<Value> =
            kinds.iter().map(|k| json!({"name": k, "type": k, "jsonPath": path})).collect();
        let columns = table::custom_columns(&columns);
        let rendered = table::render(&columns, &[object], table::IncludeObject::None, now());
        prop_assert_eq!(rendered["rows"][0]["cells"].as_array().unwrap().len(), 7);
    }

    #[test]
    fn any_rule_is_evaluated_or_refused(tokens in vec(prop::sample::select(TOKENS), 1..12), value in json_of(POD)) {
        let rule = tokens.join(" ");
        let schema = json!({"type": "object", "properties": {"spec": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "maxLength": 9},
                "ports": {"type": "array", "maxItems": 5, "items": {"type": "integer"}},
                "labels": {"type": "object", "maxProperties": 5, "additionalProperties": {"type": "string"}},
            },
            "x-kubernetes-validations": [{"rule": rule}],
        }}});
        if let Ok(structural) = Structural::parse(&schema) {
            let mut object = json!({"spec": value});
            schema::prune(&mut object, &structural);
            let _ = schema::validate(&object, None, &structural);
            let full = json!({"spec": {"name": "a", "ports": [1, 2], "labels": {"a": "b"}}});
            let _ = schema::validate(&full, Some(&full), &structural);
        }
    }
}

const TOKENS: &[&str] = &[
    "self",
    "self.name",
    "self.ports",
    "self.labels",
    "oldSelf",
    "==",
    "!=",
    "&&",
    "||",
    "!",
    "(",
    ")",
    "[",
    "]",
    "0",
    "1",
    "'a'",
    ".size()",
    "size(",
    "has(self.name)",
    "in",
    "+",
    "-",
    "*",
    "/",
    "%",
    "?",
    ":",
    ".all(x, x",
    ".map(x, x",
    ".exists(x, x",
    "> 1",
    "true",
    "null",
    "1.5",
    "{}",
    "quantity('1')",
    "duration('1s')",
    "string(",
    "int(",
    "matches('",
    "')",
    ".split(',')",
    "1u",
];

#[test]
fn deep_nesting_is_refused_not_followed() {
    let mut schema = json!({"type": "string"});
    for _ in 0..200 {
        schema = json!({"type": "object", "properties": {"a": schema}});
    }
    let errors = Structural::parse(&schema).unwrap_err();
    assert!(errors[0].detail.contains("nested deeper"), "{}", errors[0]);
}

#[test]
fn rules_nest_within_bounds() {
    let nested = |open: &str, inner: &str, close: &str, times: usize| {
        format!("{}{inner}{}", open.repeat(times), close.repeat(times))
    };
    let accepted = [
        nested("(", "self == 'a'", ")", 60),
        nested("!", "true", "", 100),
        nested("true && ", "true", "", 100),
        nested("true ? true : ", "true", "", 35),
        nested("(true ? ", "true", " : false)", 35),
        nested("[", "1", "]", 60) + ".size() == 1",
        format!("'a'{} == 'a'", ".trim()".repeat(100)),
        nested("self.matches('a') && (", "true", ")", 60),
    ];
    let refused = [
        nested("(", "true", ")", 2_000),
        nested("true && ", "true", "", 2_000),
        nested("1 + ", "1 == 1", "", 2_000),
        nested("true ? true : ", "true", "", 2_000),
        nested("[", "1", "]", 2_000) + ".size() == 1",
        format!("'a'{} == 'a'", ".trim()".repeat(2_000)),
    ];
    let parse = |rule: &str| {
        Structural::parse(&json!({"type": "object", "properties": {"a": {
            "type": "string", "maxLength": 5, "x-kubernetes-validations": [{"rule": rule}],
        }}}))
    };
    for rule in accepted {
        let structural = parse(&rule).unwrap_or_else(|errors| panic!("{}", errors[0]));
        let errors = schema::validate(&json!({"a": "a"}), None, &structural);
        assert!(errors.is_empty(), "{}", errors[0]);
    }
    for rule in refused {
        let errors = parse(&rule).err().unwrap_or_default();
        assert!(
            errors[0].detail.contains("recursion limit"),
            "{}",
            errors[0].detail
        );
    }
}
