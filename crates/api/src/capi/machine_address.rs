//! An address of a machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One address and what sort it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineAddress {
    /// The address itself.
    #[schemars(length(min = 1, max = 256))]
    pub address: String,
    /// Sort of the address.
    #[serde(rename = "type")]
    pub type_: MachineAddressType,
}

/// Sorts of machine addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::crd::describe_by_field)]
pub enum MachineAddressType {
    /// Host name.
    Hostname,
    /// Address reachable from outside.
    ExternalIP,
    /// Address reachable inside the cluster's network.
    InternalIP,
    /// DNS name for the outside.
    ExternalDNS,
    /// DNS name inside the cluster's network.
    InternalDNS,
}
