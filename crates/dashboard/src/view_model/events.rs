//! Events, newest first.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::words::{Moment, spaced};
use crate::object;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct EventRow {
    pub(crate) when: Option<Moment>,
    pub(crate) warning: bool,
    /// In words.
    pub(crate) reason: String,
    pub(crate) note: String,
    /// Kind of the object it is about.
    pub(crate) about: String,
    /// How often, where more than once.
    pub(crate) times: Option<i64>,
}

/// The newest events about any of some objects.
pub(crate) fn events(
    all: &[Value],
    about: &[&Value],
    now: Timestamp,
    most: usize,
) -> Vec<EventRow> {
    let uids: Vec<&str> = about
        .iter()
        .filter_map(|object| object::uid(object))
        .collect();
    let mut found: Vec<(Option<Timestamp>, &Value)> = all
        .iter()
        .filter(|event| {
            object::text(event, "/regarding/uid").is_some_and(|uid| uids.contains(&uid))
        })
        .map(|event| (at(event), event))
        .collect();
    found.sort_by(|(a, one), (b, other)| {
        b.cmp(a)
            .then_with(|| object::name(other).cmp(object::name(one)))
    });
    let newest = found.into_iter().take(most);
    newest.map(|(at, event)| row(event, at, now)).collect()
}

fn at(event: &Value) -> Option<Timestamp> {
    const TIMES: [&str; 4] = [
        "/series/lastObservedTime",
        "/eventTime",
        "/deprecatedLastTimestamp",
        "/metadata/creationTimestamp",
    ];
    TIMES
        .iter()
        .find_map(|pointer| object::time(event, pointer))
}

fn row(event: &Value, at: Option<Timestamp>, now: Timestamp) -> EventRow {
    let times =
        object::int(event, "/series/count").or_else(|| object::int(event, "/deprecatedCount"));
    EventRow {
        when: at.map(|at| Moment::new(at, now)),
        warning: object::text(event, "/type") == Some("Warning"),
        reason: spaced(object::text(event, "/reason").unwrap_or_default()),
        note: object::text(event, "/note").unwrap_or_default().to_owned(),
        about: object::text(event, "/regarding/kind")
            .unwrap_or_default()
            .to_owned(),
        times: times.filter(|times| *times > 1),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::fixtures;
    use super::*;

    #[test]
    fn newest_first_and_only_of_these_objects() {
        let event = |name: &str, uid: &str, ago: i64| {
            json!({
                "metadata": { "name": name }, "reason": "JobFailed", "type": "Warning", "note": name,
                "regarding": { "uid": uid, "kind": "MachinePool" }, "eventTime": fixtures::before(ago),
            })
        };
        let all = [
            event("old", "x", 500),
            event("new", "x", 5),
            event("other", "y", 1),
            json!({}),
        ];
        let rows = events(
            &all,
            &[&json!({ "metadata": { "uid": "x" } }), &json!({})],
            fixtures::now(),
            10,
        );
        let notes: Vec<&str> = rows.iter().map(|row| row.note.as_str()).collect();
        assert_eq!(notes, ["new", "old"]);
        assert_eq!(rows[0].reason, "Job failed");
        assert_eq!(rows[1].when.as_ref().unwrap().ago, "8 min ago");
    }
}
