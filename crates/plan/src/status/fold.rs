//! `fold`: the one place that decides conditions, events, record, requeue.

use jiff::Timestamp;

use super::{pass::Pass, publication::Publication};
use crate::pool::world::World;

/// Judges a pass: what to write, and when to look again. Folding the same world and pass again
/// with the written status fed back writes nothing.
pub fn fold(world: &World, pass: &Pass, now: Timestamp) -> Publication {
    let _ = (world, pass, now);
    unimplemented!("plan-pool: status/fold.rs")
}
