//! A new generation: its set is made before the old one goes (Azure document 5.2).
//!
//! ```text
//! Remember(next) -> CreateSet(new, capacity of the old) -> Remember(serves) -> DeleteSetting(old)
//!   -> PutSetting(new) -> EmptySet(old) -> DeleteSet(old) -> Remember(gone)
//! ```
//!
//! With pool Machines on the new set begins with what the wish leaves it beside the old one, grows
//! as the old one's instances are drained and ended one by one, and the old one goes when it has
//! none left.
//!
//! Each long-running call ends its pass. The old set and its setting keep working until the new
//! set is complete; from then on the new one serves and the rest is retiring, which is retried until
//! nothing is left. Going back to the old generation halfway is a roll like any other: its set is
//! filled again if it is still there, and made again if not.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    action::Action,
    limits, model, names,
    observed::{Presence, ProvisioningState, ScaleSet},
    operation::is_busy,
    scene::Scene,
    setting,
    steps::{self, Steps, wait_for},
};
use crate::pool::{
    action::{ChangeKind, Effect, FieldChange},
    instance_template::InstanceTemplate,
    record::{AzureRecord, Generation, GenerationKey, OperationKind},
    steps::{Call, arrow, field},
};

/// Makes the wanted set, or completes one whose making did not come to a good end. `false`: it
/// takes time, and nothing that relies on it may follow.
pub(super) fn make(
    steps: &mut Steps<'_>,
    scene: &Scene<'_>,
    capacity: i64,
    because: &Because,
    enter: impl FnOnce(&mut AzureRecord),
) -> bool {
    let spec = &scene.desired.set;
    let presence = scene.presence(&spec.name);
    if is_busy(presence) {
        wait_for(steps, &spec.name, presence);
        return false;
    }
    let sends = Some(model::sent(spec));
    let capacity = scene.share.unwrap_or(capacity);
    match scene.found(&spec.name) {
        None => {
            let mut changes = because.changes.clone();
            changes.extend(model::described(spec, capacity));
            let action = Action::CreateSet {
                set: Box::new(spec.clone()),
                capacity,
            };
            let call = Call::new(
                action,
                because.kind,
                model::object(&spec.name),
                because.text.clone(),
            )
            .effect(because.effect)
            .changes(changes);
            steps::start(steps, OperationKind::Create, &spec.name, sends, call, enter);
        }
        Some(found) => {
            let text = format!("{}; what is there is completed", because.text);
            let capacity = match scene.share {
                // Machines choose who goes.
                Some(share) => share.max(found.capacity),
                None => capacity,
            };
            let call = model::complete(spec, found, capacity, scene.share.is_some(), &text);
            let effect = call.effect.max(because.effect);
            let call = call.effect(effect);
            steps::start(steps, OperationKind::Update, &spec.name, sends, call, enter);
        }
    }
    true
}

/// Why a set is made.
#[derive(Debug)]
pub(super) struct Because {
    pub(super) text: String,
    pub(super) kind: ChangeKind,
    pub(super) effect: Effect,
    pub(super) changes: Vec<FieldChange>,
}

impl Because {
    /// A set without a predecessor.
    pub(super) fn missing(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            kind: ChangeKind::Create,
            effect: Effect::None,
            changes: Vec::new(),
        }
    }

    fn roll(old: &Generation, new: &GenerationKey) -> Self {
        let changes = old
            .key
            .as_ref()
            .map(|old| key_changes(old, new))
            .unwrap_or_default();
        let text = if changes.is_empty() {
            format!("set {} is of another generation", old.set_name)
        } else {
            let parts: Vec<String> = changes.iter().map(told).collect();
            parts.join("; ")
        };
        Self {
            text,
            kind: ChangeKind::Replace,
            effect: Effect::Rolls,
            changes,
        }
    }
}

fn told(change: &FieldChange) -> String {
    let plain = |value: &Option<Value>| value.clone().unwrap_or(Value::Null);
    let values = arrow(&plain(&change.old), &plain(&change.new));
    format!("{} {values}", change.field)
}

/// What differs of two generations.
fn key_changes(old: &GenerationKey, new: &GenerationKey) -> Vec<FieldChange> {
    let shown = |key: &GenerationKey| {
        [
            ("failure_domains", json!(key.failure_domains)),
            ("kubernetes_version", json!(key.kubernetes_version)),
            (
                "os_disk_storage_account_type",
                json!(key.os_disk_storage_account_type),
            ),
            ("spot", json!(key.spot)),
            ("trusted_launch", json!(key.trusted_launch)),
        ]
    };
    shown(old)
        .into_iter()
        .zip(shown(new))
        .filter(|((_, old), (_, new))| old != new)
        .map(|((name, old), (_, new))| field(name, old, new))
        .chain(InstanceTemplate::changes(
            old.template.as_ref(),
            new.template.as_ref(),
        ))
        .collect()
}

/// Moves on towards the wanted generation. `true`: it serves.
pub(super) fn forward(
    steps: &mut Steps<'_>,
    scene: &Scene<'_>,
    current: &Generation,
    old: &ScaleSet,
) -> bool {
    let name = &scene.desired.set.name;
    let is_made = steps
        .record
        .next
        .as_ref()
        .is_some_and(|next| next.set_name == *name && next.created)
        && scene.found(name).is_some();
    if !is_made {
        let because = Because::roll(current, &scene.desired.generation);
        let wanted = Generation {
            set_name: name.clone(),
            key: Some(scene.desired.generation.clone()),
            created: false,
            sent: None,
        };
        let capacity = old.capacity;
        let made = make(steps, scene, capacity, &because, |record| {
            aim_at(record, Some(wanted), name);
            record.last_capacity = Some(capacity);
        });
        if !made {
            return false;
        }
    }
    steps.remember("the new set serves", |record| serve(record, scene));
    true
}

/// Another generation is wanted next; one that was on its way retires.
pub(super) fn aim_at(record: &mut AzureRecord, wanted: Option<Generation>, name: &str) {
    record.keep(name);
    let left = std::mem::replace(&mut record.next, wanted);
    if let Some(left) = left.filter(|left| left.set_name != name) {
        record.retire(left);
    }
}

/// The next generation becomes the current one.
fn serve(record: &mut AzureRecord, scene: &Scene<'_>) {
    let Some(next) = record.next.take() else {
        return;
    };
    let Some(old) = record.current.replace(next) else {
        return;
    };
    let serving = &scene.desired.set.name;
    // The list stays that of the set that is published until that one is gone.
    let published = record
        .predecessor
        .take()
        .filter(|name| name != serving && scene.found(name).is_some());
    record.predecessor = Some(published.unwrap_or_else(|| old.set_name.clone()));
    record.retire(old);
    record.has_setting = false;
}

/// Settings of retiring sets go first: or Autoscale would fill a set again.
pub(super) fn retire_settings(steps: &mut Steps<'_>, scene: &Scene<'_>) {
    for name in steps.record.retiring.clone() {
        let name = names::setting(&name);
        if scene.settings.contains_key(&name) {
            setting::delete(steps, &name, "its set retires");
        }
    }
}

/// Empties and deletes retiring sets, one after the other; what is gone is forgotten with the next
/// record write. With pool Machines on their instances go one by one, and a set goes after its last
/// ([`super::machines::tend`]).
pub(super) fn retire_sets(steps: &mut Steps<'_>, scene: &Scene<'_>) {
    let retiring = if steps.context().machines.off() {
        steps.record.retiring.clone()
    } else {
        BTreeSet::new()
    };
    for name in retiring {
        let Some(found) = scene.found(&name) else {
            continue;
        };
        delete(
            steps,
            found,
            scene.presence(&name),
            "its generation retires",
        );
    }
    let is_there = |name: &String| scene.found(name).is_some();
    let record = &mut steps.record;
    record.retiring.retain(is_there);
    record.retiring_keys.retain(|name, _| is_there(name));
    record.predecessor = record.predecessor.take().filter(is_there);
}

/// Takes a set of ours to 0 and deletes it; as much of it as can be done now.
pub(super) fn delete(steps: &mut Steps<'_>, found: &ScaleSet, presence: &Presence, because: &str) {
    let name = &found.name;
    if is_busy(presence) {
        wait_for(steps, name, presence);
        return;
    }
    if found.capacity != 0 {
        let action = Action::EmptySet {
            set: name.clone(),
            vm_size: found.model.vm_size.clone(),
        };
        let text = format!("{because}: replicas {} -> 0", found.capacity);
        let call = Call::new(action, ChangeKind::Update, model::object(name), text)
            .effect(Effect::Removes)
            .changes(vec![field("capacity", found.capacity, 0)]);
        steps::start(steps, OperationKind::Empty, name, None, call, |_| {});
    }
    let call = deletion(found, because);
    steps::start(steps, OperationKind::Delete, name, None, call, |_| {});
    steps.wait(
        format!("scale set {name} to be gone"),
        limits::LOOK_AGAIN_SECONDS,
    );
}

/// The call that deletes a set.
pub(super) fn deletion(found: &ScaleSet, because: &str) -> Call {
    let action = Action::DeleteSet {
        set: found.name.clone(),
    };
    let object = model::object(&found.name);
    Call::new(action, ChangeKind::Delete, object, because).effect(Effect::Removes)
}

/// Whether a set is on its way out.
pub(super) fn is_going(presence: &Presence) -> bool {
    presence
        .set()
        .is_some_and(|set| set.state == ProvisioningState::Deleting)
}
