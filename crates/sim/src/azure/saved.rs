//! The world as bytes: saved, and restored.
//!
//! In: a state, or bytes. Out: JSON, or a state. Everything that tells what happens next is kept,
//! pending events included. Not kept are faults, the journal, timing, behaviour, budgets and
//! earlier states for stale reads. Invariant: what [`save`] wrote, [`restore`] reads; of other
//! formats it reads nothing.

use std::{borrow::Cow, collections::BTreeMap};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::state::{
    Directory, Fabric, Name, State, Subscription,
    events::Event,
    region::{Images, Region},
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
    serial: u64,
    events: Cow<'a, EventQueue<Event>>,
    regions: Cow<'a, BTreeMap<Name, Region>>,
    images: Cow<'a, Images>,
    subscriptions: Cow<'a, [Subscription]>,
    directory: Cow<'a, Directory>,
    kubelets: Cow<'a, Kubelets>,
}

/// The bytes of a world.
pub(super) fn save(state: &State) -> Vec<u8> {
    let saved = Saved {
        format: FORMAT,
        now: state.fabric.now,
        randomness: state.fabric.rng.get_seed(),
        serial: state.fabric.serial,
        events: Cow::Borrowed(&state.fabric.events),
        regions: Cow::Borrowed(&state.fabric.regions),
        images: Cow::Borrowed(&state.fabric.images),
        subscriptions: Cow::Borrowed(&state.subscriptions),
        directory: Cow::Borrowed(&state.directory),
        kubelets: Cow::Borrowed(&state.kubelets),
    };
    serde_json::to_vec(&saved).expect("the world is plain data whose map keys are texts")
}

/// The world of the bytes, on a fabric whose clock, timing and seed count.
pub(super) fn restore(mut fabric: Fabric, bytes: &[u8]) -> Result<State, RestoreError> {
    check_format(bytes, FORMAT)?;
    let saved: Saved<'_> = serde_json::from_slice(bytes)?;
    let subscriptions = saved.subscriptions.into_owned();
    if (0..)
        .zip(&subscriptions)
        .any(|(place, subscription)| subscription.place != place)
    {
        return Err(RestoreError::Contradictory(
            "subscriptions are out of order",
        ));
    }
    if saved
        .events
        .all()
        .any(|event| event.place() >= subscriptions.len())
    {
        return Err(RestoreError::Contradictory("an event happens nowhere"));
    }
    let sets = subscriptions
        .iter()
        .flat_map(|subscription| subscription.groups.values())
        .flat_map(|group| group.sets.values());
    if sets.into_iter().any(|set| set.models.is_empty()) {
        return Err(RestoreError::Contradictory("a scale set has no model"));
    }
    fabric.clock = fabric.clock.no_earlier_than(saved.now);
    fabric.now = saved.now;
    let seed = fabric.rng.get_seed();
    fabric.rng = fastrand::Rng::with_seed(saved.randomness.wrapping_add(seed));
    fabric.serial = saved.serial;
    fabric.events = saved.events.into_owned();
    fabric.regions = saved.regions.into_owned();
    fabric.images = saved.images.into_owned();
    let mut state = State::new(fabric);
    state.subscriptions = subscriptions.into();
    state.directory = saved.directory.into_owned();
    state.kubelets = saved.kubelets.into_owned();
    Ok(state)
}
