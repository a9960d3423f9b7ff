//! Things people should be told once: failures that the cloud reports and that no call of ours
//! returned. They change neither health nor outputs.

use serde::Serialize;

/// Something to be told once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Notice {
    /// What kind of thing it is.
    pub kind: NoticeKind,
    /// Tells one finding from another: a notice with an id that was told before is not told again.
    pub id: String,
    /// For people; deterministic.
    pub message: String,
}

/// What a notice is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum NoticeKind {
    /// Instances fail to launch while the group is short of members. Worth telling once the group
    /// has been short for ten minutes: the first tries often fail and the next succeed.
    LaunchFailed,
    /// A rolling replacement ended without reaching its end.
    RollFailed,
    /// The pool goes on with zones that its cluster's exports no longer hold.
    ZoneNotExported,
}
