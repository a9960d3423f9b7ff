//! The OpenAPI v3 document of one group and version: what `kubectl explain`, `apply` and `create`
//! read.
//!
//! In: the kinds of that group and version. Out: a document with a schema for each kind
//! (`x-kubernetes-group-version-kind`), its list, and the paths with their actions and query
//! parameters. Built-in types are published by name with references between them, custom kinds as
//! their definition writes them.

mod operations;
mod parameters;
mod schemas;
pub(crate) mod v2;
pub(crate) mod wire;

use serde_json::{Map, Value, json};

/// A kind to publish.
#[derive(Clone, Debug)]
pub struct KindSchema<'a> {
    /// Kind, for example `MachinePool`.
    pub kind: &'a str,
    /// Kind of its list, for example `MachinePoolList`; empty when it has none.
    pub list_kind: &'a str,
    /// Plural resource name.
    pub plural: &'a str,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Verbs that the resource serves, for example `get` and `list`.
    pub verbs: Vec<&'a str>,
    /// Subresources, for example `status` and `scale`.
    pub subresources: Vec<&'a str>,
    /// The schema of a custom kind as its definition writes it; `None` for a built-in kind.
    pub custom: Option<&'a Value>,
}

/// Where a group and version is served, for example `/apis/apps/v1`.
pub fn prefix(group: &str, version: &str) -> String {
    if group.is_empty() {
        format!("/api/{version}")
    } else {
        format!("/apis/{group}/{version}")
    }
}

/// The OpenAPI v3 document of one group and version.
pub fn document(group: &str, version: &str, kinds: &[KindSchema<'_>]) -> Value {
    let mut components = schemas::Components::new(group, version);
    let mut paths = Map::new();
    for kind in kinds {
        let (name, list) = components.add_kind(kind);
        operations::add_paths(&mut paths, group, version, kind, &name, &list);
    }
    let custom = kinds.iter().any(|kind| kind.custom.is_some());
    let (title, edition) = if custom {
        ("Kubernetes CRD Swagger", "v0.1.0")
    } else {
        ("Kubernetes", "unversioned")
    };
    json!({
        "openapi": "3.0.0",
        "info": { "title": title, "version": edition },
        "paths": paths,
        "components": { "schemas": components.finish() },
    })
}
