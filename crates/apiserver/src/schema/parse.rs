//! From the JSON of an OpenAPI v3 schema to a [`Structural`].
//!
//! In: `schema.openAPIV3Schema` of one CRD version. Out: the parsed tree, or every problem that
//! Kubernetes would refuse the definition for, with paths such as
//! `spec.validation.openAPIV3Schema.properties[spec].type`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::builtin;
use super::field_error::FieldError;
use super::pattern;
use super::rules::{Declared, RuleSet};
use super::structural::{
    Additional, Checks, JsonType, ListType, Node, NodeRef, Pattern, Structural,
};
use super::structure;

/// Deepest nesting that is parsed: ours, far above any published definition.
const MAX_DEPTH: usize = 128;

/// Where Kubernetes says a definition's schema lies when all versions share it.
const DEFAULT_PREFIX: &str = "spec.validation.openAPIV3Schema";

impl Structural {
    /// Parses a CRD version's `schema.openAPIV3Schema`.
    ///
    /// # Errors
    /// Every reason why the schema isn't structural, with paths below
    /// `spec.validation.openAPIV3Schema`.
    pub fn parse(openapi_v3_schema: &Value) -> Result<Self, Vec<FieldError>> {
        Self::parse_at(openapi_v3_schema, DEFAULT_PREFIX)
    }

    /// As [`Structural::parse`], with the path at which the definition holds this schema, for
    /// example `spec.versions[1].schema.openAPIV3Schema`.
    ///
    /// # Errors
    /// Every reason why the schema isn't structural.
    pub fn parse_at(openapi_v3_schema: &Value, at: &str) -> Result<Self, Vec<FieldError>> {
        let mut parser = Parser { errors: Vec::new() };
        let mut root = parser.node(openapi_v3_schema, at, Place::Root, 0);
        if !parser.errors.is_empty() {
            return Err(parser.errors);
        }
        add_object_fields(&mut root);
        super::rules::compile(&mut root, at)?;
        Ok(Self {
            root: Arc::new(root),
        })
    }

    /// A schema that accepts and keeps everything but knows the fields of every object: for
    /// definitions without a schema.
    pub fn anything() -> Self {
        let mut root = Node {
            json_type: Some(JsonType::Object),
            preserve_unknown: true,
            ..Node::default()
        };
        add_object_fields(&mut root);
        Self {
            root: Arc::new(root),
        }
    }
}

/// Gives a whole Kubernetes object its `apiVersion`, `kind` and `metadata`; restrictions that the
/// definition puts on name and generateName stay.
fn add_object_fields(node: &mut Node) {
    let string = || {
        NodeRef::Own(Arc::new(Node {
            json_type: Some(JsonType::String),
            ..Node::default()
        }))
    };
    node.properties
        .entry("apiVersion".to_owned())
        .or_insert_with(string);
    node.properties
        .entry("kind".to_owned())
        .or_insert_with(string);
    let standard = builtin::object_meta();
    let restricted = node
        .properties
        .get("metadata")
        .filter(|given| !given.properties.is_empty());
    let metadata = match restricted {
        None => standard,
        Some(given) => {
            let mut merged: Node = (*standard).clone();
            for (name, check) in &given.properties {
                if let Some(known) = merged.properties.get(name) {
                    let mut field: Node = (**known).clone();
                    field.checks = check.checks.clone();
                    merged
                        .properties
                        .insert(name.clone(), NodeRef::Own(Arc::new(field)));
                }
            }
            NodeRef::Own(Arc::new(merged))
        }
    };
    node.properties.insert("metadata".to_owned(), metadata);
    node.whole_object = true;
}

/// Collects problems while it walks.
struct Parser {
    errors: Vec<FieldError>,
}

/// Where a schema stands, which decides how a missing type is told.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Root,
    Field,
    Items,
}

impl Parser {
    fn node(&mut self, schema: &Value, at: &str, place: Place, depth: usize) -> Node {
        let Some(map) = self.object(schema, at, depth) else {
            return Node::default();
        };
        let json_type = structure::json_type(map, at, &mut self.errors);
        let mut node = Node {
            json_type,
            nullable: flag(map, "nullable"),
            int_or_string: flag(map, "x-kubernetes-int-or-string"),
            preserve_unknown: flag(map, "x-kubernetes-preserve-unknown-fields"),
            embedded_resource: flag(map, "x-kubernetes-embedded-resource"),
            default: map
                .get("default")
                .filter(|default| !default.is_null())
                .cloned(),
            properties: self.properties(map, at, place, depth),
            additional: self.additional(map, at, depth),
            items: map.get("items").map(|items| {
                let below = format!("{at}.items");
                NodeRef::Own(Arc::new(self.node(items, &below, Place::Items, depth + 1)))
            }),
            checks: self.checks(map, at, depth),
            list_type: structure::list_type(map, at, &mut self.errors),
            atomic_map: text(map, "x-kubernetes-map-type").as_deref() == Some("atomic"),
            rules: RuleSet::declared(self.rules(map, at)),
            ..Node::default()
        };
        let referring = map.contains_key("$ref");
        let untyped =
            json_type.is_none() && !node.int_or_string && !node.preserve_unknown && !referring;
        if untyped && place != Place::Root && map.get("type").and_then(Value::as_str).is_none() {
            let of = if place == Place::Items {
                "array items"
            } else {
                "object fields"
            };
            let detail = format!("must not be empty for specified {of}");
            self.errors
                .push(FieldError::required(format!("{at}.type"), detail));
        }
        structure::check(&node, map, at, place == Place::Root, &mut self.errors);
        if node.embedded_resource {
            add_object_fields(&mut node);
            for name in ["apiVersion", "kind"] {
                if !node.checks.required.iter().any(|given| given == name) {
                    node.checks.required.push(name.to_owned());
                }
            }
        }
        node.rules_below = !node.rules.is_empty() || children(&node).any(|n| n.rules_below);
        node.defaults_below = node.default.is_some() || children(&node).any(|n| n.defaults_below);
        node.lists_below = matches!(&node.list_type, Some(ListType::Set | ListType::Map(_)))
            || children(&node).any(|n| n.lists_below);
        structure::check_default(&node, at, &mut self.errors);
        node
    }

    fn object<'a>(
        &mut self,
        schema: &'a Value,
        at: &str,
        depth: usize,
    ) -> Option<&'a Map<String, Value>> {
        if depth > MAX_DEPTH {
            let detail = format!("schema is nested deeper than {MAX_DEPTH} levels");
            self.errors.push(FieldError::forbidden(at, detail));
            return None;
        }
        let map = schema.as_object();
        if map.is_none() {
            let detail = "must be a schema object";
            self.errors
                .push(FieldError::type_invalid(at, schema.clone(), detail));
        }
        map
    }

    fn properties(
        &mut self,
        map: &Map<String, Value>,
        at: &str,
        place: Place,
        depth: usize,
    ) -> BTreeMap<String, NodeRef> {
        let Some(properties) = map.get("properties").and_then(Value::as_object) else {
            return BTreeMap::new();
        };
        let mut out = BTreeMap::new();
        for (name, schema) in properties {
            let below = format!("{at}.properties[{name}]");
            // The root's metadata may be given without a type, since its shape is fixed.
            let bare = place == Place::Root && name == "metadata" && schema.get("type").is_none();
            let node = if bare {
                Node::default()
            } else {
                self.node(schema, &below, Place::Field, depth + 1)
            };
            out.insert(name.clone(), NodeRef::Own(Arc::new(node)));
        }
        out
    }

    fn additional(&mut self, map: &Map<String, Value>, at: &str, depth: usize) -> Additional {
        match map.get("additionalProperties") {
            None | Some(Value::Null) => Additional::Absent,
            Some(Value::Bool(allowed)) => Additional::Allowed(*allowed),
            Some(schema) => {
                let below = format!("{at}.additionalProperties");
                let node = self.node(schema, &below, Place::Field, depth + 1);
                Additional::Schema(NodeRef::Own(Arc::new(node)))
            }
        }
    }

    fn checks(&mut self, map: &Map<String, Value>, at: &str, depth: usize) -> Checks {
        Checks {
            allowed: map
                .get("enum")
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default(),
            format: text(map, "format").filter(|format| !format.is_empty()),
            pattern: self.pattern(map, at),
            min_length: count(map, "minLength"),
            max_length: count(map, "maxLength"),
            minimum: map.get("minimum").and_then(Value::as_f64),
            maximum: map.get("maximum").and_then(Value::as_f64),
            exclusive_minimum: flag(map, "exclusiveMinimum"),
            exclusive_maximum: flag(map, "exclusiveMaximum"),
            multiple_of: map.get("multipleOf").and_then(Value::as_f64),
            min_items: count(map, "minItems"),
            max_items: count(map, "maxItems"),
            unique_items: flag(map, "uniqueItems"),
            min_properties: count(map, "minProperties"),
            max_properties: count(map, "maxProperties"),
            required: strings(map, "required"),
            all_of: self.branches(map, "allOf", at, depth),
            any_of: self.branches(map, "anyOf", at, depth),
            one_of: self.branches(map, "oneOf", at, depth),
            not: map
                .get("not")
                .filter(|schema| !schema.is_null())
                .map(|schema| {
                    Arc::new(self.branch(schema, &format!("{at}.not"), false, depth + 1))
                }),
        }
    }

    fn pattern(&mut self, map: &Map<String, Value>, at: &str) -> Option<Pattern> {
        let source = text(map, "pattern").filter(|pattern| !pattern.is_empty())?;
        match pattern::compile(&source) {
            Ok(regex) => Some(Pattern { source, regex }),
            Err(reason) => {
                let detail = format!("must be a valid regular expression, but isn't: {reason}");
                let at = format!("{at}.pattern");
                self.errors
                    .push(FieldError::invalid(at, source.into(), detail));
                None
            }
        }
    }

    fn branches(
        &mut self,
        map: &Map<String, Value>,
        name: &str,
        at: &str,
        depth: usize,
    ) -> Vec<Arc<Node>> {
        let Some(list) = map.get(name).and_then(Value::as_array) else {
            return Vec::new();
        };
        // The one place where a combination may name types.
        let typed = flag(map, "x-kubernetes-int-or-string");
        let mut out = Vec::with_capacity(list.len());
        for (index, schema) in list.iter().enumerate() {
            let below = format!("{at}.{name}[{index}]");
            out.push(Arc::new(self.branch(schema, &below, typed, depth + 1)));
        }
        out
    }

    /// A schema inside a combination: value checks only.
    fn branch(&mut self, schema: &Value, at: &str, typed: bool, depth: usize) -> Node {
        let Some(map) = self.object(schema, at, depth) else {
            return Node::default();
        };
        structure::check_branch(map, at, typed, &mut self.errors);
        let mut properties = BTreeMap::new();
        if let Some(given) = map.get("properties").and_then(Value::as_object) {
            for (name, below) in given {
                let at = format!("{at}.properties[{name}]");
                let node = self.branch(below, &at, false, depth + 1);
                properties.insert(name.clone(), NodeRef::Own(Arc::new(node)));
            }
        }
        let mut checks = self.checks(map, at, depth);
        if typed {
            // `allOf: [{anyOf: [integer, string]}]` is the other known form.
            checks.any_of = self.typed_branches(map, at, depth);
        }
        Node {
            json_type: map
                .get("type")
                .and_then(Value::as_str)
                .and_then(JsonType::from_name),
            nullable: flag(map, "nullable"),
            properties,
            items: map.get("items").map(|items| {
                let at = format!("{at}.items");
                NodeRef::Own(Arc::new(self.branch(items, &at, false, depth + 1)))
            }),
            checks,
            ..Node::default()
        }
    }

    fn typed_branches(
        &mut self,
        map: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Vec<Arc<Node>> {
        let list = map
            .get("anyOf")
            .and_then(Value::as_array)
            .map(Vec::as_slice);
        let list = list.unwrap_or_default().iter().enumerate();
        list.map(|(index, schema)| {
            Arc::new(self.branch(schema, &format!("{at}.anyOf[{index}]"), true, depth + 1))
        })
        .collect()
    }

    fn rules(&mut self, map: &Map<String, Value>, at: &str) -> Vec<Declared> {
        let Some(list) = map
            .get("x-kubernetes-validations")
            .and_then(Value::as_array)
        else {
            return Vec::new();
        };
        let mut out = Vec::with_capacity(list.len());
        for (index, raw) in list.iter().enumerate() {
            match serde_json::from_value::<Declared>(raw.clone()) {
                Ok(rule) => out.push(rule),
                Err(error) => self.errors.push(FieldError::invalid(
                    format!("{at}.x-kubernetes-validations[{index}]"),
                    raw.clone(),
                    error.to_string(),
                )),
            }
        }
        out
    }
}

/// The owned children of a node, which decide its `..._below` marks. Shared children are built-in
/// types, which have neither rules nor defaults.
fn children(node: &Node) -> impl Iterator<Item = &Node> {
    let additional = match &node.additional {
        Additional::Schema(child) => Some(child),
        Additional::Absent | Additional::Allowed(_) => None,
    };
    node.properties
        .values()
        .chain(additional)
        .chain(&node.items)
        .filter_map(|child| match child {
            NodeRef::Own(child) => Some(&**child),
            NodeRef::Shared(_) => None,
        })
}

pub(super) fn flag(map: &Map<String, Value>, name: &str) -> bool {
    map.get(name).and_then(Value::as_bool).unwrap_or(false)
}

pub(super) fn text(map: &Map<String, Value>, name: &str) -> Option<String> {
    map.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn count(map: &Map<String, Value>, name: &str) -> Option<u64> {
    let value = map.get(name)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a length is small"
    )]
    value
        .as_u64()
        .or_else(|| value.as_f64().filter(|f| *f >= 0.0).map(|f| f as u64))
}

pub(super) fn strings(map: &Map<String, Value>, name: &str) -> Vec<String> {
    let list = map.get(name).and_then(Value::as_array);
    list.map(|list| {
        list.iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    })
    .unwrap_or_default()
}
