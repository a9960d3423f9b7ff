//! Worlds as bytes: why bytes are not restored, and how awkward types are written.

use serde::Deserialize;

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

/// Refuses bytes of another format than `known`.
pub(crate) fn check_format(bytes: &[u8], known: u32) -> Result<(), RestoreError> {
    let Head { format } = serde_json::from_slice(bytes)?;
    if format == known {
        return Ok(());
    }
    Err(RestoreError::Format {
        found: format,
        known,
    })
}

/// Maps whose keys are no texts, as lists of pairs.
pub(crate) mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<K: Serialize, V: Serialize, S: Serializer>(
        map: &BTreeMap<K, V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(crate) fn deserialize<'de, K, V, D>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        Vec::<(K, V)>::deserialize(deserializer).map(|pairs| pairs.into_iter().collect())
    }
}

/// Bytes as base64.
pub(crate) mod base64_text {
    use base64::{Engine, engine::general_purpose::STANDARD};
    use bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(
        bytes: &Bytes,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Bytes, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD
            .decode(text)
            .map(Bytes::from)
            .map_err(|_| D::Error::custom("a body that is not base64"))
    }
}
