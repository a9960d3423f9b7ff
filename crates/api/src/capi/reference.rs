//! References between Cluster API objects.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::pattern::{DNS_SUBDOMAIN, GROUP_VERSION, KIND};

/// A reference without version and namespace: the version follows from the contract, the
/// namespace is the referrer's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContractReference {
    /// API group of the object.
    #[schemars(length(min = 1, max = 253), regex(pattern = DNS_SUBDOMAIN))]
    pub api_group: String,
    /// Kind of the object.
    #[schemars(length(min = 1, max = 63), regex(pattern = KIND))]
    pub kind: String,
    /// Name of the object.
    #[schemars(length(min = 1, max = 253), regex(pattern = DNS_SUBDOMAIN))]
    pub name: String,
}

/// A reference to a template, with group and version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateReference {
    /// Group and version of the template.
    #[schemars(length(min = 1, max = 317), regex(pattern = GROUP_VERSION))]
    pub api_version: String,
    /// Kind of the template.
    #[schemars(length(min = 1, max = 63), regex(pattern = KIND))]
    pub kind: String,
    /// Name of the template.
    #[schemars(length(min = 1, max = 253), regex(pattern = DNS_SUBDOMAIN))]
    pub name: String,
}
