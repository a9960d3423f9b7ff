//! One stored object: its JSON text, and the few facts that are asked of it without parsing.

use std::cell::RefCell;
use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;
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
        Self::from_parts(&object, text(&object), revision)
    }

    /// An object that is shown but not stored.
    pub(crate) fn unstored(object: &Value) -> Self {
        Self::from_parts(object, text(object), 0)
    }

    /// What the readers at another version get of a record of this revision.
    pub(crate) fn shown(object: &Value, revision: u64) -> Self {
        Self {
            shown: true,
            ..Self::from_parts(object, text(object), revision)
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
        let head: Head = serde_json::from_slice(&json).ok()?;
        let meta = head.metadata;
        let owners = meta.owner_references.into_iter().map(|owner| Owner {
            api_version: owner.api_version,
            kind: owner.kind,
            name: owner.name,
            uid: owner.uid,
            block: owner.block_owner_deletion.unwrap_or(false),
        });
        Some(Self {
            revision: meta.resource_version.parse().ok()?,
            labels: meta.labels.into_iter().collect(),
            uid: meta.uid,
            owners: owners.collect(),
            deleting: meta.deletion_timestamp.is_some(),
            held: !meta.finalizers.is_empty(),
            api_version: head.api_version,
            shown: false,
            json,
        })
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

/// What a record knows of its text, read without building the rest.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    #[serde(default)]
    api_version: Box<str>,
    metadata: Meta,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Meta {
    resource_version: Box<str>,
    uid: Box<str>,
    labels: BTreeMap<Box<str>, Box<str>>,
    owner_references: Vec<Reference>,
    deletion_timestamp: Option<IgnoredAny>,
    finalizers: Vec<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Reference {
    api_version: String,
    kind: String,
    name: String,
    uid: String,
    block_owner_deletion: Option<bool>,
}

thread_local! {
    /// Texts grow here and are copied out at their size: kept as they grow, each would hold up to
    /// twice its bytes.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A larger scratch than this is given back.
const SCRATCH_BYTES: usize = 256 * 1024;

/// The text of an object, in exactly its bytes.
fn text(object: &Value) -> Bytes {
    SCRATCH.with_borrow_mut(|scratch| {
        scratch.clear();
        serde_json::to_writer(&mut *scratch, object).expect("a JSON value always serialises");
        let text = Bytes::copy_from_slice(scratch);
        if scratch.capacity() > SCRATCH_BYTES {
            *scratch = Vec::new();
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_text_read_back_is_the_record_that_wrote_it() {
        let full = json!({
            "apiVersion": "v1", "kind": "Pod", "spec": {"a": [1, {"b": null}]},
            "metadata": {
                "name": "p", "uid": "u", "labels": {"z": "1", "a": "", "m": "\u{e9}\"x"},
                "finalizers": ["f"], "deletionTimestamp": "2020-01-01T00:00:00Z",
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "o",
                     "controller": true, "blockOwnerDeletion": true},
                    {"apiVersion": "apps/v1", "kind": "X", "name": "x", "uid": "y"}],
            },
        });
        for object in [full, json!({"metadata": {}}), json!({"kind": "Y"})] {
            let written = Record::new(object, 42);
            let read = Record::parse(written.json.clone()).unwrap();
            assert_eq!(format!("{read:?}"), format!("{written:?}"));
        }
        assert!(Record::parse(Bytes::from_static(b"{\"metadata\":{}}")).is_none());
        assert!(Record::parse(Bytes::from_static(b"not json")).is_none());
    }
}
