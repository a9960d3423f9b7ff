//! What the pages show, from objects alone: pure functions on JSON and a time.
//!
//! `health` judges a pool, `members` brings its machines together from whatever tells of them, and
//! `overview`, `pool`, `machine` and `calls` are the pages.

mod calls;
pub(crate) mod change;
mod events;
mod health;
pub(crate) mod machine;
mod members;
mod overview;
mod plot;
pub(crate) mod pool;
pub(crate) mod words;
mod zones;

#[cfg(test)]
pub(crate) mod fixtures;

pub(crate) use calls::calls;
pub(crate) use machine::{MachinePage, machine, member};
pub(crate) use overview::{OverviewPage, overview};
pub(crate) use pool::{PoolPage, pool};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

/// What a read of a kind came to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Known {
    /// These objects, and no others.
    All(Vec<Value>),
    /// The API has no such kind.
    NotServed,
    /// It could not be read: the API's words. Whether there are any is not known.
    Unknown(String),
}

impl Known {
    /// The objects that are known of.
    pub(crate) fn objects(&self) -> &[Value] {
        match self {
            Self::All(objects) => objects,
            Self::NotServed | Self::Unknown(_) => &[],
        }
    }

    /// Why it is not known whether there are any.
    pub(crate) fn doubt(&self) -> Option<&str> {
        match self {
            Self::Unknown(why) => Some(why),
            Self::All(_) | Self::NotServed => None,
        }
    }
}

/// What the pages of pools are made from. An object belongs to a pool by its references, so a scene
/// may hold more than one page shows.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    /// TerraformMachinePools.
    pub(crate) infra: Known,
    /// Machines.
    pub(crate) machines: Known,
    /// TerraformMachinePoolMachines.
    pub(crate) instances: Known,
    /// Events.
    pub(crate) events: Known,
    /// The time it is.
    pub(crate) now: Timestamp,
}

impl Scene {
    /// Something that could not be read, with the API's words.
    pub(crate) fn doubts(&self) -> Vec<Doubt> {
        let all = [
            ("the infrastructure of pools", &self.infra),
            ("Machines", &self.machines),
            ("the instances of pools", &self.instances),
            ("events", &self.events),
        ];
        let doubts = all.into_iter().filter_map(|(what, known)| {
            Some(Doubt {
                what,
                why: known.doubt()?.to_owned(),
            })
        });
        doubts.collect()
    }
}

/// Something a page cannot tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Doubt {
    /// What is not known.
    pub(crate) what: &'static str,
    /// The API's words.
    pub(crate) why: String,
}

/// How urgent something is, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    /// Somebody has to do something.
    Bad,
    /// Somebody should look.
    Warn,
    /// It cannot be told.
    Unknown,
    /// Something goes on by itself.
    Busy,
    /// Stopped on purpose.
    Paused,
    /// As it should be.
    Good,
}
