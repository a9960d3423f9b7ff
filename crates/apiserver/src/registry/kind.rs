//! One kind of object that the server serves, built in or from a CustomResourceDefinition.

use std::sync::Arc;

use serde_json::Value;

use crate::conversion::ConversionHook;
use crate::schema::Structural;
use crate::table::Column;

/// What a built-in kind does beyond being stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// From a CustomResourceDefinition.
    Custom,
    /// Stored as it is.
    Plain,
    Namespace,
    Secret,
    ConfigMap,
    Event,
    Lease,
    ServiceAccount,
    Node,
    Pod,
    CustomResourceDefinition,
    CertificateSigningRequest,
    PodDisruptionBudget,
    /// A configuration of admission webhooks.
    WebhookConfiguration,
}

/// Where the scale subresource finds its numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScalePaths {
    pub(crate) replicas: Vec<String>,
    pub(crate) status_replicas: Vec<String>,
    pub(crate) selector: Option<Vec<String>>,
}

/// One version of a kind.
#[derive(Clone)]
pub(crate) struct Version {
    pub(crate) name: String,
    pub(crate) served: bool,
    pub(crate) storage: bool,
    /// Text of the `Warning` header when the version is deprecated.
    pub(crate) deprecation: Option<String>,
    pub(crate) schema: Option<Arc<Structural>>,
    /// Objects up to this revision may have been written under another schema.
    pub(crate) since: u64,
    /// The schema as published, for OpenAPI documents.
    pub(crate) published: Option<Arc<Value>>,
    pub(crate) status: bool,
    pub(crate) scale: Option<ScalePaths>,
    pub(crate) columns: Arc<[Column]>,
    /// Field paths (without the leading dot) that field selectors may name.
    pub(crate) selectable: Vec<String>,
}

impl std::fmt::Debug for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Version")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// One kind of object.
#[expect(clippy::struct_field_names, reason = "the field's own terms")]
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    pub(crate) behaviour: Behaviour,
    /// Where its objects lie; two kinds may share one.
    pub(crate) shelf: Arc<str>,
    /// `apiVersion` of the objects on the shelf.
    pub(crate) stored_as: String,
    pub(crate) versions: Vec<Version>,
    /// The webhook that converts between versions; without one they differ by name only.
    pub(crate) conversion: Option<ConversionHook>,
    /// Whether the definition is being deleted: nothing new is made.
    pub(crate) ending: bool,
}

/// A kind at one of its versions.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    pub(crate) kind: Arc<Kind>,
    at: usize,
}

impl Served {
    pub(crate) fn new(kind: Arc<Kind>, at: usize) -> Self {
        Self { kind, at }
    }

    pub(crate) fn version(&self) -> &Version {
        self.kind
            .versions
            .get(self.at)
            .expect("made from an index of this list")
    }

    pub(crate) fn api_version(&self) -> String {
        crate::object::join_api_version(&self.kind.group, &self.version().name)
    }
}

impl Kind {
    /// Whether the kind has a controller-visible desired state whose changes are counted.
    pub(crate) fn counts_generations(&self) -> bool {
        let is_counted = self.behaviour == Behaviour::Plain && self.group == "apps";
        is_counted
            || matches!(
                self.behaviour,
                Behaviour::Custom
                    | Behaviour::Pod
                    | Behaviour::CustomResourceDefinition
                    | Behaviour::PodDisruptionBudget
                    | Behaviour::WebhookConfiguration
            )
    }

    /// Whether an update without a resource version replaces whatever is there.
    pub(crate) fn allows_unconditional_update(&self) -> bool {
        !matches!(
            self.behaviour,
            Behaviour::Custom
                | Behaviour::Lease
                | Behaviour::CustomResourceDefinition
                | Behaviour::WebhookConfiguration
        )
    }

    pub(crate) fn is_custom(&self) -> bool {
        self.behaviour == Behaviour::Custom
    }

    /// Whether one request can delete all objects; namespaces end one by one.
    pub(crate) fn empties_at_once(&self) -> bool {
        self.behaviour != Behaviour::Namespace
    }

    /// Whether a delete is answered with the deleted object instead of a `Status`.
    pub(crate) fn returns_deleted_object(&self) -> bool {
        matches!(self.behaviour, Behaviour::Pod | Behaviour::ServiceAccount)
    }
}
