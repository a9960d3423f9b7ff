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
    state::{Estate, Fabric, Name, State, events::EventQueue, identity::Identity, region::Region},
};
use crate::kubelet::{BootFailure, Registered};

/// The format written here. It changes with every change of a saved type.
const FORMAT: u32 = 1;

/// Why bytes are not restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// Another version of the simulator saved them.
    #[error("it has the format {found}, and this version reads the format {known} only")]
    Format {
        /// Format of the bytes.
        found: u32,
        /// Format read here.
        known: u32,
    },
    /// They are no saved world, or not a whole one. What they hold instead is not told: it may be
    /// secret.
    #[error("it is not a saved world: line {line}, column {column} cannot be read")]
    Unreadable {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
    /// Its parts contradict each other.
    #[error("its parts contradict each other: {0}")]
    Contradictory(&'static str),
}

impl From<serde_json::Error> for RestoreError {
    fn from(error: serde_json::Error) -> Self {
        Self::Unreadable {
            line: error.line(),
            column: error.column(),
        }
    }
}

/// What every format has.
#[derive(Deserialize)]
struct Head {
    format: u32,
}

#[derive(Serialize, Deserialize)]
struct Saved<'a> {
    format: u32,
    now: Timestamp,
    /// Where the source of ids stands.
    randomness: u64,
    events: Cow<'a, EventQueue>,
    regions: Cow<'a, BTreeMap<Name, Region>>,
    estates: Cow<'a, [Estate]>,
    identity: Cow<'a, Identity>,
    buckets: Cow<'a, BTreeMap<String, Bucket>>,
    boot_failures: Cow<'a, BTreeMap<Name, BootFailure>>,
    registered: Cow<'a, BTreeMap<Name, Registered>>,
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
        boot_failures: Cow::Borrowed(&state.boot_failures),
        registered: Cow::Borrowed(&state.registered),
    };
    serde_json::to_vec(&saved).expect("the world is plain data whose map keys are texts")
}

/// The world of the bytes, on a fabric whose clock, timing and seed count.
pub(super) fn restore(mut fabric: Fabric, bytes: &[u8]) -> Result<State, RestoreError> {
    let Head { format } = serde_json::from_slice(bytes)?;
    if format != FORMAT {
        return Err(RestoreError::Format {
            found: format,
            known: FORMAT,
        });
    }
    let saved: Saved<'_> = serde_json::from_slice(bytes)?;
    let estates = saved.estates.into_owned();
    if (0..)
        .zip(&estates)
        .any(|(id, estate)| estate.compute.id != id)
    {
        return Err(RestoreError::Contradictory("estates are out of order"));
    }
    if !saved.events.all_within(estates.len()) {
        return Err(RestoreError::Contradictory("an event happens nowhere"));
    }
    fabric.clock = fabric.clock.no_earlier_than(saved.now);
    fabric.now = saved.now;
    let seed = fabric.rng.get_seed();
    fabric.rng = fastrand::Rng::with_seed(saved.randomness.wrapping_add(seed));
    fabric.events = saved.events.into_owned();
    fabric.regions = saved.regions.into_owned();
    let mut state = State::new(fabric);
    state.put_estates(estates);
    state.identity = saved.identity.into_owned();
    state.buckets = saved.buckets.into_owned();
    state.boot_failures = saved.boot_failures.into_owned();
    state.registered = saved.registered.into_owned();
    Ok(state)
}

/// Maps whose keys are no texts, as lists of pairs.
pub(super) mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(in crate::aws) fn serialize<K: Serialize, V: Serialize, S: Serializer>(
        map: &BTreeMap<K, V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(in crate::aws) fn deserialize<'de, K, V, D>(
        deserializer: D,
    ) -> Result<BTreeMap<K, V>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        Vec::<(K, V)>::deserialize(deserializer).map(|pairs| pairs.into_iter().collect())
    }
}

/// Bytes as base64.
pub(super) mod base64_text {
    use base64::{Engine, engine::general_purpose::STANDARD};
    use bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(in crate::aws) fn serialize<S: Serializer>(
        bytes: &Bytes,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(in crate::aws) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Bytes, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD
            .decode(text)
            .map(Bytes::from)
            .map_err(|_| D::Error::custom("a body that is not base64"))
    }
}
