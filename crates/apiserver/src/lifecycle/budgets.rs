//! The status of disruption budgets: how many pods of a selection may go now.

use crate::disruption::{BUDGETS, DEPLOYMENTS, PODS, REPLICA_SETS, standing};
use crate::handlers::Writing;
use crate::instance::Instance;
use crate::store::{Event, Key};

/// Looks at a change of a pod, of what wants pods, or of a budget.
pub(super) async fn note(instance: &Instance, shelf: &str, event: &Event) {
    if ![PODS, BUDGETS, REPLICA_SETS, DEPLOYMENTS].contains(&shelf) {
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
            let mut new = budget.clone();
            standing(instance, budget).write(&mut new, &now);
            Ok(new)
        })
        .await;
    if let Err(failure) = outcome.map_err(|failure| failure.message) {
        tracing::debug!(error = %failure, "a budget's status could not be written");
    }
}
