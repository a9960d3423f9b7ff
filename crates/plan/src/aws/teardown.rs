//! Deletion order (AWS document 12), from the record and what is seen: never from valid inputs.
//!
//! Each pass derives where it stands from the observation; waits are outlooks, no state. A foreign
//! group receives no write. The payload goes last, so that a late boot can still read it.

use std::collections::BTreeSet;

use serde_json::json;

use super::{
    action::{Action, GroupUpdate},
    group, limits,
    observed::{Group, Handle, Observed, Template},
    ownership,
    remembered::aws_record,
    roll,
    steps::{self, Steps},
    template,
};
use crate::{
    driver::PoolContext,
    pool::{
        action::{ChangeKind, Effect, Plan, PlanStop},
        ownership::Ownership,
        read::{Read, need},
        record::AwsRecord,
        steps::{Call, field},
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
    let stored = aws_record(context);
    let record = stored.cloned().unwrap_or_default();
    let found = need(&observed.group, "group")?.as_ref();
    let ours = found.filter(|group| ownership::of_group(group, stored, context) == Ownership::Ours);
    let mut steps = steps::begin(context, stored, record.clone(), &BTreeSet::new());
    if let Some(group) = ours {
        drain(&mut steps, observed, group);
        return Ok(steps.into_plan());
    }
    let foreign = found.and_then(|group| group.template_name.as_deref());
    let is_name_taken = found.is_some();
    for template in need(&observed.templates, "launch templates")?.values() {
        if Some(template.name.as_str()) != foreign
            && is_to_go(template, &record, is_name_taken, context)
        {
            steps.call(Call::new(
                Action::DeleteTemplate {
                    name: template.name.clone(),
                },
                ChangeKind::Delete,
                template::object(&template.name),
                "the pool is deleted",
            ));
        }
    }
    payloads(&mut steps, handle, observed, &record, is_name_taken);
    Ok(steps.into_plan())
}

/// Takes the group down to nothing and deletes it; as much of it as can be done in one pass.
fn drain(steps: &mut Steps<'_>, observed: &Observed, group: &Group) {
    let name = &group.name;
    if group.status.is_some() {
        steps.wait(
            format!("the deletion of group {name} to end"),
            limits::DELETE_LOOK_AGAIN_SECONDS,
        );
        return;
    }
    let because = "the pool is deleted";
    let refreshes = observed.refreshes.known();
    let running = refreshes.and_then(|all| all.iter().find(|r| !roll::is_terminal(&r.status)));
    if running.is_some_and(|refresh| refresh.status != "Cancelling") {
        steps.call(Call::new(
            Action::CancelRefresh {
                group: name.clone(),
            },
            ChangeKind::Bookkeeping,
            group::object(name),
            because,
        ));
    }
    if !matches!(observed.policy, Read::Known(None)) {
        steps.call(Call::new(
            Action::DeleteCpuPolicy {
                group: name.clone(),
            },
            ChangeKind::Delete,
            group::policy_object(),
            because,
        ));
    }
    // Machines that were to be drained are by now: a hook would only hold up what is left.
    group::drop_hook(steps, name, because);
    empty(steps, group);
    if group.instances.is_empty() {
        steps.call(
            Call::new(
                Action::DeleteGroup {
                    group: name.clone(),
                },
                ChangeKind::Delete,
                group::object(name),
                because,
            )
            .effect(Effect::Removes),
        );
        steps.wait(
            format!("group {name} to be gone"),
            limits::DELETE_LOOK_AGAIN_SECONDS,
        );
    } else {
        steps.wait(
            format!(
                "{} instances of group {name} to terminate",
                group.instances.len()
            ),
            limits::DRAIN_LOOK_AGAIN_SECONDS,
        );
    }
}

/// Nothing may launch, and nothing may keep an instance from going.
fn empty(steps: &mut Steps<'_>, group: &Group) {
    let name = &group.name;
    let sizes = [
        ("min_size", group.min_size),
        ("max_size", group.max_size),
        ("desired_capacity", group.desired_capacity),
    ];
    if sizes.iter().any(|(_, size)| *size != 0) {
        steps.call(
            Call::new(
                Action::UpdateGroup(GroupUpdate {
                    group: name.clone(),
                    min_size: Some(0),
                    max_size: Some(0),
                    desired_capacity: Some(0),
                    ..GroupUpdate::default()
                }),
                ChangeKind::Update,
                group::object(name),
                format!(
                    "the pool is deleted: replicas {} -> 0",
                    group.desired_capacity
                ),
            )
            .effect(Effect::Removes)
            .changes(
                sizes
                    .iter()
                    .filter(|(_, size)| *size != 0)
                    .map(|(name, size)| field(name, *size, 0))
                    .collect(),
            ),
        );
    }
    let protected: Vec<&String> = group
        .instances
        .iter()
        .filter(|instance| instance.protected)
        .map(|instance| &instance.instance_id)
        .collect();
    for chunk in protected.chunks(limits::PROTECTION_IDS) {
        let instance_ids: BTreeSet<String> = chunk.iter().map(|id| (*id).clone()).collect();
        steps.call(
            Call::new(
                Action::UnprotectInstances {
                    group: name.clone(),
                    instance_ids: instance_ids.clone(),
                },
                ChangeKind::Update,
                group::object(name),
                "the pool is deleted: scale-in protection would keep these instances",
            )
            .effect(Effect::Removes)
            .changes(vec![field("protected", json!(instance_ids), json!([]))]),
        );
    }
}

/// Whether a template goes: ours by its tags, or named by the record. Where another installation
/// holds the group's name, equal tags prove nothing and only the record counts.
fn is_to_go(
    template: &Template,
    record: &AwsRecord,
    is_name_taken: bool,
    context: &PoolContext<'_>,
) -> bool {
    let pending = record.pending_roll.as_ref();
    let is_recorded = record.template_name.as_ref() == Some(&template.name)
        || record.superseded_templates.contains(&template.name)
        || pending.is_some_and(|pending| {
            pending.template_name == template.name
                || pending.old_template_name.as_ref() == Some(&template.name)
        });
    (is_recorded || !is_name_taken) && ownership::is_our_template(template, is_recorded, context)
}

/// Deletes the staged objects. An object that could not be looked at is deleted all the same:
/// deleting what is not there is success.
fn payloads(
    steps: &mut Steps<'_>,
    handle: &Handle,
    observed: &Observed,
    record: &AwsRecord,
    is_name_taken: bool,
) {
    let recorded = record
        .applied
        .as_ref()
        .map(|applied| (applied.bucket.clone(), applied.key.clone()));
    let current = handle
        .payload
        .clone()
        .filter(|place| !is_name_taken || recorded.as_ref() == Some(place))
        .filter(|_| !matches!(observed.payload, Read::Known(None)));
    let old = handle
        .old_payload
        .clone()
        .filter(|_| !matches!(observed.old_payload, Read::Known(None)));
    for (bucket, key) in [old, current].into_iter().flatten() {
        steps.call(Call::new(
            Action::DeletePayload {
                bucket,
                key: key.clone(),
            },
            ChangeKind::Delete,
            format!("s3_object/{key}"),
            "the pool is deleted",
        ));
    }
}
