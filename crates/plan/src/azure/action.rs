//! One variant an ARM call. The backend has one arm a variant; all are safe to repeat.
//!
//! Where the call goes is the handle's `place`; an action names only what is in it. A call that
//! Azure accepts as a long-running operation is answered with its address, and the pass ends there.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{
    desired::{CustomData, Network, OsDisk, SetSpec, SettingSpec},
    image::ImageReference,
};

/// One ARM call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Action {
    /// `PUT` of a set with `If-None-Match: *`; long-running. 412 means that it exists after all:
    /// the next pass looks whose it is.
    CreateSet {
        /// The set.
        set: Box<SetSpec>,
        /// `sku.capacity`.
        capacity: i64,
    },
    /// `PATCH` of a set's model; long-running. Only what is set is sent.
    UpdateSet(Box<SetPatch>),
    /// `PATCH {"sku":{"name","tier","capacity":0}}`; long-running.
    EmptySet {
        /// Set name.
        set: String,
        /// `sku.name` as it is.
        vm_size: String,
    },
    /// `DELETE` of a set, never forced; long-running. Not found is success.
    DeleteSet {
        /// Set name.
        set: String,
    },
    /// `POST` of a set's `delete`: ends these instances, and the capacity falls with them. Taken as
    /// done once Azure accepts it; the instances themselves tell how it goes. Those that are gone
    /// are success.
    DeleteInstances {
        /// Set name.
        set: String,
        /// `instanceId`s.
        instance_ids: BTreeSet<String>,
    },
    /// `PATCH {"sku":{"name","tier","capacity"}}` of a set whose capacity is still `from` (one
    /// `GET` before, `If-Match`). Another capacity is left alone: the next pass looks. Taken as done
    /// once Azure accepts it.
    ResizeSet {
        /// Set name.
        set: String,
        /// `sku.name` as it is.
        vm_size: String,
        /// `sku.capacity` as it was seen.
        from: i64,
        /// `sku.capacity` as it should be; never fewer than the set has instances.
        to: i64,
    },
    /// `PUT` of an autoscale setting.
    PutSetting(Box<SettingSpec>),
    /// `DELETE` of an autoscale setting; not found is success.
    DeleteSetting {
        /// Setting name.
        name: String,
    },
}

/// A model update (Azure document 4.3). `upgradePolicy.mode` Manual and the image reference are
/// always sent, `zones` never.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SetPatch {
    /// Set name.
    pub set: String,
    /// Always sent.
    pub image: ImageReference,
    /// `osProfile.customData`.
    pub custom_data: Option<CustomData>,
    /// The full `osDisk` and an empty `dataDisks`.
    pub os_disk: Option<OsDisk>,
    /// The full `networkInterfaceConfigurations` array.
    pub network: Option<Network>,
    /// `sku` with the capacity as it was read right before, or (for a set that is not complete yet)
    /// as it should be.
    pub sku: Option<Sku>,
    /// `linuxConfiguration` with the complete `ssh` block.
    pub ssh: Option<Ssh>,
    /// `diagnosticsProfile`.
    pub boot_diagnostics: Option<bool>,
    /// `securityProfile.encryptionAtHost`.
    pub encryption_at_host: Option<bool>,
    /// The full map: it replaces what is there.
    pub tags: Option<BTreeMap<String, String>>,
    /// ARM ID of the one user-assigned identity.
    pub identity_id: Option<String>,
    /// ARM IDs of identities to take off (`null` in the PATCH).
    pub removed_identity_ids: Vec<String>,
    /// Everything that the Azure document 4.2 fixes for every pool and that ARM lets change:
    /// somebody changed it.
    pub constants: bool,
}

impl SetPatch {
    /// A patch that changes nothing yet.
    pub fn new(set: &str, image: ImageReference) -> Self {
        Self {
            set: set.to_owned(),
            image,
            custom_data: None,
            os_disk: None,
            network: None,
            sku: None,
            ssh: None,
            boot_diagnostics: None,
            encryption_at_host: None,
            tags: None,
            identity_id: None,
            removed_identity_ids: Vec::new(),
            constants: false,
        }
    }
}

/// Size and count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sku {
    /// `sku.name`; the tier is `Standard`.
    pub vm_size: String,
    /// `sku.capacity`.
    pub capacity: i64,
    /// Only while the set still has this count, and nobody changed it since: with pool Machines on
    /// a count that rose meanwhile must not fall, for Azure would choose whom to take. `None`: in
    /// any case.
    pub only_from: Option<i64>,
}

/// Who may log in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ssh {
    /// Part of the path `/home/<admin>/.ssh/authorized_keys`.
    pub admin_username: String,
    /// OpenSSH public key.
    pub public_key: String,
}
