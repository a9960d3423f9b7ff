//! Disruption budgets: whether one more pod of a selection may go.

use serde_json::Value;

use crate::instance::Instance;
use crate::object::{self, at, text};
use crate::request::selector::LabelSelector;
use crate::status_error::{Cause, Failure, Outcome};

/// The shelf of pods.
pub(crate) const PODS: &str = "pods";
/// The shelf of budgets.
pub(crate) const BUDGETS: &str = "poddisruptionbudgets.policy";

/// Where a budget stands now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) expected: i64,
    pub(crate) healthy: i64,
    pub(crate) desired: i64,
}

impl Standing {
    pub(crate) fn allowed(self) -> i64 {
        if self.expected == 0 {
            0
        } else {
            (self.healthy - self.desired).max(0)
        }
    }
}

/// Refuses an eviction that a budget of the pod's namespace does not allow.
pub(crate) fn check(instance: &Instance, pod: &Value) -> Outcome<()> {
    let namespace = object::namespace(pod);
    let budgets: Vec<Value> = instance
        .space()
        .list(BUDGETS, Some(namespace))
        .records
        .iter()
        .map(|(_, record)| record.value())
        .filter(|budget| selector(budget).is_some_and(|selector| selects(&selector, pod)))
        .collect();
    if budgets.len() > 1 {
        return Err(Failure::internal(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does \
             not support.",
        ));
    }
    let Some(budget) = budgets.first() else {
        return Ok(());
    };
    let standing = standing(instance, budget);
    if standing.allowed() > 0 || !is_ready(pod) && standing.healthy >= standing.desired {
        return Ok(());
    }
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    let cause = format!(
        "The disruption budget {} needs {} healthy pods and has {} currently",
        object::name(budget),
        standing.desired,
        standing.healthy
    );
    let failure = Failure::too_many_requests(message);
    Err(failure.with_causes(&[Cause::new("DisruptionBudget", "", cause)]))
}

fn selector(budget: &Value) -> Option<LabelSelector> {
    at(budget, &["spec", "selector"]).map(LabelSelector::from_object)
}

fn selects(selector: &LabelSelector, pod: &Value) -> bool {
    selector.matches(|key| at(pod, &["metadata", "labels", key]).and_then(Value::as_str))
}

fn is_ready(pod: &Value) -> bool {
    let list = at(pod, &["status", "conditions"]).and_then(Value::as_array);
    let ready = |c: &Value| text(c, &["type"]) == "Ready" && text(c, &["status"]) == "True";
    list.into_iter().flatten().any(ready)
}

/// Counts the pods of a budget.
pub(crate) fn standing(instance: &Instance, budget: &Value) -> Standing {
    let namespace = object::namespace(budget);
    let selector = selector(budget).unwrap_or_default();
    let pods: Vec<Value> = instance
        .space()
        .list(PODS, Some(namespace))
        .records
        .iter()
        .filter(|(_, record)| selector.matches(|key| record.label(key)))
        .map(|(_, record)| record.value())
        .filter(|pod| !matches!(text(pod, &["status", "phase"]), "Succeeded" | "Failed"))
        .collect();
    let expected = i64::try_from(pods.len()).unwrap_or(i64::MAX);
    let healthy = pods
        .iter()
        .filter(|pod| !object::is_deleting(pod) && is_ready(pod))
        .count();
    let spec = |field: &str| at(budget, &["spec", field]).filter(|value| !value.is_null());
    let desired = match (spec("minAvailable"), spec("maxUnavailable")) {
        (Some(least), _) => portion(least, expected),
        (None, Some(most)) => (expected - portion(most, expected)).max(0),
        (None, None) => (expected - 1).max(0),
    };
    Standing {
        expected,
        healthy: i64::try_from(healthy).unwrap_or(i64::MAX),
        desired,
    }
}

/// A number, or a percentage of the total, rounded up.
fn portion(value: &Value, total: i64) -> i64 {
    let percent = value.as_str().and_then(|text| text.strip_suffix('%'));
    match percent.and_then(|number| number.parse::<i64>().ok()) {
        Some(percent) => (total * percent + 99) / 100,
        None => value.as_i64().unwrap_or(0),
    }
}
