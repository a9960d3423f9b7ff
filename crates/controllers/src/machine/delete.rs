//! The deletion of a Machine. Which step is due is decided in `plan::machines::deletion`; here the
//! steps are carried out, one after the other, as far as one pass gets.

use std::time::Duration;

use jiff::Timestamp;
use remuda_api::keys::{annotation, finalizer, label};
use remuda_plan::machines::{
    agent,
    condition::MachineReason,
    conditions::NodeState,
    deletion::{self, DeletionFacts, Dependent as State, Ended, Standing, Starts, Step, Timeouts},
    gate::{ControlPlane, ControlPlaneMachines, GateFacts, NodeKnown, gate},
    node::NodeView,
    view::condition,
};
use serde_json::{Value, json};

use super::{
    Workplace,
    adopt::patch_machine,
    evacuate,
    gather::{Gathered, Look, look},
};
use crate::{
    adopt::Referenced,
    context::Context,
    kinds::Kind,
    metrics::DrainEnd,
    objects::{ApiError, Objects},
    watching::ObjectKey,
    workload::evacuation::Workload,
};

/// How far a pass got.
pub(super) struct Outcome {
    /// What it tells, and when to look again.
    pub standing: Standing,
    /// When steps began.
    pub starts: Starts,
    /// Events, in order.
    pub events: Vec<Event>,
    /// The Machine may go.
    pub release: bool,
}

/// An event to write.
pub(super) struct Event {
    pub severity: &'static str,
    pub reason: &'static str,
    pub note: String,
}

/// Goes on with the deletion.
pub(super) async fn advance(
    gathered: &Gathered,
    node: &NodeState,
    work: &Workplace,
    ctx: &Context,
) -> Outcome {
    let metadata = &gathered.machine.metadata;
    let deletion = gathered.machine.spec.deletion;
    let facts = DeletionFacts {
        deleted_at: metadata.deletion_timestamp.unwrap_or(gathered.now),
        annotations: &metadata.annotations,
        gate: gate(&gate_facts(gathered, node, work, ctx).await),
        starts: starts(gathered),
        timeouts: Timeouts {
            drain: deletion.node_drain_timeout_seconds,
            volumes: deletion.node_volume_detach_timeout_seconds,
            node: deletion.node_deletion_timeout_seconds,
        },
        infrastructure: state(&gathered.infra),
        waits_for_drain: gathered.machine.spec.infrastructure_ref.kind
            == Kind::TerraformMachinePoolMachine.resource().kind,
        bootstrap: gathered.config.as_ref().map_or(State::Gone, state),
        ended: Ended::default(),
        node_tries_since: work.tries.since(&metadata.uid),
        now: gathered.now,
    };
    let mut walk = Walk {
        gathered,
        node,
        work,
        ctx,
        facts,
        sooner: None,
        events: Vec::new(),
    };
    loop {
        let step = deletion::step(&walk.facts);
        if let Some(detail) = walk.carry_out(&step).await {
            walk.count_drain(&step);
            let mut standing = deletion::standing(&step, &walk.facts.starts, &detail);
            standing.again = walk.sooner.or(standing.again);
            return Outcome {
                standing,
                starts: walk.facts.starts,
                release: step == Step::Release,
                events: walk.events,
            };
        }
    }
}

/// One pass of a deletion.
struct Walk<'a> {
    gathered: &'a Gathered,
    node: &'a NodeState,
    work: &'a Workplace,
    ctx: &'a Context,
    facts: DeletionFacts<'a>,
    /// When to look again, where the step that was carried out last knows better.
    sooner: Option<Duration>,
    events: Vec<Event>,
}

impl<'a> Walk<'a> {
    /// Carries a step out. `None`: it has ended, on to the next; else what to tell of it.
    async fn carry_out(&mut self, step: &Step) -> Option<String> {
        let now = self.facts.now;
        let starts = &mut self.facts.starts;
        match step {
            Step::PreDrainHooks(_) => {
                starts.pre_drain_hook = Some(deletion::begun(starts.pre_drain_hook, now));
                Some(String::new())
            }
            Step::PreTerminateHooks(_) => {
                starts.pre_terminate_hook = Some(deletion::begun(starts.pre_terminate_hook, now));
                Some(String::new())
            }
            Step::Drain => self.drain().await,
            Step::Volumes => self.volumes().await,
            Step::DeleteInfrastructure | Step::AwaitInfrastructure => {
                let deletes = *step == Step::DeleteInfrastructure;
                self.tell_agent().await;
                Some(self.dependent(Some(&self.gathered.infra), deletes).await)
            }
            Step::DeleteBootstrap | Step::AwaitBootstrap => {
                let deletes = *step == Step::DeleteBootstrap;
                Some(self.dependent(self.gathered.config.as_ref(), deletes).await)
            }
            Step::DeleteNode => self.delete_node().await,
            Step::Stop(_) | Step::Release => Some(String::new()),
        }
    }

    async fn drain(&mut self) -> Option<String> {
        let first = self.facts.starts.drain.is_none();
        let since = deletion::begun(self.facts.starts.drain, self.facts.now);
        self.facts.starts.drain = Some(since);
        let (workload, node) = match self.reached() {
            Ok(Some(reached)) => reached,
            // No Node, nothing to drain.
            Ok(None) => {
                self.facts.ended.drain = true;
                return None;
            }
            Err(why) => return Some(self.drain_failed(since, &why)),
        };
        match evacuate::drain(self.gathered, node, &workload, since, self.ctx).await {
            Ok(progress) if progress.done => {
                self.facts.ended.drain = true;
                if first || self.stood_at(MachineReason::DrainingNode) {
                    let note = format!("Node {} is drained", node.name);
                    self.event("Normal", "SuccessfulDrainNode", note);
                }
                None
            }
            Ok(progress) => {
                if !progress.failed.is_empty() {
                    self.warn_once("FailedDrainNode", &progress.message);
                }
                if progress.goes_by_itself {
                    self.sooner = Some(deletion::look_again(since, self.ctx.now()));
                }
                Some(progress.message)
            }
            Err(why) => Some(self.drain_failed(since, &why)),
        }
    }

    fn drain_failed(&mut self, since: Timestamp, why: &str) -> String {
        let message = format!("Draining since {since}\n* nothing is evicted: {why}");
        self.warn_once("FailedDrainNode", &message);
        message
    }

    async fn volumes(&mut self) -> Option<String> {
        let first = self.facts.starts.volumes.is_none();
        let since = deletion::begun(self.facts.starts.volumes, self.facts.now);
        self.facts.starts.volumes = Some(since);
        let (workload, node) = match self.reached() {
            Ok(Some(reached)) => reached,
            Ok(None) => {
                self.facts.ended.volumes = true;
                return None;
            }
            Err(why) => return Some(self.volumes_failed(since, &why)),
        };
        match evacuate::volumes(self.gathered, node, &workload, since, self.ctx).await {
            Ok(None) => {
                self.facts.ended.volumes = true;
                if !first && self.stood_at(MachineReason::WaitingForVolumeDetach) {
                    let note = format!("Volumes of Node {} are detached", node.name);
                    self.event("Normal", "NodeVolumesDetached", note);
                }
                None
            }
            Ok(Some(message)) => {
                self.sooner = Some(deletion::look_again(since, self.ctx.now()));
                Some(message)
            }
            Err(why) => Some(self.volumes_failed(since, &why)),
        }
    }

    fn volumes_failed(&mut self, since: Timestamp, why: &str) -> String {
        let message = format!("Waiting for volumes to be detached since {since}\n* {why}");
        self.warn_once("FailedWaitForVolumeDetach", &message);
        message
    }

    /// Tells the node agent that nothing keeps the instance any longer. What fails is tried again by
    /// the next pass, and holds nothing up: the agent's cloud does not wait for ever.
    async fn tell_agent(&self) {
        let Ok(Some((workload, node))) = self.reached() else {
            return;
        };
        let waits = node.annotations.contains_key(annotation::NODE_TERMINATING);
        if !waits || agent::is_drained(&node.annotations) {
            return;
        }
        let at = self.facts.now.to_string();
        let patch = json!({ "metadata": { "annotations": { (annotation::NODE_DRAINED): at } } });
        if let Err(error) = workload.patch_node(&node.name, &patch).await {
            tracing::warn!(node = %node.name, %error, "the node agent was not told of the drain");
        }
    }

    /// Deletes a dependent, or waits for it.
    async fn dependent(&self, look: Option<&Look>, deletes: bool) -> String {
        let Some(dependent) = look.and_then(Look::there) else {
            return String::new();
        };
        let what = format!("{} {}", dependent.resource.kind, dependent.metadata.name);
        if deletes && let Err(error) = self.delete(dependent).await {
            return format!("{what} cannot be deleted: {error}");
        }
        format!("Waiting for {what} to be deleted")
    }

    async fn delete(&self, dependent: &Referenced) -> Result<(), ApiError> {
        self.ctx
            .objects
            .delete(
                &dependent.resource,
                Some(&self.gathered.machine.metadata.namespace),
                &dependent.metadata.name,
                Some(&dependent.metadata.uid),
            )
            .await
    }

    async fn delete_node(&mut self) -> Option<String> {
        let reached = match self.reached() {
            Ok(None) => Ok(()),
            Ok(Some((workload, node))) => {
                let kind = Kind::Node.resource();
                let deleted = workload
                    .objects
                    .delete(&kind, None, &node.name, Some(&node.uid))
                    .await;
                match deleted {
                    // Another Node has taken the name: it is not ours to delete.
                    Ok(()) | Err(ApiError::Conflict(_)) => Ok(()),
                    Err(error) => Err(error.to_string()),
                }
            }
            Err(why) => Err(why),
        };
        match reached {
            Ok(()) => {
                self.facts.ended.node = true;
                None
            }
            Err(why) => {
                let uid = &self.gathered.machine.metadata.uid;
                self.work.tries.made(uid, self.facts.now);
                let message = format!("The Node cannot be deleted: {why}");
                self.warn_once("FailedDeleteNode", &message);
                Some(message)
            }
        }
    }

    /// Counts a drain that runs, or that ended in this pass, which stopped at `step`. The condition
    /// says what the pass before left, also after a restart.
    fn count_drain(&self, step: &Step) {
        let metadata = &self.gathered.machine.metadata;
        let key = ObjectKey::new(metadata.namespace.clone(), metadata.name.clone());
        let metrics = &self.ctx.metrics;
        metrics.draining(&key, *step == Step::Drain);
        let Some(since) = self.facts.starts.drain else {
            return;
        };
        let is_new = self
            .gathered
            .machine
            .status
            .deletion
            .node_drain_start_time
            .is_none();
        let ran = self.stood_at(MachineReason::DrainingNode)
            || is_new && matches!(self.node, NodeState::Seen(_));
        if !ran || matches!(step, Step::Drain | Step::Stop(_)) {
            return;
        }
        let end = if self.facts.ended.drain {
            DrainEnd::Done
        } else if deletion::drain_is_over(&self.facts) {
            DrainEnd::TimedOut
        } else {
            DrainEnd::GivenUp
        };
        let took = self.facts.now.duration_since(since);
        metrics.drained(end, Duration::try_from(took).unwrap_or_default());
    }

    /// The Node and its cluster. `Ok(None)`: the Node is proven absent.
    fn reached(&self) -> Result<Option<(Workload<'a>, &'a NodeView)>, String> {
        match (self.node, &self.gathered.workload) {
            (NodeState::Absent, _) => Ok(None),
            (NodeState::Seen(node), Some(objects)) => Ok(Some((Workload { objects }, node))),
            (NodeState::Several(names), _) => Err(format!(
                "several Nodes claim the Machine's provider ID: {}",
                names.join(", ")
            )),
            (NodeState::Unreadable(why), _) => Err(why.clone()),
            _ => Err("the workload cluster cannot be reached".to_owned()),
        }
    }

    /// The reason that the last pass told.
    fn stood_at(&self, reason: MachineReason) -> bool {
        self.said()
            .is_some_and(|(said, _)| said == format!("{reason:?}"))
    }

    fn said(&self) -> Option<(&str, &str)> {
        let deleting = condition(&self.gathered.machine.status.conditions, "Deleting")?;
        Some((&deleting.reason, &deleting.message))
    }

    /// A warning that the last pass did not tell already.
    fn warn_once(&mut self, reason: &'static str, message: &str) {
        if self.said().is_none_or(|(_, said)| said != message) {
            self.event("Warning", reason, message.to_owned());
        }
    }

    fn event(&mut self, severity: &'static str, reason: &'static str, note: String) {
        self.events.push(Event {
            severity,
            reason,
            note,
        });
    }
}

fn starts(gathered: &Gathered) -> Starts {
    let times = gathered.machine.status.deletion;
    Starts {
        pre_drain_hook: times.wait_for_pre_drain_hook_start_time,
        drain: times.node_drain_start_time,
        volumes: times.wait_for_node_volume_detach_start_time,
        pre_terminate_hook: times.wait_for_pre_terminate_hook_start_time,
    }
}

fn state(look: &Look) -> State {
    match look {
        Look::There(there) if there.metadata.deletion_timestamp.is_some() => State::Deleting,
        Look::There(_) => State::There,
        Look::Missing(_) => State::Gone,
        Look::Unknown(error) => State::Unknown(error.to_string()),
    }
}

async fn gate_facts(
    gathered: &Gathered,
    node: &NodeState,
    work: &Workplace,
    ctx: &Context,
) -> GateFacts {
    let linked = gathered.machine.status.node_ref.is_some();
    let metadata = &gathered.machine.metadata;
    let cluster = gathered.cluster.as_ref();
    GateFacts {
        cluster_deleting: cluster
            .is_none_or(|cluster| cluster.metadata.deletion_timestamp.is_some()),
        node: match node {
            _ if linked => NodeKnown::Linked,
            NodeState::Absent => NodeKnown::Never,
            NodeState::Seen(_) | NodeState::Several(_) => NodeKnown::Linked,
            NodeState::Down { .. } | NodeState::Unreadable(_) => NodeKnown::Unknown,
        },
        control_plane: control_plane(gathered, work, ctx).await,
        control_plane_machines: {
            let name = &gathered.machine.spec.cluster_name;
            let selector = format!("{},{}={name}", label::CONTROL_PLANE, label::CLUSTER_NAME);
            let listed = ctx
                .objects
                .list(Kind::Machine, &metadata.namespace, &selector)
                .await;
            match listed {
                Ok(machines) => ControlPlaneMachines::Counted {
                    all: machines.len(),
                    active: machines.iter().filter(|machine| !is_going(machine)).count(),
                },
                Err(error) => ControlPlaneMachines::Unknown(error.to_string()),
            }
        },
    }
}

fn is_going(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

async fn control_plane(gathered: &Gathered, work: &Workplace, ctx: &Context) -> ControlPlane {
    let cluster = gathered.cluster.as_ref();
    let Some(reference) = cluster.and_then(|cluster| cluster.spec.control_plane_ref.as_ref())
    else {
        return ControlPlane::None;
    };
    let metadata = &gathered.machine.metadata;
    let key = ObjectKey::new(metadata.namespace.clone(), metadata.name.clone());
    match look(reference, &key, work, ctx).await {
        Look::There(there) => ControlPlane::There {
            deleting: there.metadata.deletion_timestamp.is_some(),
            external: there.flag(&["/status/externalManagedControlPlane"]),
        },
        // Neither the kind nor the object is there: somebody else runs the control plane.
        Look::Missing(_) | Look::Unknown(ApiError::NotFound(_)) => ControlPlane::None,
        Look::Unknown(error) => ControlPlane::Unknown(error.to_string()),
    }
}

/// Lets the Machine go.
///
/// # Errors
/// The write failed.
pub(super) async fn release(gathered: &Gathered, ctx: &Context) -> Result<(), ApiError> {
    let metadata = &gathered.machine.metadata;
    let others: Vec<&String> = metadata
        .finalizers
        .iter()
        .filter(|name| *name != finalizer::MACHINE)
        .collect();
    if others.len() == metadata.finalizers.len() {
        return Ok(());
    }
    // No resourceVersion: the status was written a moment ago. The UID keeps a successor safe.
    let patch = json!({ "metadata": { "uid": metadata.uid, "finalizers": others } });
    match patch_machine(metadata, &patch, ctx).await {
        Ok(_) | Err(ApiError::NotFound(_)) => Ok(()),
        Err(error) => Err(error),
    }
}
