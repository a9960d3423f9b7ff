//! A member of a pool as its status lists it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::capi::MachineAddress;

/// One machine of a pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct Instance {
    /// Addresses of the machine; the list is left out when there are none.
    #[schemars(length(min = 1, max = 256), extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addresses: Option<Vec<MachineAddress>>,
    /// Failure domain the machine runs in, such as `eu-central-1a` or `2`.
    #[schemars(length(min = 1, max = 256))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_domain: Option<String>,
    /// The cloud's own name for the machine.
    #[schemars(length(min = 1, max = 256))]
    #[serde(
        rename = "instanceID",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub instance_id: Option<String>,
    /// Provider ID, equal to the one its Node carries.
    #[schemars(length(min = 1, max = 512))]
    #[serde(rename = "providerID")]
    pub provider_id: String,
    /// State the cloud reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<InstanceState>,
}

/// State of a machine in words both clouds share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::crd::describe_by_field)]
#[serde(rename_all = "lowercase")]
pub enum InstanceState {
    /// Being created or started.
    Pending,
    /// Runs.
    Running,
    /// Runs, and the cloud calls it unhealthy.
    Degraded,
    /// Exists without running.
    Stopped,
    /// Gone, or on its way.
    Terminated,
    /// The cloud said nothing that fits, or a newer writer used a word this version lacks.
    #[serde(other)]
    Unknown,
}
