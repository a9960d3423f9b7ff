//! Environment variables of a job.
//!
//! Kubernetes' own `EnvVar` at the API level we compile against has no `fileKeyRef` yet, and an
//! object that carries one must survive a read and a write.

use std::fmt;

use k8s_openapi::api::core::v1::{
    ConfigMapKeySelector, ObjectFieldSelector, ResourceFieldSelector, SecretKeySelector,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One environment variable, either a plain value or a reference to one. Debug output leaves the
/// value out.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvVar {
    /// Name of the variable, unique in its list.
    pub name: String,
    /// The value itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Where the value comes from instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_from: Option<EnvVarSource>,
}

impl fmt::Debug for EnvVar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnvVar")
            .field("name", &self.name)
            .field("value", &self.value.as_ref().map(|_| "[redacted]"))
            .field("value_from", &self.value_from)
            .finish()
    }
}

/// Where the value of a variable is found; one field is set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvVarSource {
    /// A key of a ConfigMap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<ConfigMapKeySelector>,
    /// A field of the Pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_ref: Option<ObjectFieldSelector>,
    /// A key of an environment file in a volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_key_ref: Option<FileKeySelector>,
    /// A resource figure of a container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_field_ref: Option<ResourceFieldSelector>,
    /// A key of a Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<SecretKeySelector>,
}

/// A key of an environment file that lies in a volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileKeySelector {
    /// Key in the file.
    pub key: String,
    /// Whether the Pod starts although file or key is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
    /// Path of the file inside the volume.
    pub path: String,
    /// Name of the volume.
    pub volume_name: String,
}
