//! Writes to the Machines of a pool: they are made, kept true, marked, and the unhealthy ones
//! replaced.

use std::collections::BTreeMap;

use remuda_api::keys::annotation;
use remuda_plan::machines::{
    pool_machine::{MANAGER, Surfacing},
    view::OWNER_REMEDIATED,
};
use serde_json::{Value, json};

use super::{
    conditions::EventReason,
    gather::Gathered,
    machines::Surfaced,
    members::{Applied, Stored},
};
use crate::{
    conditions::Wanted,
    context::{Context, FIELD_MANAGER},
    events::{Note, Regarding},
    kinds::Kind,
    machine_conditions,
    objects::{ApiError, Target},
};

/// Lines of history that are kept.
const HISTORY: usize = 10;

/// Brings the Machines in line. The first failure is returned after every Machine was tried: one
/// must not keep the others waiting.
pub(super) async fn settle(
    gathered: &Gathered,
    applied: &Applied,
    ctx: &Context,
) -> Result<(), ApiError> {
    let Some(surfaced) = &gathered.machines else {
        return Ok(());
    };
    let mut outcome = Ok(());
    for (name, surfacing) in &surfaced.surfacings {
        if let Surfacing::Apply(machine) = surfacing {
            outcome = outcome.and(apply(gathered, applied, (name, machine), ctx).await);
        }
    }
    let mut marks: BTreeMap<&str, Vec<Wanted>> = BTreeMap::new();
    for mark in &surfaced.replacements.marks {
        let wanted = machine_conditions::wanted(mark);
        marks.entry(&mark.machine).or_default().push(wanted);
    }
    for (name, stored) in &surfaced.machines {
        let wanted = marks.remove(name.as_str()).unwrap_or_default();
        let removed: &[&str] = if surfaced.replacements.recovered.contains(name) {
            &[OWNER_REMEDIATED]
        } else {
            &[]
        };
        // One that was only glanced at is not replaced: see `reconcile`.
        let Some(raw) = &stored.raw else {
            continue;
        };
        let metadata = &stored.view().metadata;
        let marked = machine_conditions::write(raw, metadata, &wanted, removed, ctx).await;
        outcome = match marked {
            // The mark comes before the deletion: a crash in between finds it.
            Ok(_) if surfaced.replacements.deletes.contains(name) => {
                outcome.and(replace(gathered, surfaced, stored, ctx).await)
            }
            marked => outcome.and(marked.map(drop)),
        };
    }
    outcome
}

async fn apply(
    gathered: &Gathered,
    applied: &Applied,
    (name, machine): (&str, &Value),
    ctx: &Context,
) -> Result<(), ApiError> {
    let resource = Kind::Machine.resource();
    let target = Target {
        resource: &resource,
        namespace: Some(&gathered.pool.metadata.namespace),
        name,
        subresource: None,
    };
    let objects = ctx.objects.keeping_managers();
    match objects.apply(&target, machine, MANAGER).await {
        Ok(answer) => {
            applied.note(&gathered.pool.metadata, machine, &answer.object()?);
            Ok(())
        }
        // It went in the meantime, or another has its name: the next pass sees.
        Err(ApiError::Conflict(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Deletes an unhealthy Machine and remembers it.
async fn replace(
    gathered: &Gathered,
    surfaced: &Surfaced,
    stored: &Stored,
    ctx: &Context,
) -> Result<(), ApiError> {
    let (pool, machine) = (&gathered.pool.metadata, stored.view());
    let name = &machine.metadata.name;
    let why = machine
        .condition(remuda_plan::machines::view::HEALTH_CHECK_SUCCEEDED)
        .map(|condition| format!("{}: {}", condition.reason, condition.message))
        .unwrap_or_default();
    let fresh = surfaced
        .replacements
        .marks
        .iter()
        .any(|mark| mark.machine == *name);
    if fresh {
        remember(gathered, name, &why, ctx).await?;
    }
    let resource = Kind::Machine.resource();
    let uid = Some(machine.metadata.uid.as_str());
    ctx.objects
        .delete(&resource, Some(&pool.namespace), name, uid)
        .await?;
    let note = format!("the Machine {name} is replaced. {why}");
    let reason = format!("{:?}", EventReason::MachineRemediation);
    let about = Regarding {
        kind: Kind::MachinePool,
        namespace: &pool.namespace,
        name: &pool.name,
        uid: &pool.uid,
    };
    let note = Note {
        severity: "Warning",
        reason: &reason,
        note: &note,
    };
    ctx.events.write(about, note).await;
    Ok(())
}

/// Adds a line to the pool's history of replacements.
async fn remember(
    gathered: &Gathered,
    machine: &str,
    why: &str,
    ctx: &Context,
) -> Result<(), ApiError> {
    let metadata = &gathered.pool.metadata;
    let old = metadata.annotations.get(annotation::REMEDIATION_HISTORY);
    let mut lines: Vec<String> = old
        .map_or("", String::as_str)
        .lines()
        .map(str::to_owned)
        .collect();
    let second = jiff::Timestamp::from_second(ctx.now().as_second()).unwrap_or_else(|_| ctx.now());
    lines.push(format!("{second} {machine} {why}").replace('\n', " "));
    let kept = lines.split_off(lines.len().saturating_sub(HISTORY));
    let patch = json!({
        "metadata": { "annotations": { annotation::REMEDIATION_HISTORY: kept.join("\n") } },
    });
    let resource = Kind::MachinePool.resource();
    let target = Target {
        resource: &resource,
        namespace: Some(&metadata.namespace),
        name: &metadata.name,
        subresource: None,
    };
    ctx.objects
        .merge_patch(&target, &patch, FIELD_MANAGER)
        .await?;
    Ok(())
}
