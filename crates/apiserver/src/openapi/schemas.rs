//! The schemas of a document.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::KindSchema;
use crate::schema::builtin;

/// The scale of any kind.
pub(super) const SCALE: &str = "io.k8s.api.autoscaling.v1.Scale";

const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";

/// Collects named schemas and what they refer to.
pub(super) struct Components<'a> {
    group: &'a str,
    version: &'a str,
    out: Map<String, Value>,
    pending: BTreeSet<String>,
}

impl<'a> Components<'a> {
    pub(super) fn new(group: &'a str, version: &'a str) -> Self {
        Self {
            group,
            version,
            out: Map::new(),
            pending: BTreeSet::new(),
        }
    }

    /// Adds a kind and its list; returns the names of their schemas.
    pub(super) fn add_kind(&mut self, kind: &KindSchema<'_>) -> (String, String) {
        let published = builtin::definition_name(self.group, self.version, kind.kind);
        let name = match (kind.custom, published) {
            (None, Some(name)) => name.to_owned(),
            _ => custom_name(self.group, self.version, kind.kind),
        };
        let schema = match (kind.custom, published.and_then(builtin::definition)) {
            (Some(schema), _) => self.custom(schema),
            (None, Some(schema)) => self.referring(schema),
            (None, None) => self.custom(&json!({ "type": "object" })),
        };
        self.insert(&name, schema, kind.kind);
        if kind.subresources.contains(&"scale") {
            self.pending.insert(SCALE.to_owned());
        }
        if kind.list_kind.is_empty() {
            return (name.clone(), name);
        }
        let list = self.add_list(kind, &name);
        (name, list)
    }

    fn add_list(&mut self, kind: &KindSchema<'_>, name: &str) -> String {
        self.pending.insert(LIST_META.to_owned());
        let schema = json!({
            "description": format!("{} is a list of {}", kind.list_kind, kind.kind),
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": api_version("APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values."),
                "kind": kind_name(),
                "metadata": all_of(LIST_META, &format!("Standard list metadata. {CONVENTIONS}#types-kinds")),
                "items": {
                    "description": format!("List of {}. {CONVENTIONS}", kind.plural),
                    "type": "array",
                    "items": reference(name),
                },
            },
        });
        let list_name = match name.strip_suffix(kind.kind) {
            Some(package) => format!("{package}{}", kind.list_kind),
            None => custom_name(self.group, self.version, kind.list_kind),
        };
        self.insert(&list_name, schema, kind.list_kind);
        list_name
    }

    fn insert(&mut self, name: &str, mut schema: Value, kind: &str) {
        schema["x-kubernetes-group-version-kind"] =
            json!([{ "group": self.group, "kind": kind, "version": self.version }]);
        self.out.insert(name.to_owned(), schema);
    }

    /// A custom kind's schema with the fields that every object has, also where it embeds others.
    fn custom(&mut self, schema: &Value) -> Value {
        let mut schema = if schema.is_object() {
            schema.clone()
        } else {
            json!({ "type": "object" })
        };
        if schema
            .get("properties")
            .is_none_or(|properties| !properties.is_object())
        {
            schema["properties"] = json!({});
        }
        self.pending.insert(builtin::OBJECT_META.to_owned());
        embed(&mut schema);
        schema["properties"]["apiVersion"] = api_version(
            "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values.",
        );
        schema["properties"]["kind"] = kind_name();
        schema["properties"]["metadata"] = object_metadata();
        schema
    }

    /// A built-in type's schema with references as OpenAPI v3 writes them.
    fn referring(&mut self, schema: &Value) -> Value {
        let mut schema = schema.clone();
        self.rewrite(&mut schema);
        schema
    }

    fn rewrite(&mut self, schema: &mut Value) {
        match schema {
            Value::Object(map) => {
                let target = map.get("$ref").and_then(Value::as_str);
                let target = target
                    .and_then(|t| t.strip_prefix("#/$defs/"))
                    .map(str::to_owned);
                if let Some(name) = target {
                    map.remove("$ref");
                    if map.is_empty() {
                        *schema = reference(&name);
                    } else {
                        map.insert("allOf".to_owned(), json!([reference(&name)]));
                    }
                    if !self.out.contains_key(&name) {
                        self.pending.insert(name);
                    }
                    return;
                }
                map.values_mut().for_each(|child| self.rewrite(child));
            }
            Value::Array(list) => list.iter_mut().for_each(|child| self.rewrite(child)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// All schemas, with everything that they refer to.
    pub(super) fn finish(mut self) -> Map<String, Value> {
        while let Some(name) = self.pending.pop_first() {
            if self.out.contains_key(&name) {
                continue;
            }
            let schema = match builtin::definition(&name) {
                Some(schema) => self.referring(schema),
                None if name == LIST_META => list_meta(),
                None => json!({ "type": "object" }),
            };
            self.out.insert(name, schema);
        }
        self.out
    }
}

pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn all_of(name: &str, description: &str) -> Value {
    json!({ "description": description, "allOf": [reference(name)] })
}

/// The name of a custom kind's schema: the group backwards, version, kind.
fn custom_name(group: &str, version: &str, kind: &str) -> String {
    let mut parts: Vec<&str> = group.split('.').rev().collect();
    parts.extend([version, kind]);
    parts.join(".")
}

/// Gives embedded objects the fields that every object has.
fn embed(schema: &mut Value) {
    let embedded = schema.get("x-kubernetes-embedded-resource") == Some(&json!(true));
    match schema {
        Value::Object(map) => map.values_mut().for_each(embed),
        Value::Array(list) => list.iter_mut().for_each(embed),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    if !embedded {
        return;
    }
    if schema
        .get("properties")
        .is_none_or(|properties| !properties.is_object())
    {
        schema["properties"] = json!({});
    }
    schema["properties"]["apiVersion"] =
        api_version("apiVersion defines the versioned schema of this representation of an object.");
    schema["properties"]["kind"] = json!({
        "description": format!("kind is a string value representing the type of this object. In CamelCase. {CONVENTIONS}#types-kinds"),
        "type": "string",
    });
    schema["properties"]["metadata"] = object_metadata();
    let required = schema
        .get("required")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let missing = ["kind", "apiVersion"].into_iter().map(Value::from);
    let missing = missing
        .filter(|name| !required.contains(name))
        .collect::<Vec<_>>();
    schema["required"] = required.iter().cloned().chain(missing).collect();
}

/// Where the conventions behind the standard fields are written down.
const CONVENTIONS: &str = "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";

fn object_metadata() -> Value {
    all_of(
        builtin::OBJECT_META,
        &format!("Standard object's metadata. {CONVENTIONS}#metadata"),
    )
}

fn api_version(what: &str) -> Value {
    json!({ "description": format!("{what} {CONVENTIONS}#resources"), "type": "string" })
}

fn kind_name() -> Value {
    json!({
        "description": format!("Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. {CONVENTIONS}#types-kinds"),
        "type": "string",
    })
}

fn list_meta() -> Value {
    json!({
        "description": "ListMeta describes metadata that synthetic resources must have, including lists and various status objects.",
        "type": "object",
        "properties": {
            "continue": { "type": "string", "description": "A token for the next page; empty on the last one." },
            "remainingItemCount": { "type": "integer", "format": "int64", "description": "How many objects follow after this page." },
            "resourceVersion": { "type": "string", "description": "The state of the store that this list shows." },
            "selfLink": { "type": "string", "description": "No longer filled by servers." },
        },
    })
}
