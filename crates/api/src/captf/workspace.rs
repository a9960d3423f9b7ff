//! What every captf object with a module has: source, identity, variables, deletion policy.

use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::pattern::DNS_SUBDOMAIN;

/// The module image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// Image reference with tag or digest, which is the module's version.
    #[schemars(length(min = 1, max = 512))]
    pub image: String,
    /// When the image is pulled; without meaning for a native driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_pull_policy: Option<ImagePullPolicy>,
}

/// When an image is pulled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::crd::describe_by_field)]
pub enum ImagePullPolicy {
    /// When the node does not have it.
    IfNotPresent,
    /// Each time.
    Always,
    /// At no time.
    Never,
}

/// The credentials an object uses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdentityReference {
    /// Kind of the reference; unset stands for `TerraformClusterIdentity`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<IdentityKind>,
    /// Name of the identity.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// Where credentials come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::crd::describe_by_field)]
pub enum IdentityKind {
    /// A cluster-scoped identity that names the namespaces it serves.
    #[default]
    TerraformClusterIdentity,
    /// A Secret in the object's own namespace.
    Secret,
}

/// User variables by name, with any JSON as value. Debug output shows the names, no value.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Variables(pub BTreeMap<String, Value>);

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.0.keys().map(|name| (name, "[redacted]")))
            .finish()
    }
}

impl JsonSchema for Variables {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Variables".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "minProperties": 1,
            "maxProperties": 256,
            "x-kubernetes-preserve-unknown-fields": true,
        })
    }
}

/// A ConfigMap or Secret whose keys become variables; exactly one of the two is named.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "[has(self.configMapRef),has(self.secretRef)].filter(x,x==true).size() == 1",
    "message": "exactly one of the fields in [configMapRef secretRef] must be set",
}]))]
pub struct VariablesSource {
    /// A ConfigMap of the object's namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<ObjectName>,
    /// How values are read; unset stands for `String`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<VariableFormat>,
    /// Whether the source may be missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
    /// A Secret of the object's namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<ObjectName>,
}

/// Name of an object in the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectName {
    /// Name of the object.
    #[schemars(length(min = 1, max = 253), regex(pattern = DNS_SUBDOMAIN))]
    pub name: String,
}

/// How the values of a variables source are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::crd::describe_by_field)]
pub enum VariableFormat {
    /// Each value is a string.
    #[default]
    String,
    /// Each value is a JSON document.
    #[serde(rename = "JSON")]
    Json,
}

/// What happens to the infrastructure when the object is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::crd::describe_by_field)]
pub enum DeletionPolicy {
    /// It is removed.
    Destroy,
    /// It stays.
    Retain,
}
