//! Members as the pool's Machines see them, and the steps these ask for.
//!
//! With Machines the group's count is theirs. It rises to what they ask for, and falls with each
//! instance that is ended: `TerminateInstanceInAutoScalingGroup` with decrement while the group
//! wants more than they do, without it otherwise, and then the group refills. They ask for less
//! while an instance that they ended still exists and the surge has no room for its successor. What AWS ends by
//! itself waits at our lifecycle hook until it is drained:
//!
//! ```text
//! InService ── AWS: scale-in, Spot, health ──▶ Terminating:Wait ── heartbeats while it is drained
//!     └────── EndInstance, once drained ─────────────▲   └── CompleteHook: drained, or out of time ──▶ gone
//! ```

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::{
    action::{Action, GroupUpdate},
    desired::GroupSpec,
    group, limits,
    observed::{Group, GroupInstance, Handle, Instance, Observed},
    ownership,
    remembered::aws_record,
    steps::Steps,
};
use crate::{
    driver::PoolContext,
    error::CloudFailure,
    machines::group::{GroupMember, GroupWish, Leaving},
    pool::{
        action::{ChangeKind, Effect, Outlook, Plan, PlanStop},
        ownership::Ownership,
        read::need,
        record::{AwsRecord, DrainHook, Held},
        steps::{Call, field},
    },
};

/// Lifecycle state of an instance that a terminating hook holds.
const HELD: &str = "Terminating:Wait";

/// Why an instance leaves whose Spot capacity is taken back: within its two minutes' notice.
const INTERRUPTED: &str = "spot interruption";

/// The instances of the pool, those on their way out included, by provider id.
///
/// # Errors
/// The failed read.
pub fn members(
    _handle: &Handle,
    observed: &Observed,
    context: &PoolContext<'_>,
) -> Result<Vec<GroupMember>, CloudFailure> {
    let group = observed.group.needed("group")?.as_ref();
    let instances = observed.instances.needed("instances")?;
    let record = aws_record(context);
    let listed = listed(group);
    let current = current_template(group, record);
    let held = held(observed, record, &listed, now(context));
    let limit = record.and_then(|record| record.hook);
    Ok(instances
        .iter()
        .map(|instance| {
            let id = instance.member.instance_id.as_str();
            let entry = listed.get(id).copied();
            let revision = entry.and_then(|entry| entry.template_name.clone());
            let is_old = current.is_some_and(|current| {
                revision
                    .as_deref()
                    .is_some_and(|revision| revision != current)
            });
            GroupMember {
                member: instance.member.clone(),
                outdated: is_old || is_misplaced(instance, group),
                revision,
                leaving: leaving(instance, entry, held.get(id), limit),
                interruptible: instance.interruptible,
                launched_at: instance.launched_at,
            }
        })
        .collect())
}

/// What the group itself says of its instances.
fn listed(group: Option<&Group>) -> BTreeMap<&str, &GroupInstance> {
    let instances = group.into_iter().flat_map(|group| &group.instances);
    instances
        .map(|instance| (instance.instance_id.as_str(), instance))
        .collect()
}

fn now(context: &PoolContext<'_>) -> Timestamp {
    Timestamp::from_second(context.now_epoch_seconds).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// The template that new members are made from, where it is the one that they should be made from:
/// a template that somebody else put on the group makes nobody outdated, or its own members would
/// be replaced without end.
fn current_template<'a>(group: Option<&'a Group>, record: Option<&AwsRecord>) -> Option<&'a str> {
    let used = group?.template_name.as_deref()?;
    let record = record?;
    let pending = record.pending_roll.as_ref();
    let is_ours = record.template_name.as_deref() == Some(used)
        || pending.is_some_and(|pending| pending.template_name == used);
    is_ours.then_some(used)
}

/// Its zone is none of the group's: the group leaves it, or moves it at a time of its own choosing.
fn is_misplaced(instance: &Instance, group: Option<&Group>) -> bool {
    let zone = instance.member.failure_domain.as_ref();
    group.is_some_and(|group| {
        !group.zones.is_empty() && zone.is_some_and(|zone| !group.zones.contains(zone))
    })
}

fn leaving(
    instance: &Instance,
    entry: Option<&GroupInstance>,
    held: Option<&Held>,
    hook: Option<DrainHook>,
) -> Option<Leaving> {
    if instance.ending {
        return Some(Leaving::Ending);
    }
    match (held, hook) {
        (Some(held), Some(hook)) => Some(Leaving::Held {
            because: held
                .because
                .clone()
                .unwrap_or_else(|| "the group ends it".to_owned()),
            until: Some(taken_at(held, hook)),
        }),
        // A hook that is not ours: nothing that we do keeps it.
        (None, _) | (_, None) => is_terminating(entry).then_some(Leaving::Ending),
    }
}

fn is_terminating(entry: Option<&GroupInstance>) -> bool {
    entry.is_some_and(|entry| entry.lifecycle_state.starts_with("Terminating"))
}

/// When a hold ends whatever happens.
fn end_of(held: &Held, hook: DrainHook) -> Timestamp {
    held.since
        .saturating_add(SignedDuration::from_secs(hook.limit_seconds))
        .unwrap_or(Timestamp::MAX)
}

/// When the instance is gone at the latest: EC2 waits for no hook.
fn taken_at(held: &Held, hook: DrainHook) -> Timestamp {
    let end = end_of(held, hook);
    if held.because.as_deref() != Some(INTERRUPTED) {
        return end;
    }
    let notice = SignedDuration::from_secs(limits::SPOT_NOTICE_SECONDS);
    held.since
        .saturating_add(notice)
        .map_or(end, |taken| taken.min(end))
}

/// The instances that our hook holds: as recorded, or as seen first.
fn held(
    observed: &Observed,
    record: Option<&AwsRecord>,
    listed: &BTreeMap<&str, &GroupInstance>,
    now: Timestamp,
) -> BTreeMap<String, Held> {
    let Some(record) = record.filter(|record| record.hook.is_some()) else {
        return BTreeMap::new();
    };
    let departures = observed.departures.known();
    let held = listed
        .values()
        .filter(|entry| entry.lifecycle_state == HELD);
    held.map(|entry| {
        let id = &entry.instance_id;
        let told = departures.and_then(|departures| departures.get(id));
        let since = told.and_then(|told| told.since).unwrap_or(now).min(now);
        let mut held = record.held.get(id).cloned().unwrap_or(Held {
            since,
            because: None,
            prolonged_at: since,
        });
        held.because = held.because.or_else(|| told.map(|told| why(&told.cause)));
        (id.clone(), held)
    })
    .collect()
}

/// AWS's account of a termination in few words. The newest part of it comes last.
fn why(cause: &str) -> String {
    let cause = cause.to_lowercase();
    let known = [
        ("instance refresh", "instance refresh"),
        ("interruption", INTERRUPTED),
        ("rebalance recommendation", "spot rebalancing"),
        ("health check", "health check"),
        ("health-check", "health check"),
        ("in response to a user request", "asked for"),
        ("desired and actual capacity", "scale-in"),
    ];
    known
        .iter()
        .find(|(text, _)| cause.contains(text))
        .map_or("the group ends it", |(_, short)| short)
        .to_owned()
}

/// The steps that Machines ask for and that need no inputs.
///
/// # Errors
/// The read that failed.
pub fn tend(
    _handle: &Handle,
    observed: &Observed,
    context: &PoolContext<'_>,
) -> Result<Plan, PlanStop> {
    let nothing = Plan {
        steps: Vec::new(),
        outlook: Outlook::Settled,
    };
    let (Some(wish), Some(stored)) = (context.machines.wish(), aws_record(context)) else {
        return Ok(nothing);
    };
    let Some(group) = need(&observed.group, "group")?.as_ref() else {
        return Ok(nothing);
    };
    let is_ours = ownership::of_group(group, Some(stored), context) == Ownership::Ours;
    if !is_ours || group.status.is_some() {
        return Ok(nothing);
    }
    let instances = need(&observed.instances, "instances")?;
    let listed = listed(Some(group));
    let mut steps = Steps::new(context, Some(stored.clone()), stored.clone());
    let holds = Holds {
        group: &group.name,
        hook: stored.hook,
        now: now(context),
        ends: named(&wish.ends, instances),
        prolonged: named(&wish.holds, instances),
        held: held(observed, Some(stored), &listed, now(context)),
    };
    // First: a heartbeat that waits for something else may come too late.
    holds.keep(&mut steps);
    holds.answer(&mut steps);
    let decrements = size(&mut steps, group, instances, wish);
    end(&mut steps, group, instances, wish, decrements);
    let ending = instances
        .iter()
        .filter(|instance| wish.ends.contains(&instance.member.provider_id))
        .count();
    if ending > 0 {
        steps.wait(
            format!("{ending} instances of group {} to end", group.name),
            limits::END_LOOK_AGAIN_SECONDS,
        );
    }
    holds.come_back(&mut steps);
    Ok(steps.into_plan())
}

/// Instance ids of provider ids; what is gone has none.
fn named<'a>(wanted: &BTreeSet<String>, instances: &'a [Instance]) -> BTreeSet<&'a str> {
    let members = instances.iter().map(|instance| &instance.member);
    members
        .filter(|member| wanted.contains(&member.provider_id))
        .map(|member| member.instance_id.as_str())
        .collect()
}

/// The instances that our hook holds, and what becomes of each.
struct Holds<'a> {
    group: &'a str,
    hook: Option<DrainHook>,
    now: Timestamp,
    ends: BTreeSet<&'a str>,
    prolonged: BTreeSet<&'a str>,
    held: BTreeMap<String, Held>,
}

/// What a held instance needs in this pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    Completed(&'static str),
    Prolonged,
    Nothing,
}

impl Holds<'_> {
    fn need(&self, id: &str, held: &Held) -> Need {
        let Some(hook) = self.hook else {
            return Need::Nothing;
        };
        if self.ends.contains(id) {
            return Need::Completed("it is drained");
        }
        if !self.prolonged.contains(id) {
            return Need::Nothing;
        }
        if end_of(held, hook) <= self.now {
            return Need::Completed("its drain took all the time it may take");
        }
        if next_heartbeat(held, hook) <= self.now {
            return Need::Prolonged;
        }
        Need::Nothing
    }

    /// Records who is held since when, and the heartbeats that are about to be sent.
    fn keep(&self, steps: &mut Steps<'_>) {
        let held = self
            .held
            .iter()
            .map(|(id, held)| {
                let mut held = held.clone();
                if self.need(id, &held) == Need::Prolonged {
                    held.prolonged_at = self.now;
                }
                (id.clone(), held)
            })
            .collect();
        steps.remember("instances that the group holds for their drain", |record| {
            record.held = held;
        });
    }

    fn answer(&self, steps: &mut Steps<'_>) {
        for (id, held) in &self.held {
            let (group, instance_id) = (self.group.to_owned(), id.clone());
            let call = match self.need(id, held) {
                Need::Nothing => continue,
                Need::Completed(because) => Call::new(
                    Action::CompleteHook { group, instance_id },
                    ChangeKind::Bookkeeping,
                    object(id),
                    because,
                )
                .effect(Effect::Removes),
                Need::Prolonged => Call::new(
                    Action::ProlongHook { group, instance_id },
                    ChangeKind::Bookkeeping,
                    object(id),
                    "it is still being drained",
                ),
            };
            steps.call(call);
        }
    }

    /// Looks again when the next heartbeat is due, or a hold is over.
    fn come_back(&self, steps: &mut Steps<'_>) {
        let Some(hook) = self.hook else { return };
        let drained = self.held.iter().filter(|(id, _)| {
            self.prolonged.contains(id.as_str()) && !self.ends.contains(id.as_str())
        });
        let next = drained
            .map(|(id, held)| {
                let beat = match self.need(id, held) {
                    Need::Prolonged => self.now.saturating_add(share(hook)),
                    Need::Completed(_) | Need::Nothing => Ok(next_heartbeat(held, hook)),
                };
                beat.unwrap_or(Timestamp::MAX).min(end_of(held, hook))
            })
            .min();
        if let Some(next) = next {
            let seconds = next.duration_since(self.now).as_secs().max(1);
            steps.wait(
                format!("held instances of group {} to be drained", self.group),
                u32::try_from(seconds).unwrap_or(u32::MAX),
            );
        }
    }
}

fn share(hook: DrainHook) -> SignedDuration {
    SignedDuration::from_secs(hook.heartbeat_seconds / limits::HEARTBEAT_SHARE)
}

fn next_heartbeat(held: &Held, hook: DrainHook) -> Timestamp {
    held.prolonged_at
        .saturating_add(share(hook))
        .unwrap_or(Timestamp::MAX)
}

/// Stable logical name of an instance.
fn object(id: &str) -> String {
    format!("instance/{id}")
}

/// What Machines would ask for that have not been asked: the count that is wanted anyway, unless
/// what is missing of it may be waiting for a predecessor to be gone.
pub(super) fn implied(spec: &GroupSpec, group: &Group, instances: &[Instance]) -> GroupWish {
    let going = instances.iter().filter(|instance| instance.ending).count();
    let going = i64::try_from(going).unwrap_or(i64::MAX);
    let capacity = if spec.fixed {
        let waits = group.desired_capacity < spec.desired_capacity
            && group.desired_capacity + going >= spec.desired_capacity;
        if waits {
            group.desired_capacity
        } else {
            spec.desired_capacity
        }
    } else {
        group.desired_capacity.clamp(spec.min_size, spec.max_size)
    };
    GroupWish {
        capacity,
        bounds: Some((spec.min_size, spec.max_size)),
        ..GroupWish::default()
    }
}

/// Members of the group that are not on their way out, whether EC2 shows them yet or not.
fn staying<'a>(group: &'a Group, instances: &'a [Instance]) -> BTreeSet<&'a str> {
    let ending: BTreeSet<&str> = instances
        .iter()
        .filter(|instance| instance.ending)
        .map(|instance| instance.member.instance_id.as_str())
        .collect();
    let listed = listed(Some(group));
    let shown = instances
        .iter()
        .map(|instance| instance.member.instance_id.as_str());
    listed
        .keys()
        .copied()
        .chain(shown)
        .filter(|id| !ending.contains(id) && !is_terminating(listed.get(id).copied()))
        .collect()
}

/// Moves the count and the bounds, never so that AWS has to choose whom to end. Returns how many of
/// the instances that end take a place with them.
pub(super) fn size(
    steps: &mut Steps<'_>,
    group: &Group,
    instances: &[Instance],
    wish: &GroupWish,
) -> i64 {
    let staying = staying(group, instances);
    let ended = named(&wish.ends, instances);
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let most = wish.capacity.max(count(staying.len()));
    let desired = group.desired_capacity.min(most).max(wish.capacity);
    let ends = count(staying.intersection(&ended).count());
    let decrements = ends.min(desired - wish.capacity);
    let (min, max) = wish.bounds.unwrap_or((group.min_size, group.max_size));
    let wanted = [
        ("min_size", group.min_size, min.min(desired - decrements)),
        ("max_size", group.max_size, max.max(desired)),
        ("desired_capacity", group.desired_capacity, desired),
    ];
    let differing: Vec<_> = wanted.iter().filter(|(_, old, new)| old != new).collect();
    if differing.is_empty() {
        return decrements;
    }
    let because: Vec<String> = differing
        .iter()
        .map(|(name, old, new)| format!("{name} {old} -> {new}"))
        .collect();
    let changed = |at: usize| {
        let (_, old, new) = wanted.get(at).copied()?;
        (old != new).then_some(new)
    };
    steps.call(
        Call::new(
            Action::UpdateGroup(GroupUpdate {
                group: group.name.clone(),
                min_size: changed(0),
                max_size: changed(1),
                desired_capacity: changed(2),
                ..GroupUpdate::default()
            }),
            ChangeKind::Update,
            group::object(&group.name),
            because.join("; "),
        )
        .changes(
            differing
                .iter()
                .map(|(name, old, new)| field(name, json!(old), json!(new)))
                .collect(),
        ),
    );
    decrements
}

/// Ends the instances whose drain is over, each by its name.
fn end(
    steps: &mut Steps<'_>,
    group: &Group,
    instances: &[Instance],
    wish: &GroupWish,
    mut decrements: i64,
) {
    let staying = staying(group, instances);
    for id in named(&wish.ends, instances).intersection(&staying) {
        let decrement = decrements > 0;
        decrements -= i64::from(decrement);
        let because = if decrement {
            "drained; the group wants one less"
        } else {
            "drained; the group replaces it"
        };
        steps.call(
            Call::new(
                Action::EndInstance {
                    group: group.name.clone(),
                    instance_id: (*id).to_owned(),
                    decrement,
                },
                ChangeKind::Bookkeeping,
                object(id),
                because,
            )
            .effect(Effect::Removes),
        );
    }
}
