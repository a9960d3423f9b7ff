//! Showing a stored object at another version: for definitions only the name of the version
//! changes, events are spelled differently in their two groups.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::registry::{Behaviour, Served};
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

/// The text of a stored object at the version it is asked for.
pub(crate) fn text(record: &Record, served: &Served) -> Bytes {
    if *record.api_version == *served.api_version() {
        return record.json.clone();
    }
    serde_json::to_vec(&value(record, served))
        .expect("a JSON value always serialises")
        .into()
}

/// A stored object at the version it is asked for.
pub(crate) fn value(record: &Record, served: &Served) -> Value {
    to(record.value(), &served.api_version(), served.kind.behaviour)
}

/// An object at the version it is stored in.
pub(crate) fn to_stored(object: Value, served: &Served) -> Value {
    to(object, &served.kind.stored_as, served.kind.behaviour)
}

fn to(mut object: Value, api_version: &str, behaviour: Behaviour) -> Value {
    if object.get("apiVersion").and_then(Value::as_str) == Some(api_version) {
        return object;
    }
    if behaviour == Behaviour::Event
        && let Some(map) = object.as_object_mut()
    {
        rename(map, api_version == "v1");
    }
    object["apiVersion"] = json!(api_version);
    object
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
