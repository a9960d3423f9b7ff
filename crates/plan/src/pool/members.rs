//! Members: the non-terminated instances of a group.

use serde::{Deserialize, Serialize};

/// One non-terminated instance of the group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Equals the Node's `spec.providerID` byte for byte: `aws:///us-east-1a/i-0aaa0000000000001`.
    pub provider_id: String,
    /// The cloud's own id: `i-0aaa0000000000001`.
    pub instance_id: String,
    /// Addresses; empty when the instance has none.
    pub addresses: Vec<Address>,
    /// Zone, when known.
    pub failure_domain: Option<String>,
    /// State in the contract's words.
    pub state: MemberState,
    /// Why the member is not running: `InstancePending`, `InstanceStopped`, `UnknownState`.
    pub reason: Option<String>,
}

/// State of a member or a pool in the contract's words, in ascending order of how bad it is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemberState {
    /// Starting.
    Pending,
    /// Running.
    Running,
    /// Running badly.
    Degraded,
    /// Stopping or stopped.
    Stopped,
    /// Gone.
    Terminated,
    /// The cloud says something else.
    Unknown,
}

impl Member {
    /// How messages name a member of an Auto Scaling group.
    pub fn instance_id(&self) -> &str {
        &self.instance_id
    }

    /// How messages name a member of a scale set: its host name, which is also its Node's.
    pub fn hostname(&self) -> &str {
        self.addresses
            .iter()
            .find(|address| address.kind == "Hostname")
            .map_or(&self.instance_id, |address| &address.address)
    }
}

/// Members in the order they are published: ascending byte order of the provider id, each once.
pub fn in_order(mut members: Vec<Member>) -> Vec<Member> {
    members.sort_by(|a, b| a.provider_id.cmp(&b.provider_id));
    members.dedup_by(|a, b| a.provider_id == b.provider_id);
    members
}

/// A network address of a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// `InternalIP`, `ExternalIP`, `Hostname`, `InternalDNS` or `ExternalDNS`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The address.
    pub address: String,
}
