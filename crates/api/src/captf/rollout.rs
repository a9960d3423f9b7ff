//! How members of an older model are replaced.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How members of an older model are replaced while the pool has Machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct RolloutPolicy {
    /// Machines above the desired count while the pool rolls, a count or a percentage that rounds
    /// up; unset stands for 1.
    #[schemars(schema_with = "crate::crd::int_or_string")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<IntOrString>,
    /// Machines that may be missing while the pool rolls, a count or a percentage that rounds
    /// down; unset stands for 0. Where both are 0, one may be missing.
    #[schemars(schema_with = "crate::crd::int_or_string")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
    /// What makes a machine go; unset stands for `RollingUpdate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<RolloutStrategy>,
}

/// What makes a machine of an older model go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::crd::describe_by_field)]
pub enum RolloutStrategy {
    /// The pool: the oldest model first, within the bounds.
    RollingUpdate,
    /// A person who deletes its Machine.
    OnDelete,
}
