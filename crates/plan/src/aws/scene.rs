//! What a plan looks at: the reads it needs, all of them known, and what follows from them at once.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    desired::{Desired, ImageChoice, TemplateData, subnets_of},
    group, limits, names,
    observed::{Group, Hook, Instance, Observed, PayloadHead, Policy, Refresh, Template},
    ownership,
    remembered::{Remembered, aws_record},
    roll::{self, Roll, Standing},
    steps::Steps,
    tagging, template,
};
use crate::{
    driver::PoolContext,
    error::Refusal,
    pool::{
        action::PlanStop,
        ownership::{Ownership, told},
        read::{Read, need},
        record::{AwsRecord, PendingRoll},
        zones,
    },
};

/// What a plan looks at: the reads it needs, all of them known.
pub(super) struct Scene<'a> {
    pub(super) desired: &'a Desired,
    pub(super) context: &'a PoolContext<'a>,
    pub(super) group: Option<&'a Group>,
    pub(super) policy: Option<&'a Policy>,
    /// Templates of ours, by name.
    pub(super) templates: BTreeMap<&'a str, &'a Template>,
    pub(super) payload: Option<&'a PayloadHead>,
    pub(super) old_payload_is_gone: bool,
    pub(super) refreshes: Option<&'a [Refresh]>,
    pub(super) hook: Option<&'a Hook>,
    /// Instances; none where only Machines would look at them and there are none.
    pub(super) instances: &'a [Instance],
    /// Template data with its image.
    pub(super) data: TemplateData,
    pub(super) subnets: BTreeSet<String>,
}

/// together; the image id when both hold.
pub(super) fn preconditions(
    desired: &Desired,
    observed: &Observed,
    group: Option<&Group>,
    context: &PoolContext<'_>,
) -> Result<String, PlanStop> {
    let mut refusals = Vec::new();
    if let Some(group) = group
        && let Ownership::Foreign(found) = ownership::of_group(group, aws_record(context), context)
    {
        refusals.push(taken(group, &found));
    }
    let image = match &desired.image {
        ImageChoice::Pinned(id) => Ok(Some(id.clone())),
        ImageChoice::Lookup(query) => need(&observed.image, "image").map(|found| {
            if found.is_none() {
                refusals.push(
                    Refusal::new(
                        "R-7",
                        "machine_image",
                        format!(
                            "no available image has a name like {}, architecture {} and owner {}",
                            query.name, query.architecture, query.owner
                        ),
                    )
                    .with_remedy(
                        "set machine_image.id, or a name_format and owner that match an image",
                    ),
                );
            }
            found.clone()
        }),
    };
    if !refusals.is_empty() {
        refusals.sort();
        return Err(PlanStop::Refused(refusals));
    }
    Ok(image?.expect("a lookup without a match was refused above"))
}

fn taken(group: &Group, found: &BTreeMap<String, String>) -> Refusal {
    Refusal::new(
        "R-9",
        group::object(&group.name),
        format!(
            "the group exists and is not this pool's; its tags say {}",
            told(found)
        ),
    )
    .with_remedy("delete or rename what owns it, or rename the MachinePool")
}

pub(super) fn look<'a>(
    desired: &'a Desired,
    observed: &'a Observed,
    context: &'a PoolContext<'a>,
    remembered: &Remembered,
    image_id: String,
) -> Result<Scene<'a>, PlanStop> {
    let group = need(&observed.group, "group")?.as_ref();
    let policy = match group {
        Some(_) => need(&observed.policy, "scaling policy")?.as_ref(),
        None => None,
    };
    let has_machines = !context.machines.off();
    let hook = match group {
        Some(_) if has_machines => need(&observed.hook, "lifecycle hook")?.as_ref(),
        // Only where nothing is remembered; a pool must not wait for a right it needs no other time.
        Some(_) => observed.hook.known().and_then(Option::as_ref),
        None => None,
    };
    let instances = if has_machines {
        need(&observed.instances, "instances")?.as_slice()
    } else {
        &[]
    };
    if let (Some(_), Read::Unknown(failure), false) = (group, &observed.refreshes, has_machines) {
        let is_owed =
            remembered.record.pending_roll.is_some() || !is_applied(&remembered.record, desired);
        if is_owed {
            return Err(PlanStop::Unreadable(failure.clone()));
        }
    }
    let record = &remembered.record;
    let templates = need(&observed.templates, "launch templates")?
        .iter()
        .filter(|(name, found)| {
            let is_recorded = record.template_name.as_ref() == Some(name)
                || record.superseded_templates.contains(*name)
                || record
                    .pending_roll
                    .as_ref()
                    .is_some_and(|pending| pending.template_name == **name);
            ownership::is_our_template(found, is_recorded, context)
        })
        .map(|(name, found)| (name.as_str(), found))
        .collect();
    Ok(Scene {
        desired,
        context,
        group,
        policy,
        templates,
        payload: need(&observed.payload, "payload object")?.as_ref(),
        old_payload_is_gone: matches!(observed.old_payload, Read::Known(None)),
        refreshes: observed.refreshes.known().map(Vec::as_slice),
        hook,
        instances,
        data: TemplateData {
            image_id,
            ..desired.template.clone()
        },
        subnets: subnets(desired, remembered),
    })
}

/// A rebuilt record holds other zones than the desired state was made with.
fn subnets(desired: &Desired, remembered: &Remembered) -> BTreeSet<String> {
    let recorded = &remembered.record.inherited_zones;
    let used = zones::used(
        &desired.requested_zones,
        &recorded.keys().cloned().collect(),
    );
    subnets_of(&used, &desired.zone_subnets, recorded)
}

/// The record's roll key is the wanted one.
fn is_applied(record: &AwsRecord, desired: &Desired) -> bool {
    let applied = record.roll_key.as_ref();
    applied.is_some_and(|applied| applied.is_same(&desired.roll_key))
}

/// The template a group uses after a plan.
#[derive(Debug, Clone)]
pub(super) enum Target<'a> {
    /// One that exists.
    Keep(&'a Template),
    /// One that is made.
    Make {
        /// Its name.
        name: String,
        /// The one it takes over from.
        replaced: Option<&'a Template>,
        /// Why.
        because: String,
    },
}

impl Target<'_> {
    /// Its name.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Keep(found) => &found.name,
            Self::Make { name, .. } => name,
        }
    }

    /// The name of one that is made: recorded before, so that a crash leaves no orphan.
    pub(super) fn made(&self) -> Option<&str> {
        match self {
            Self::Keep(_) => None,
            Self::Make { name, .. } => Some(name),
        }
    }
}

impl<'a> Scene<'a> {
    fn unused(&self, used: Option<&str>) -> Option<&'a Template> {
        let ours: Vec<&'a Template> = self.templates.values().copied().collect();
        template::unused(
            &ours,
            &self.desired.group.name,
            &self.desired.roll_key,
            used,
        )
    }

    /// An instance of the group was made from this template.
    pub(super) fn is_in_use(&self, name: &str) -> bool {
        let listed = self.group.into_iter().flat_map(|group| &group.instances);
        listed
            .filter_map(|instance| instance.template_name.as_deref())
            .any(|used| used == name)
    }

    fn make(&self, replaced: Option<&'a Template>, because: &str) -> Target<'a> {
        Target::Make {
            name: names::template(
                &self.desired.group.name,
                self.context.now_epoch_seconds,
                &self.desired.roll_key,
            ),
            replaced,
            because: because.to_owned(),
        }
    }

    /// The template the group uses after this plan, for a group that exists.
    pub(super) fn target(
        &self,
        record: &AwsRecord,
        roll: &Roll,
        current: Option<&'a Template>,
    ) -> Target<'a> {
        let in_use = current.map(|found| found.name.as_str());
        let named = |name: &str| self.templates.get(name).copied();
        match roll {
            Roll::Begin { because, .. } => match self.unused(in_use) {
                Some(found) => Target::Keep(found),
                None => self.make(current, because),
            },
            Roll::Resume(pending) => {
                match named(&pending.template_name).or_else(|| self.unused(None)) {
                    Some(found) => Target::Keep(found),
                    None => self.make(current, "the roll under way has no launch template"),
                }
            }
            Roll::Nothing | Roll::Abandon(_) => {
                let recorded = record.template_name.as_deref().and_then(named);
                // The group goes on with what it uses, unless the record knows better.
                let found = current
                    .filter(|found| recorded.is_none_or(|recorded| recorded.name == found.name))
                    .or(recorded)
                    .or_else(|| self.unused(None));
                match found {
                    Some(found) => Target::Keep(found),
                    None => self.make(None, "the group's launch template does not exist any more"),
                }
            }
        }
    }

    /// The template a new group is made with.
    pub(super) fn first_target(&self, record: &AwsRecord) -> Target<'a> {
        let is_same_key = is_applied(record, self.desired);
        let recorded = record
            .template_name
            .as_deref()
            .filter(|_| is_same_key)
            .and_then(|name| self.templates.get(name).copied());
        match recorded.or_else(|| self.unused(None)) {
            Some(found) => Target::Keep(found),
            None => self.make(None, "the pool has no launch template"),
        }
    }

    /// Makes the target, or brings it to the desired tags and data.
    pub(super) fn bring_about(
        &self,
        steps: &mut Steps<'_>,
        target: &Target<'_>,
        former: &BTreeSet<String>,
    ) {
        match target {
            Target::Make {
                name,
                replaced,
                because,
            } => template::create(steps, self.desired, &self.data, name, *replaced, because),
            Target::Keep(found) => {
                tagging::tag_template(steps, &self.desired.template_tags, found, former);
                let known_hash = (steps.record.template_name.as_ref() == Some(&found.name))
                    .then(|| steps.record.template_data_hash.clone())
                    .flatten();
                template::bring_up_to_date(
                    steps,
                    self.desired,
                    &self.data,
                    found,
                    known_hash.as_deref(),
                );
            }
        }
    }

    /// The roll to record before its template is made and the group points at it.
    pub(super) fn pending(&self, roll: &Roll, group: &Group, used: &str) -> Option<PendingRoll> {
        match roll {
            Roll::Begin { .. } => Some(PendingRoll {
                template_name: used.to_owned(),
                old_template_name: group
                    .template_name
                    .clone()
                    .filter(|name| self.templates.contains_key(name.as_str())),
                roll_key: self.desired.roll_key.clone(),
                refreshes_before: roll::known_ids(self.refreshes),
            }),
            // Until the group uses the template no refresh can be this roll's own.
            Roll::Resume(pending) if group.template_name.as_deref() != Some(used) => {
                Some(PendingRoll {
                    template_name: used.to_owned(),
                    refreshes_before: roll::known_ids(self.refreshes),
                    ..pending.clone()
                })
            }
            Roll::Resume(_) | Roll::Nothing | Roll::Abandon(_) => None,
        }
    }

    /// The refresh of a roll; whether nothing is owed after this plan.
    pub(super) fn refresh(
        &self,
        steps: &mut Steps<'_>,
        roll: &Roll,
        group: &Group,
        used: &str,
    ) -> bool {
        let name = &self.desired.group.name;
        let warmup = self.desired.refresh_warmup_seconds;
        if !self.context.machines.off() {
            // Members of the old template go by their Machines, each drained first.
            return true;
        }
        match roll {
            Roll::Nothing | Roll::Abandon(_) => true,
            Roll::Begin {
                because, changes, ..
            } => {
                roll::start(steps, name, warmup, None, because, changes.clone());
                true
            }
            Roll::Resume(pending) => {
                let is_updated = group.template_name.as_deref() == Some(used);
                let standing = if is_updated {
                    roll::standing(pending, self.refreshes)
                } else {
                    Standing::Clear
                };
                let because = "a roll under way still owes its refresh";
                match standing {
                    Standing::Accepted => {}
                    Standing::Clear => {
                        roll::start(steps, name, warmup, None, because, Vec::new());
                    }
                    Standing::InTheWay(refresh) => {
                        let cancelled = Some(refresh);
                        roll::start(steps, name, warmup, cancelled, because, Vec::new());
                    }
                    Standing::Ending(refresh) => {
                        steps.wait(
                            format!("instance refresh {} to be cancelled", refresh.id),
                            limits::REFRESH_LOOK_AGAIN_SECONDS,
                        );
                        return false;
                    }
                }
                true
            }
        }
    }
}
