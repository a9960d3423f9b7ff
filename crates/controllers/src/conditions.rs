//! Conditions in their wire shape, with transition times that move only when a status changes.

use jiff::Timestamp;
use serde_json::{Value, json};

/// One condition as a controller wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// `type`.
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: &'static str,
    /// `reason`; never empty.
    pub reason: String,
    /// For people; deterministic.
    pub message: String,
}

/// The complete list to write: the wanted conditions, and of the live ones those of other types,
/// sorted by type.
pub(crate) fn merged(
    live: Option<&Value>,
    wanted: &[Wanted],
    generation: Option<i64>,
    now: Timestamp,
) -> Value {
    // Kubernetes writes times in whole seconds.
    let now = Timestamp::from_second(now.as_second()).unwrap_or(now);
    let live: &[Value] = live.and_then(Value::as_array).map_or(&[], Vec::as_slice);
    let field = |condition: &Value, name: &str| {
        condition
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let mut all: Vec<Value> = live
        .iter()
        .filter(|old| !wanted.iter().any(|new| new.kind == field(old, "type")))
        .cloned()
        .collect();
    for new in wanted {
        let old = live.iter().find(|old| field(old, "type") == new.kind);
        let since = old
            .filter(|old| field(old, "status") == new.status)
            .map(|old| field(old, "lastTransitionTime"))
            .filter(|since| !since.is_empty())
            .unwrap_or_else(|| now.to_string());
        let mut condition = json!({
            "type": new.kind,
            "status": new.status,
            "reason": new.reason,
            "message": new.message,
            "lastTransitionTime": since,
        });
        if let Some(generation) = generation.filter(|generation| *generation > 0) {
            condition["observedGeneration"] = Value::from(generation);
        }
        all.push(condition);
    }
    all.sort_by_key(|condition| field(condition, "type"));
    Value::Array(all)
}

/// Status of a condition in a live list.
pub(crate) fn status_of(live: Option<&Value>, kind: &str) -> Option<String> {
    let condition = live
        .and_then(Value::as_array)?
        .iter()
        .find(|condition| condition.get("type").and_then(Value::as_str) == Some(kind))?;
    condition
        .get("status")
        .and_then(Value::as_str)
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{Value, Wanted, json, merged};

    fn wanted(status: &'static str) -> Vec<Wanted> {
        vec![Wanted {
            kind: "Ready".to_owned(),
            status,
            reason: "Why".to_owned(),
            message: String::new(),
        }]
    }

    #[test]
    fn a_transition_time_moves_only_with_the_status() {
        let early = "2026-01-01T00:00:00Z".parse().unwrap();
        let late = "2026-01-02T00:00:00Z".parse().unwrap();
        let first = merged(None, &wanted("False"), Some(1), early);
        let second = merged(Some(&first), &wanted("False"), Some(1), late);
        assert_eq!(first, second);
        let third = merged(Some(&second), &wanted("True"), Some(1), late);
        assert_eq!(
            third[0]["lastTransitionTime"],
            Value::from("2026-01-02T00:00:00Z")
        );
    }

    #[test]
    fn conditions_of_others_stay() {
        let live = json!([{"type": "Theirs", "status": "True"}]);
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let all = merged(Some(&live), &wanted("True"), None, now);
        assert_eq!(all.as_array().unwrap().len(), 2);
        assert_eq!(all[1]["type"], "Theirs");
    }
}
