//! What makes a schema structural: the demands of Kubernetes on the schema of a definition.
//!
//! In: one schema of the tree, as parsed and as written, and where it stands. Out: errors with
//! Kubernetes' wording.

use serde_json::{Map, Value};

use super::field_error::FieldError;
use super::parse::{flag, strings, text};
use super::structural::{Additional, JsonType, ListType, Node, Structural};
use super::{prune, values};

type Errors = Vec<FieldError>;

/// The type that a schema names, if it is one.
pub(super) fn json_type(
    map: &Map<String, Value>,
    at: &str,
    errors: &mut Errors,
) -> Option<JsonType> {
    let name = map
        .get("type")
        .and_then(Value::as_str)
        .filter(|name| !name.is_empty())?;
    let found = JsonType::from_name(name);
    if found.is_none() {
        let names = ["array", "boolean", "integer", "number", "object", "string"];
        errors.push(FieldError::not_supported(
            format!("{at}.type"),
            name.into(),
            names,
        ));
    }
    found
}

/// The list type that a schema names, if it is one.
pub(super) fn list_type(
    map: &Map<String, Value>,
    at: &str,
    errors: &mut Errors,
) -> Option<ListType> {
    let keys: Vec<String> = strings(map, "x-kubernetes-list-map-keys");
    let name = text(map, "x-kubernetes-list-type");
    if !keys.is_empty() && name.as_deref() != Some("map") {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        errors.push(FieldError::required(
            format!("{at}.x-kubernetes-list-type"),
            detail,
        ));
    }
    match name?.as_str() {
        "atomic" => Some(ListType::Atomic),
        "set" => Some(ListType::Set),
        "map" => {
            if keys.is_empty() {
                let at = format!("{at}.x-kubernetes-list-map-keys");
                let detail = "must not be empty if x-kubernetes-list-type is map";
                errors.push(FieldError::required(at, detail));
            }
            Some(ListType::Map(keys))
        }
        other => {
            let at = format!("{at}.x-kubernetes-list-type");
            let names = ["atomic", "set", "map"];
            errors.push(FieldError::not_supported(at, other.into(), names));
            None
        }
    }
}

/// Checks one schema outside of combinations.
pub(super) fn check(
    node: &Node,
    map: &Map<String, Value>,
    at: &str,
    root: bool,
    errors: &mut Errors,
) {
    if map
        .get("$ref")
        .is_some_and(|target| !target.is_null() && target != "")
    {
        errors.push(FieldError::forbidden(
            format!("{at}.$ref"),
            "$ref is not supported",
        ));
    }
    if root {
        check_root(node, map, at, errors);
    }
    if node.json_type == Some(JsonType::Array) && node.items.is_none() {
        errors.push(FieldError::required(
            format!("{at}.items"),
            "must be specified",
        ));
    }
    let open = matches!(
        node.additional,
        Additional::Schema(_) | Additional::Allowed(true)
    );
    if !node.properties.is_empty() && open {
        let detail = "additionalProperties and properties are mutual exclusive";
        errors.push(FieldError::forbidden(
            format!("{at}.additionalProperties"),
            detail,
        ));
    }
    if flag(map, "uniqueItems") {
        let detail =
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(FieldError::forbidden(format!("{at}.uniqueItems"), detail));
    }
    if map.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        let at = format!("{at}.x-kubernetes-preserve-unknown-fields");
        errors.push(FieldError::invalid(
            at,
            false.into(),
            "must be true or undefined",
        ));
    }
    check_embedded(node, at, errors);
    check_list(node, map, at, errors);
    check_map_type(node, map, at, errors);
}

fn wrong_type(node: &Node, at: &str, detail: &str, errors: &mut Errors) {
    let given = node.json_type.map_or("", JsonType::name);
    errors.push(FieldError::invalid(
        format!("{at}.type"),
        given.into(),
        detail,
    ));
}

fn check_root(node: &Node, map: &Map<String, Value>, at: &str, errors: &mut Errors) {
    match node.json_type {
        Some(JsonType::Object) => {}
        None if map.get("type").is_none() => {
            let detail = "must not be empty at the root";
            errors.push(FieldError::required(format!("{at}.type"), detail));
        }
        None => {}
        Some(_) => wrong_type(node, at, "must be object at the root", errors),
    }
    if matches!(
        node.additional,
        Additional::Schema(_) | Additional::Allowed(true)
    ) {
        let detail = "must not be used at the root";
        errors.push(FieldError::forbidden(
            format!("{at}.additionalProperties"),
            detail,
        ));
    }
    check_metadata(node, map, at, errors);
}

/// The fields that every object has keep their types, and metadata may restrict names only.
fn check_metadata(node: &Node, map: &Map<String, Value>, at: &str, errors: &mut Errors) {
    let string = JsonType::String;
    for (name, wanted) in [("apiVersion", string), ("kind", string)] {
        let Some(field) = node.properties.get(name) else {
            continue;
        };
        if field.json_type.is_some_and(|given| given != wanted) {
            let detail = format!("must be {}", wanted.name());
            wrong_type(field, &format!("{at}.properties[{name}]"), &detail, errors);
        }
    }
    let Some(field) = node.properties.get("metadata") else {
        return;
    };
    let at = format!("{at}.properties[metadata]");
    if field
        .json_type
        .is_some_and(|given| given != JsonType::Object)
    {
        wrong_type(field, &at, "must be object", errors);
    }
    let written = map
        .get("properties")
        .and_then(|properties| properties.get("metadata"));
    let names = field
        .properties
        .keys()
        .any(|name| name != "name" && name != "generateName");
    let more = written.and_then(Value::as_object).is_some_and(|written| {
        written
            .keys()
            .any(|key| !["type", "properties", "description"].contains(&key.as_str()))
    });
    if names || more {
        let detail = "must not specify anything other than name and generateName, \
                      but metadata is implicitly specified";
        errors.push(FieldError::forbidden(at, detail));
    }
}

fn check_embedded(node: &Node, at: &str, errors: &mut Errors) {
    if !node.embedded_resource {
        return;
    }
    if node
        .json_type
        .is_some_and(|given| given != JsonType::Object)
    {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        wrong_type(node, at, detail, errors);
    }
    if node.properties.is_empty() && !node.preserve_unknown {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true \
                      without x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(format!("{at}.properties"), detail));
    }
}

fn check_list(node: &Node, map: &Map<String, Value>, at: &str, errors: &mut Errors) {
    let named = map
        .get("x-kubernetes-list-type")
        .is_some_and(Value::is_string);
    if named && node.list_type.is_some() && node.json_type != Some(JsonType::Array) {
        let detail = "must be array if x-kubernetes-list-type is specified";
        wrong_type(node, at, detail, errors);
    }
    let Some(items) = &node.items else { return };
    match &node.list_type {
        Some(ListType::Set) => {
            let object = items.json_type == Some(JsonType::Object);
            if object && !items.atomic_map {
                errors.push(FieldError::invalid(
                    format!("{at}.items.x-kubernetes-map-type"),
                    Value::Null,
                    "must be atomic as item of a list with x-kubernetes-list-type=set",
                ));
            }
        }
        Some(ListType::Map(keys)) => check_keys(keys, items, map, at, errors),
        Some(ListType::Atomic) | None => {}
    }
}

fn check_keys(
    keys: &[String],
    items: &Node,
    map: &Map<String, Value>,
    at: &str,
    errors: &mut Errors,
) {
    if items.json_type != Some(JsonType::Object) {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        wrong_type(items, &format!("{at}.items"), detail, errors);
        return;
    }
    for key in keys {
        let Some(field) = items.properties.get(key) else {
            let given = strings(map, "x-kubernetes-list-map-keys");
            let detail = "entries must all be names of item properties";
            let at = format!("{at}.x-kubernetes-list-map-keys");
            errors.push(FieldError::invalid(at, given.into(), detail));
            continue;
        };
        if field.default.is_none() && !items.checks.required.contains(key) {
            let detail = "this property is in x-kubernetes-list-map-keys, \
                          so it must have a default or be a required property";
            let at = format!("{at}.items.properties[{key}].default");
            errors.push(FieldError::required(at, detail));
        }
    }
}

fn check_map_type(node: &Node, map: &Map<String, Value>, at: &str, errors: &mut Errors) {
    let Some(name) = text(map, "x-kubernetes-map-type") else {
        return;
    };
    if !matches!(name.as_str(), "atomic" | "granular") {
        let at = format!("{at}.x-kubernetes-map-type");
        let names = ["atomic", "granular"];
        errors.push(FieldError::not_supported(at, name.into(), names));
    } else if node.json_type != Some(JsonType::Object) {
        wrong_type(
            node,
            at,
            "must be object if x-kubernetes-map-type is specified",
            errors,
        );
    }
}

/// Checks that a default fits the schema that it stands in.
pub(super) fn check_default(node: &Node, at: &str, errors: &mut Errors) {
    let Some(default) = &node.default else { return };
    let at = format!("{at}.default");
    // The node itself is all that its default is held against.
    let root = std::sync::Arc::new(node.clone());
    let schema = Structural { root };
    let mut pruned = default.clone();
    if !prune::prune(&mut pruned, &schema).is_empty() {
        let detail = "must not have unknown fields";
        errors.push(FieldError::invalid(at, default.clone(), detail));
        return;
    }
    let mut found = Vec::new();
    super::defaulting::default(&mut pruned, &schema);
    values::check_object(&pruned, None, node, &mut found);
    errors.extend(found.into_iter().map(|mut error| {
        error.path = match error.path.as_str() {
            "" => at.clone(),
            below => format!("{at}.{below}"),
        };
        error
    }));
}

/// A combination says what values may be, not what they are: no types, no documentation.
pub(super) fn check_branch(map: &Map<String, Value>, at: &str, typed: bool, errors: &mut Errors) {
    let present = |name: &str| map.get(name).is_some_and(|value| !value.is_null());
    let filled = |name: &str| {
        map.get(name)
            .and_then(Value::as_str)
            .is_some_and(|v| !v.is_empty())
    };
    let mut forbid = |name: &str, detail: &str| {
        errors.push(FieldError::forbidden(format!("{at}.{name}"), detail));
    };
    for name in ["type", "title", "description"] {
        if filled(name) && !(typed && name == "type") {
            forbid(name, "must be empty to be structural");
        }
    }
    for name in ["default", "additionalProperties"] {
        if present(name) {
            forbid(name, "must be undefined to be structural");
        }
    }
    let flags = [
        "nullable",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
    ];
    for name in flags {
        if flag(map, name) {
            forbid(name, "must be false to be structural");
        }
    }
}
