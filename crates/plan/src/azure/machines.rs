//! Members as the pool's Machines see them, and the steps these ask for.
//!
//! A set never loses an instance by its count, for Azure would choose which: instances are ended by
//! name, and the count falls with them. What is then missing of the wish grows in the set that
//! serves. Nothing of this is written down: the instances tell how far it came, so a crash or a
//! refused call leaves nothing behind that the next pass would not see. A set of an older
//! generation that has no instance left goes.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    action::Action,
    model,
    observed::{Handle, Instance, Observed, Presence, ProvisioningState, ScaleSet},
    outputs,
    remembered::azure_record,
    roll, scene, setting,
    steps::Steps,
};
use crate::{
    driver::PoolContext,
    error::CloudFailure,
    machines::group::{GroupMember, GroupWish, Leaving},
    pool::{
        action::{ChangeKind, Effect, Plan, PlanStop},
        members::MemberState,
        read::need,
        record::AzureRecord,
        steps::{Call, field},
    },
};

/// The instances of the pool, those on their way out included, by provider id.
///
/// # Errors
/// The failed read.
pub fn members(
    handle: &Handle,
    observed: &Observed,
    context: &PoolContext<'_>,
) -> Result<Vec<GroupMember>, CloudFailure> {
    let sets = observed.sets.needed("scale sets")?;
    let record = azure_record(context);
    let mut members = Vec::new();
    for (name, asked) in &handle.sets {
        let Some(Presence::Listed(set)) = sets.get(name) else {
            continue;
        };
        if asked.members {
            let outdated = record.is_some_and(|record| is_outdated(record, name));
            let instances = outputs::of_set(name, observed)?;
            let of_set = instances
                .into_iter()
                .map(|instance| member(set, instance, outdated));
            members.extend(of_set);
        }
    }
    members.sort_by(|a, b| a.member.provider_id.cmp(&b.member.provider_id));
    Ok(members)
}

/// Whether a set is of an older generation than the one that serves. One that is only being made
/// is not, and does not make the serving one older.
fn is_outdated(record: &AzureRecord, name: &str) -> bool {
    let mut newest = [&record.current, &record.next].into_iter().flatten();
    record.current.is_some() && !newest.any(|generation| generation.set_name == name)
}

fn member(set: &ScaleSet, instance: Instance, outdated: bool) -> GroupMember {
    GroupMember {
        revision: Some(set.name.clone()),
        outdated,
        leaving: leaving(set, &instance),
        interruptible: set.model.spot,
        launched_at: instance.created_at,
        member: instance.member,
    }
}

/// ARM shows the deletion of an instance from the moment it is announced to the guest. As long as
/// it runs Azure waits for the guest's answer, up to the 5 minutes of the terminate notification.
fn leaving(set: &ScaleSet, instance: &Instance) -> Option<Leaving> {
    let is_going = instance.is_deleting || set.state == ProvisioningState::Deleting;
    if !is_going {
        return None;
    }
    Some(if instance.member.state == MemberState::Running {
        Leaving::Held {
            because: "terminate notification".to_owned(),
            until: None,
        }
    } else {
        Leaving::Ending
    })
}

/// The steps that Machines ask for and that need no inputs.
///
/// # Errors
/// The read that failed.
pub fn tend(
    handle: &Handle,
    observed: &Observed,
    context: &PoolContext<'_>,
) -> Result<Plan, PlanStop> {
    let stored = azure_record(context).cloned();
    let record = stored.clone().unwrap_or_default();
    let mut steps = Steps::new(context, stored, record.clone());
    if let Some(wish) = context.machines.wish() {
        let fleet = Fleet::look(handle, observed, record, context)?;
        if wish.goes {
            // First: Autoscale would make up for every instance that is ended.
            let settings = need(&observed.settings, "autoscale settings")?;
            let sets = fleet.sets.keys().copied();
            setting::let_go(&mut steps, sets, settings, &handle.place);
        }
        let ended: BTreeSet<&String> = wish.ends.iter().collect();
        for call in fleet.ends(&ended) {
            steps.call(call);
        }
        let last = [fleet.fit(wish, &ended), fleet.sweep()];
        for call in last.into_iter().flatten() {
            steps.call(call);
        }
    }
    Ok(steps.into_plan())
}

/// Ends drained instances of a pool that goes where Azure still works on their set. It may not be
/// deleted then, and would hold them for as long as the ones before them take, notifications and all.
///
/// # Errors
/// The read that failed.
pub(super) fn end_meanwhile(
    handle: &Handle,
    observed: &Observed,
    record: &AzureRecord,
    context: &PoolContext<'_>,
) -> Result<Vec<Call>, PlanStop> {
    let Some(wish) = context.machines.wish() else {
        return Ok(Vec::new());
    };
    let mut fleet = Fleet::look(handle, observed, record.clone(), context)?;
    let is_worked_on = |crew: &Crew<'_>| crew.set.state == ProvisioningState::Running;
    fleet.sets.retain(|_, crew| is_worked_on(crew));
    Ok(fleet.ends(&wish.ends.iter().collect()))
}

/// The pool's sets with their instances.
struct Fleet<'a> {
    record: AzureRecord,
    sets: BTreeMap<&'a str, Crew<'a>>,
    /// Every set of the pool is in the list, and its instances were read.
    is_whole: bool,
}

/// One set and its instances.
struct Crew<'a> {
    set: &'a ScaleSet,
    instances: Vec<Instance>,
}

impl Crew<'_> {
    /// Instances that neither leave nor are about to be ended.
    fn staying(&self, ended: &BTreeSet<&String>) -> i64 {
        let staying = self.instances.iter().filter(|instance| {
            !instance.is_deleting && !ended.contains(&instance.member.provider_id)
        });
        i64::try_from(staying.count()).unwrap_or(i64::MAX)
    }

    /// Instances that are about to be ended and are still there.
    fn ends(&self, ended: &BTreeSet<&String>) -> Vec<&Instance> {
        let instances = self.instances.iter();
        instances
            .filter(|instance| {
                !instance.is_deleting && ended.contains(&instance.member.provider_id)
            })
            .collect()
    }

    fn is_going(&self) -> bool {
        self.set.state == ProvisioningState::Deleting
    }
}

impl<'a> Fleet<'a> {
    fn look(
        handle: &'a Handle,
        observed: &'a Observed,
        record: AzureRecord,
        context: &PoolContext<'_>,
    ) -> Result<Self, PlanStop> {
        let presences = need(&observed.sets, "scale sets")?;
        let ours = scene::ours(presences, &record, context);
        let mut sets = BTreeMap::new();
        let mut is_whole = true;
        for (name, asked) in &handle.sets {
            match presences.get(name) {
                Some(Presence::Listed(_)) if asked.members => {
                    let Some(set) = ours.get(name.as_str()).copied() else {
                        continue;
                    };
                    let instances =
                        outputs::of_set(name, observed).map_err(PlanStop::Unreadable)?;
                    sets.insert(name.as_str(), Crew { set, instances });
                }
                Some(Presence::Listed(_) | Presence::Unlisted(_)) => is_whole = false,
                Some(Presence::Absent) | None => {}
            }
        }
        Ok(Self {
            record,
            sets,
            is_whole,
        })
    }

    /// Ends the instances whose drain is over: one call a set.
    fn ends(&self, ended: &BTreeSet<&String>) -> Vec<Call> {
        let crews = self.sets.values().filter(|crew| !crew.is_going());
        crews
            .filter_map(|crew| {
                let ends = crew.ends(ended);
                if ends.is_empty() {
                    return None;
                }
                let ids: BTreeSet<String> = ends
                    .iter()
                    .map(|instance| instance.member.instance_id.clone())
                    .collect();
                let shown: Vec<&str> = ids.iter().map(String::as_str).collect();
                let because = format!("drained: instances {}", shown.join(", "));
                let action = Action::DeleteInstances {
                    set: crew.set.name.clone(),
                    instance_ids: ids,
                };
                let object = model::object(&crew.set.name);
                let call = Call::new(action, ChangeKind::Bookkeeping, object, because)
                    .effect(Effect::Removes);
                Some(call)
            })
            .collect()
    }

    /// Lets the serving set have what the wish leaves it.
    fn fit(&self, wish: &GroupWish, ended: &BTreeSet<&String>) -> Option<Call> {
        let current = self.record.current.as_ref().filter(|it| it.created)?;
        let crew = self.sets.get(current.set_name.as_str())?;
        let is_worked_on = self
            .record
            .operation
            .as_ref()
            .is_some_and(|operation| operation.set_name == current.set_name);
        if crew.is_going() || is_worked_on || !self.is_whole {
            return None;
        }
        let others: i64 = self
            .sets
            .iter()
            .filter(|(name, _)| **name != current.set_name)
            .map(|(_, crew)| crew.staying(ended))
            .sum();
        let sizes = Sizes {
            capacity: crew.set.capacity - count(crew.ends(ended).len()),
            staying: crew.staying(ended),
            target: (wish.capacity - others).max(0),
            state: crew.set.state,
            is_quiet: crew.instances.iter().all(|it| !it.is_deleting)
                && crew.ends(ended).is_empty(),
        };
        let (to, because, effect) = sizes.next()?;
        Some(
            Call::new(
                Action::ResizeSet {
                    set: crew.set.name.clone(),
                    vm_size: crew.set.model.vm_size.clone(),
                    from: sizes.capacity,
                    to,
                },
                ChangeKind::Bookkeeping,
                model::object(&crew.set.name),
                because,
            )
            .effect(effect)
            .changes(vec![field("capacity", sizes.capacity, to)]),
        )
    }

    /// Deletes the sets of older generations that have no instance any more. One after the other:
    /// each takes time.
    fn sweep(&self) -> Option<Call> {
        if self.record.operation.is_some() {
            return None;
        }
        let emptied = self.sets.iter().find(|(name, crew)| {
            self.record.retiring.contains(**name)
                && crew.instances.is_empty()
                && is_at_rest(crew.set.state)
        });
        emptied
            .map(|(_, crew)| roll::deletion(crew.set, "the last machine of its generation is gone"))
    }
}

/// How large a set is, and how large it should be.
struct Sizes {
    /// `sku.capacity` after the instances that are ended now.
    capacity: i64,
    /// Instances that stay.
    staying: i64,
    /// Instances it should have.
    target: i64,
    state: ProvisioningState,
    /// No instance leaves.
    is_quiet: bool,
}

impl Sizes {
    /// The next count, why, and what that does to machines.
    fn next(&self) -> Option<(i64, String, Effect)> {
        let &Self {
            capacity,
            staying,
            target,
            ..
        } = self;
        if capacity < target {
            let because = format!("replicas {capacity} -> {target}");
            return Some((target, because, Effect::None));
        }
        if !self.is_quiet || !is_at_rest(self.state) || capacity <= staying {
            return None;
        }
        if capacity > target {
            // It asks for more than it has and than is wanted. Read anew before this is done, for
            // an instance that was not seen would be one that Azure may take.
            let to = target.max(staying);
            let because = format!("replicas {capacity} -> {to}: {staying} instances exist");
            return Some((to, because, Effect::Removes));
        }
        // Azure gave up making them.
        let because = format!("{staying} of {capacity} instances exist");
        (self.state != ProvisioningState::Succeeded).then_some((capacity, because, Effect::None))
    }
}

fn is_at_rest(state: ProvisioningState) -> bool {
    match state {
        ProvisioningState::Succeeded | ProvisioningState::Failed | ProvisioningState::Canceled => {
            true
        }
        ProvisioningState::Running | ProvisioningState::Deleting => false,
    }
}

fn count(items: usize) -> i64 {
    i64::try_from(items).unwrap_or(i64::MAX)
}

/// How many instances a set that is made or completed now begins with, where pool Machines hold the
/// count: what the wish leaves it beside the pool's other sets. `None`: they do not.
///
/// # Errors
/// The failed read.
pub(super) fn share(
    set_name: &str,
    wanted: i64,
    observed: &Observed,
    context: &PoolContext<'_>,
) -> Result<Option<i64>, PlanStop> {
    if context.machines.off() {
        return Ok(None);
    }
    let wish = context.machines.wish().map_or(wanted, |wish| wish.capacity);
    let mut others = 0;
    for (name, read) in &observed.members {
        if name != set_name {
            let staying = need(read, "members")?
                .iter()
                .filter(|instance| !instance.is_deleting);
            others += count(staying.count());
        }
    }
    Ok(Some((wish - others).max(0)))
}
