//! What a request is about, as webhooks see it.

use std::sync::Arc;

use serde_json::{Value, json};

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

impl Operation {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// A resource at a version.
#[expect(clippy::struct_field_names, reason = "the field's own terms")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) resource: String,
}

/// A kind at a version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KindName {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
}

impl Resource {
    pub(crate) fn value(&self) -> Value {
        json!({"group": self.group, "version": self.version, "resource": self.resource})
    }
}

impl KindName {
    pub(crate) fn value(&self) -> Value {
        json!({"group": self.group, "version": self.version, "kind": self.kind})
    }

    pub(crate) fn api_version(&self) -> String {
        crate::object::join_api_version(&self.group, &self.version)
    }
}

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Attributes {
    pub(crate) operation: Operation,
    pub(crate) kind: KindName,
    pub(crate) resource: Resource,
    /// Empty for the object itself.
    pub(crate) subresource: String,
    /// The same objects at other versions, or in another group.
    pub(crate) equivalents: Vec<(Resource, KindName)>,
    /// Empty for a generated name and for the objects of a collection that is deleted.
    pub(crate) name: String,
    /// For a namespace, its own name.
    pub(crate) namespace: String,
    pub(crate) namespace_labels: NamespaceLabels,
    /// Who asks.
    pub(crate) user: Value,
    pub(crate) dry_run: bool,
    /// The request's options as an object.
    pub(crate) options: Value,
    /// The new state; a delete has none.
    pub(crate) object: Option<Arc<Value>>,
    /// The state before; a create has none.
    pub(crate) old: Option<Arc<Value>>,
}

/// The labels that a selector of namespaces looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NamespaceLabels {
    /// The object is in no namespace.
    Cluster,
    /// Those of the namespace, or of the namespace that is written.
    Of(Value),
    Missing,
}

/// A webhook that is to be asked, and about which version of the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Invocation {
    pub(crate) kind: KindName,
    pub(crate) resource: Resource,
}
