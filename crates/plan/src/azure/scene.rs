//! What a plan looks at: the reads it needs, all of them known, and what follows from them at once.

use std::collections::BTreeMap;

use super::{
    desired::Desired,
    machines, model, names,
    observed::{Observed, Presence, ScaleSet, Setting},
    ownership,
    remembered::{azure_record, remembered},
    setting,
    steps::Steps,
};
use crate::{
    driver::PoolContext,
    error::Refusal,
    pool::{
        action::PlanStop,
        ownership::{Ownership, told},
        read::need,
        record::AzureRecord,
    },
};

/// What a plan looks at.
pub(super) struct Scene<'a> {
    pub(super) desired: &'a Desired,
    pub(super) sets: &'a BTreeMap<String, Presence>,
    pub(super) settings: &'a BTreeMap<String, Setting>,
    /// With pool Machines on: instances that the wanted set should have, beside those of the pool's
    /// other sets.
    pub(super) share: Option<i64>,
    /// Sets of ours, by name; whatever else is there is never touched.
    ours: BTreeMap<&'a str, &'a ScaleSet>,
}

/// Reads what a plan needs, and the record it begins with.
///
/// # Errors
/// E-NAME-TAKEN, E-IMAGE-NOT-FOUND, or the read that failed.
pub(super) fn look<'a>(
    desired: &'a Desired,
    observed: &'a Observed,
    context: &'a PoolContext<'a>,
) -> Result<(Scene<'a>, Steps<'a>), PlanStop> {
    let sets = need(&observed.sets, "scale sets")?;
    let settings = need(&observed.settings, "autoscale settings")?;
    preconditions(desired, observed, sets, settings, context)?;
    let record = remembered(desired, sets, settings, context);
    let scene = Scene {
        desired,
        sets,
        settings,
        share: machines::share(&desired.set.name, desired.first_capacity, observed, context)?,
        ours: ours(sets, &record, context),
    };
    let steps = Steps::new(context, azure_record(context).cloned(), record);
    Ok((scene, steps))
}

/// Sets of ours, by name.
pub(super) fn ours<'a>(
    sets: &'a BTreeMap<String, Presence>,
    record: &AzureRecord,
    context: &PoolContext<'_>,
) -> BTreeMap<&'a str, &'a ScaleSet> {
    sets.iter()
        .filter_map(|(name, presence)| Some((name.as_str(), presence.set()?)))
        .filter(|(_, set)| ownership::of_set(set, Some(record), context) == Ownership::Ours)
        .collect()
}

impl<'a> Scene<'a> {
    /// A set of ours that exists.
    pub(super) fn found(&self, name: &str) -> Option<&'a ScaleSet> {
        self.ours.get(name).copied()
    }

    /// Whether a set exists, whosever it is.
    pub(super) fn presence(&self, name: &str) -> &'a Presence {
        self.sets.get(name).unwrap_or(&Presence::Absent)
    }
}

/// What only a read tells, all of it together.
fn preconditions(
    desired: &Desired,
    observed: &Observed,
    sets: &BTreeMap<String, Presence>,
    settings: &BTreeMap<String, Setting>,
    context: &PoolContext<'_>,
) -> Result<(), PlanStop> {
    let mut refusals = Vec::new();
    let name = &desired.set.name;
    let group = &desired.place.resource_group_name;
    if let Some(set) = sets.get(name).and_then(Presence::set)
        && let Ownership::Foreign(found) = ownership::of_set(set, azure_record(context), context)
    {
        refusals.push(taken(&model::object(name), group, "set", &told(&found)));
    }
    let setting_name = names::setting(name);
    if let Some(setting) = settings.get(&setting_name)
        && !ownership::is_our_setting(setting, &names::set_id(&desired.place, name), context)
    {
        let target = format!("target={}", setting.target);
        refusals.push(taken(
            &setting::object(&setting_name),
            group,
            "setting",
            &target,
        ));
    }
    if observed.image.known() == Some(&false) {
        let image = desired.set.model.image.text();
        refusals.push(
            Refusal::new(
                "E-IMAGE-NOT-FOUND",
                "image_id",
                format!("{image} does not exist, or the identity cannot see it"),
            )
            .with_remedy("set image_id to an image or version that the gallery holds"),
        );
    }
    if refusals.is_empty() {
        return Ok(());
    }
    refusals.sort();
    Err(PlanStop::Refused(refusals))
}

fn taken(object: &str, group: &str, what: &str, found: &str) -> Refusal {
    Refusal::new(
        "E-NAME-TAKEN",
        object,
        format!("the {what} exists in group {group} and is not this pool's: {found}"),
    )
    .with_remedy("delete what owns it, or rename the MachinePool")
}
