//! `World`: everything one pass of a `TerraformMachinePool` reads from Kubernetes.
//!
//! In: the controllers' reads. Out: what `gate` and `fold` decide on. A failed read is a value of
//! its own and never absence. Nothing here is read lazily: two functions on one `World` agree.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{
    objects::{ClusterObject, IdentityObject, InfraClusterObject, MachinePoolObject, PoolObject},
    record::Record,
    secret::Secret,
};
use crate::{error::CloudFailure, machines::objects::MachineObjects};

/// Answer of one read.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Lookup<T> {
    /// It is there.
    Found(T),
    /// Proven absent, or there was no name to look for.
    #[default]
    Missing,
    /// The read failed; the text carries no times or request ids.
    Failed(String),
}

impl<T> Lookup<T> {
    /// The value, when it was found.
    pub fn found(&self) -> Option<&T> {
        match self {
            Self::Found(value) => Some(value),
            Self::Missing | Self::Failed(_) => None,
        }
    }
}

/// Everything one pass reads from Kubernetes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct World {
    /// The pool with its previous status.
    pub pool: PoolObject,
    /// The MachinePool that the pool's owner reference names ([`super::gate::owner_reference`]).
    pub owner: Lookup<MachinePoolObject>,
    /// The Cluster that the pool's cluster-name label names.
    pub cluster: Lookup<ClusterObject>,
    /// The TerraformCluster that the Cluster's `infrastructureRef` names; `Missing` for other kinds.
    pub infra_cluster: Lookup<InfraClusterObject>,
    /// The Secret that `MachinePool.spec.template.spec.bootstrap.dataSecretName` names.
    pub bootstrap: Lookup<BootstrapSecret>,
    /// One read per entry of `spec.variablesFrom`, in its order.
    pub sources: Vec<Lookup<VariableSource>>,
    /// What [`super::identity::resolve`] named.
    pub identity: IdentityReads,
    /// The record Secret `remuda-pool-<pool>` ([`super::record::secret_name`]).
    pub record: RecordRead,
    /// captf's own Secrets of a deleted pool of this name that carry
    /// `captf.io/retained-from-uid`: their names.
    pub retained: Lookup<Vec<String>>,
    /// What stands for the pool's members; `Missing`: the kind is not served, or the pool has
    /// never had Machines and wants none.
    pub machines: Lookup<MachineObjects>,
    /// Settings of this manager.
    pub manager: Manager,
    /// What the previous pass of this process left behind; `None` on the first one.
    pub memory: Option<Memory>,
}

/// The bootstrap Secret.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BootstrapSecret {
    /// Raw bytes of key `value`.
    pub value: Option<Secret<Vec<u8>>>,
    /// Raw bytes of key `format`.
    pub format: Option<Vec<u8>>,
}

/// A ConfigMap or Secret named by `spec.variablesFrom`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct VariableSource {
    /// Labels: only opted-in sources count.
    pub labels: BTreeMap<String, String>,
    /// `data` and `binaryData`, as bytes.
    pub data: BTreeMap<String, Secret<Vec<u8>>>,
}

/// What was read of the resolved identity.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IdentityReads {
    /// The `TerraformClusterIdentity`; `Missing` for kind `Secret`.
    pub object: Lookup<IdentityObject>,
    /// The credential Secret: of the identity, or the one in the pool's own namespace.
    pub secret: Lookup<CredentialSecret>,
    /// Labels of the pool's namespace, read uncached, where they decide whether it is allowed; else
    /// `Missing`.
    pub namespace_labels: Lookup<BTreeMap<String, String>>,
}

/// A credential Secret without its values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CredentialSecret {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Cached clients are dropped when it changes.
    pub resource_version: String,
    /// Key names.
    pub keys: BTreeSet<String>,
}

/// The record Secret.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum RecordRead {
    /// No such Secret.
    #[default]
    Missing,
    /// It is there and does not parse; why, without content.
    Corrupt(String),
    /// The read failed.
    Failed(String),
    /// It is there.
    Found {
        /// The record.
        record: Box<Record>,
        /// Label `captf.io/retained-from-uid`: a deleted pool of this name left it behind.
        retained_from: Option<String>,
        /// The Secret names this pool as owner (`clusterctl move` and garbage collection need it).
        owned: bool,
    },
}

impl RecordRead {
    /// The record, when it was found.
    pub fn found(&self) -> Option<&Record> {
        match self {
            Self::Found { record, .. } => Some(record),
            Self::Missing | Self::Corrupt(_) | Self::Failed(_) => None,
        }
    }
}

/// Settings of this manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manager {
    /// `--watch-filter`; empty: every object is ours.
    pub watch_filter: String,
    /// Id a new record gets.
    pub installation: String,
    /// `--drift-default-interval`.
    pub drift_interval_seconds: u32,
    /// Shown as `status.source.runtimeVersion`.
    pub version: String,
}

impl Default for Manager {
    fn default() -> Self {
        Self {
            watch_filter: String::new(),
            installation: String::new(),
            drift_interval_seconds: crate::limits::DRIFT_INTERVAL_SECONDS,
            version: String::new(),
        }
    }
}

/// What one pass leaves to the next in the same process. Losing it costs reads, never correctness:
/// `fold` makes it, the controller keeps it by pool UID and hands it back in [`World::memory`].
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    /// The first pass of this process.
    pub since: Timestamp,
    /// Last successful membership read.
    pub refreshed_at: Option<Timestamp>,
    /// An apply succeeded in this process and no refresh since (captf document, MEM-2).
    pub refresh_wanted: bool,
    /// Nodes of the pool came or went since the last successful refresh: their machines did, too.
    pub nodes_changed: bool,
    /// Last successful drift check.
    pub drift_checked_at: Option<Timestamp>,
    /// Failed reads in a row, of refreshes and drift checks.
    pub read_failures: Failures,
    /// The group's last members are unseen: since when, and when to read again (captf document,
    /// LST-9).
    pub unseen: Option<Unseen>,
    /// Whether the last sample said `pending` was counted: when that pass began.
    pub counted_at: Option<Timestamp>,
    /// Since when the cloud has been throttling what an operation writes (AWS document, A-1).
    pub writes_throttled_since: Option<Timestamp>,
    /// Since when it has been throttling reads.
    pub reads_throttled_since: Option<Timestamp>,
    /// The running operation asked for another look, not before.
    pub look_again_at: Option<Timestamp>,
    /// The last run of an operation that was judged, and when its pass began: judging it again
    /// tells nothing twice.
    pub judged: Option<(String, Timestamp)>,
    /// No operation that writes starts before.
    pub operation_retry_at: Option<Timestamp>,
    /// Since when the group has had fewer members than it wants.
    pub short_since: Option<Timestamp>,
    /// Machines come or go: when the group is looked at again for them.
    pub machines_at: Option<Timestamp>,
    /// Notices that were told, by id.
    pub told: BTreeSet<String>,
}

impl Memory {
    /// Nothing seen yet.
    pub fn new(now: Timestamp) -> Self {
        Self {
            since: now,
            refreshed_at: None,
            refresh_wanted: false,
            nodes_changed: false,
            drift_checked_at: None,
            read_failures: Failures::default(),
            unseen: None,
            counted_at: None,
            writes_throttled_since: None,
            reads_throttled_since: None,
            look_again_at: None,
            judged: None,
            operation_retry_at: None,
            short_since: None,
            machines_at: None,
            told: BTreeSet::new(),
        }
    }
}

/// No member was seen where some are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unseen {
    /// First read that saw none.
    pub since: Timestamp,
    /// A fresh read from then on confirms it.
    pub confirm_at: Timestamp,
}

/// Failures in a row and when to try again.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Failures {
    /// How many.
    pub count: u32,
    /// Not before.
    pub retry_at: Option<Timestamp>,
    /// The last one.
    pub last: Option<CloudFailure>,
}
