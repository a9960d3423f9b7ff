//! Identifiers from one seeded source: uids and the suffixes of generated names.

use std::sync::Mutex;

/// The letters Kubernetes draws generated suffixes from: no vowels, no look-alikes.
const SUFFIX_LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;
/// A generated name keeps at most this many characters of its prefix (63 minus the suffix).
const PREFIX_LENGTH: usize = 63 - SUFFIX_LENGTH;

/// A seeded source of identifiers: the same seed gives the same sequence.
#[derive(Debug)]
pub(crate) struct Ids {
    rng: Mutex<fastrand::Rng>,
}

impl Ids {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            rng: Mutex::new(fastrand::Rng::with_seed(seed)),
        }
    }

    /// A uid in the form of a version 4 UUID.
    pub(crate) fn uid(&self) -> String {
        let mut bytes = [0_u8; 16];
        self.rng
            .lock()
            .expect("no holder of this lock panics")
            .fill(&mut bytes);
        uuid::Builder::from_random_bytes(bytes)
            .into_uuid()
            .to_string()
    }

    /// `prefix` with a random suffix, as `generateName` asks for.
    pub(crate) fn name(&self, prefix: &str) -> String {
        let mut rng = self.rng.lock().expect("no holder of this lock panics");
        let kept: String = prefix.chars().take(PREFIX_LENGTH).collect();
        let suffix = (0..SUFFIX_LENGTH)
            .map(|_| char::from(SUFFIX_LETTERS[rng.usize(..SUFFIX_LETTERS.len())]));
        kept.chars().chain(suffix).collect()
    }
}
