//! What pool Machines ask of a group, and what a group shows of its members. The two sides meet
//! here: drivers know no Machine, Machines know no cloud.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Serialize;

use crate::pool::members::Member;

/// Whether a pool has Machines, and what they ask of its group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub enum Machines<'a> {
    /// Off: captf's exact behaviour. The group scales and rolls by its own means.
    #[default]
    Off,
    /// On, and nothing is decided yet: the members were not read.
    On,
    /// On, and this is what they ask for in this pass.
    Asking(&'a GroupWish),
}

impl<'a> Machines<'a> {
    /// No Machines: the module's exact behaviour.
    pub fn off(self) -> bool {
        self == Self::Off
    }

    /// What they ask for.
    pub fn wish(self) -> Option<&'a GroupWish> {
        match self {
            Self::Off | Self::On => None,
            Self::Asking(wish) => Some(wish),
        }
    }
}

/// What the Machines of a pool ask of its group in one pass.
///
/// A group with Machines is never made smaller by lowering its count: that would let the cloud
/// choose. Its count only rises to `capacity`, falls with each instance that is ended, and follows
/// the members where the group asks for more than it has and than is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct GroupWish {
    /// Members that may stay or come now: the replicas, and the surge while it rolls, less those
    /// that are about to go and still take up the surge.
    pub capacity: i64,
    /// The bounds that whoever else scales the group keeps to: the annotations' of an autoscaled
    /// pool, else the replicas twice, the upper one with the surge and the lower one 0 where there is
    /// none. `None` where the inputs are bad: the group's stay, as far as
    /// the capacity allows.
    pub bounds: Option<(i64, i64)>,
    /// The pool is deleted: nobody may refill the group while its members are drained.
    pub goes: bool,
    /// Provider ids of instances to end: their drain is over. One that is gone is no error.
    pub ends: BTreeSet<String>,
    /// Provider ids of members that the cloud holds for us ([`Leaving::Held`]) and that are still
    /// being drained: the hold is prolonged.
    pub holds: BTreeSet<String>,
}

/// An instance of a group, those on their way out included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GroupMember {
    /// What the pool publishes of it.
    pub member: Member,
    /// The model it was made from, by a name that a person finds in the cloud: launch template,
    /// scale set.
    pub revision: Option<String>,
    /// Made from an older model than a new member would be. `false` while no roll is recorded.
    pub outdated: bool,
    /// It is on its way out.
    pub leaving: Option<Leaving>,
    /// The cloud may take it back at short notice: spot.
    pub interruptible: bool,
    /// When it was launched; `None` when the cloud does not say.
    pub launched_at: Option<Timestamp>,
}

/// How an instance leaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Leaving {
    /// The cloud decided to end it and waits for us: a terminating lifecycle hook, a notice. Its
    /// Machine goes now, so that the drain uses the whole time.
    Held {
        /// Why, in the cloud's words when it says: `scale-in`, `instance refresh`, `spot`.
        because: String,
        /// When the cloud stops waiting; `None` when it does not say.
        until: Option<Timestamp>,
    },
    /// It is being ended: nothing can keep it, and it gets no new object.
    Ending,
}
