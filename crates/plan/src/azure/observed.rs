//! What does exist on Azure.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;

use super::{
    desired::{Model, Profile},
    image::ImageReference,
    place::Place,
};
use crate::{
    error::CloudFailure,
    pool::{members::Member, read::Read},
};

/// What to look at; built from `Desired` or, for deletion and refreshes, from the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Handle {
    /// Where.
    pub place: Place,
    /// The set that serves or is to be made: what outputs are about.
    pub set_name: String,
    /// Every set of the pool by name: the serving one, one that is being made, retiring ones.
    pub sets: BTreeMap<String, SetHandle>,
    /// Tags (in Azure's spelling) that a set of this pool carries, for sets that no record names.
    pub ownership: BTreeMap<String, String>,
    /// Where the recorded operation tells how it goes.
    pub operation: Option<String>,
    /// An image that is about to be used: does it exist?
    pub image: Option<ImageReference>,
}

/// What to read of one set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SetHandle {
    /// It was made before: when a list lacks it, one GET confirms that it is gone.
    pub created: bool,
    /// Its members are published.
    pub members: bool,
}

/// Everything observed of one pool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Observed {
    /// Sets by name: an entry for each of the handle's, and (full depth only) for every other set
    /// of the group that carries all of the handle's ownership tags. A missing group is a list
    /// without sets.
    pub sets: Read<BTreeMap<String, Presence>>,
    /// Autoscale settings that a pool of this name could own, by setting name: those named
    /// `<set>-autoscale` and those that target one of `sets`. Not at membership depth.
    pub settings: Read<BTreeMap<String, Setting>>,
    /// Instances of each listed set whose handle asks for them, sorted by provider id. A set that is
    /// not listed has no entry, and nothing is asked about it.
    pub members: BTreeMap<String, Read<Vec<Instance>>>,
    /// How the handle's operation stands; `NotAsked` without one, or at membership depth.
    pub operation: Read<OperationState>,
    /// Whether the handle's image exists; `NotAsked` without one, at membership depth, and for
    /// references that cannot be looked up.
    pub image: Read<bool>,
}

/// An instance as its set's list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Instance {
    /// What the pool publishes of it.
    pub member: Member,
    /// `properties.provisioningState` is `Deleting`.
    pub is_deleting: bool,
    /// `properties.timeCreated`.
    pub created_at: Option<Timestamp>,
}

/// Whether a set exists.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Presence {
    /// The group's list holds it.
    Listed(Box<ScaleSet>),
    /// The list lacks it and its own GET finds it: the listing lags behind.
    Unlisted(Box<ScaleSet>),
    /// The list lacks it. For a set that was made before, and for every set at full depth, its own
    /// GET answered 404 as well.
    Absent,
}

impl Presence {
    /// The set, wherever it was found.
    pub fn set(&self) -> Option<&ScaleSet> {
        match self {
            Self::Listed(set) | Self::Unlisted(set) => Some(set),
            Self::Absent => None,
        }
    }
}

/// A scale set as ARM shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScaleSet {
    /// Name.
    pub name: String,
    /// `location`.
    pub location: String,
    /// `properties.provisioningState`.
    pub state: ProvisioningState,
    /// `sku.capacity`.
    pub capacity: i64,
    /// Zones; empty for a regional set.
    pub zones: BTreeSet<String>,
    /// Tags.
    pub tags: BTreeMap<String, String>,
    /// Readable model, in our shape.
    pub model: Model,
    /// Properties that the Azure document 4.2 fixes for every pool and that differ from it, by
    /// name; empty on a set of ours.
    pub foreign_fields: Vec<String>,
}

/// State of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum ProvisioningState {
    /// `Creating`, `Updating`, `Migrating`, or a state nobody knows: something runs.
    Running,
    /// `Deleting`.
    Deleting,
    /// `Succeeded`.
    Succeeded,
    /// `Failed`.
    Failed,
    /// `Canceled`.
    Canceled,
}

/// An autoscale setting as ARM shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Setting {
    /// Name.
    pub name: String,
    /// `targetResourceUri`.
    pub target: String,
    /// `location`.
    pub location: String,
    /// Tags.
    pub tags: BTreeMap<String, String>,
    /// The profile `default`, when the setting has that one alone, its numbers parse, and its
    /// rules are none or the two of the Azure document 4.5 in any order.
    pub profile: Option<Profile>,
    /// Everything else that differs from what we put, by name: `enabled`, `notifications`, ...
    pub foreign_fields: Vec<String>,
}

/// How a long-running operation stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum OperationState {
    /// It runs.
    Running {
        /// Azure's own wish, in seconds.
        retry_after_seconds: Option<u32>,
    },
    /// It succeeded.
    Succeeded,
    /// It failed or was canceled; classified by the effective code.
    Failed(CloudFailure),
    /// Its address answers 404.
    Lost,
}
