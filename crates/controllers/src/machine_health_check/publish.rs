//! Writes of a MachineHealthCheck: conditions of Machines, events, its own status.

use remuda_plan::machines::{
    remediation::check::Report,
    view::{EXTERNALLY_REMEDIATED, OWNER_REMEDIATED},
};
use serde_json::{Value, json};

use super::{
    conditions::{ConditionType, EventReason, Reason},
    gather::Gathered,
};
use crate::{
    conditions::{Wanted, merged, status_of},
    context::{Context, FIELD_MANAGER},
    events::{Note, Regarding},
    kinds::Kind,
    machine_conditions,
    objects::{ApiError, Target},
    patch,
};

/// Writes the conditions of every Machine. The first failure is returned after all were tried.
pub(super) async fn machines(
    gathered: &Gathered,
    report: &Report,
    ctx: &Context,
) -> Result<(), ApiError> {
    let mut outcome = Ok(());
    for checked in &gathered.targets {
        let machine = &checked.target.machine;
        let name = &machine.metadata.name;
        let marks = report.marks.iter().filter(|mark| mark.machine == *name);
        let wanted: Vec<Wanted> = marks.map(machine_conditions::wanted).collect();
        // Something outside may still be told that the Machine is well: `external` takes it back.
        let written =
            machine_conditions::write(&checked.raw, &machine.metadata, &wanted, &[], ctx).await;
        if matches!(written, Ok(true)) && wanted.iter().any(|one| one.kind == OWNER_REMEDIATED) {
            unhealthy(gathered, name, &machine.metadata.uid, &wanted, ctx).await;
        }
        outcome = outcome.and(written.map(drop));
    }
    outcome
}

async fn unhealthy(gathered: &Gathered, name: &str, uid: &str, wanted: &[Wanted], ctx: &Context) {
    let why = wanted
        .iter()
        .find(|one| one.kind != OWNER_REMEDIATED && one.kind != EXTERNALLY_REMEDIATED);
    let why = why.map_or("", |one| one.message.as_str());
    let check = &gathered.check.metadata;
    let note = format!(
        "unhealthy, says the MachineHealthCheck {}: {why}",
        check.name
    );
    write_event(
        Regarding {
            kind: Kind::Machine,
            namespace: &check.namespace,
            name,
            uid,
        },
        EventReason::MachineMarkedUnhealthy,
        &note,
        ctx,
    )
    .await;
}

/// Tells once that nothing follows.
pub(super) async fn events(gathered: &Gathered, report: &Report, ctx: &Context) {
    let Some(why) = &report.restricted else {
        return;
    };
    let conditions = gathered.live.pointer("/status/conditions");
    let kind = format!("{:?}", ConditionType::RemediationAllowed);
    if status_of(conditions, &kind).as_deref() == Some("False") {
        return;
    }
    let check = &gathered.check.metadata;
    write_event(
        Regarding {
            kind: Kind::MachineHealthCheck,
            namespace: &check.namespace,
            name: &check.name,
            uid: &check.uid,
        },
        EventReason::RemediationRestricted,
        why,
        ctx,
    )
    .await;
}

async fn write_event(about: Regarding<'_>, reason: EventReason, note: &str, ctx: &Context) {
    let reason = format!("{reason:?}");
    let note = Note {
        severity: "Warning",
        reason: &reason,
        note,
    };
    ctx.events.write(about, note).await;
}

/// Writes the status. Without `complete` the pass had an error and the observed generation stays.
pub(super) async fn status(
    gathered: &Gathered,
    report: &Report,
    overlap: &str,
    complete: bool,
    ctx: &Context,
) -> Result<(), ApiError> {
    let mut status = stored(gathered);
    let generation = gathered.check.metadata.generation;
    if complete && let Some(generation) = generation.filter(|generation| *generation > 0) {
        status["observedGeneration"] = Value::from(generation);
    }
    status["expectedMachines"] = Value::from(report.expected);
    status["currentHealthy"] = Value::from(report.healthy);
    status["remediationsAllowed"] = Value::from(report.allowed);
    if !report.targets.is_empty() {
        status["targets"] = Value::from(report.targets.clone());
    } else if let Some(status) = status.as_object_mut() {
        status.remove("targets");
    }
    let allowed = match &report.restricted {
        None => wanted(
            ConditionType::RemediationAllowed,
            "True",
            Reason::RemediationAllowed,
            overlap,
        ),
        Some(why) => wanted(
            ConditionType::RemediationAllowed,
            "False",
            Reason::TooManyUnhealthy,
            why,
        ),
    };
    let paused = wanted(ConditionType::Paused, "False", Reason::NotPaused, "");
    conditions(&mut status, gathered, &[allowed, paused], ctx);
    write(gathered, &status, ctx).await
}

/// Writes that the check is paused, and nothing else.
pub(super) async fn paused(gathered: &Gathered, ctx: &Context) -> Result<(), ApiError> {
    let mut status = stored(gathered);
    let because = "the Cluster or the MachineHealthCheck is paused";
    let paused = wanted(ConditionType::Paused, "True", Reason::Paused, because);
    conditions(&mut status, gathered, &[paused], ctx);
    write(gathered, &status, ctx).await
}

fn wanted(kind: ConditionType, status: &'static str, reason: Reason, message: &str) -> Wanted {
    Wanted {
        kind: format!("{kind:?}"),
        status,
        reason: format!("{reason:?}"),
        message: message.to_owned(),
    }
}

fn stored(gathered: &Gathered) -> Value {
    let status = gathered.live.get("status").cloned();
    status.unwrap_or_else(|| json!({}))
}

fn conditions(status: &mut Value, gathered: &Gathered, wanted: &[Wanted], ctx: &Context) {
    let generation = gathered.check.metadata.generation;
    let live = gathered.live.pointer("/status/conditions");
    status["conditions"] = merged(live, wanted, generation, ctx.now());
}

async fn write(gathered: &Gathered, status: &Value, ctx: &Context) -> Result<(), ApiError> {
    let Some(change) = patch::between(&stored(gathered), status) else {
        return Ok(());
    };
    let metadata = &gathered.check.metadata;
    let resource = Kind::MachineHealthCheck.resource();
    let target = Target {
        resource: &resource,
        namespace: Some(&metadata.namespace),
        name: &metadata.name,
        subresource: Some("status"),
    };
    let patch = json!({ "status": change });
    ctx.objects
        .merge_patch(&target, &patch, FIELD_MANAGER)
        .await?;
    Ok(())
}
