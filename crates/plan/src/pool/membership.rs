//! When the published provider ID list follows what was seen (captf document 2.10).
//!
//! Cluster API deletes the Node of every id that leaves the list, so the step from some members to
//! none needs two reads that agree.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::{outputs::Outputs, read::Freshness, world::Unseen};
use crate::limits;

/// One read of the members.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'a> {
    /// What the driver made of it.
    pub outputs: &'a Outputs,
    /// When the pass that read began.
    pub at: Timestamp,
    /// How old the answer may have been.
    pub freshness: Freshness,
}

/// What becomes of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Membership {
    /// This is the list: sorted, each id once.
    Publish(Vec<String>),
    /// The list stays until a later fresh read agrees that there is no member.
    Keep(Unseen),
}

/// Decides what becomes of the list. `before` tells of the reads before this one that saw no
/// member.
pub fn decide(published: &[String], reading: Reading<'_>, before: Option<Unseen>) -> Membership {
    let seen: BTreeSet<&String> = reading.outputs.provider_id_list.iter().collect();
    if !seen.is_empty() || published.is_empty() {
        return Membership::Publish(seen.into_iter().cloned().collect());
    }
    let seconds = if capacity(reading.outputs) == Some(0) {
        limits::EMPTY_WANTED_CONFIRM_SECONDS
    } else {
        limits::EMPTY_CONFIRM_SECONDS
    };
    let wait = SignedDuration::from_secs(i64::from(seconds));
    let since = before.map_or(reading.at, |before| before.since);
    let confirm_at = since + wait;
    if before.is_some() && reading.at >= confirm_at && reading.freshness == Freshness::Fresh {
        Membership::Publish(Vec::new())
    } else {
        Membership::Keep(Unseen { since, confirm_at })
    }
}

/// The desired capacity as really read: unknown while the group does not exist (LST-7).
pub fn capacity(outputs: &Outputs) -> Option<i64> {
    outputs.provider_id.as_ref().and(outputs.replicas)
}
