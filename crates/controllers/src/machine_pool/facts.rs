//! What one pass of a MachinePool knows, as plain data: the input of every decision in this folder.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;

use crate::workload::NodeFact;

/// Everything that a pass decides on.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    /// `spec.replicas`, 1 when absent.
    pub desired: i32,
    /// `spec.template.spec.minReadySeconds`, 0 when absent.
    pub min_ready_seconds: i64,
    /// `spec.template.spec.version`.
    pub version: Option<String>,
    /// The replica count is owned by something else (`replicas-managed-by`).
    pub replicas_managed: bool,
    /// The object is being deleted.
    pub deleting: bool,
    /// The Cluster itself is being deleted.
    pub cluster_deleting: bool,
    /// Paused by the Cluster or the annotation.
    pub paused: bool,
    /// The bootstrap data.
    pub bootstrap: Bootstrap,
    /// The infrastructure object.
    pub infrastructure: Infrastructure,
    /// The Nodes of the workload cluster.
    pub nodes: Nodes,
    /// The Machines of the pool.
    pub machines: Machines,
    /// What the last pass published.
    pub previous: Previous,
    /// Time of the pass.
    pub now: Timestamp,
}

/// Where the bootstrap data comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Bootstrap {
    /// Set by a person: only `dataSecretName`.
    SecretProvided,
    /// The bootstrap config reported this Secret.
    ConfigReady(String),
    /// The bootstrap config has not created its Secret yet.
    ConfigNotReady,
    /// The bootstrap config object does not exist.
    ConfigMissing,
    /// Neither is set.
    Unset,
}

/// What the infrastructure object says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Infrastructure {
    /// It is there.
    Known(InfraFacts),
    /// It does not exist.
    Missing,
    /// It could not be read: nothing is concluded from it.
    Unreadable(String),
}

/// The contract fields of an infrastructure object.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct InfraFacts {
    /// `status.initialization.provisioned`, else `status.ready`, else false.
    pub provisioned: bool,
    /// `status.replicas`; absent is not zero.
    pub replicas: Option<i32>,
    /// `spec.providerIDList`.
    pub provider_ids: Vec<String>,
    /// Condition `Ready`: status, reason, message.
    pub ready: Option<(String, String, String)>,
    /// It is being deleted.
    pub deleting: bool,
}

/// What is known of the workload cluster's Nodes.
#[derive(Debug, Clone)]
pub(crate) enum Nodes {
    /// The watch is current: the Node of each provider ID that has one, and the Nodes that the
    /// last pass referred to by name, `None` where there is none any more.
    Known {
        by_provider_id: BTreeMap<String, Arc<NodeFact>>,
        by_name: BTreeMap<String, Option<Arc<NodeFact>>>,
    },
    /// The first list is under way; the pool is woken when it is complete.
    Listing,
    /// The workload cluster cannot be asked: counters and references stay.
    Unknown(String),
}

/// What is known of the pool's Machines.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Machines {
    /// The infrastructure object publishes no kind of them: the pool has none.
    Off,
    /// They were read.
    Known(PoolMachines),
    /// They could not be read: counters stay.
    Unknown(String),
}

/// The Machines of a pool.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PoolMachines {
    /// By name.
    pub machines: Vec<MachineFact>,
    /// Infrastructure machines without a Machine.
    pub bare: usize,
    /// Machines that have the name of one of ours and are not ours: which, and why.
    pub foreign: Vec<String>,
    /// What was remediated last, for people.
    pub history: String,
}

/// One Machine of a pool.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct MachineFact {
    /// Its name.
    pub name: String,
    /// Its instance.
    pub provider_id: Option<String>,
    /// Name of its Node.
    pub node: Option<String>,
    /// Condition `Ready`; `None` is missing or unknown.
    pub ready: Option<bool>,
    /// Condition `Available`.
    pub available: Option<bool>,
    /// Condition `UpToDate`.
    pub up_to_date: Option<bool>,
    /// Its instance is made from an older model than a new one would be.
    pub outdated: bool,
    /// The version it runs, else the one it should.
    pub version: Option<String>,
    /// Whether it is being replaced because it is unhealthy.
    pub remediation: Remediation,
}

/// Whether a Machine is being replaced because it is unhealthy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Remediation {
    /// It is not.
    #[default]
    None,
    /// It is unhealthy and others go first.
    Waiting,
    /// It is going.
    Going,
}

/// What the last pass published.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Previous {
    /// `spec.providerIDList` of the MachinePool.
    pub provider_ids: Vec<String>,
    /// `status.phase`.
    pub phase: Option<String>,
    /// `status.replicas`.
    pub replicas: Option<i32>,
    /// Ready counter.
    pub ready: Option<i32>,
    /// Available counter.
    pub available: Option<i32>,
    /// Up-to-date counter.
    pub up_to_date: Option<i32>,
    /// `status.nodeRefs`.
    pub node_refs: Vec<NodeRef>,
    /// `status.initialization.infrastructureProvisioned`.
    pub provisioned: bool,
    /// `status.versions`.
    pub versions: Vec<(String, i32)>,
}

/// One entry of `status.nodeRefs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NodeRef {
    /// Name of the Node.
    pub name: String,
    /// UID of the Node.
    pub uid: String,
}
