//! Taints that Cluster API puts on Nodes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::pattern::{LABEL_VALUE, TAINT_KEY};

/// A taint of a machine's Node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineTaint {
    /// What happens to Pods that do not tolerate the taint.
    pub effect: TaintEffect,
    /// Key of the taint.
    #[schemars(length(min = 1, max = 317), regex(pattern = TAINT_KEY))]
    pub key: String,
    /// When the taint is put on the Node.
    pub propagation: TaintPropagation,
    /// Value of the taint.
    #[schemars(length(min = 1, max = 63), regex(pattern = LABEL_VALUE))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// What a taint does to Pods that do not tolerate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::crd::describe_by_field)]
pub enum TaintEffect {
    /// They are not scheduled here.
    NoSchedule,
    /// They are scheduled elsewhere if possible.
    PreferNoSchedule,
    /// They are evicted.
    NoExecute,
}

/// When a taint is put on a Node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::crd::describe_by_field)]
pub enum TaintPropagation {
    /// It is kept there.
    Always,
    /// Once, at the Node's first appearance.
    OnInitialization,
}
