//! From what is to what should be: the change table of AWS document 5.1 as ordered steps.
//!
//! In go the desired state, one observation and the record; out come steps. Invariants: nothing is
//! written to a group that is not ours; a record write stands before the call that relies on it;
//! only a changed roll key rolls; a crash after any step is repaired by the next pass, without a
//! second group, template or refresh.

use std::collections::BTreeSet;

use md5::{Digest, Md5};

use super::{
    action::Action,
    desired::{Desired, PayloadSpec},
    group, limits, machines,
    observed::{Group, Observed, PayloadHead},
    remembered::{Origin, aws_record, places, remembered},
    roll::{self, Roll},
    scene::{Scene, Target, look, preconditions},
    steps::{self, Steps},
    tagging, template,
};
use crate::{
    driver::PoolContext,
    machines::group::Machines,
    pool::{
        action::{ChangeKind, Effect, Plan, PlanStop},
        read::need,
        record::{AwsRecord, PayloadPlace},
        steps::{Call, field},
    },
};

/// The steps from what is to what should be.
///
/// # Errors
/// or the read that failed.
pub fn diff(
    desired: &Desired,
    observed: &Observed,
    context: &PoolContext<'_>,
) -> Result<Plan, PlanStop> {
    let group = need(&observed.group, "group")?.as_ref();
    let all_templates = need(&observed.templates, "launch templates")?;
    let image_id = preconditions(desired, observed, group, context)?;
    let remembered = remembered(desired, group, context);
    let scene = look(desired, observed, context, &remembered, image_id)?;

    let names: BTreeSet<&str> = all_templates.keys().map(String::as_str).collect();
    let stored = aws_record(context);
    let mut steps = steps::begin(context, stored, remembered.record, &names);
    if let Some(group) = group.filter(|group| group.status.is_some()) {
        steps.wait(
            format!("the deletion of group {} to end", group.name),
            limits::DELETE_LOOK_AGAIN_SECONDS,
        );
        return Ok(steps.into_plan());
    }
    let used = match scene.group {
        Some(group) => converge(&mut steps, &scene, group, remembered.origin),
        None => create(&mut steps, &scene, remembered.origin),
    };
    retire(&mut steps, &scene, &used);
    Ok(steps.into_plan())
}

/// Before the first cloud write: zones of the first apply, where things are put, and the template
/// that is about to be made.
fn begin(steps: &mut Steps<'_>, scene: &Scene<'_>, origin: Origin, target: &Target<'_>) {
    let because = match origin {
        Origin::Fresh => "first apply: zones and places, before anything is made",
        Origin::Rebuilt => "the record is rebuilt from the group that exists",
        Origin::Kept => "the payload moves to another bucket",
    };
    let new = places(scene.desired);
    steps.remember(because, |record| {
        if let Some(old) = &record.applied
            && (&old.bucket, &old.key) != (&new.bucket, &new.key)
        {
            record.old_payload = Some(PayloadPlace {
                bucket: old.bucket.clone(),
                key: old.key.clone(),
            });
            record.payload_hash = None;
        }
        record.applied = Some(new);
        if origin != Origin::Kept {
            foresee(record, target);
        }
    });
}

/// Records a template right before it is made, unless that was done with the first write.
fn announce(steps: &mut Steps<'_>, target: &Target<'_>) {
    let known = &steps.record.superseded_templates;
    if target.made().is_some_and(|name| !known.contains(name)) {
        steps.remember("a launch template is about to be made", |record| {
            foresee(record, target);
        });
    }
}

/// A template that is about to be made counts as left behind until something uses it.
fn foresee(record: &mut AwsRecord, target: &Target<'_>) {
    let made = target.made().map(str::to_owned);
    record.superseded_templates.extend(made);
}

/// The staged payload and its tags.
fn stage(steps: &mut Steps<'_>, scene: &Scene<'_>) {
    let wanted = &scene.desired.payload;
    let object = format!("s3_object/{}", wanted.key);
    let known = steps.record.payload_hash.clone();
    let length = i64::try_from(wanted.body.reveal().len()).unwrap_or(i64::MAX);
    let reason = match scene.payload {
        None => Some((ChangeKind::Create, "the payload object does not exist")),
        Some(_) if known.is_none() => Some((
            ChangeKind::Update,
            "what the object holds is not known: put once",
        )),
        Some(_) if known.as_ref() != Some(&wanted.sha256) => {
            Some((ChangeKind::Update, "the bootstrap data changed"))
        }
        Some(head) if head.content_length != length || holds_other_bytes(head, wanted) => {
            Some((ChangeKind::Update, "the object is not what was put there"))
        }
        Some(_) => None,
    };
    if let Some((kind, because)) = reason {
        steps.call(
            Call::new(Action::PutPayload(wanted.clone()), kind, object, because)
                .effect(Effect::NewMachinesOnly)
                .changes(vec![field("sha256", known, wanted.sha256.clone())]),
        );
        steps.record.payload_hash = Some(wanted.sha256.clone());
        return;
    }
    let Some(head) = scene.payload.filter(|head| head.tags != wanted.tags) else {
        return;
    };
    steps.call(
        Call::new(
            Action::TagPayload {
                bucket: wanted.bucket.clone(),
                key: wanted.key.clone(),
                tags: wanted.tags.clone(),
            },
            ChangeKind::Update,
            object,
            "the object carries the contract's tags",
        )
        .changes(vec![field(
            "tags",
            serde_json::json!(head.tags),
            serde_json::json!(wanted.tags),
        )]),
    );
}

/// Whether the object's ETag tells that it is not what was put there. Only for objects encrypted by
/// S3 itself is it the MD5 of their bytes, and only those have one here.
fn holds_other_bytes(head: &PayloadHead, wanted: &PayloadSpec) -> bool {
    let digest = Md5::digest(wanted.body.reveal());
    let etag = digest
        .iter()
        .fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    head.etag
        .as_deref()
        .is_some_and(|found| found.trim_matches('"') != etag)
}

/// Makes the group and what it needs; returns the template it uses.
fn create(steps: &mut Steps<'_>, scene: &Scene<'_>, origin: Origin) -> String {
    let desired = scene.desired;
    let recorded = steps.record.template_name.clone();
    let target = scene.first_target(&steps.record);
    let used = target.name().to_owned();
    begin(steps, scene, origin, &target);
    stage(steps, scene);
    announce(steps, &target);
    scene.bring_about(steps, &target, &BTreeSet::new());
    steps.remember("the launch template the group is made with", |record| {
        let pending = record.pending_roll.take();
        let left = pending
            .into_iter()
            .flat_map(|pending| [Some(pending.template_name), pending.old_template_name]);
        record
            .superseded_templates
            .extend(left.chain([recorded]).flatten());
        record.superseded_templates.remove(&used);
        record.template_name = Some(used.clone());
        record.template_data_hash = Some(template::data_hash(&scene.data));
        record.roll_key = Some(desired.roll_key.clone());
        record.last_desired_capacity = Some(desired.group.desired_capacity);
        record.hook = desired.group.hook;
        record.held.clear();
    });
    let mut spec = desired.group.clone();
    spec.subnets.clone_from(&scene.subnets);
    steps.call(
        Call::new(
            Action::CreateGroup {
                group: spec.clone(),
                template_name: used.clone(),
            },
            ChangeKind::Create,
            group::object(&spec.name),
            "the group does not exist",
        )
        .changes(group::described(&spec, &used)),
    );
    group::processes(steps, &spec, &BTreeSet::new());
    group::put_policy(steps, &spec, None);
    used
}

/// Brings an existing group to the desired state; returns the template it uses.
fn converge(steps: &mut Steps<'_>, scene: &Scene<'_>, group: &Group, origin: Origin) -> String {
    let desired = scene.desired;
    let spec = &desired.group;
    let group_template = group.template_name.as_deref();
    let current = group_template.and_then(|name| scene.templates.get(name).copied());
    let former = tagging::formerly_set(current);
    let roll = roll::decide(&steps.record, group_template, &desired.roll_key);
    let target = scene.target(&steps.record, &roll, current);
    let used = target.name().to_owned();

    begin(steps, scene, origin, &target);
    stage(steps, scene);
    tagging::tag_group(steps, spec, group, &former);
    promise(steps, scene, group, &roll, &target);
    scene.bring_about(steps, &target, &former);
    group::drop_policy(steps, spec, scene.policy);
    // Before anything that makes AWS end an instance.
    group::hook(steps, spec, scene.hook);
    let machines = group::ForMachines {
        are_on: !scene.context.machines.off(),
        rolls: matches!(roll, Roll::Begin { .. } | Roll::Resume(_)),
    };
    group::update(steps, spec, &scene.subnets, group, &used, &machines);
    if scene.context.machines == Machines::On {
        machines::size(
            steps,
            group,
            scene.instances,
            &machines::implied(spec, group, scene.instances),
        );
    }
    group::processes(steps, spec, &group.suspended);
    group::put_policy(steps, spec, scene.policy);
    let is_settled = scene.refresh(steps, &roll, group, &used);
    settle(steps, scene, group, &used, is_settled);
    used
}

/// Before a template is made or a roll begins: what a crash must not make forgotten.
fn promise(
    steps: &mut Steps<'_>,
    scene: &Scene<'_>,
    group: &Group,
    roll: &Roll,
    target: &Target<'_>,
) {
    let Some(pending) = scene.pending(roll, group, target.name()) else {
        announce(steps, target);
        return;
    };
    steps.remember(
        "a roll begins: owed until its refresh is accepted",
        |record| {
            if let Roll::Begin { superseded, .. } = roll {
                let superseded = superseded.iter().cloned();
                record.superseded_templates.extend(superseded);
            }
            let replaced = record.pending_roll.replace(pending);
            let replaced = replaced.map(|replaced| replaced.template_name);
            record.superseded_templates.extend(replaced);
            record.superseded_templates.remove(target.name());
        },
    );
}

/// Writes what was reached.
fn settle(steps: &mut Steps<'_>, scene: &Scene<'_>, group: &Group, used: &str, is_settled: bool) {
    let spec = &scene.desired.group;
    let capacity = if spec.fixed {
        spec.desired_capacity
    } else {
        group.desired_capacity.min(spec.max_size).max(spec.min_size)
    };
    steps.remember("what this apply reached", |record| {
        record.last_desired_capacity = Some(capacity);
        if !is_settled {
            return;
        }
        if let Some(pending) = record.pending_roll.take() {
            let left = [Some(pending.template_name), pending.old_template_name];
            record
                .superseded_templates
                .extend(left.into_iter().flatten());
        }
        record.superseded_templates.remove(used);
        record.template_name = Some(used.to_owned());
        record.template_data_hash = Some(template::data_hash(&scene.data));
        record.roll_key = Some(scene.desired.roll_key.clone());
    });
}

/// Deletes what a roll or a bucket change left behind: last, so that a late boot still finds it.
fn retire(steps: &mut Steps<'_>, scene: &Scene<'_>, used: &str) {
    if steps.record.pending_roll.is_none() {
        // What runs needs no template, but a person who looks at an old member finds its own. That
        // it goes with the last of them is no drift.
        let kind = if scene.context.machines.off() {
            ChangeKind::Delete
        } else {
            ChangeKind::Bookkeeping
        };
        let left: Vec<String> = steps
            .record
            .superseded_templates
            .iter()
            .filter(|name| *name != used && scene.templates.contains_key(name.as_str()))
            .filter(|name| scene.context.machines.off() || !scene.is_in_use(name))
            .cloned()
            .collect();
        for name in left {
            steps.call(Call::new(
                Action::DeleteTemplate { name: name.clone() },
                kind,
                template::object(&name),
                "nothing launches from it any more",
            ));
        }
    }
    let Some(old) = steps.record.old_payload.clone() else {
        return;
    };
    if !scene.old_payload_is_gone {
        steps.call(Call::new(
            Action::DeletePayload {
                bucket: old.bucket.clone(),
                key: old.key.clone(),
            },
            ChangeKind::Delete,
            format!("s3_object/{}", old.key),
            format!("the payload left bucket {}", old.bucket),
        ));
    }
    steps.remember("the old payload object is gone", |record| {
        record.old_payload = None;
    });
}
