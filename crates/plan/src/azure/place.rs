//! Where a pool's resources are: fixed for life (Azure document 10.4).

use serde::{Deserialize, Serialize};

/// Subscription, group and region of a pool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// Lower case; the subscription of every call.
    pub subscription_id: String,
    /// Lower case; the cluster's group.
    pub resource_group_name: String,
    /// `westeurope`, as the exports write it.
    pub region: String,
}
