//! One stored object: its JSON text, and the few facts that are asked of it without parsing.

use bytes::Bytes;
use serde_json::Value;

use crate::object::{self, Owner};

/// An object as stored. The text is the storage version, `metadata.resourceVersion` included, so
/// that lists and watches copy bytes instead of serialising again.
#[derive(Debug)]
pub(crate) struct Record {
    /// The revision of the commit that wrote it.
    pub(crate) revision: u64,
    /// The object as JSON.
    pub(crate) json: Bytes,
    /// Labels, sorted by key.
    pub(crate) labels: Box<[(Box<str>, Box<str>)]>,
    /// `metadata.uid`.
    pub(crate) uid: Box<str>,
    /// The objects that own it.
    pub(crate) owners: Box<[Owner]>,
    /// Whether its deletion has begun.
    pub(crate) deleting: bool,
    /// Whether finalizers hold it.
    pub(crate) held: bool,
    /// `apiVersion` of the text.
    pub(crate) api_version: Box<str>,
    /// Whether this is what a reader gets, rather than what is stored.
    pub(crate) shown: bool,
}

impl Record {
    /// Stamps `object` with `revision` and stores its text.
    pub(crate) fn new(mut object: Value, revision: u64) -> Self {
        object::meta_mut(&mut object).insert(
            "resourceVersion".into(),
            Value::String(revision.to_string()),
        );
        let json = serde_json::to_vec(&object).expect("a JSON value always serialises");
        Self::from_parts(&object, json.into(), revision)
    }

    /// An object that is shown but not stored.
    pub(crate) fn unstored(object: &Value) -> Self {
        let json = serde_json::to_vec(object).expect("a JSON value always serialises");
        Self::from_parts(object, json.into(), 0)
    }

    /// What the readers at another version get of a record of this revision.
    pub(crate) fn shown(object: &Value, revision: u64) -> Self {
        let json = serde_json::to_vec(object).expect("a JSON value always serialises");
        Self {
            shown: true,
            ..Self::from_parts(object, json.into(), revision)
        }
    }

    /// The last state of an object that was removed at `revision`, as its writer saw it.
    pub(crate) fn removed(object: Value, revision: u64) -> Self {
        Self {
            shown: true,
            ..Self::new(object, revision)
        }
    }

    /// Reads a stored text back; `None` when it is not an object with a revision.
    pub(crate) fn parse(json: Bytes) -> Option<Self> {
        let object: Value = serde_json::from_slice(&json).ok()?;
        let revision = object::meta_str(&object, "resourceVersion").parse().ok()?;
        Some(Self::from_parts(&object, json, revision))
    }

    fn from_parts(object: &Value, json: Bytes, revision: u64) -> Self {
        let labels = object::meta(object)
            .and_then(|m| m.get("labels"))
            .and_then(Value::as_object);
        let labels = labels
            .into_iter()
            .flatten()
            .map(|(key, value)| {
                (
                    key.as_str().into(),
                    value.as_str().unwrap_or_default().into(),
                )
            })
            .collect();
        let api_version = object::text(object, &["apiVersion"]).into();
        Self {
            revision,
            json,
            labels,
            uid: object::uid(object).into(),
            owners: object::owners(object).into(),
            deleting: object::is_deleting(object),
            held: !object::finalizers(object).is_empty(),
            api_version,
            shown: false,
        }
    }

    /// The object as a value.
    pub(crate) fn value(&self) -> Value {
        serde_json::from_slice(&self.json).expect("stored text was serialised from a value")
    }

    /// The value of a label.
    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        let found = self
            .labels
            .binary_search_by(|(label, _)| label.as_ref().cmp(key))
            .ok()?;
        self.labels.get(found).map(|(_, value)| value.as_ref())
    }
}
