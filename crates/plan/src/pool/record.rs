//! The durable pool record: the one thing remembered between passes (captf document 6.4, AWS
//! document 4.8). Lives in the Secret `remuda-pool-<pool>`; holds digests of the bootstrap data,
//! never the data.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::instance_template::InstanceTemplate;
use crate::{
    azure::{image::ImageReference, place::Place},
    driver::Driver,
};

/// What a pool remembers. Serialized as JSON under the Secret key `record`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// Rises with every write; shown as `status.observedStateSerial`.
    pub revision: i64,
    /// Installation id of the group tag `remuda.dev/installation`.
    pub installation: String,
    /// A first apply succeeded; never cleared (`captf.io/applied`).
    pub applied: bool,
    /// Hash of the inputs of the last successful apply.
    pub inputs_hash: Option<String>,
    /// Exports of the last successful apply.
    pub applied_exports: Option<Value>,
    /// Identity of the last operation, `kind/name`.
    pub identity: Option<String>,
    /// Operation counters, for names of `activeJob`.
    pub attempts: BTreeMap<String, i64>,
    /// What the driver remembers.
    pub driver: DriverRecord,
    /// Outcomes and waits of operations; drivers pass it on unchanged.
    #[serde(default)]
    pub history: History,
}

impl Record {
    /// A record nothing has been written into yet.
    pub fn new(installation: &str) -> Self {
        Self {
            revision: 0,
            installation: installation.to_owned(),
            applied: false,
            inputs_hash: None,
            applied_exports: None,
            identity: None,
            attempts: BTreeMap::new(),
            driver: DriverRecord::None,
            history: History::default(),
        }
    }
}

/// Outcomes and waits of a pool's operations. Durable, so that neither a restart nor a move runs
/// a failing operation more often than its schedule allows, nor forgets that one must be repeated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct History {
    /// The pool was once provisioned; never cleared.
    pub provisioned: bool,
    /// When the last apply succeeded.
    pub applied_at: Option<Timestamp>,
    /// The last apply failed: another is due even if the hash matches.
    pub apply_failed: bool,
    /// An apply began and did not end yet. Stored before its first cloud call, so that inputs that
    /// change back meanwhile are applied again.
    pub apply_unfinished: bool,
    /// Failed applies in a row.
    pub apply: Tries,
    /// Failed destroys in a row.
    pub destroy: Tries,
    /// Remediations tried since the last successful drift check.
    pub remediations: u32,
    /// Node labels that nodes do not get, as last reported.
    pub dropped_node_labels: Vec<String>,
}

impl History {
    /// The cloud may be half way to inputs that were never applied (captf document, HASH-2).
    pub fn apply_is_owed(&self) -> bool {
        self.apply_failed || self.apply_unfinished
    }
}

/// Failed tries in a row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Tries {
    /// How many.
    pub failed: u32,
    /// Not before.
    pub retry_at: Option<Timestamp>,
    /// Hash of the inputs whose fault the last one was: others are tried at once (Azure document
    /// 10.3). `None` where other inputs would not help.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blames: Option<String>,
}

/// Name of the record Secret: `remuda-pool-<pool>`.
pub fn secret_name(pool: &str) -> String {
    format!("remuda-pool-{pool}")
}

/// The driver's part of the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "driver")]
#[allow(
    clippy::large_enum_variant,
    reason = "a record exists once a pool, and nearly all of them hold a driver's part"
)]
pub enum DriverRecord {
    /// No driver has written yet.
    None,
    /// AWS.
    Aws(AwsRecord),
    /// Azure.
    Azure(AzureRecord),
}

impl From<AwsRecord> for DriverRecord {
    fn from(record: AwsRecord) -> Self {
        Self::Aws(record)
    }
}

impl From<AzureRecord> for DriverRecord {
    fn from(record: AzureRecord) -> Self {
        Self::Azure(record)
    }
}

impl DriverRecord {
    /// Which driver wrote it.
    pub fn driver(&self) -> Option<Driver> {
        match self {
            Self::None => None,
            Self::Aws(_) => Some(Driver::Aws),
            Self::Azure(_) => Some(Driver::Azure),
        }
    }

    /// Remembers the desired capacity as read, for the day the group is gone.
    pub fn remember_capacity(&mut self, capacity: i64) {
        match self {
            Self::None => {}
            Self::Aws(record) => record.last_desired_capacity = Some(capacity),
            Self::Azure(record) => record.last_capacity = Some(capacity),
        }
    }

    /// Remembers where an accepted operation can be followed; the plan wrote down before which one
    /// it is. Drivers without such operations forget it.
    pub fn follow_operation(&mut self, address: Option<String>) {
        match self {
            Self::None | Self::Aws(_) => {}
            Self::Azure(record) => {
                if let Some(operation) = &mut record.operation {
                    operation.accepted = true;
                    operation.address = address;
                }
            }
        }
    }
}

/// AWS document 4.8.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AwsRecord {
    /// Zone to the subnet seen at the first apply; written once, before the first cloud write.
    pub inherited_zones: BTreeMap<String, String>,
    /// What decides rolls.
    pub roll_key: Option<RollKey>,
    /// Name of the current launch template.
    pub template_name: Option<String>,
    /// Digest of the last applied template data.
    pub template_data_hash: Option<String>,
    /// SHA-256 of the decoded payload last written.
    pub payload_hash: Option<String>,
    /// A roll whose refresh has not been accepted yet: set before the group points at the template.
    pub pending_roll: Option<PendingRoll>,
    /// Where things were applied: teardown without valid inputs.
    pub applied: Option<AwsApplied>,
    /// The desired capacity last observed (C-13).
    pub last_desired_capacity: Option<i64>,
    /// Launch templates that nothing uses: left behind by a roll, or about to be made. They are
    /// deleted unless a later pass uses them; names stay here until a read shows that they are gone.
    pub superseded_templates: BTreeSet<String>,
    /// The payload object of an earlier bucket, until it is deleted.
    pub old_payload: Option<PayloadPlace>,
    /// Our terminating lifecycle hook: set before it is put, `None` once it is deleted. Without pool
    /// Machines there is none.
    pub hook: Option<DrainHook>,
    /// Instances that the hook holds for their drain, by instance id.
    pub held: BTreeMap<String, Held>,
}

/// How long an Auto Scaling group waits for the drain of an instance that it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DrainHook {
    /// The group waits this long after the last heartbeat.
    pub heartbeat_seconds: i64,
    /// No heartbeat prolongs the wait beyond this.
    pub limit_seconds: i64,
}

/// An instance that a lifecycle hook holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Held {
    /// When the wait began, or was first seen.
    pub since: Timestamp,
    /// Why the cloud ends it, once that is known.
    pub because: Option<String>,
    /// When the wait was last prolonged; written before the call.
    pub prolonged_at: Timestamp,
}

/// What decides a roll: nothing else does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RollKey {
    /// Verbatim `kubernetes_version`.
    pub kubernetes_version: Option<String>,
    /// Explicit `machine_image.id`.
    pub image_id: Option<String>,
    /// What members are made from; `None` without pool Machines, and nothing is known of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<InstanceTemplate>,
}

impl RollKey {
    /// Whether members made for one are those that the other asks for.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.kubernetes_version == other.kubernetes_version
            && self.image_id == other.image_id
            && InstanceTemplate::changes(self.template.as_ref(), other.template.as_ref()).is_empty()
    }
}

/// A roll that began and whose refresh is not accepted yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingRoll {
    /// The new launch template.
    pub template_name: String,
    /// The template to delete once the refresh is accepted.
    pub old_template_name: Option<String>,
    /// The roll key that becomes current.
    pub roll_key: RollKey,
    /// Ids of the instance refreshes that were there when the roll began; `None` when they were
    /// not read. A refresh that is not among them is this roll's own: its start was accepted.
    #[serde(default)]
    pub refreshes_before: Option<BTreeSet<String>>,
}

/// Where a staged payload lies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PayloadPlace {
    /// Bucket.
    pub bucket: String,
    /// Key.
    pub key: String,
}

/// Last applied places and names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AwsApplied {
    /// Region.
    pub region: String,
    /// Bootstrap bucket.
    pub bucket: String,
    /// Payload key.
    pub key: String,
    /// Group name.
    pub group_name: String,
}

/// Azure document 0.3.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AzureRecord {
    /// The cluster's zones at the first apply; never changed afterwards. Empty in a region without
    /// zones, `None` before the first apply.
    pub pinned_zones: Option<BTreeSet<String>>,
    /// Where things were applied: teardown without valid inputs.
    pub place: Option<Place>,
    /// `admin_username` of the first apply: cannot change in place.
    pub admin_username: Option<String>,
    /// The generation that serves.
    pub current: Option<Generation>,
    /// The generation that is about to serve: its set is being made.
    pub next: Option<Generation>,
    /// Sets of older generations whose deletion has not finished.
    pub retiring: BTreeSet<String>,
    /// What they were made for, where members may be made from something else for the same set.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub retiring_keys: BTreeMap<String, GenerationKey>,
    /// The retiring set that served before the current one: with pool Machines off its members are
    /// published until it is gone.
    pub predecessor: Option<String>,
    /// Whether the current set has an autoscale setting of ours.
    pub has_setting: bool,
    /// The capacity last observed: what a new generation starts with.
    pub last_capacity: Option<i64>,
    /// The one operation that may be running. Written before the call, and again with its address
    /// once Azure accepted it.
    pub operation: Option<Operation>,
}

impl AzureRecord {
    /// A generation that serves no more: its set goes.
    pub fn retire(&mut self, old: Generation) {
        if let Some(key) = old.key.filter(|key| key.template.is_some()) {
            self.retiring_keys.insert(old.set_name.clone(), key);
        }
        self.retiring.insert(old.set_name);
    }

    /// A set that does not go any more, or is gone.
    pub fn keep(&mut self, set_name: &str) {
        self.retiring.remove(set_name);
        self.retiring_keys.remove(set_name);
    }
}

/// What cannot change in place, or not without new machines: another key is another set (Azure
/// document 3.1, 5.2a).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GenerationKey {
    /// Explicit `failure_domains`, sorted; never the pinned zones.
    pub failure_domains: BTreeSet<String>,
    /// Verbatim `kubernetes_version`.
    pub kubernetes_version: Option<String>,
    /// Disk type.
    pub os_disk_storage_account_type: String,
    /// Spot priority.
    pub spot: bool,
    /// Secure boot and vTPM.
    pub trusted_launch: bool,
    /// What members are made from; `None` without pool Machines, and nothing is known of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<InstanceTemplate>,
}

impl GenerationKey {
    /// Whether members made for one are those that the other asks for.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let unchanged = Self {
            template: other.template.clone(),
            ..self.clone()
        };
        unchanged == *other
            && InstanceTemplate::changes(self.template.as_ref(), other.template.as_ref()).is_empty()
    }
}

/// One generation and what is known of its set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Generation {
    /// `workers-7d91b187`.
    pub set_name: String,
    /// What it stands for; `None` when the record was rebuilt and nobody knows.
    pub key: Option<GenerationKey>,
    /// The set was made: from now on its absence means that it is gone.
    pub created: bool,
    /// What was last sent and accepted.
    pub sent: Option<Sent>,
}

/// Digests of what was last sent. ARM never returns custom data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sent {
    /// Lower-case hex SHA-256 of the custom data.
    pub custom_data_sha256: String,
    /// The image: one that was used is not looked up again.
    pub image: ImageReference,
}

/// A long-running operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    /// What it does.
    pub kind: OperationKind,
    /// To which set.
    pub set_name: String,
    /// Seconds since the epoch.
    pub started_at: i64,
    /// Azure accepted the call.
    pub accepted: bool,
    /// Where Azure tells how it goes (`Azure-AsyncOperation` or `Location`); `None` when it gave no
    /// address: then the set itself tells.
    pub address: Option<String>,
    /// What is sent, and counts once the operation succeeded.
    pub sends: Option<Sent>,
}

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OperationKind {
    /// Makes a set.
    Create,
    /// Changes its model.
    Update,
    /// Takes its capacity to 0.
    Empty,
    /// Deletes it.
    Delete,
}
