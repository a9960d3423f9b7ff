//! Events are news: they go an hour after they were last written, as on a genuine server.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::instance::Instance;
use crate::object::text;
use crate::store::{Expect, Key};

const SHELF: &str = "events";
/// How long an event stays.
const LIFE: SignedDuration = SignedDuration::from_hours(1);
/// How often old events are looked for.
pub(super) const SWEEP_EVERY: Duration = Duration::from_mins(5);

/// Removes the events that are too old.
pub(super) async fn sweep(instance: &Instance) {
    let now = instance.now();
    for ((namespace, name), record) in instance.space().list(SHELF, None).records {
        let old = written(&record.value()).is_some_and(|time| now.duration_since(time) > LIFE);
        if !old {
            continue;
        }
        let key = Key {
            shelf: SHELF.into(),
            namespace,
            name,
        };
        // An event that was written in between stays for another hour.
        let expect = Expect::Revision(record.revision);
        if let Err(error) = instance.commit(&key, expect, None).await {
            tracing::debug!(%error, "an old event stays");
        }
    }
}

/// When an event was last written.
fn written(event: &Value) -> Option<Timestamp> {
    [
        &["metadata", "creationTimestamp"][..],
        &["lastTimestamp"],
        &["series", "lastObservedTime"],
        &["eventTime"],
    ]
    .iter()
    .filter_map(|path| text(event, path).parse().ok())
    .max()
}
