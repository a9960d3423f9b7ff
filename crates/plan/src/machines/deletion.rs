//! The deletion of a Machine, step by step (Cluster API document, 5.3). [`step`] is asked again
//! after every step that ended in the same pass, with what the step found out; no step starts
//! before the one ahead of it has ended.

use std::{collections::BTreeMap, time::Duration};

use jiff::{SignedDuration, Timestamp};

use super::{
    condition::{Finding, MachineCondition, MachineReason},
    gate::Gate,
    progress::seconds,
};

/// Prefix of hooks that hold a deletion before the drain.
const PRE_DRAIN: &str = "pre-drain.delete.hook.machine.cluster.x-k8s.io";
/// Prefix of hooks that hold a deletion before the infrastructure goes.
const PRE_TERMINATE: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io";
/// Presence: no drain.
const EXCLUDE_DRAIN: &str = "machine.cluster.x-k8s.io/exclude-node-draining";
/// Presence: no wait for volumes.
const EXCLUDE_VOLUMES: &str = "machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach";

/// Between two looks at a drain or at volumes (Cluster API document, 5.3), at most.
pub const LOOK_AGAIN: Duration = Duration::from_secs(20);
/// The same, at least (same place, DR11).
const SOONEST: Duration = Duration::from_secs(2);
/// Between two tries to delete a Node (same place).
pub const NODE_AGAIN: Duration = Duration::from_secs(2);
/// How long one series of tries lasts (same place).
const NODE_SERIES: SignedDuration = SignedDuration::from_secs(10);

/// When to look again at Pods or volumes that go by themselves: after as long as they have taken so
/// far, so that what is quick is seen soon and what takes an hour is not asked for every second.
pub fn look_again(since: Timestamp, now: Timestamp) -> Duration {
    let so_far = Duration::try_from(now.duration_since(since)).unwrap_or_default();
    so_far.clamp(SOONEST, LOOK_AGAIN)
}

/// When the steps of a deletion began: `status.deletion`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Starts {
    /// The wait for hooks before the drain.
    pub pre_drain_hook: Option<Timestamp>,
    /// The drain.
    pub drain: Option<Timestamp>,
    /// The wait for volumes.
    pub volumes: Option<Timestamp>,
    /// The wait for hooks before the infrastructure goes.
    pub pre_terminate_hook: Option<Timestamp>,
}

/// How long steps may take: `spec.deletion`, in seconds. Absent and 0 mean: without limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timeouts {
    /// The drain.
    pub drain: Option<i64>,
    /// The wait for volumes.
    pub volumes: Option<i64>,
    /// The deletion of the Node, counted from the Machine's own deletion.
    pub node: Option<i64>,
}

/// An object the Machine refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dependent {
    /// It is proven absent, or none is named.
    Gone,
    /// It is there and nobody has deleted it.
    There,
    /// It is being deleted.
    Deleting,
    /// It could not be read: why.
    Unknown(String),
}

/// What the steps look at.
#[derive(Debug, Clone)]
pub struct DeletionFacts<'a> {
    /// The Machine's `metadata.deletionTimestamp`.
    pub deleted_at: Timestamp,
    /// Its annotations.
    pub annotations: &'a BTreeMap<String, String>,
    /// Whether steps that concern the Node run.
    pub gate: Gate,
    /// When steps began.
    pub starts: Starts,
    /// How long they may take.
    pub timeouts: Timeouts,
    /// The infrastructure object.
    pub infrastructure: Dependent,
    /// The infrastructure ends no instance before this Machine has come that far, whoever deleted
    /// it: ours waits. With any other an instance may be ending as soon as its object is.
    pub waits_for_drain: bool,
    /// The bootstrap config.
    pub bootstrap: Dependent,
    /// Steps that ended in this pass.
    pub ended: Ended,
    /// When the tries to delete the Node began, as far as this process remembers.
    pub node_tries_since: Option<Timestamp>,
    /// The time.
    pub now: Timestamp,
}

/// Steps that ended in this pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ended {
    /// The Node is empty.
    pub drain: bool,
    /// Its volumes are detached.
    pub volumes: bool,
    /// It is gone.
    pub node: bool,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The gate cannot be judged: try again, touch nothing.
    Stop(String),
    /// Wait until these annotations are gone, before the drain.
    PreDrainHooks(Vec<String>),
    /// Cordon the Node and evict its Pods.
    Drain,
    /// See whether the Node's volumes are detached.
    Volumes,
    /// Wait until these annotations are gone, before the infrastructure goes.
    PreTerminateHooks(Vec<String>),
    /// Delete the infrastructure object.
    DeleteInfrastructure,
    /// Wait until it is gone.
    AwaitInfrastructure,
    /// Delete the bootstrap config.
    DeleteBootstrap,
    /// Wait until it is gone.
    AwaitBootstrap,
    /// Delete the Node.
    DeleteNode,
    /// Let the Machine go.
    Release,
}

/// The next step.
pub fn step(facts: &DeletionFacts<'_>) -> Step {
    let open = match &facts.gate {
        Gate::Open => true,
        Gate::Closed(_) => false,
        Gate::Unknown(why) => return Step::Stop(why.clone()),
    };
    if open {
        let hooks = hooks(facts.annotations, PRE_DRAIN);
        if !hooks.is_empty() {
            return Step::PreDrainHooks(hooks);
        }
        if let Dependent::Unknown(why) = &facts.infrastructure {
            return Step::Stop(why.clone());
        }
        if drains(facts) {
            return Step::Drain;
        }
        if awaits_volumes(facts) {
            return Step::Volumes;
        }
    }
    let hooks = hooks(facts.annotations, PRE_TERMINATE);
    if !hooks.is_empty() {
        return Step::PreTerminateHooks(hooks);
    }
    match &facts.infrastructure {
        Dependent::Unknown(why) => return Step::Stop(why.clone()),
        Dependent::There => return Step::DeleteInfrastructure,
        Dependent::Deleting => return Step::AwaitInfrastructure,
        Dependent::Gone => {}
    }
    match &facts.bootstrap {
        Dependent::Unknown(why) => return Step::Stop(why.clone()),
        Dependent::There => return Step::DeleteBootstrap,
        Dependent::Deleting => return Step::AwaitBootstrap,
        Dependent::Gone => {}
    }
    if open && !facts.ended.node && !node_is_given_up(facts) {
        return Step::DeleteNode;
    }
    Step::Release
}

/// Annotations with a prefix, alone or followed by `/name`, sorted.
fn hooks(annotations: &BTreeMap<String, String>, prefix: &str) -> Vec<String> {
    let is_hook = |key: &&String| {
        key.strip_prefix(prefix)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    annotations.keys().filter(is_hook).cloned().collect()
}

/// Both steps that empty the Node are behind us once the instance may be going, or once something
/// waits for its turn after them.
fn is_past_node(facts: &DeletionFacts<'_>) -> bool {
    let may_be_ending = match facts.infrastructure {
        Dependent::Gone => true,
        Dependent::Deleting => !facts.waits_for_drain,
        Dependent::There | Dependent::Unknown(_) => false,
    };
    facts.starts.pre_terminate_hook.is_some() || may_be_ending
}

fn drains(facts: &DeletionFacts<'_>) -> bool {
    !facts.ended.drain
        && !is_past_node(facts)
        && !facts.annotations.contains_key(EXCLUDE_DRAIN)
        && !drain_is_over(facts)
}

/// The time for the drain has passed.
pub fn drain_is_over(facts: &DeletionFacts<'_>) -> bool {
    is_over(facts.starts.drain, facts.timeouts.drain, facts.now)
}

fn awaits_volumes(facts: &DeletionFacts<'_>) -> bool {
    !facts.ended.volumes
        && !is_past_node(facts)
        && !facts.annotations.contains_key(EXCLUDE_VOLUMES)
        && !is_over(facts.starts.volumes, facts.timeouts.volumes, facts.now)
}

/// Whether the time of a step has passed. A clock that was set back does not lengthen it beyond
/// its span from now on: see [`begun`].
fn is_over(since: Option<Timestamp>, seconds: Option<i64>, now: Timestamp) -> bool {
    let limit = seconds.filter(|seconds| *seconds > 0);
    match (since, limit) {
        (Some(since), Some(limit)) => now.duration_since(since) >= SignedDuration::from_secs(limit),
        _ => false,
    }
}

/// When a step began, in whole seconds: as recorded, else now. A record from the future is a clock
/// that jumped: the step begins anew rather than last for as long as the clock was wrong.
pub fn begun(recorded: Option<Timestamp>, now: Timestamp) -> Timestamp {
    let now = seconds(now);
    recorded.filter(|at| *at <= now).unwrap_or(now)
}

/// The time for deleting the Node is over, and one series of tries was made all the same.
fn node_is_given_up(facts: &DeletionFacts<'_>) -> bool {
    let over = is_over(Some(facts.deleted_at), facts.timeouts.node, facts.now);
    let tried = facts
        .node_tries_since
        .is_some_and(|since| facts.now.duration_since(since) >= NODE_SERIES);
    over && tried
}

/// How a pass of a deletion ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The condition `Deleting`.
    pub condition: Finding,
    /// When to look again; `None`: something else tells.
    pub again: Option<Duration>,
}

/// What a pass tells that stopped at `step`. `detail` is what the step itself found: the progress
/// of a drain, why a write failed.
pub fn standing(step: &Step, starts: &Starts, detail: &str) -> Standing {
    use MachineReason as R;
    let hook = |hooks: &[String], since: Option<Timestamp>| {
        let since = since.map(|at| format!(" since {}", seconds(at)));
        let since = since.unwrap_or_default();
        format!(
            "Waiting{since} for hooks to be removed: {}",
            hooks.join(", ")
        )
    };
    let (reason, message, again) = match step {
        Step::Stop(why) => (R::InternalError, why.clone(), Some(LOOK_AGAIN)),
        Step::PreDrainHooks(hooks) => (
            R::WaitingForPreDrainHook,
            hook(hooks, starts.pre_drain_hook),
            None,
        ),
        Step::Drain => (R::DrainingNode, detail.to_owned(), Some(LOOK_AGAIN)),
        Step::Volumes => (
            R::WaitingForVolumeDetach,
            detail.to_owned(),
            Some(LOOK_AGAIN),
        ),
        Step::PreTerminateHooks(hooks) => (
            R::WaitingForPreTerminateHook,
            hook(hooks, starts.pre_terminate_hook),
            None,
        ),
        Step::DeleteInfrastructure | Step::AwaitInfrastructure => {
            (R::WaitingForInfrastructureDeletion, detail.to_owned(), None)
        }
        Step::DeleteBootstrap | Step::AwaitBootstrap => {
            (R::WaitingForBootstrapDeletion, detail.to_owned(), None)
        }
        Step::DeleteNode => (R::DeletingNode, detail.to_owned(), Some(NODE_AGAIN)),
        Step::Release => (R::DeletionCompleted, "Deletion completed".to_owned(), None),
    };
    Standing {
        condition: Finding::yes(MachineCondition::Deleting, reason, message),
        again,
    }
}
