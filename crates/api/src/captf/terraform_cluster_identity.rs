//! `TerraformClusterIdentity`: credentials and the namespaces that may use them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::pattern::{DNS_LABEL, DNS_SUBDOMAIN, SECRET_KEY};

/// Where credentials lie and who may use them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, CustomResource)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "(has(self.type) && self.type != 'Secret') || has(self.secretRef)",
    "message": "secretRef is required when type is Secret",
}]))]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1alpha1",
    kind = "TerraformClusterIdentity",
    plural = "terraformclusteridentities",
    shortname = "tfci",
    category = "cluster-api",
    doc = "Credentials and the namespaces that may use them.",
    status = "TerraformClusterIdentityStatus",
    derive = "Default",
    derive = "PartialEq",
    printcolumn(
        name = "Secret",
        type_ = "string",
        description = "Secret with the credentials",
        json_path = ".spec.secretRef.name"
    ),
    printcolumn(
        name = "Namespace",
        type_ = "string",
        description = "Namespace of that Secret",
        json_path = ".spec.secretRef.namespace"
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        description = "Whether the credentials were found",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        description = "Time since creation",
        json_path = ".metadata.creationTimestamp"
    )
)]
pub struct TerraformClusterIdentitySpec {
    /// Namespaces whose objects may use the identity; unset stands for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_namespaces: Option<AllowedNamespaces>,
    /// Keys the Secret must hold; unset checks nothing.
    #[schemars(
        length(max = 64),
        inner(length(min = 1, max = 253), regex(pattern = SECRET_KEY)),
        extend("x-kubernetes-list-type" = "set")
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_keys: Option<Vec<String>>,
    /// The Secret with the credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretReference>,
    /// Sort of credentials; unset stands for `Secret`.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub type_: Option<CredentialsType>,
}

/// Namespaces that may use an identity: those listed and those selected.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.list) || has(self.selector)",
    "message": "allowedNamespaces {} is ambiguous and rejected: set list, or write selector: {} to allow every namespace",
}]))]
pub struct AllowedNamespaces {
    /// Namespaces by name.
    #[schemars(
        length(min = 1, max = 100),
        inner(length(min = 1, max = 63), regex(pattern = DNS_LABEL)),
        extend("x-kubernetes-list-type" = "set")
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<Vec<String>>,
    /// Namespaces by label; an empty selector stands for every namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
}

/// Name and namespace of a Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretReference {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253), regex(pattern = DNS_SUBDOMAIN))]
    pub name: String,
    /// Namespace of the Secret.
    #[schemars(length(min = 1, max = 63), regex(pattern = DNS_LABEL))]
    pub namespace: String,
}

/// Sorts of credentials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::crd::describe_by_field)]
pub enum CredentialsType {
    /// Keys of a Secret.
    #[default]
    Secret,
}

/// Observed state of an identity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct TerraformClusterIdentityStatus {
    /// What holds for the identity, one condition of each type.
    #[schemars(schema_with = "crate::condition::list")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
    /// Sorted namespaces that hold a mirror in use.
    #[schemars(
        length(max = 1000),
        inner(length(min = 1, max = 63)),
        extend("x-kubernetes-list-type" = "set")
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<Vec<String>>,
}
