//! The world as bytes: saved, and restored.
//!
//! In: a state, or bytes. Out: JSON, or a state. Everything that tells what happens next is kept,
//! pending events included. Not kept are faults, the journal, timing and earlier states for stale
//! reads. Invariant: what [`save`] wrote, [`restore`] reads; of other formats it reads nothing.

use std::{borrow::Cow, collections::BTreeMap};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    s3::Bucket,
    state::{Estate, Fabric, Name, State, events::Event, identity::Identity, region::Region},
};
use crate::{
    events::EventQueue,
    kubelet::Kubelets,
    saved::{RestoreError, check_format},
};

/// The format written here. It changes with every change of a saved type.
const FORMAT: u32 = 2;

#[derive(Serialize, Deserialize)]
struct Saved<'a> {
    format: u32,
    now: Timestamp,
    /// Where the source of ids stands.
    randomness: u64,
    events: Cow<'a, EventQueue<Event>>,
    regions: Cow<'a, BTreeMap<Name, Region>>,
    estates: Cow<'a, [Estate]>,
    identity: Cow<'a, Identity>,
    buckets: Cow<'a, BTreeMap<String, Bucket>>,
    kubelets: Cow<'a, Kubelets>,
}

/// The bytes of a world.
pub(super) fn save(state: &State) -> Vec<u8> {
    let saved = Saved {
        format: FORMAT,
        now: state.fabric.now,
        randomness: state.fabric.rng.get_seed(),
        events: Cow::Borrowed(&state.fabric.events),
        regions: Cow::Borrowed(&state.fabric.regions),
        estates: Cow::Borrowed(&state.estates),
        identity: Cow::Borrowed(&state.identity),
        buckets: Cow::Borrowed(&state.buckets),
        kubelets: Cow::Borrowed(&state.kubelets),
    };
    serde_json::to_vec(&saved).expect("the world is plain data whose map keys are texts")
}

/// The world of the bytes, on a fabric whose clock, timing and seed count.
pub(super) fn restore(mut fabric: Fabric, bytes: &[u8]) -> Result<State, RestoreError> {
    check_format(bytes, FORMAT)?;
    let saved: Saved<'_> = serde_json::from_slice(bytes)?;
    let estates = saved.estates.into_owned();
    if (0..)
        .zip(&estates)
        .any(|(id, estate)| estate.compute.id != id)
    {
        return Err(RestoreError::Contradictory("estates are out of order"));
    }
    if saved
        .events
        .all()
        .any(|event| event.estate() >= estates.len())
    {
        return Err(RestoreError::Contradictory("an event happens nowhere"));
    }
    fabric.clock = fabric.clock.no_earlier_than(saved.now);
    fabric.now = saved.now;
    let seed = fabric.rng.get_seed();
    fabric.rng = fastrand::Rng::with_seed(saved.randomness.wrapping_add(seed));
    fabric.events = saved.events.into_owned();
    fabric.regions = saved.regions.into_owned();
    let mut state = State::new(fabric);
    state.estates = estates.into();
    state.identity = saved.identity.into_owned();
    state.buckets = saved.buckets.into_owned();
    state.kubelets = saved.kubelets.into_owned();
    Ok(state)
}
