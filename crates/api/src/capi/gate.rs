//! Further conditions that decide readiness or availability.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::pattern::CONDITION_TYPE;

/// A condition that counts towards readiness or availability.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConditionGate {
    /// Type of the condition.
    #[schemars(length(min = 1, max = 316), regex(pattern = CONDITION_TYPE))]
    pub condition_type: String,
    /// Which status is good; unset stands for `Positive`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polarity: Option<ConditionPolarity>,
}

/// Which status of a condition is good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::crd::describe_by_field)]
pub enum ConditionPolarity {
    /// True is good.
    #[default]
    Positive,
    /// False is good.
    Negative,
}
