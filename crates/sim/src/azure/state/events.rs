//! What happens by itself.

use serde::{Deserialize, Serialize};

use super::Name;
use crate::kubelet::Place;

/// A scale set, by place and keys. A set made anew under its old name has another serial number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetRef {
    pub(crate) place: Place,
    /// Key of the group.
    pub(crate) group: Name,
    /// Key of the set.
    pub(crate) set: Name,
    pub(crate) serial: u64,
}

/// Something that happens by itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Event {
    /// An instance takes its next step, if nothing else happened to it since.
    Instance {
        set: SetRef,
        instance: u32,
        turn: u32,
    },
    /// An operation may be finished.
    Operation(Place, Name),
    /// Autoscale looks at a setting, if it is still the same one.
    Autoscale {
        place: Place,
        group: Name,
        setting: Name,
        serial: u64,
    },
}

impl Event {
    pub(crate) fn place(&self) -> Place {
        match self {
            Self::Instance { set, .. } => set.place,
            Self::Operation(place, _) => *place,
            Self::Autoscale { place, .. } => *place,
        }
    }
}
