//! What one subscription holds.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Name, events::SetRef};
use crate::{
    addresses::Addresses,
    azure::{
        compute::{Operation, ScaleSet},
        insights::Setting,
        protocol::{ArmError, id},
    },
    kubelet::Place,
};

/// A subscription.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Subscription {
    pub(crate) place: Place,
    pub(crate) id: Name,
    pub(crate) tenant: Name,
    /// Groups by key.
    pub(crate) groups: BTreeMap<Name, Group>,
    /// What scale sets refer to, by key of the id.
    pub(crate) things: BTreeMap<String, Thing>,
    pub(crate) operations: BTreeMap<Name, Operation>,
    /// Quotas by key of the region.
    pub(crate) quotas: BTreeMap<String, Quota>,
    /// Locks by key of their scope: an id, or the start of one.
    pub(crate) locks: BTreeMap<String, Lock>,
    /// Resource providers that are not registered, by key.
    pub(crate) unregistered: BTreeSet<String>,
}

/// A resource group.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Group {
    /// As it was given.
    pub(crate) name: Name,
    pub(crate) location: String,
    pub(crate) tags: Value,
    /// Scale sets by key.
    pub(crate) sets: BTreeMap<Name, ScaleSet>,
    /// Autoscale settings by key.
    pub(crate) settings: BTreeMap<Name, Setting>,
    /// Sets that were deleted, for lists that lag.
    pub(crate) ghosts: Vec<Ghost>,
    /// A deletion runs.
    pub(crate) deleting: bool,
}

/// A scale set that is gone, as late lists show it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Ghost {
    pub(crate) key: Name,
    pub(crate) rendered: Value,
    pub(crate) gone: Timestamp,
}

/// Something a scale set refers to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Thing {
    /// A subnet with its addresses.
    Subnet(Addresses),
    /// A network security group.
    NetworkSecurityGroup,
    /// An application security group.
    ApplicationSecurityGroup,
    /// A user-assigned identity.
    Identity {
        client_id: String,
        principal_id: String,
    },
}

/// Cores of a subscription in a region; `None`: no limit.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Quota {
    pub(crate) regular: Option<u32>,
    pub(crate) spot: Option<u32>,
    pub(crate) regular_used: u32,
    pub(crate) spot_used: u32,
}

/// A management lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lock {
    /// Nothing below the scope can be deleted.
    CanNotDelete,
    /// Nothing below the scope can be changed.
    ReadOnly,
}

impl Subscription {
    pub(crate) fn new(place: Place, id: &str, tenant: &str) -> Self {
        Self {
            place,
            id: id.into(),
            tenant: tenant.into(),
            groups: BTreeMap::new(),
            things: BTreeMap::new(),
            operations: BTreeMap::new(),
            quotas: BTreeMap::new(),
            locks: BTreeMap::new(),
            unregistered: BTreeSet::new(),
        }
    }

    /// A group, or why there is none.
    pub(crate) fn group(&self, name: &str) -> Result<&Group, ArmError> {
        self.groups
            .get(&*id::key(name))
            .ok_or_else(|| ArmError::no_group(name))
    }

    /// A group to change, or why there is none.
    pub(crate) fn group_mut(&mut self, name: &str) -> Result<&mut Group, ArmError> {
        self.groups
            .get_mut(&*id::key(name))
            .ok_or_else(|| ArmError::no_group(name))
    }

    /// A scale set, or why there is none.
    pub(crate) fn scale_set(&self, group: &str, name: &str) -> Result<&ScaleSet, ArmError> {
        let set = self.group(group)?.sets.get(&*id::key(name));
        set.ok_or_else(|| ArmError::not_found(id::SCALE_SETS, name, group))
    }

    /// An autoscale setting by the keys of its group and its own.
    pub(crate) fn setting(&self, group: &str, name: &str) -> Option<&Setting> {
        self.groups.get(group)?.settings.get(name)
    }

    /// The scale set an event is about; `None` when it is gone.
    pub(crate) fn look(&self, set: &SetRef) -> Option<&ScaleSet> {
        let group = self.groups.get(&set.group)?;
        group
            .sets
            .get(&set.set)
            .filter(|found| found.serial == set.serial)
    }

    /// As [`Self::look`], to change it.
    pub(crate) fn at(&mut self, set: &SetRef) -> Option<&mut ScaleSet> {
        let group = self.groups.get_mut(&set.group)?;
        group
            .sets
            .get_mut(&set.set)
            .filter(|found| found.serial == set.serial)
    }

    /// Refuses what a lock forbids.
    pub(crate) fn check_locks(&self, resource: &str, deletes: bool) -> Result<(), ArmError> {
        let key = id::key(resource);
        let lock = self.locks.iter().find(|(scope, lock)| {
            key.starts_with(scope.as_str()) && (deletes || **lock == Lock::ReadOnly)
        });
        let Some((scope, _)) = lock else {
            return Ok(());
        };
        let verb = if deletes { "delete" } else { "write" };
        let message = format!(
            "The scope '{resource}' cannot perform {verb} operation because following scope(s) \
             are locked: '{scope}'. Please remove the lock and try again."
        );
        Err(ArmError::new(409, "ScopeLocked", message))
    }
}
