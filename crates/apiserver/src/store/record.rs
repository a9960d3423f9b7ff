//! One stored object: its JSON text, and the few facts that are asked of it without parsing.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::labels::Labels;
use super::packed::{Packed, Packer, with_scratch};
use crate::object::{self, Owner};

/// An object as stored. The text is the storage version, `metadata.resourceVersion` included, so
/// that lists and watches copy bytes instead of serialising again.
#[derive(Debug)]
pub(crate) struct Record {
    /// The revision of the commit that wrote it.
    pub(crate) revision: u64,
    /// The object as JSON.
    text: Packed,
    /// What most writes leave as it is.
    pub(crate) head: Arc<Head>,
    /// Whether its deletion has begun.
    pub(crate) deleting: bool,
    /// Whether finalizers hold it.
    pub(crate) held: bool,
    /// Whether this is what a reader gets, rather than what is stored.
    pub(crate) shown: bool,
}

/// Who an object is and whom it belongs to; its states share one where they can.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// `apiVersion` of the text.
    pub(crate) api_version: Box<str>,
    /// `metadata.uid`.
    pub(crate) uid: Box<str>,
    pub(crate) labels: Labels,
    /// The objects that own it.
    pub(crate) owners: Box<[Owner]>,
}

impl Record {
    /// Stamps `object` with `revision`, for a reader: the text stays plain.
    pub(crate) fn new(mut object: Value, revision: u64) -> Self {
        stamp(&mut object, revision);
        Self::from_parts(&object, revision, Packed::plain)
    }

    /// Stamps `object` with `revision`, to be kept. `before` is an earlier state of it.
    pub(super) fn kept(
        mut object: Value,
        revision: u64,
        packer: &mut Packer,
        before: Option<&Self>,
    ) -> Self {
        stamp(&mut object, revision);
        let mut record = Self::from_parts(&object, revision, |text| packer.pack(text));
        if let Some(before) = before.filter(|before| before.head == record.head) {
            record.head = before.head.clone();
        }
        record
    }

    /// An object that is shown but not stored.
    pub(crate) fn unstored(object: &Value) -> Self {
        Self::from_parts(object, 0, Packed::plain)
    }

    /// What the readers at another version get of a record of this revision.
    pub(crate) fn shown(object: &Value, revision: u64) -> Self {
        Self {
            shown: true,
            ..Self::from_parts(object, revision, Packed::plain)
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
    pub(super) fn parse(json: &[u8], packer: &mut Packer) -> Option<Self> {
        let stored: Stored = serde_json::from_slice(json).ok()?;
        let meta = stored.metadata;
        let owners = meta.owner_references.into_iter().map(|owner| Owner {
            api_version: owner.api_version,
            kind: owner.kind,
            name: owner.name,
            uid: owner.uid,
            block: owner.block_owner_deletion.unwrap_or(false),
        });
        let labels = meta.labels.iter().map(|(k, v)| (k.as_ref(), v.as_ref()));
        let head = Head {
            api_version: stored.api_version,
            uid: meta.uid,
            labels: labels.collect(),
            owners: owners.collect(),
        };
        Some(Self {
            revision: meta.resource_version.parse().ok()?,
            text: packer.pack(json),
            head: Arc::new(head),
            deleting: meta.deletion_timestamp.is_some(),
            held: !meta.finalizers.is_empty(),
            shown: false,
        })
    }

    fn from_parts(object: &Value, revision: u64, keep: impl FnOnce(&[u8]) -> Packed) -> Self {
        let labels = object::meta(object)
            .and_then(|m| m.get("labels"))
            .and_then(Value::as_object);
        let labels = labels.into_iter().flatten();
        let head = Head {
            api_version: object::text(object, &["apiVersion"]).into(),
            uid: object::uid(object).into(),
            labels: labels
                .map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
                .collect(),
            owners: object::owners(object).into(),
        };
        let text = with_scratch(|scratch| {
            serde_json::to_writer(&mut *scratch, object).expect("a JSON value always serialises");
            keep(scratch)
        });
        Self {
            revision,
            text,
            head: Arc::new(head),
            deleting: object::is_deleting(object),
            held: !object::finalizers(object).is_empty(),
            shown: false,
        }
    }

    /// The object as a value.
    pub(crate) fn value(&self) -> Value {
        self.read(|text| serde_json::from_slice(text))
            .expect("stored text was serialised from a value")
    }

    /// The object as JSON.
    pub(crate) fn text(&self) -> Vec<u8> {
        let mut text = Vec::with_capacity(self.text_length());
        self.append_to(&mut text);
        text
    }

    /// Appends the object as JSON.
    pub(crate) fn append_to(&self, out: &mut Vec<u8>) {
        self.text.append_to(out);
    }

    /// Calls `reader` with the object as JSON.
    pub(crate) fn read<T>(&self, reader: impl FnOnce(&[u8]) -> T) -> T {
        self.text.read(reader)
    }

    /// Bytes of the JSON.
    pub(crate) fn text_length(&self) -> usize {
        self.text.length()
    }

    /// Bytes that the JSON takes in memory.
    pub(super) fn weight(&self) -> usize {
        self.text.weight()
    }

    /// The value of a label.
    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        self.head.labels.get(key)
    }
}

fn stamp(object: &mut Value, revision: u64) {
    object::meta_mut(object).insert(
        "resourceVersion".into(),
        Value::String(revision.to_string()),
    );
}

/// What a record knows of its text, read without building the rest.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stored {
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
            let read = Record::parse(&written.text(), &mut Packer::default()).unwrap();
            assert_eq!(format!("{read:?}"), format!("{written:?}"));
            assert_eq!(read.value(), written.value());
        }
        for bad in [&b"{\"metadata\":{}}"[..], b"not json"] {
            assert!(Record::parse(bad, &mut Packer::default()).is_none());
        }
    }

    #[test]
    fn states_of_an_object_share_what_did_not_change() {
        let mut packer = Packer::default();
        let mut object = json!({"metadata": {"uid": "u", "labels": {"a": "1"}}, "n": 1});
        let first = Record::kept(object.clone(), 1, &mut packer, None);
        object["n"] = 2.into();
        let second = Record::kept(object.clone(), 2, &mut packer, Some(&first));
        assert!(Arc::ptr_eq(&first.head, &second.head));
        object["metadata"]["labels"]["a"] = "2".into();
        let third = Record::kept(object, 3, &mut packer, Some(&second));
        assert_eq!(third.label("a"), Some("2"));
        assert_eq!(second.label("a"), Some("1"));
        assert_eq!(second.value()["n"], 2);
    }
}
