//! Showing a stored object without asking anybody: what a change of the definition asks for, and
//! another version of a kind whose versions differ by name only. Events are spelled differently in
//! their two groups.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::object::split_api_version;
use crate::registry::{Behaviour, Kind, Served, Version};
use crate::schema;
use crate::store::Record;

/// Core events, then the same field in `events.k8s.io`.
const EVENT_FIELDS: [(&str, &str); 8] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("reportingInstance", "reportingInstance"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

/// The text of a record at the version it is asked for.
pub(crate) enum Text {
    /// As it is stored: unpacked when it is needed.
    Stored(Arc<Record>),
    Made(Vec<u8>),
}

impl Text {
    /// The text of a record as `served` shows it.
    pub(crate) fn of(record: &Arc<Record>, served: &Served) -> Self {
        let same = *record.head.api_version == *served.api_version();
        if same && outdated(record, &served.kind).is_none() {
            return Self::Stored(record.clone());
        }
        let text = serde_json::to_vec(&value(record, served));
        Self::Made(text.expect("a JSON value always serialises"))
    }

    /// Its length in bytes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Stored(record) => record.text_length(),
            Self::Made(text) => text.len(),
        }
    }

    /// Appends it.
    pub(crate) fn append_to(&self, out: &mut Vec<u8>) {
        match self {
            Self::Stored(record) => record.append_to(out),
            Self::Made(text) => out.extend_from_slice(text),
        }
    }

    /// The text.
    pub(crate) fn into_vec(self) -> Vec<u8> {
        match self {
            Self::Stored(record) => record.text(),
            Self::Made(text) => text,
        }
    }
}

/// A record at the version it is asked for.
pub(crate) fn value(record: &Record, served: &Served) -> Value {
    to(
        as_read(record, &served.kind),
        &served.kind,
        &served.api_version(),
    )
}

/// A record at the version it is stored at: what was written before the schema changed is pruned
/// and defaulted as the schema is now.
pub(crate) fn as_read(record: &Record, kind: &Kind) -> Value {
    let mut object = record.value();
    if let Some(schema) = outdated(record, kind).and_then(|version| version.schema.as_deref()) {
        schema::prune(&mut object, schema);
        schema::default(&mut object, schema);
    }
    object
}

/// Whether what is read is not what is stored.
pub(crate) fn reads_differently(record: &Record, kind: &Kind) -> bool {
    outdated(record, kind).is_some() && record.value() != as_read(record, kind)
}

/// The version of a record whose schema is newer than the record.
fn outdated<'a>(record: &Record, kind: &'a Kind) -> Option<&'a Version> {
    if record.shown || !kind.is_custom() {
        return None;
    }
    let version = version(kind, &record.head.api_version)?;
    (record.revision <= version.since).then_some(version)
}

fn version<'a>(kind: &'a Kind, api_version: &str) -> Option<&'a Version> {
    let (_, name) = split_api_version(api_version);
    kind.versions.iter().find(|version| version.name == name)
}

/// An object at another version, which differs by name only.
pub(super) fn to(mut object: Value, kind: &Kind, api_version: &str) -> Value {
    if object.get("apiVersion").and_then(Value::as_str) == Some(api_version) {
        return object;
    }
    if kind.behaviour == Behaviour::Event
        && let Some(map) = object.as_object_mut()
    {
        rename(map, api_version == "v1");
    }
    object["apiVersion"] = json!(api_version);
    prune(&mut object, kind, api_version);
    object
}

/// Removes what a custom kind does not have at this version.
pub(super) fn prune(object: &mut Value, kind: &Kind, api_version: &str) {
    let version = version(kind, api_version).filter(|_| kind.is_custom());
    if let Some(schema) = version.and_then(|version| version.schema.as_deref()) {
        schema::prune(object, schema);
    }
}

fn rename(event: &mut Map<String, Value>, to_core: bool) {
    for (core, grouped) in EVENT_FIELDS {
        let (from, to) = if to_core {
            (grouped, core)
        } else {
            (core, grouped)
        };
        if let Some(value) = event.remove(from) {
            event.insert(to.to_owned(), value);
        }
    }
}
