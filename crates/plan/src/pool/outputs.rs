//! What a pool publishes (captf document 2.2).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{health::Health, members::Member};

/// The five contract outputs plus the driver's extras.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outputs {
    /// The scaling group's id; `None` while it does not exist.
    pub provider_id: Option<String>,
    /// Distinct, ascending byte order.
    pub provider_id_list: Vec<String>,
    /// Desired capacity as observed; `None` when unknown (group gone and never observed).
    pub replicas: Option<i64>,
    /// One entry a member, in the order of `provider_id_list`.
    pub instances: Vec<Member>,
    /// The health verdict.
    pub health: Health,
    /// Driver extras by name: `autoscaling_group_name`, `dropped_node_labels`, `launch_template_id`.
    pub extra: BTreeMap<String, Value>,
}
