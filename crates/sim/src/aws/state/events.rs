//! What happens by itself.

use serde::{Deserialize, Serialize};

use super::Name;
use crate::kubelet::Place;

/// Index of an estate in the state.
pub(crate) type EstateId = Place;

/// Something that happens by itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Event {
    /// A group looks at itself and acts.
    GroupWork(EstateId, Name),
    /// A target-tracking policy looks at its metric.
    Metric(EstateId, Name),
    /// A lifecycle hook's heartbeat may have run out.
    HookDeadline {
        estate: EstateId,
        group: Name,
        instance: Name,
    },
    /// A member leaves `Pending:Proceed`.
    Proceeds {
        estate: EstateId,
        group: Name,
        instance: Name,
    },
    /// An instance leaves `pending`.
    Running(EstateId, Name),
    /// An instance leaves `stopping`.
    Stopped(EstateId, Name),
    /// An instance leaves `shutting-down`.
    Terminated(EstateId, Name),
    /// A terminated instance is not shown any longer.
    Forgotten(EstateId, Name),
    /// A Spot notice ends.
    SpotEnds(EstateId, Name),
}

impl Event {
    pub(crate) fn estate(&self) -> EstateId {
        match self {
            Self::GroupWork(estate, _)
            | Self::Metric(estate, _)
            | Self::HookDeadline { estate, .. }
            | Self::Proceeds { estate, .. }
            | Self::Running(estate, _)
            | Self::Stopped(estate, _)
            | Self::Terminated(estate, _)
            | Self::Forgotten(estate, _)
            | Self::SpotEnds(estate, _) => *estate,
        }
    }
}
