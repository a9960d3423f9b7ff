//! How long a pod may take to stop: the rules of Kubernetes' graceful deletion, on plain data.
//!
//! In: a pod, and what a delete says of its time. Out: its deletion mark. A pod on a node is there
//! until somebody who knows that it has stopped (its kubelet) deletes it with no time left.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::clock::stamp;
use crate::object::{self, at, meta_mut, text};
use crate::registry::Behaviour;

/// Seconds that an object gets to stop; only pods on a node get any.
pub(super) fn seconds(behaviour: Behaviour, object: &Value, asked: Option<i64>) -> i64 {
    let unbound = text(object, &["spec", "nodeName"]).is_empty();
    let finished = matches!(text(object, &["status", "phase"]), "Succeeded" | "Failed");
    if behaviour != Behaviour::Pod || unbound || finished {
        return 0;
    }
    let own = at(object, &["spec", "terminationGracePeriodSeconds"]).and_then(Value::as_i64);
    least(asked.or(own).unwrap_or(0))
}

/// Kubernetes takes a negative time for one second.
fn least(seconds: i64) -> i64 {
    if seconds < 0 { 1 } else { seconds }
}

/// Whether an object was told to go and still has time to stop.
pub(crate) fn is_stopping(behaviour: Behaviour, object: &Value) -> bool {
    behaviour == Behaviour::Pod && object::is_deleting(object) && left(object) > 0
}

fn left(object: &Value) -> i64 {
    let seconds = at(object, &["metadata", "deletionGracePeriodSeconds"]);
    seconds.and_then(Value::as_i64).unwrap_or(0)
}

/// Marks an object as being deleted: its time ends `seconds` from now.
pub(super) fn mark(object: &mut Value, now: Timestamp, seconds: i64) {
    let end = now.checked_add(SignedDuration::from_secs(seconds));
    let meta = meta_mut(object);
    meta.insert(
        "deletionTimestamp".into(),
        stamp(end.unwrap_or(Timestamp::MAX)).into(),
    );
    meta.insert("deletionGracePeriodSeconds".into(), seconds.into());
}

/// Gives a stopping pod less time. It never gets more.
pub(super) fn shorten(pod: &mut Value, asked: Option<i64>) {
    let (left, Some(asked)) = (left(pod), asked.map(least)) else {
        return;
    };
    let end: Option<Timestamp> = object::meta_str(pod, "deletionTimestamp").parse().ok();
    let Some(end) = end.filter(|_| asked < left) else {
        return;
    };
    let begun = end.checked_sub(SignedDuration::from_secs(left));
    mark(pod, begun.unwrap_or(end), asked);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(phase: &str, node: &str, own: i64) -> Value {
        json!({
            "metadata": {"name": "p"},
            "spec": {"nodeName": node, "terminationGracePeriodSeconds": own},
            "status": {"phase": phase},
        })
    }

    #[test]
    fn only_pods_on_a_node_take_time() {
        let running = pod("Running", "n", 30);
        let rows = [
            (seconds(Behaviour::Pod, &running, None), 30),
            (seconds(Behaviour::Pod, &running, Some(5)), 5),
            (seconds(Behaviour::Pod, &running, Some(90)), 90),
            (seconds(Behaviour::Pod, &running, Some(0)), 0),
            (seconds(Behaviour::Pod, &running, Some(-3)), 1),
            (seconds(Behaviour::Pod, &pod("Running", "n", -1), None), 1),
            (seconds(Behaviour::Pod, &pod("Pending", "n", 30), None), 30),
            (seconds(Behaviour::Pod, &pod("Pending", "", 30), Some(9)), 0),
            (seconds(Behaviour::Pod, &pod("Succeeded", "n", 30), None), 0),
            (seconds(Behaviour::Pod, &pod("Failed", "n", 30), Some(9)), 0),
            (seconds(Behaviour::Node, &running, None), 0),
        ];
        for (index, (got, wanted)) in rows.into_iter().enumerate() {
            assert_eq!(got, wanted, "row {index}");
        }
    }

    #[test]
    fn time_is_taken_away_and_never_given() {
        let mut stopping = pod("Running", "n", 30);
        let begun = "2026-10-01T08:00:00Z".parse().unwrap();
        mark(&mut stopping, begun, 30);
        let end = |pod: &Value| object::meta_str(pod, "deletionTimestamp").to_owned();
        assert_eq!(end(&stopping), "2026-10-01T08:00:30Z");
        for no_less in [None, Some(30), Some(300)] {
            let mut same = stopping.clone();
            shorten(&mut same, no_less);
            assert_eq!(same, stopping);
        }
        shorten(&mut stopping, Some(10));
        assert_eq!(end(&stopping), "2026-10-01T08:00:10Z");
        assert!(is_stopping(Behaviour::Pod, &stopping));
        shorten(&mut stopping, Some(0));
        assert_eq!(end(&stopping), "2026-10-01T08:00:00Z");
        assert!(!is_stopping(Behaviour::Pod, &stopping));
    }
}
