//! Deletion order (Azure document 5.4), from the record and what is seen: never from valid inputs.
//!
//! Each pass derives where it stands from the observation; waits are outlooks, no state. A foreign
//! set receives no write. A missing resource group is a group without sets.

use std::collections::BTreeSet;

use super::{
    machines,
    observed::{Handle, Observed, Presence},
    remembered::azure_record,
    roll, scene, setting,
    steps::{self, Steps},
};
use crate::{
    driver::PoolContext,
    pool::{
        action::{Plan, PlanStop},
        read::need,
        record::{AzureRecord, OperationKind},
    },
};

/// The steps from what is to nothing.
///
/// # Errors
/// The read that failed.
pub fn teardown(
    handle: &Handle,
    observed: &Observed,
    context: &PoolContext<'_>,
) -> Result<Plan, PlanStop> {
    let sets = need(&observed.sets, "scale sets")?;
    let settings = need(&observed.settings, "autoscale settings")?;
    let stored = azure_record(context).cloned();
    let record = stored.clone().unwrap_or_default();
    let ours = scene::ours(sets, &record, context);
    let mut steps = Steps::new(context, stored, record.clone());

    let names: BTreeSet<&str> = recorded(&record).chain(ours.keys().copied()).collect();
    setting::let_go(&mut steps, names, settings, &handle.place);
    let is_free = steps::go_on(&mut steps, sets, &observed.operation, |operation| {
        matches!(operation.kind, OperationKind::Empty | OperationKind::Delete)
    })?;
    for call in machines::end_meanwhile(handle, observed, &record, context)? {
        steps.call(call);
    }
    if is_free {
        for set in ours.values() {
            let presence = sets.get(&set.name).unwrap_or(&Presence::Absent);
            roll::delete(&mut steps, set, presence, "the pool is deleted");
        }
    }
    Ok(steps.into_plan())
}

/// Every set the record names.
fn recorded(record: &AzureRecord) -> impl Iterator<Item = &str> {
    let generations = [&record.current, &record.next].into_iter().flatten();
    generations
        .map(|generation| generation.set_name.as_str())
        .chain(record.retiring.iter().map(String::as_str))
}
