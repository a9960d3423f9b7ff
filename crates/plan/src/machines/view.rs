//! A Machine as its JSON shows it, as far as its pool and health checks decide on it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;

use crate::pool::objects::{ContractRef, Metadata, OwnerReference};

/// Present on a Machine that health checks count as unhealthy at once.
pub(crate) const REMEDIATE: &str = "cluster.x-k8s.io/remediate-machine";
/// Present on a Machine that health checks pass by.
pub(crate) const SKIP_REMEDIATION: &str = "cluster.x-k8s.io/skip-remediation";
/// On a Machine: name of its pool, hashed when it is too long.
pub(crate) const POOL_NAME: &str = "cluster.x-k8s.io/pool-name";
/// On a control plane Machine.
pub(crate) const CONTROL_PLANE: &str = "cluster.x-k8s.io/control-plane";
/// The Machine is healthy, say health checks.
pub const HEALTH_CHECK_SUCCEEDED: &str = "HealthCheckSucceeded";
/// The Machine's owner has replaced it; health checks write that it should, the owner how far it is.
pub const OWNER_REMEDIATED: &str = "OwnerRemediated";
/// Something outside has repaired the Machine.
pub const EXTERNALLY_REMEDIATED: &str = "ExternallyRemediated";

/// A Machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct MachineView {
    /// Metadata.
    pub metadata: Metadata,
    /// Spec.
    pub spec: MachineSpecView,
    /// Status.
    pub status: MachineStatusView,
}

/// `Machine.spec`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineSpecView {
    /// Its Cluster.
    pub cluster_name: String,
    /// Its instance.
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
    /// The version it should run; of a pool Machine the one it runs.
    pub version: Option<String>,
    /// Its infrastructure object.
    pub infrastructure_ref: ContractRef,
}

/// A reference, as far as it is looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ReferenceView {
    /// Name.
    pub name: String,
}

/// `Machine.status`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineStatusView {
    /// Conditions.
    pub conditions: Vec<ConditionView>,
    /// Its Node.
    pub node_ref: Option<ReferenceView>,
    /// What the Node says about its system.
    pub node_info: Option<NodeInfoView>,
}

/// `Machine.status.nodeInfo`, as far as it is looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeInfoView {
    /// The kubelet's version.
    pub kubelet_version: String,
}

/// One condition of any object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConditionView {
    /// Which one.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why.
    pub reason: String,
    /// For people.
    pub message: String,
    /// Since when it has its status.
    pub last_transition_time: Option<Timestamp>,
}

impl ConditionView {
    /// `Some` when it is known to hold or not to hold.
    pub fn holds(&self) -> Option<bool> {
        match self.status.as_str() {
            "True" => Some(true),
            "False" => Some(false),
            _ => None,
        }
    }
}

impl MachineView {
    /// A condition of the Machine.
    pub fn condition(&self, kind: &str) -> Option<&ConditionView> {
        condition(&self.status.conditions, kind)
    }

    /// Whether a condition holds; `None`: it is missing or unknown.
    pub fn holds(&self, kind: &str) -> Option<bool> {
        self.condition(kind).and_then(ConditionView::holds)
    }

    /// The Machine is being deleted.
    pub fn is_deleting(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// Health checks say that it is unhealthy.
    pub fn is_unhealthy(&self) -> bool {
        self.holds(HEALTH_CHECK_SUCCEEDED) == Some(false)
    }

    /// A person asks for its replacement.
    pub fn asks_for_remediation(&self) -> bool {
        self.metadata.annotations.contains_key(REMEDIATE)
    }

    /// Its controller, when it has one.
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.metadata.controller()
    }

    /// The version its kubelet runs, else the one in its spec.
    pub fn version(&self) -> Option<&str> {
        let running = self.status.node_info.as_ref();
        let running = running.map(|info| info.kubelet_version.as_str());
        running
            .filter(|version| !version.is_empty())
            .or(self.spec.version.as_deref())
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        label(&self.metadata.labels, key)
    }
}

fn label<'a>(labels: &'a BTreeMap<String, String>, key: &str) -> Option<&'a str> {
    labels.get(key).map(String::as_str)
}

/// A condition of a list.
pub fn condition<'a>(conditions: &'a [ConditionView], kind: &str) -> Option<&'a ConditionView> {
    conditions.iter().find(|condition| condition.kind == kind)
}

/// At most three names in order, and how many more there are: as much as a message holds.
pub fn named<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 3;
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_unstable();
    let shown = names
        .iter()
        .take(SHOWN)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
