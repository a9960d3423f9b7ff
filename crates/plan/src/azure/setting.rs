//! The Autoscale setting, which holds a set's capacity in both modes (Azure document 4.4, 4.5).
//!
//! With pool Machines on it only keeps the set from falling too low: bounds that would make Azure
//! take an instance are never put. Without CPU rules the upper bound is the largest there is, so
//! that no count that Machines ask for later meets an older bound.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    action::Action,
    desired::{Profile, SettingSpec},
    limits, names,
    observed::Setting,
    ownership,
    place::Place,
    scene::Scene,
    steps::Steps,
};
use crate::pool::{
    action::{ChangeKind, Effect, FieldChange},
    steps::{Call, arrow, field},
};

/// Stable logical name.
pub(super) fn object(name: &str) -> String {
    format!("autoscale_setting/{name}")
}

/// Brings the serving set's setting to the desired one.
pub(super) fn converge(steps: &mut Steps<'_>, scene: &Scene<'_>) {
    let name = names::setting(&scene.desired.set.name);
    let found = scene.settings.get(&name);
    match &scene.desired.setting {
        Some(wanted) => put(steps, scene, &fitted(steps, scene, wanted), found),
        None => {
            if found.is_some() {
                delete(steps, &name, "a scaler outside owns the capacity");
            }
        }
    }
}

/// The setting as it may be put now.
fn fitted(steps: &Steps<'_>, scene: &Scene<'_>, wanted: &SettingSpec) -> SettingSpec {
    let mut fitted = wanted.clone();
    let Some(share) = scene.share else {
        return fitted;
    };
    let capacity = scene.found(&wanted.set_name).map_or(0, |set| set.capacity);
    let wish = steps.context().machines.wish();
    let least = wish.and_then(|wish| wish.bounds).map(|(least, _)| least);
    let wish = wish.map_or(0, |wish| wish.capacity);
    let profile = &mut fitted.profile;
    profile.minimum = profile.minimum.min(share);
    profile.minimum = profile.minimum.min(least.unwrap_or(profile.minimum));
    profile.default = profile.minimum;
    profile.maximum = match profile.cpu {
        None => limits::SET_INSTANCES,
        Some(_) => profile.maximum.max(capacity).max(wish),
    };
    fitted
}

fn put(steps: &mut Steps<'_>, scene: &Scene<'_>, wanted: &SettingSpec, found: Option<&Setting>) {
    let changes = differences(scene, wanted, found);
    if changes.is_empty() {
        return;
    }
    let because = match found {
        None => "the set has no autoscale setting".to_owned(),
        Some(_) => reason(&changes),
    };
    let kind = match found {
        None => ChangeKind::Create,
        // Bounds follow what Machines do: no drift.
        Some(_) if scene.share.is_some() && changes.iter().all(is_bound) => ChangeKind::Bookkeeping,
        Some(_) => ChangeKind::Update,
    };
    let effect = effect(scene, wanted);
    steps.call(
        Call::new(
            Action::PutSetting(Box::new(wanted.clone())),
            kind,
            object(&wanted.name),
            because,
        )
        .effect(effect)
        .changes(changes),
    );
}

fn is_bound(change: &FieldChange) -> bool {
    ["minimum", "maximum", "default"].contains(&change.field.as_str())
}

/// An upper bound below what runs takes machines away.
fn effect(scene: &Scene<'_>, wanted: &SettingSpec) -> Effect {
    let set = scene.found(&wanted.set_name);
    match set {
        Some(set) if set.capacity > wanted.profile.maximum => Effect::Removes,
        Some(_) | None => Effect::None,
    }
}

/// Deletes a setting.
pub(super) fn delete(steps: &mut Steps<'_>, name: &str, because: &str) {
    steps.call(Call::new(
        Action::DeleteSetting {
            name: name.to_owned(),
        },
        ChangeKind::Delete,
        object(name),
        because,
    ));
}

/// Deletes the pool's settings of the named sets: from then on nobody refills them.
pub(super) fn let_go<'a>(
    steps: &mut Steps<'_>,
    sets: impl IntoIterator<Item = &'a str>,
    settings: &BTreeMap<String, Setting>,
    place: &Place,
) {
    for set in sets {
        let name = names::setting(set);
        let set_id = names::set_id(place, set);
        let found = settings.get(&name);
        if found.is_some_and(|found| ownership::is_our_setting(found, &set_id, steps.context())) {
            delete(steps, &name, "the pool is deleted");
        }
    }
}

/// Fields in which the setting differs from the wanted one; all of them when it does not exist.
fn differences(
    scene: &Scene<'_>,
    wanted: &SettingSpec,
    found: Option<&Setting>,
) -> Vec<FieldChange> {
    let new = shown(Some(&wanted.profile));
    let old = found.map(|found| shown(found.profile.as_ref()));
    let mut changes: Vec<FieldChange> = new
        .into_iter()
        .enumerate()
        .filter_map(|(index, (name, new))| {
            let old = old.as_ref().and_then(|old| old.get(index));
            let old = old.map_or(Value::Null, |(_, old)| old.clone());
            (old != new).then(|| field(name, old, new))
        })
        .collect();
    let Some(found) = found else {
        return changes;
    };
    if found.tags != wanted.tags {
        changes.push(field("tags", json!(found.tags), json!(wanted.tags)));
    }
    let target = names::set_id(&scene.desired.place, &wanted.set_name);
    if !names::same_id(&found.target, &target) {
        changes.push(field("target", found.target.clone(), target));
    }
    if found.profile.is_none() {
        changes.push(field("profile", "another one", "ours"));
    }
    for name in &found.foreign_fields {
        changes.push(field(name, "set by hand", Value::Null));
    }
    changes
}

/// A profile as people see it; without one every value is null.
fn shown(profile: Option<&Profile>) -> [(&'static str, Value); 5] {
    let cpu = profile.and_then(|profile| profile.cpu);
    [
        ("minimum", json!(profile.map(|it| it.minimum))),
        ("maximum", json!(profile.map(|it| it.maximum))),
        ("default", json!(profile.map(|it| it.default))),
        (
            "scale_out_cpu_percent",
            json!(cpu.map(|it| it.scale_out_percent)),
        ),
        (
            "scale_in_cpu_percent",
            json!(cpu.map(|it| it.scale_in_percent)),
        ),
    ]
}

fn reason(changes: &[FieldChange]) -> String {
    let one = |change: &FieldChange| {
        let plain = |value: &Option<Value>| value.clone().unwrap_or(Value::Null);
        if change.field == "tags" {
            return "tags differ".to_owned();
        }
        format!(
            "{} {}",
            change.field,
            arrow(&plain(&change.old), &plain(&change.new))
        )
    };
    let parts: Vec<String> = changes.iter().map(one).collect();
    parts.join("; ")
}
