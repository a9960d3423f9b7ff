//! What rows of the file look like, in every format that was ever written.
//!
//! Format 1: the object's JSON. Format 2: a byte that says how the rest is written, then the JSON,
//! plain or sealed.

use std::collections::BTreeSet;

use super::Key;
use super::seal::{self, KeyId, KeyRing, Unsealing};

/// The format this release writes.
pub(super) const FORMAT: u64 = 2;
const PLAIN: u8 = 0;
const SEALED: u8 = 1;

/// Writes and reads rows: knows the keys, and which shelves are sealed.
#[derive(Debug)]
pub(super) struct Codec {
    pub(super) keys: KeyRing,
    /// Shelves whose objects are sealed: `secrets`, `widgets.example.com`.
    pub(super) sealed: BTreeSet<String>,
}

impl Codec {
    /// Replaces `out` with the row of an object.
    pub(super) fn encode(&self, shelf: &str, place: &str, json: &[u8], out: &mut Vec<u8>) {
        out.clear();
        if self.sealed.contains(shelf) {
            out.push(SEALED);
            self.keys.seal(place, json, out);
        } else {
            out.push(PLAIN);
            out.extend_from_slice(json);
        }
    }

    /// Whether a row is as [`Codec::encode`] would write it today.
    pub(super) fn is_current(&self, shelf: &str, row: &[u8]) -> bool {
        match sealing(row) {
            Sealing::Plain => !self.sealed.contains(shelf),
            Sealing::With(key) => self.sealed.contains(shelf) && self.keys.current() == Some(key),
            Sealing::Unknown => false,
        }
    }
}

/// The JSON of a row of format 2.
pub(super) fn decode(keys: &KeyRing, place: &str, row: &[u8]) -> Result<Vec<u8>, Unsealing> {
    match row.split_first() {
        Some((&PLAIN, json)) => Ok(json.to_vec()),
        Some((&SEALED, sealed)) => keys.open(place, sealed),
        _ => Err(Unsealing::Damaged),
    }
}

/// How a row of format 2 is written.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sealing {
    Plain,
    With(KeyId),
    Unknown,
}

/// How a row of format 2 is written.
pub(super) fn sealing(row: &[u8]) -> Sealing {
    match row.split_first() {
        Some((&PLAIN, _)) => Sealing::Plain,
        Some((&SEALED, sealed)) => {
            seal::sealed_with(sealed).map_or(Sealing::Unknown, Sealing::With)
        }
        _ => Sealing::Unknown,
    }
}

/// The place of an object as one text: parts joined by a character that no name can hold.
pub(super) fn format_key(space: &str, key: &Key) -> String {
    [space, &key.shelf, &key.namespace, &key.name].join("\0")
}

/// The reverse of [`format_key`].
pub(super) fn parse_key(text: &str) -> Option<(String, Key)> {
    let mut parts = text.split('\0');
    let space = parts.next()?.to_owned();
    let key = Key {
        shelf: parts.next()?.into(),
        namespace: parts.next()?.to_owned(),
        name: parts.next()?.to_owned(),
    };
    parts.next().is_none().then_some((space, key))
}
