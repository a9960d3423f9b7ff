//! The status of disruption budgets: how many pods of a selection may go now.

use serde_json::{Value, json};

use crate::disruption::{BUDGETS, PODS, standing};
use crate::handlers::Writing;
use crate::instance::Instance;
use crate::object::{at, child_mut};
use crate::registry::set_condition;
use crate::store::{Event, Key};

/// Looks at a change of a pod or of a budget.
pub(super) async fn note(instance: &Instance, shelf: &str, event: &Event) {
    if shelf != PODS && shelf != BUDGETS {
        return;
    }
    for ((namespace, name), _) in instance
        .space()
        .list(BUDGETS, Some(&event.namespace))
        .records
    {
        refresh(
            instance,
            Key {
                shelf: BUDGETS.into(),
                namespace,
                name,
            },
        )
        .await;
    }
}

async fn refresh(instance: &Instance, key: Key) {
    let Some(served) = instance.registry().by_shelf(BUDGETS) else {
        return;
    };
    let writing = Writing::own(instance, served, "status");
    let now = instance.stamp();
    let outcome = writing
        .update(&key, |budget| {
            let standing = standing(instance, budget);
            let allowed = standing.allowed();
            let generation = at(budget, &["metadata", "generation"]).cloned();
            let (status, reason) = if allowed > 0 {
                ("True", "SufficientPods")
            } else {
                ("False", "InsufficientPods")
            };
            let mut new = budget.clone();
            let fields = child_mut(&mut new, "status");
            fields.insert("disruptionsAllowed".into(), allowed.into());
            fields.insert("currentHealthy".into(), standing.healthy.into());
            fields.insert("desiredHealthy".into(), standing.desired.into());
            fields.insert("expectedPods".into(), standing.expected.into());
            fields.insert(
                "observedGeneration".into(),
                generation.unwrap_or(Value::Null),
            );
            let condition = json!({
                "type": "DisruptionAllowed", "status": status, "reason": reason, "message": "",
                "lastTransitionTime": now,
            });
            set_condition(
                fields.entry("conditions").or_insert_with(|| json!([])),
                condition,
            );
            Ok(new)
        })
        .await;
    if let Err(failure) = outcome.map_err(|failure| failure.message) {
        tracing::debug!(error = %failure, "a budget's status could not be written");
    }
}
