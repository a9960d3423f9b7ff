//! Whether a pool has Machines, how many it wants, and what it decides about them: the bridge from
//! a [`World`] to [`crate::machines::pool`].

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{
    autoscaling,
    goal::Goal,
    keys,
    membership::{self, Membership, Reading},
    outputs::Outputs,
    read::Freshness,
    world::{Lookup, World},
};
use crate::{
    machines::{
        group::GroupMember,
        objects::MachineObjects,
        pool::{self, Attention, Deleting, PoolDecision, PoolFacts},
        surface::Owner,
    },
    status::wire::Operation,
};

/// Whether the owner wants Machines: unless it says `"false"`. `None`: nobody knows.
fn are_wanted(world: &World) -> Option<bool> {
    let owner = world.owner.found()?;
    let switch = owner.metadata.annotations.get(keys::MACHINES);
    Some(switch.map(String::as_str) != Some("false"))
}

/// Whether this pool has Machines. The one switch: it also decides
/// `status.infrastructureMachineKind`. The annotation `remuda.dev/machines` of the owner decides,
/// but not as long as an object stands for a member.
pub fn are_on(world: &World) -> bool {
    let are_published = world.pool.status.infrastructure_machine_kind.is_some();
    match &world.machines {
        Lookup::Missing => false,
        Lookup::Failed(_) => are_published,
        Lookup::Found(objects) => {
            !objects.infra.is_empty() || are_wanted(world).unwrap_or(are_published)
        }
    }
}

/// They are on only because objects are left.
pub fn are_turning_off(world: &World) -> bool {
    are_on(world) && are_wanted(world) == Some(false)
}

/// Whether anything has to be read of them. A pool that has never published them and does not want
/// them costs no read; one whose status is lost does.
pub fn are_worth_reading(world: &World) -> bool {
    let status = &world.pool.status;
    are_wanted(world) != Some(false)
        || status.infrastructure_machine_kind.is_some()
        || status.conditions.is_empty()
}

/// Whose objects they are; `None`: the pool is nobody's, or in no cluster.
pub fn owner(world: &World) -> Option<Owner<'_>> {
    let metadata = &world.pool.metadata;
    Some(Owner {
        namespace: &metadata.namespace,
        pool: &metadata.name,
        uid: &metadata.uid,
        machine_pool: &super::owner::owner_reference(&world.pool)?.name,
        cluster: metadata.labels.get(keys::CLUSTER_NAME)?,
        watch_filter: metadata.labels.get(keys::WATCH_FILTER).map(String::as_str),
    })
}

/// How many members are wanted.
struct Count {
    /// `None`: nobody knows.
    wanted: Option<i64>,
    /// The count is not ours to correct.
    is_managed: bool,
    bounds: Option<(i64, i64)>,
}

/// The count that the owner wants, or that the group has where it belongs to the cloud.
fn count(world: &World, observed: Option<i64>) -> Count {
    let Some(owner) = world.owner.found() else {
        return Count {
            wanted: None,
            is_managed: false,
            bounds: None,
        };
    };
    let (bounds, _) = autoscaling::bounds(&owner.metadata.annotations);
    let observed = observed.or(world.pool.status.replicas);
    let wanted = autoscaling::rendered_replicas(owner.spec.replicas, observed, bounds);
    Count {
        wanted: Some(wanted),
        is_managed: bounds.enabled,
        bounds: Some(if bounds.enabled {
            (bounds.min, bounds.max)
        } else {
            (wanted, wanted)
        }),
    }
}

fn remediates(world: &World) -> bool {
    let annotations = &world.pool.metadata.annotations;
    annotations
        .get(keys::REMEDIATE_MACHINES)
        .is_some_and(|value| value == "true")
}

/// The objects, while the pool has Machines.
pub(super) fn objects(world: &World) -> Option<&MachineObjects> {
    world.machines.found().filter(|_| are_on(world))
}

/// Nothing of the pool goes, as far as its Machines tell: what is seen of them may be as old as what
/// woke the pass. What takes something away is decided on what is read for it.
pub fn are_at_rest(world: &World) -> bool {
    world.pool.metadata.deletion_timestamp.is_none()
        && !are_turning_off(world)
        && !want_attention(world)
}

/// Whether Kubernetes shows something for which the group has to be looked at now.
pub(super) fn want_attention(world: &World) -> bool {
    let Some(objects) = objects(world) else {
        return false;
    };
    let count = count(world, None);
    Attention {
        objects,
        wanted: count.wanted.filter(|_| !count.is_managed),
        rollout: world.pool.spec.rollout.as_ref(),
        listed: world.pool.spec.provider_id_list.len(),
        is_turning_off: are_turning_off(world),
        remediates: remediates(world),
    }
    .is_due()
}

/// The Cluster is being deleted, or gone.
pub(super) fn cluster_goes(world: &World) -> bool {
    match &world.cluster {
        Lookup::Found(cluster) => cluster.metadata.deletion_timestamp.is_some(),
        Lookup::Missing => true,
        Lookup::Failed(_) => false,
    }
}

/// What a decision needs besides the world and the goal.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// The instances of the group.
    pub members: &'a [GroupMember],
    /// What the pool would publish of the same observation.
    pub outputs: &'a Outputs,
    /// How old the observation may be.
    pub freshness: Freshness,
    /// When the pass began.
    pub at: Timestamp,
    /// Members whose Node takes no new Pods.
    pub cordoned: &'a BTreeSet<String>,
    /// Ids that other pools of the cluster have registered.
    pub taken: &'a BTreeMap<String, String>,
}

/// What this pass does for the pool's Machines; `None`: it has none.
pub fn decide(world: &World, goal: &Goal, seen: &Seen<'_>) -> Option<PoolDecision> {
    let objects = world.machines.found().filter(|_| goal.has_machines)?;
    let count = count(world, membership::capacity(seen.outputs));
    let is_deleting = world.pool.metadata.deletion_timestamp.is_some();
    let deleting = is_deleting.then(|| {
        if cluster_goes(world) {
            Deleting::WithCluster
        } else {
            Deleting::Alone
        }
    });
    let unseen = world.memory.as_ref().and_then(|memory| memory.unseen);
    let published = &world.pool.spec.provider_id_list;
    let reading = Reading {
        outputs: seen.outputs,
        at: seen.at,
        freshness: seen.freshness,
    };
    let is_empty_certain = goal.operation == Operation::Destroy
        || matches!(
            membership::decide(published, reading, unseen),
            Membership::Publish(_)
        );
    Some(pool::decide(&PoolFacts {
        owner: owner(world)?,
        members: seen.members,
        objects,
        wanted: count.wanted,
        is_managed: count.is_managed,
        bounds: count.bounds.filter(|_| goal.inputs.is_some()),
        rollout: world.pool.spec.rollout.as_ref(),
        cordoned: seen.cordoned,
        taken: seen.taken,
        published,
        deleting,
        is_turning_off: are_turning_off(world),
        remediates: remediates(world),
        is_empty_certain,
        now: seen.at,
    }))
}
