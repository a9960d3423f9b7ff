//! Replacing running members: when, how, and how a crash is resumed (AWS document 4.7).
//!
//! ```text
//! Remember(pending) -> CreateTemplate -> UpdateGroup -> StartRefresh -> Remember(done) -> DeleteTemplate(old)
//! ```
//!
//! A roll is owed from the moment it is pending until a refresh was accepted. No pass waits: a
//! refused start leaves the roll pending, the next pass sees the refresh that runs and cancels it,
//! and later passes look again until it ended.
//!
//! A start that was accepted right before a crash is told by the ids of the refreshes there were
//! when the group was about to be updated: one that is not among them came afterwards, so it
//! replaces with the new template, whoever started it. Known limit: a refresh that somebody starts
//! within the moment between that read and the update is taken for the roll's own.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{action::Action, limits, observed::Refresh, steps::Steps};
use crate::pool::{
    action::{ChangeKind, Effect, FieldChange},
    instance_template::InstanceTemplate,
    record::{AwsRecord, PendingRoll, RollKey},
    steps::{Call, arrow, field},
};

/// What a pass does about rolling.
#[derive(Debug, Clone, PartialEq)]
pub enum Roll {
    /// Nothing is owed.
    Nothing,
    /// The roll key changed: a new template, and a refresh.
    Begin {
        /// Templates to delete once the refresh is accepted, besides the one the group uses.
        superseded: BTreeSet<String>,
        /// What differs of the roll key.
        changes: Vec<FieldChange>,
        /// Why.
        because: String,
    },
    /// A roll began in an earlier pass.
    Resume(PendingRoll),
    /// A roll began, the group never used its template, and the key is back to what it was.
    Abandon(PendingRoll),
}

/// What is owed to an existing group.
pub fn decide(record: &AwsRecord, group_template: Option<&str>, wanted: &RollKey) -> Roll {
    let Some(pending) = &record.pending_roll else {
        return match &record.roll_key {
            Some(applied) if !applied.is_same(wanted) => {
                let recorded = record.template_name.iter().cloned().collect();
                begin(recorded, applied, wanted)
            }
            Some(_) | None => Roll::Nothing,
        };
    };
    if pending.roll_key.is_same(wanted) {
        return Roll::Resume(pending.clone());
    }
    let is_in_effect = group_template == Some(pending.template_name.as_str());
    let applied = record.roll_key.as_ref();
    if !is_in_effect && applied.is_some_and(|applied| applied.is_same(wanted)) {
        return Roll::Abandon(pending.clone());
    }
    let superseded = [
        Some(&pending.template_name),
        pending.old_template_name.as_ref(),
    ]
    .into_iter()
    .chain([record.template_name.as_ref()])
    .flatten()
    .cloned()
    .collect();
    begin(superseded, &pending.roll_key, wanted)
}

fn begin(superseded: BTreeSet<String>, old: &RollKey, new: &RollKey) -> Roll {
    let changes = key_changes(old, new);
    Roll::Begin {
        superseded,
        because: because(&changes),
        changes,
    }
}

/// The parts of a roll key that differ.
fn key_changes(old: &RollKey, new: &RollKey) -> Vec<FieldChange> {
    [
        (
            "kubernetes_version",
            &old.kubernetes_version,
            &new.kubernetes_version,
        ),
        ("machine_image.id", &old.image_id, &new.image_id),
    ]
    .into_iter()
    .filter(|(_, old, new)| old != new)
    .map(|(name, old, new)| field(name, old.clone(), new.clone()))
    .chain(InstanceTemplate::changes(
        old.template.as_ref(),
        new.template.as_ref(),
    ))
    .collect()
}

/// Why a roll is due, in one line: `kubernetes_version v1.34.1 -> v1.35.0`.
fn because(changes: &[FieldChange]) -> String {
    let parts: Vec<String> = changes
        .iter()
        .map(|change| {
            let shown = |value: &Option<Value>| value.clone().unwrap_or(Value::Null);
            format!(
                "{} {}",
                change.field,
                arrow(&shown(&change.old), &shown(&change.new))
            )
        })
        .collect();
    parts.join("; ")
}

/// Ids of the refreshes there are when a roll begins.
pub fn known_ids(refreshes: Option<&[Refresh]>) -> Option<BTreeSet<String>> {
    refreshes.map(|refreshes| {
        refreshes
            .iter()
            .take(limits::REFRESHES_REMEMBERED)
            .map(|refresh| refresh.id.clone())
            .collect()
    })
}

/// Whether a refresh has ended; `RollbackInProgress` and `Baking` have not.
pub fn is_terminal(status: &str) -> bool {
    matches!(
        status,
        "Successful" | "Failed" | "Cancelled" | "RollbackFailed" | "RollbackSuccessful"
    )
}

/// How a roll's refresh stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing<'a> {
    /// The start was accepted before a crash: the newest refresh is this roll's own.
    Accepted,
    /// Nothing is in the way.
    Clear,
    /// An earlier refresh runs: cancel it.
    InTheWay(&'a Refresh),
    /// An earlier refresh is being cancelled: look again.
    Ending(&'a Refresh),
}

/// How the refresh of a pending roll stands, for a group that already uses the new template.
pub fn standing<'a>(pending: &PendingRoll, refreshes: Option<&'a [Refresh]>) -> Standing<'a> {
    let Some(refreshes) = refreshes else {
        return Standing::Clear;
    };
    if let Some(before) = &pending.refreshes_before {
        let newest = refreshes.first();
        if newest.is_some_and(|refresh| !before.contains(&refresh.id)) {
            return Standing::Accepted;
        }
    }
    match refreshes.iter().find(|r| !is_terminal(&r.status)) {
        None => Standing::Clear,
        Some(refresh) if refresh.status == "Cancelling" => Standing::Ending(refresh),
        Some(refresh) => Standing::InTheWay(refresh),
    }
}

/// Stable logical name of a group's refresh.
fn object(group: &str) -> String {
    format!("instance_refresh/{group}")
}

/// Starts the refresh; what runs is cancelled first.
pub fn start(
    steps: &mut Steps<'_>,
    group: &str,
    warmup_seconds: u32,
    in_the_way: Option<&Refresh>,
    because: &str,
    changes: Vec<FieldChange>,
) {
    if let Some(refresh) = in_the_way {
        steps.call(Call::new(
            Action::CancelRefresh {
                group: group.to_owned(),
            },
            ChangeKind::Bookkeeping,
            object(group),
            format!(
                "instance refresh {} ({}) gives way to a newer one",
                refresh.id, refresh.status
            ),
        ));
    }
    steps.call(
        Call::new(
            Action::StartRefresh {
                group: group.to_owned(),
                warmup_seconds,
            },
            ChangeKind::Bookkeeping,
            object(group),
            because,
        )
        .effect(Effect::Rolls)
        .changes(changes),
    );
}
