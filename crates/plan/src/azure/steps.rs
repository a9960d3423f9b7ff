//! Collecting the steps of an Azure pool.

use std::collections::BTreeMap;

use super::{
    limits,
    observed::{OperationState, Presence, ProvisioningState},
    operation::{self, Standing},
};
use crate::pool::{
    action::{Outlook, PlanStop},
    read::Read,
    record::{AzureRecord, Generation, Operation, OperationKind, Sent},
    steps::{self, Call},
};

/// Steps of one plan, and the Azure record as it will be after them.
pub(super) type Steps<'a> = steps::Steps<'a, AzureRecord>;

/// Adds a long-running call: the record names it before, and its outcome counts afterwards. A call
/// that Azure accepts ends the pass; what follows in the plan is what later passes do.
pub(super) fn start(
    steps: &mut Steps<'_>,
    kind: OperationKind,
    set_name: &str,
    sends: Option<Sent>,
    call: Call,
    change: impl FnOnce(&mut AzureRecord),
) {
    let operation = Operation {
        kind,
        set_name: set_name.to_owned(),
        started_at: steps.context().now_epoch_seconds,
        accepted: false,
        address: None,
        sends,
    };
    steps.remember(&operation::announced(&operation), |record| {
        change(record);
        record.operation = Some(operation.clone());
    });
    steps.call(call);
    conclude(&mut steps.record, &Standing::Done);
}

/// Deals with the recorded operation. `false`: nothing may be done to the sets now, either because
/// it runs or because it failed, which is told where it `is_wanted`.
///
/// # Errors
/// It could not be asked.
pub(super) fn go_on(
    steps: &mut Steps<'_>,
    sets: &BTreeMap<String, Presence>,
    state: &Read<OperationState>,
    is_wanted: impl FnOnce(&Operation) -> bool,
) -> Result<bool, PlanStop> {
    let Some(operation) = steps.record.operation.clone() else {
        return Ok(true);
    };
    let presence = sets.get(&operation.set_name).unwrap_or(&Presence::Absent);
    let now = steps.context().now_epoch_seconds;
    let standing =
        operation::standing(&operation, presence, state, now).map_err(PlanStop::Unreadable)?;
    if let Standing::Running { after_seconds } = standing {
        steps.wait(operation::awaited(&operation), after_seconds);
        return Ok(false);
    }
    conclude(&mut steps.record, &standing);
    match standing {
        Standing::Failed(failure) if is_wanted(&operation) => {
            steps.remember("the operation failed and is over", |_| {});
            steps.end_with(Outlook::Failed(failure));
            Ok(false)
        }
        _ => Ok(true),
    }
}

/// The record after its operation came to an end. Nothing is written yet: the next record write of
/// the plan holds it.
fn conclude(record: &mut AzureRecord, standing: &Standing) {
    let Some(operation) = record.operation.take() else {
        return;
    };
    if *standing != Standing::Done {
        return;
    }
    let Some(generation) = generation_mut(record, &operation.set_name) else {
        return;
    };
    match operation.kind {
        OperationKind::Create | OperationKind::Update => {
            generation.created = true;
            generation.sent = operation.sends;
        }
        OperationKind::Empty | OperationKind::Delete => {}
    }
}

fn generation_mut<'a>(record: &'a mut AzureRecord, set_name: &str) -> Option<&'a mut Generation> {
    [&mut record.current, &mut record.next]
        .into_iter()
        .flatten()
        .find(|generation| generation.set_name == set_name)
}

/// Waits for a set that Azure works on.
pub(super) fn wait_for(steps: &mut Steps<'_>, name: &str, set: &Presence) {
    let what = match set.set().map(|set| set.state) {
        Some(ProvisioningState::Deleting) => "to be deleted",
        _ => "to come to rest",
    };
    steps.wait(
        format!("scale set {name} {what}"),
        limits::LOOK_AGAIN_SECONDS,
    );
}
