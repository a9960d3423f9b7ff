//! One machine of a pool: what its deletion comes to, and what happened to it.
//!
//! `gather` reads, `draw` writes text, `events` does both for events. What a drain does is decided
//! by `remuda_plan::machines`, as in the Machine controller.

mod draw;
mod events;
mod gather;
mod read;

pub(crate) use draw::{Asked, draw};
pub(crate) use events::{draw_events, gather_events};
pub(crate) use gather::gather;
pub(crate) use read::Reader;

/// What the deletion of a machine would come to now.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Removal {
    /// Namespace of the Machine.
    pub(crate) namespace: String,
    /// Name of the Machine.
    pub(crate) name: String,
    /// Provider ID of the instance, if one is known.
    pub(crate) provider_id: Option<String>,
    /// Zone.
    pub(crate) zone: Option<String>,
    /// Node, if it has one.
    pub(crate) node: Option<String>,
    /// The pool it belongs to, if it belongs to one.
    pub(crate) pool: Option<Pool>,
    /// Whether it is being deleted already.
    pub(crate) is_deleting: bool,
    /// Whether it, or its cluster, is paused.
    pub(crate) is_paused: bool,
    /// Annotations of hooks that hold the deletion.
    pub(crate) hooks: Vec<String>,
    /// The drain.
    pub(crate) drain: Drain,
    /// Seconds that the drain may take; `None`: without limit.
    pub(crate) limit_seconds: Option<i32>,
}

/// The pool of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pool {
    /// Name of the MachinePool.
    pub(crate) name: String,
    /// Replicas it wants.
    pub(crate) replicas: i32,
    /// Who else owns the count, if somebody does.
    pub(crate) managed_by: Option<String>,
}

/// The drain of a machine's node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Drain {
    /// An annotation excludes it.
    Excluded,
    /// There is no node to drain.
    NoNode,
    /// It cannot be said; why. The controller waits as well.
    Unknown(String),
    /// What happens to each pod, by namespace and name.
    Pods(Vec<Row>),
}

/// What happens to one pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// Namespace and name.
    pub(crate) pod: String,
    /// Its fate.
    pub(crate) fate: Fate,
    /// What keeps it from being evicted now, or what to know about it.
    pub(crate) remarks: Vec<String>,
}

/// The fate of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is evicted now.
    Evict,
    /// A disruption budget does not let it go now.
    Blocked,
    /// It is evicted once those before it are gone.
    Later,
    /// It is being stopped already.
    Stopping,
    /// It ends by itself, and the drain waits for that.
    Awaited,
    /// It stays.
    Stays,
}
