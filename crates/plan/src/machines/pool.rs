//! What the Machines of a pool ask for in one pass: of the group, and of Kubernetes.
//!
//! In: what the cloud and Kubernetes show, all of it read in this pass. Out: a [`PoolDecision`].
//! The pass ends instances and writes objects; it chooses victims by deleting their *Machines*, so
//! that every removal goes through hooks and drain. `remuda plan` prints the same decision.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;

use super::{
    because::Because,
    deletion_order,
    group::{GroupMember, GroupWish, Leaving},
    names::{instance_key, scaler_key},
    objects::{InfraMachine, Machine, MachineObjects},
    rollout::{self, Rolling, Rollout, RolloutSpec, Strategy},
    slot::Slot,
    surface::{self, ObjectWrite, Owner},
};
use crate::pool::{keys, members::Member, outputs::Outputs};

/// Everything the decision depends on.
#[derive(Debug, Clone, Copy)]
pub struct PoolFacts<'a> {
    /// Whose Machines.
    pub owner: Owner<'a>,
    /// The instances of the group, those on their way out included.
    pub members: &'a [GroupMember],
    /// What Kubernetes holds.
    pub objects: &'a MachineObjects,
    /// Members wanted; `None`: nobody knows, and nothing is added or taken.
    pub wanted: Option<i64>,
    /// The count belongs to the cloud or to something beside it: it is followed, never corrected.
    pub is_managed: bool,
    /// Bounds of the group; `None` where the inputs are bad.
    pub bounds: Option<(i64, i64)>,
    /// How members of an older model go.
    pub rollout: Option<&'a RolloutSpec>,
    /// Members whose Node takes no new Pods, by [`instance_key`].
    pub cordoned: &'a BTreeSet<String>,
    /// Ids that other pools of the cluster have registered, by [`scaler_key`], with the pool.
    pub taken: &'a BTreeMap<String, String>,
    /// Ids that the pool has registered.
    pub published: &'a [String],
    /// The pool is being deleted.
    pub deleting: Option<Deleting>,
    /// Machines are to be turned off: no new objects.
    pub is_turning_off: bool,
    /// The pool replaces Machines that a health check gave up.
    pub remediates: bool,
    /// That no member was seen is confirmed.
    pub is_empty_certain: bool,
    /// Time of the pass.
    pub now: Timestamp,
}

/// How a pool is being deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deleting {
    /// Alone: its Machines are drained first.
    Alone,
    /// With its Cluster: nothing waits for a drain.
    WithCluster,
}

/// What a pass does for the Machines of a pool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PoolDecision {
    /// What is asked of the group.
    pub wish: GroupWish,
    /// Objects of members to create or correct.
    pub writes: Vec<ObjectWrite>,
    /// Machines to delete.
    pub deletions: Vec<Deletion>,
    /// Objects of members to delete that no Machine stands for.
    pub object_deletions: Vec<Removed>,
    /// Objects of members whose instance is gone: the finalizer goes.
    pub releases: Vec<Removed>,
    /// Provider ids that are not published: another pool has registered them.
    pub clashes: BTreeMap<String, String>,
    /// Members that stay published although they are on their way out: their drain goes on.
    pub kept: Vec<Member>,
    /// Where a roll stands.
    pub rolling: Rolling,
    /// Members by zone, those on their way out left out.
    pub zones: BTreeMap<String, usize>,
    /// An object is being deleted, or a member is replaced: look again soon.
    pub is_under_way: bool,
}

impl PoolDecision {
    /// Something goes, so it must rest on a fresh reading.
    pub fn removes(&self) -> bool {
        !self.deletions.is_empty()
            || !self.object_deletions.is_empty()
            || !self.releases.is_empty()
            || !self.wish.ends.is_empty()
    }

    /// What the pool publishes: without the ids that are another pool's, and with the members whose
    /// drain goes on.
    #[must_use]
    pub fn published(&self, outputs: Outputs) -> Outputs {
        let mut members = outputs.instances;
        members.retain(|member| !self.clashes.contains_key(&member.provider_id));
        members.extend(self.kept.iter().cloned());
        Outputs::new(
            outputs.provider_id,
            outputs.replicas,
            members,
            outputs.health,
            outputs.extra,
        )
    }

    /// Somebody was chosen: the order must rest on everything that can be known.
    pub fn chooses(&self) -> bool {
        self.deletions.iter().any(|it| {
            matches!(
                it.because,
                Because::ScaleIn { .. } | Because::Outdated { .. }
            )
        })
    }
}

/// An object by name, with the UID it must still have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
    /// Its finalizers, those of others included.
    pub finalizers: Vec<String>,
    /// The version that was decided on.
    pub resource_version: Option<String>,
}

impl Removed {
    /// An object as it was read.
    pub fn of(infra: &InfraMachine) -> Self {
        Self {
            name: infra.metadata.name.clone(),
            uid: infra.metadata.uid.clone(),
            finalizers: infra.metadata.finalizers.clone(),
            resource_version: infra.metadata.resource_version.clone(),
        }
    }
}

/// A Machine to delete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Deletion {
    /// Its name.
    pub machine: String,
    /// Its UID.
    #[serde(skip)]
    pub uid: String,
    /// Why it goes.
    pub because: Because,
}

/// An object that holds something up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Awaited {
    /// Its name.
    pub name: String,
    /// Since when it, or its Machine, has been going; `None`: it is not.
    pub since: Option<Timestamp>,
}

/// Decides.
pub fn decide(facts: &PoolFacts<'_>) -> PoolDecision {
    let by_id: BTreeMap<String, &InfraMachine> = facts
        .objects
        .infra
        .iter()
        .filter_map(|infra| Some((instance_key(infra.spec.provider_id.as_deref()?), infra)))
        .collect();
    let slots: Vec<Slot<'_>> = facts
        .members
        .iter()
        .map(|member| {
            let key = instance_key(&member.member.provider_id);
            let infra = by_id.get(&key).copied();
            let machine = infra.and_then(|infra| facts.objects.machine_of(infra));
            Slot::new(facts.owner.pool, member, infra, machine, facts.cordoned)
        })
        .collect();
    let mut pass = Pass {
        facts,
        slots: &slots,
        decision: PoolDecision::default(),
    };
    pass.register();
    pass.follow();
    pass.ends();
    if facts.deleting.is_some() {
        pass.delete_all();
    } else {
        pass.count();
        pass.remediate();
    }
    pass.told();
    pass.decision
}

struct Pass<'a, 'f> {
    facts: &'a PoolFacts<'f>,
    slots: &'a [Slot<'f>],
    decision: PoolDecision,
}

fn is_seen(members: &[GroupMember], infra: &InfraMachine) -> bool {
    let Some(id) = infra.spec.provider_id.as_deref() else {
        return false;
    };
    let key = instance_key(id);
    members
        .iter()
        .any(|member| instance_key(&member.member.provider_id) == key)
}

impl<'f> Pass<'_, 'f> {
    fn goes(&mut self, machine: &Machine, because: Because) {
        let is_known = self
            .decision
            .deletions
            .iter()
            .any(|it| it.uid == machine.metadata.uid);
        // Whatever `clusterctl move` takes away lives on elsewhere.
        let is_moving = machine
            .metadata
            .annotations
            .contains_key(keys::DELETE_FOR_MOVE);
        if machine.is_deleting() || is_known || is_moving {
            return;
        }
        self.decision.deletions.push(Deletion {
            machine: machine.metadata.name.clone(),
            uid: machine.metadata.uid.clone(),
            because,
        });
    }

    /// An object for every member that stays or is held, unless its id is taken.
    fn register(&mut self) {
        let facts = self.facts;
        for slot in self.slots {
            let member = slot.member;
            let id = &member.member.provider_id;
            if let Some(infra) = slot.infra {
                let write = surface::correction(facts.owner, infra, Some(member), facts.now);
                self.decision.writes.extend(write);
                continue;
            }
            if !facts.published.contains(id)
                && let Some(pool) = facts.taken.get(&scaler_key(id))
            {
                self.decision.clashes.insert(id.clone(), pool.clone());
                continue;
            }
            if slot.is_ending() || facts.is_turning_off || facts.deleting.is_some() {
                continue;
            }
            let write = surface::new_object(facts.owner, member, facts.now);
            self.decision.writes.push(write);
        }
    }

    /// What became of the objects since: instances that are gone or held, objects deleted by hand.
    fn follow(&mut self) {
        let facts = self.facts;
        let is_certain = !facts.members.is_empty() || facts.is_empty_certain;
        for infra in &facts.objects.infra {
            let machine = facts.objects.machine_of(infra);
            let is_seen = is_seen(facts.members, infra);
            if infra.is_deleting() && infra.is_moving() {
                self.decision.releases.push(Removed::of(infra));
                continue;
            }
            if !is_seen {
                let write = surface::correction(facts.owner, infra, None, facts.now);
                self.decision.writes.extend(write.filter(|_| is_certain));
            }
            match (infra.is_deleting(), machine) {
                (true, machine) => {
                    if let Some(machine) = machine {
                        self.goes(machine, Because::ObjectDeleted);
                    }
                    if !is_seen && is_certain {
                        self.decision.releases.push(Removed::of(infra));
                    }
                }
                (false, Some(machine)) if !is_seen && is_certain => {
                    self.goes(machine, Because::InstanceGone);
                }
                (false, None) if !is_seen && is_certain => {
                    self.decision.object_deletions.push(Removed::of(infra));
                }
                (false, _) => {}
            }
        }
        for machine in &facts.objects.machines {
            let has_object = facts
                .objects
                .infra
                .iter()
                .any(|infra| machine.points_at(&infra.metadata.name));
            if machine.is_ours() && !has_object {
                self.goes(machine, Because::ObjectMissing);
            }
        }
        for slot in self.slots {
            match (&slot.member.leaving, slot.machine) {
                (Some(Leaving::Held { because, .. }), Some(machine)) => {
                    let because = because.clone();
                    self.goes(machine, Because::Held { because });
                }
                (Some(Leaving::Ending), Some(machine)) => {
                    self.goes(machine, Because::InstanceGone);
                }
                (_, None) | (None, _) => {}
            }
        }
    }

    /// Instances whose drain is over, and those that the cloud holds for theirs.
    fn ends(&mut self) {
        for slot in self.slots {
            let id = &slot.member.member.provider_id;
            let is_over = slot.infra.is_some_and(|infra| {
                infra.is_deleting()
                    && !infra.is_moving()
                    && slot.machine.is_none_or(Machine::is_drained)
            });
            if is_over {
                if !slot.is_ending() {
                    self.decision.wish.ends.insert(id.clone());
                }
                continue;
            }
            if matches!(slot.member.leaving, Some(Leaving::Held { .. })) {
                self.decision.wish.holds.insert(id.clone());
            }
            // Cluster API deletes the Node of an id that leaves the list, undrained.
            if slot.member.leaving.is_some() && slot.machine.is_some() {
                self.decision.kept.push(slot.member.member.clone());
            }
        }
    }

    /// The pool goes: every Machine does, and every object that no Machine stands for.
    fn delete_all(&mut self) {
        let facts = self.facts;
        for machine in &facts.objects.machines {
            if machine.is_ours() {
                self.goes(machine, Because::PoolDeleted);
            }
        }
        for infra in &facts.objects.infra {
            let is_alone = facts.objects.machine_of(infra).is_none();
            let removed = Removed::of(infra);
            if is_alone
                && !infra.is_deleting()
                && !self.decision.object_deletions.contains(&removed)
            {
                self.decision.object_deletions.push(removed);
            }
        }
        self.decision.wish.capacity = 0;
        self.decision.wish.bounds = Some((0, 0));
        self.decision.wish.goes = true;
    }

    /// One at a time: the next one waits until the one before it is gone.
    fn remediate(&mut self) {
        let facts = self.facts;
        let mut given_up: Vec<&Machine> = facts
            .objects
            .machines
            .iter()
            .filter(|machine| machine.is_ours() && machine.waits_for_remediation())
            .collect();
        let is_busy = given_up.iter().any(|machine| machine.is_deleting());
        // Nobody else goes in a pass that takes somebody for being too many.
        let takes = |it: &Deletion| matches!(it.because, Because::ScaleIn { .. });
        if !facts.remediates || is_busy || self.decision.deletions.iter().any(takes) {
            return;
        }
        given_up.sort_by(|left, right| {
            (left.metadata.creation_timestamp, &left.metadata.name)
                .cmp(&(right.metadata.creation_timestamp, &right.metadata.name))
        });
        if let Some(first) = given_up.first() {
            self.goes(first, Because::Unhealthy);
        }
    }

    /// The count: what the pool may have now, and who goes for being of an older model or too many.
    fn count(&mut self) {
        let facts = self.facts;
        let present = self.slots.iter().filter(|slot| !slot.is_ending()).count();
        let present = i64::try_from(present).unwrap_or(i64::MAX);
        self.decision.wish.bounds = facts.bounds;
        let Some(wanted) = facts.wanted else {
            self.decision.wish.capacity = present;
            return;
        };
        let bounds = Rollout::of(facts.rollout, wanted, facts.is_managed);
        let roll = rollout::roll(self.slots, wanted, bounds, facts.now);
        let capacity = wanted + roll.surge;
        self.ask(capacity, wanted, bounds.surge);
        self.decision.is_under_way |= matches!(roll.rolling, Rolling::Yes { .. });
        self.decision.rolling = roll.rolling;
        let staying = self.slots.iter().filter(|slot| !slot.is_going()).count();
        let staying = i64::try_from(staying).unwrap_or(i64::MAX);
        let surplus = usize::try_from(staying - capacity).unwrap_or(0);
        if !facts.is_managed && surplus > 0 {
            self.decision.is_under_way = true;
            for pick in deletion_order::pick(self.slots, surplus) {
                // One without a Machine goes when it has got one; nobody goes in its place.
                let Some(machine) = self.machine_at(pick.at) else {
                    continue;
                };
                let because = Because::ScaleIn {
                    from: staying,
                    to: capacity,
                    rank: pick.rank,
                };
                self.goes(machine, because);
            }
            // One thing at a time: the roll goes on when the count is right.
            return;
        }
        for at in roll.victims {
            let Some(machine) = self.machine_at(at) else {
                continue;
            };
            let revision = self
                .slots
                .get(at)
                .and_then(|slot| slot.member.revision.clone());
            self.goes(machine, Because::Outdated { revision });
        }
    }

    /// Asks for `capacity` members, within the surge: an instance that is told to end exists until
    /// the cloud shows it no longer, and beyond the surge its successor waits for that. A stop in
    /// between forgets nothing: the instances tell. A count that is not ours is asked for as it is,
    /// or whoever owns it would take what is missing for its own wish.
    fn ask(&mut self, capacity: i64, wanted: i64, surge: i64) {
        let facts = self.facts;
        let wish = &mut self.decision.wish;
        wish.capacity = capacity;
        if facts.is_managed {
            return;
        }
        let retiring = self.slots.iter().filter(|slot| {
            let is_told = slot.infra.is_some_and(InfraMachine::is_deleting);
            let id = &slot.member.member.provider_id;
            slot.is_ending() && is_told || wish.ends.contains(id)
        });
        let retiring = i64::try_from(retiring.count()).unwrap_or(i64::MAX);
        wish.capacity = capacity.min(wanted + surge - retiring).max(0);
        // The bounds stand still while members come and go: the upper one has the surge in it, and
        // without a surge nobody else may refill what waits for its predecessor to be gone.
        if let Some((least, most)) = &mut wish.bounds {
            *least = if surge == 0 { 0 } else { *least };
            *most = (*most).max(capacity);
        }
    }

    fn machine_at(&self, at: usize) -> Option<&'f Machine> {
        self.slots.get(at).and_then(|slot| slot.machine)
    }

    /// What people are told: zones, and whether more is to come.
    fn told(&mut self) {
        for slot in self.slots.iter().filter(|slot| !slot.is_going()) {
            let zone = slot.zone().to_owned();
            *self.decision.zones.entry(zone).or_default() += 1;
        }
        let facts = self.facts;
        self.decision.is_under_way |= facts.objects.infra.iter().any(InfraMachine::is_deleting)
            || !self.decision.deletions.is_empty();
    }
}

/// Objects that hold up a deletion or the turning off, by name.
pub fn awaited(objects: &MachineObjects) -> Vec<Awaited> {
    let mut awaited: Vec<Awaited> = objects
        .infra
        .iter()
        .map(|infra| {
            let machine = objects.machine_of(infra);
            let since = machine.and_then(|machine| machine.metadata.deletion_timestamp);
            Awaited {
                name: infra.metadata.name.clone(),
                since: since.or(infra.metadata.deletion_timestamp),
            }
        })
        .collect();
    awaited.sort_by(|left, right| left.name.cmp(&right.name));
    awaited
}

/// Every object carries a deletion mark, and its Machine has come through its drain: the group may
/// go in one call.
pub fn is_drained(objects: &MachineObjects) -> bool {
    objects.infra.iter().all(|infra| {
        let machine = objects.machine_of(infra);
        infra.is_deleting() && (infra.is_moving() || machine.is_none_or(Machine::is_drained))
    })
}

/// What a pool has to look at its group for, as far as Kubernetes alone tells: between two
/// membership refreshes nothing else is worth a read.
#[derive(Debug, Clone, Copy)]
pub struct Attention<'a> {
    /// What Kubernetes holds.
    pub objects: &'a MachineObjects,
    /// Members wanted; `None`: nobody knows, or the count is not ours to correct.
    pub wanted: Option<i64>,
    /// How members of an older model go.
    pub rollout: Option<&'a RolloutSpec>,
    /// Ids that the pool has registered.
    pub listed: usize,
    /// Machines are to be turned off.
    pub is_turning_off: bool,
    /// The pool replaces Machines that a health check gave up.
    pub remediates: bool,
}

impl Attention<'_> {
    /// Whether the group has to be looked at now.
    pub fn is_due(&self) -> bool {
        let objects = self.objects;
        let on_delete = self
            .rollout
            .and_then(|rollout| rollout.strategy)
            .is_some_and(|strategy| strategy == Strategy::OnDelete);
        let staying: Vec<&InfraMachine> = objects
            .infra
            .iter()
            .filter(|infra| {
                let machine = objects.machine_of(infra);
                !infra.is_deleting() && !machine.is_some_and(Machine::is_deleting)
            })
            .collect();
        let old = staying
            .iter()
            .filter(|infra| infra.status.up_to_date == Some(false))
            .count();
        let is_rolling = old > 0 && !on_delete;
        let count = i64::try_from(staying.len()).unwrap_or(i64::MAX);
        let is_surplus = self.wanted.is_some_and(|wanted| count > wanted);
        let is_unlisted = !self.is_turning_off && objects.infra.len() < self.listed;
        let is_lost = objects.machines.iter().any(|machine| {
            machine.is_ours()
                && !machine.is_deleting()
                && !objects
                    .infra
                    .iter()
                    .any(|infra| machine.points_at(&infra.metadata.name))
        });
        let is_given_up = self.remediates
            && objects
                .machines
                .iter()
                .any(|machine| machine.waits_for_remediation() && !machine.is_deleting());
        objects.infra.iter().any(InfraMachine::is_deleting)
            || is_rolling
            || is_surplus
            || is_unlisted
            || is_lost
            || is_given_up
    }
}
