//! What an identity needs on Azure, derived from the calls that are made.

use remuda_cloud::permissions::{Grant, grants};
use serde_json::{Value, json};

use crate::calls;

/// Where the role of the example may be assigned; to be replaced.
const SUBSCRIPTION: &str = "/subscriptions/00000000-0000-0000-0000-000000000000";

/// Every permission that a pool's identity needs, with what for.
pub fn permissions() -> Vec<Grant> {
    grants(calls::ALL)
}

/// The definition of a custom role with exactly these permissions. To be assigned on the cluster's
/// resource group, and where network, images or the node identity are elsewhere, there too.
pub fn role() -> Value {
    let actions: Vec<&str> = permissions().iter().map(|grant| grant.action).collect();
    json!({
        "Name": "Remuda machine pools",
        "IsCustom": true,
        "Description": "Run the machine pools of Kubernetes clusters: scale sets, their instances and their autoscale settings.",
        "Actions": actions,
        "NotActions": [],
        "DataActions": [],
        "NotDataActions": [],
        "AssignableScopes": [SUBSCRIPTION],
    })
}
