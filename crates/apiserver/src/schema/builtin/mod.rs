//! Schemas of the built-in kinds, from the field documentation that `k8s-openapi` carries.
//!
//! In: a group, version and kind. Out: the same parsed tree as for custom kinds, with list types and
//! patch merge keys added (`topology`). Named types are shared and may refer to themselves; all are
//! parsed once, on first use.
//!
//! These trees know types and merge behaviour; documentation stays in the published definitions.
//! They demand nothing: what a built-in object must hold is checked by hand-written rules elsewhere,
//! as in Kubernetes.

mod kinds;
mod topology;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, OnceLock};

use serde_json::{Map, Value};

use super::decoding;
use super::structural::{Additional, Checks, JsonType, Node, NodeRef, Structural};

pub use kinds::KINDS;

/// A built-in kind that has a schema.
pub struct BuiltinKind {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// API version, for example `v1`.
    pub version: &'static str,
    /// Kind, for example `Pod`.
    pub kind: &'static str,
    generate: fn(&mut schemars::SchemaGenerator) -> schemars::Schema,
}

/// Every named type, as JSON and parsed.
struct Library {
    definitions: Map<String, Value>,
    roots: HashMap<(&'static str, &'static str, &'static str), (String, Structural)>,
    object_meta: NodeRef,
}

static LIBRARY: LazyLock<Library> = LazyLock::new(build);

/// The schema of a built-in kind.
pub fn schema(group: &str, version: &str, kind: &str) -> Option<Structural> {
    // The borrowed key needs the map's static lifetime, hence the search by value.
    let found = KINDS
        .iter()
        .find(|k| k.kind == kind && k.group == group && k.version == version)?;
    let key = (found.group, found.version, found.kind);
    LIBRARY
        .roots
        .get(&key)
        .map(|(_, structural)| structural.clone())
}

/// The name of a built-in kind's type among the published definitions.
pub(crate) fn definition_name(group: &str, version: &str, kind: &str) -> Option<&'static str> {
    let found = KINDS
        .iter()
        .find(|k| k.kind == kind && k.group == group && k.version == version)?;
    let key = (found.group, found.version, found.kind);
    LIBRARY.roots.get(&key).map(|(name, _)| name.as_str())
}

/// One named type as published, for example `io.k8s.api.core.v1.PodSpec`.
pub(crate) fn definition(name: &str) -> Option<&'static Value> {
    LIBRARY.definitions.get(name)
}

/// The standard metadata of every object.
pub(crate) fn object_meta() -> NodeRef {
    LIBRARY.object_meta.clone()
}

/// The name of the standard metadata among the published definitions.
pub(crate) const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

const REFERENCE: &str = "#/$defs/";

fn build() -> Library {
    let mut generator = schemars::generate::SchemaSettings::draft2020_12().into_generator();
    let mut names = Vec::with_capacity(KINDS.len());
    for kind in KINDS {
        let reference = (kind.generate)(&mut generator);
        let name = reference
            .get("$ref")
            .and_then(Value::as_str)
            .unwrap_or_default();
        names.push((kind, name.trim_start_matches(REFERENCE).to_owned()));
    }
    let mut definitions = generator.take_definitions(true);
    for (name, schema) in &mut definitions {
        if is_any_json(name) {
            schema.as_object_mut().map(|map| map.remove("type"));
        }
        topology::annotate(name, schema);
    }
    let cells: BTreeMap<String, Arc<OnceLock<Node>>> = definitions
        .keys()
        .map(|name| (name.clone(), Arc::default()))
        .collect();
    for (name, schema) in &definitions {
        let node = node(schema, &cells);
        let filled = cells.get(name).is_some_and(|cell| cell.set(node).is_ok());
        debug_assert!(filled, "{name} is defined once");
    }
    let object_meta = cells.get(OBJECT_META).map_or_else(
        || NodeRef::Own(Arc::default()),
        |cell| NodeRef::Shared(Arc::clone(cell)),
    );
    let roots = names
        .into_iter()
        .filter_map(|(kind, name)| {
            let root = Arc::new(cells.get(&name)?.get()?.clone());
            Some((
                (kind.group, kind.version, kind.kind),
                (name, Structural { root }),
            ))
        })
        .collect();
    Library {
        definitions,
        roots,
        object_meta,
    }
}

/// Types of a definition's schema that hold any JSON, or one of two shapes; the generator calls them
/// objects, the published documents leave their type open.
fn is_any_json(name: &str) -> bool {
    let own = name.strip_prefix("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.");
    own.is_some_and(|own| own == "JSON" || own.starts_with("JSONSchemaPropsOr"))
}

/// Parses a published type: references stay shared, nothing is required.
fn node(schema: &Value, cells: &BTreeMap<String, Arc<OnceLock<Node>>>) -> Node {
    let text = |name: &str| schema.get(name).and_then(Value::as_str);
    let child = |schema: &Value| child(schema, cells);
    let json_type = text("type").and_then(JsonType::from_name);
    let int_or_string = schema.get("x-kubernetes-int-or-string").is_some();
    let properties: BTreeMap<String, NodeRef> = schema
        .get("properties")
        .and_then(Value::as_object)
        .map(|map| {
            map.iter()
                .map(|(name, below)| (name.clone(), child(below)))
                .collect()
        })
        .unwrap_or_default();
    let additional = match schema.get("additionalProperties") {
        Some(below @ Value::Object(_)) => Additional::Schema(child(below)),
        _ => Additional::Absent,
    };
    let untyped = json_type.is_none() && !int_or_string;
    let open = json_type == Some(JsonType::Object)
        && properties.is_empty()
        && matches!(additional, Additional::Absent);
    Node {
        json_type,
        int_or_string,
        preserve_unknown: untyped || open,
        default: schema.get("default").cloned(),
        items: schema.get("items").map(child),
        checks: Checks {
            format: text("format").map(|format| match format {
                "byte" => decoding::BASE64.to_owned(),
                other => other.to_owned(),
            }),
            ..Checks::default()
        },
        list_type: topology::list_type(schema),
        atomic_map: text("x-kubernetes-map-type") == Some("atomic"),
        patch: topology::patch_strategy(schema),
        properties,
        additional,
        ..Node::default()
    }
}

fn child(schema: &Value, cells: &BTreeMap<String, Arc<OnceLock<Node>>>) -> NodeRef {
    let name = schema
        .get("$ref")
        .and_then(Value::as_str)
        .unwrap_or_default();
    match cells.get(name.trim_start_matches(REFERENCE)) {
        Some(cell) => NodeRef::Shared(Arc::clone(cell)),
        None => NodeRef::Own(Arc::new(node(schema, cells))),
    }
}
