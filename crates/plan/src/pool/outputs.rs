//! What a pool publishes (captf document 2.2).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    health::Health,
    members::{Member, in_order},
};

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

impl Outputs {
    /// Outputs of ordered members; the list and the entries share one order.
    pub fn new(
        provider_id: Option<String>,
        replicas: Option<i64>,
        members: Vec<Member>,
        health: Health,
        extra: BTreeMap<String, Value>,
    ) -> Self {
        let instances = in_order(members);
        Self {
            provider_id,
            provider_id_list: instances.iter().map(|m| m.provider_id.clone()).collect(),
            replicas,
            instances,
            health,
            extra,
        }
    }
}
