//! What `remuda get` shows, as data, and how it is drawn. `gather` fills it from the API.

mod draw;
mod gather;

use std::collections::BTreeMap;

use serde::Serialize;

pub(crate) use draw::{Drawing, age, draw};
pub(crate) use gather::gather;

/// One machine pool with everything below it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PoolView {
    /// Namespace.
    pub(crate) namespace: String,
    /// Name of the MachinePool.
    pub(crate) name: String,
    /// Cluster.
    pub(crate) cluster: String,
    /// Driver by image, for example `aws`; empty when the infrastructure is not ours.
    pub(crate) cloud: String,
    /// Kubernetes version wanted.
    pub(crate) version: Option<String>,
    /// Replicas wanted by the MachinePool.
    pub(crate) wanted: Option<i32>,
    /// Members there are.
    pub(crate) have: i32,
    /// Nodes that are Ready.
    pub(crate) ready: i32,
    /// Phase of the MachinePool.
    pub(crate) phase: Option<String>,
    /// Health in words: the deciding condition's reason, or `Healthy`.
    pub(crate) health: String,
    /// The deciding condition's message.
    pub(crate) message: Option<String>,
    /// Seconds since creation.
    pub(crate) age_seconds: i64,
    /// How many machines each zone holds.
    pub(crate) zones: BTreeMap<String, usize>,
    /// Machines, sorted by zone and name.
    pub(crate) machines: Vec<MachineView>,
}

/// One machine of a pool.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MachineView {
    /// The Machine object that stands for it; `None` with pool Machines off.
    pub(crate) machine: Option<ObjectView>,
    /// Cloud id, or the provider ID where the pool gives none.
    pub(crate) id: String,
    /// Provider ID.
    pub(crate) provider_id: String,
    /// Zone.
    pub(crate) zone: Option<String>,
    /// State in the contract's words.
    pub(crate) state: Option<String>,
    /// First internal address.
    pub(crate) address: Option<String>,
    /// Its Node; `None` when it has none (yet), or when the workload cluster cannot be asked.
    pub(crate) node: Option<NodeView>,
}

/// A Machine object.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ObjectView {
    /// Name.
    pub(crate) name: String,
    /// Phase.
    pub(crate) phase: Option<String>,
    /// What its deletion waits for, in one word; `None` while nobody deletes it.
    pub(crate) deleting: Option<String>,
    /// Whether it is as a new one would be; `None` while nobody knows.
    pub(crate) up_to_date: Option<bool>,
    /// Seconds since creation.
    pub(crate) age_seconds: i64,
}

/// One Node of a workload cluster.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeView {
    /// Name.
    pub(crate) name: String,
    /// Ready.
    pub(crate) ready: bool,
    /// Cordoned.
    pub(crate) unschedulable: bool,
    /// Kubelet version.
    pub(crate) version: String,
    /// Seconds since creation.
    pub(crate) age_seconds: i64,
}

/// Zones that hold machines, with their counts.
fn zones(machines: &[MachineView]) -> BTreeMap<String, usize> {
    let mut zones = BTreeMap::new();
    for machine in machines {
        let zone = machine.zone.clone().unwrap_or_else(|| "unknown".to_owned());
        *zones.entry(zone).or_insert(0) += 1;
    }
    zones
}

impl ObjectView {
    /// The phase; of one that goes, also what it waits for.
    pub(crate) fn status(&self) -> String {
        let phase = self.phase.as_deref().unwrap_or("Unknown");
        match &self.deleting {
            Some(why) => format!("{phase}: {why}"),
            None => phase.to_owned(),
        }
    }
}

impl NodeView {
    /// As `kubectl get nodes` says it.
    pub(crate) fn status(&self) -> String {
        let ready = if self.ready { "Ready" } else { "NotReady" };
        let cordon = if self.unschedulable {
            ",SchedulingDisabled"
        } else {
            ""
        };
        format!("{ready}{cordon}")
    }
}
