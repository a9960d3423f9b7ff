//! The Machine controller of standalone mode (Cluster API document, section 5).
//!
//! Owns: the Machine's status except conditions of health checks, its finalizer, cluster-name
//! label and `spec.providerID`; on the infrastructure object and the bootstrap config the
//! controller owner reference and the cluster-name label, and their deletion; on the Node labels,
//! annotations and taints that come from the Machine, the cordon, the evictions, and the deletion.
//! It is the only drain there is.
//!
//! | file | what |
//! | --- | --- |
//! | `gather` | reads |
//! | `adopt` | owner references and labels |
//! | `node` | what the Machine gives its Node |
//! | `delete` | the deletion, step by step; what a step is due is `plan::machines::deletion` |
//! | `evacuate` | drain and volumes of the Node |
//! | `publish` | spec and status |
//! | `watch` | what wakes a Machine |

mod adopt;
mod delete;
mod evacuate;
mod gather;
mod node;
mod objects;
mod publish;
mod silence;
mod tries;
mod watch;

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use remuda_api::keys::{annotation, label};
use remuda_plan::{
    machines::{
        agent,
        conditions::{Conditions, NodeState},
        group::Leaving,
    },
    status::publication::Requeue,
};

use self::gather::{Gathered, Look, gather};
pub(crate) use self::watch::{routes, slim, terms};
use crate::{
    context::Context,
    contract::Contracts,
    events::{Note, Regarding},
    kinds::Kind,
    objects::ApiError,
    watching::ObjectKey,
    workload::{ClusterKey, NodeWake, NodeWatches},
};

/// Looks again without any event (Cluster API document, section 0).
const SYNC_PERIOD: Duration = Duration::from_mins(10);
/// Tries a workload cluster that cannot be reached no sooner than this (same place).
const RECONNECT: Duration = Duration::from_secs(30);
/// Looks again for an object that is missing (Cluster API document, 5.2).
const MISSING: Duration = Duration::from_secs(30);

/// What this controller needs besides the context.
pub(crate) struct Workplace {
    contracts: Contracts,
    nodes: Arc<NodeWatches>,
    silence: silence::Silence,
    tries: tries::Tries,
}

impl Workplace {
    /// Works with these watches of Nodes.
    pub(crate) fn new(nodes: Arc<NodeWatches>) -> Self {
        Self {
            contracts: Contracts::default(),
            nodes,
            silence: silence::Silence::default(),
            tries: tries::Tries::default(),
        }
    }
}

/// One pass over one Machine.
///
/// # Errors
/// A read of the Machine or its Cluster, or a write, failed; a Cluster that does not exist is an
/// error until the Machine is being deleted. Status is published all the same where the Machine
/// could be read.
pub(crate) async fn reconcile(
    key: &ObjectKey,
    work: &Workplace,
    ctx: &Context,
) -> Result<Requeue, ApiError> {
    let Some(mut gathered) = gather(key, work, ctx).await? else {
        return Ok(Requeue::OnChange);
    };
    if !ctx.is_ours(&gathered.machine.metadata) {
        return Ok(Requeue::OnChange);
    }
    let deleting = gathered.is_deleting();
    if gathered.cluster.is_none() && !deleting {
        let cluster = &gathered.machine.spec.cluster_name;
        let what = format!("the Cluster {}/{cluster}", key.namespace);
        return Err(ApiError::NotFound(what));
    }
    let worked_on = !gathered.is_paused() && gathered.node.is_some();
    let written = adopt::machine(&mut gathered, worked_on, ctx).await;
    if adopt::missing_finalizer(&gathered).is_some() {
        // Without it nothing is done.
        return written.map(|()| Requeue::OnChange);
    }
    if gathered.is_paused() {
        publish::paused(&gathered, ctx).await?;
        return Ok(Requeue::OnChange);
    }
    let Some(node) = gathered.node.clone() else {
        // A moment later the Nodes are known: no status in between that says they are not.
        return Ok(Requeue::OnChange);
    };
    let problem = written.and(prepare(&gathered, &node, ctx).await);
    if !deleting && gathered.lost_its_instance() {
        publish::lost(&gathered, ctx).await?;
        // The deletion wakes the Machine again.
        return Ok(Requeue::OnChange);
    }
    if !deleting && let Some((because, until)) = gathered.is_held(&node) {
        publish::held(&gathered, &because, until, ctx).await?;
        return Ok(Requeue::OnChange);
    }
    let outcome = if deleting {
        Some(delete::advance(&gathered, &node, work, ctx).await)
    } else {
        None
    };
    let conditions =
        publish::conditions(&gathered, &node, outcome.as_ref(), problem.as_ref().err());
    let complete = problem.is_ok();
    let published = publish::status(
        &gathered,
        &node,
        outcome.as_ref(),
        &conditions,
        complete,
        ctx,
    )
    .await;
    tell(&gathered, &node, outcome.as_ref(), ctx).await;
    published?;
    if outcome.as_ref().is_some_and(|outcome| outcome.release) {
        delete::release(&gathered, ctx).await?;
        forget(&gathered, work);
        return Ok(Requeue::OnChange);
    }
    problem?;
    let again = outcome.and_then(|outcome| outcome.standing.again);
    Ok(Requeue::After(next_look(
        &gathered,
        &node,
        &conditions,
        again,
    )))
}

/// What is done whether the Machine is being deleted or not. Every step is tried; the first error
/// is told.
async fn prepare(gathered: &Gathered, node: &NodeState, ctx: &Context) -> Result<(), ApiError> {
    let mut outcome = Ok(());
    if !gathered.is_deleting() {
        let looks = [Some(&gathered.infra), gathered.config.as_ref()];
        for dependent in looks.into_iter().flatten().filter_map(Look::there) {
            outcome = outcome.and(adopt::dependent(gathered, dependent, ctx).await);
        }
    }
    if let NodeState::Seen(node) = node {
        outcome = outcome.and(node::sync(gathered, node).await);
    }
    outcome
}

impl Gathered {
    fn is_deleting(&self) -> bool {
        self.machine.metadata.deletion_timestamp.is_some()
    }

    fn is_paused(&self) -> bool {
        let annotations = &self.machine.metadata.annotations;
        let cluster = self.cluster.as_ref();
        annotations.contains_key(annotation::PAUSED)
            || cluster.is_some_and(|cluster| cluster.spec.paused)
    }

    /// A pool Machine whose infrastructure object is going, or gone after it was there, has nothing
    /// to stand for any more (Cluster API document, D3).
    fn lost_its_instance(&self) -> bool {
        let pooled = self.machine.metadata.labels.contains_key(label::POOL_NAME);
        let lost = match &self.infra {
            Look::There(infra) => infra.metadata.deletion_timestamp.is_some(),
            Look::Missing(_) => {
                self.machine
                    .status
                    .initialization
                    .infrastructure_provisioned
            }
            Look::Unknown(_) => false,
        };
        pooled && lost
    }

    /// The node agent says that the cloud is about to end a pool Machine's instance: why, and when.
    fn is_held(&self, node: &NodeState) -> Option<(String, Option<Timestamp>)> {
        let pooled = self.machine.metadata.labels.contains_key(label::POOL_NAME);
        let NodeState::Seen(node) = node else {
            return None;
        };
        match agent::leaving(&node.annotations).filter(|_| pooled)? {
            Leaving::Held { because, until } => Some((because, until)),
            Leaving::Ending => None,
        }
    }

    /// The Machine as a write left it.
    fn rewrite(&mut self, live: serde_json::Value) {
        if let Ok(machine) = serde::Deserialize::deserialize(&live) {
            self.machine = machine;
            self.live = live;
        }
    }
}

/// Writes the events of a pass.
async fn tell(
    gathered: &Gathered,
    node: &NodeState,
    outcome: Option<&delete::Outcome>,
    ctx: &Context,
) {
    let metadata = &gathered.machine.metadata;
    let regarding = Regarding {
        kind: Kind::Machine,
        namespace: &metadata.namespace,
        name: &metadata.name,
        uid: &metadata.uid,
    };
    if let NodeState::Seen(node) = node
        && gathered.machine.status.node_ref.is_none()
    {
        let note = Note {
            severity: "Normal",
            reason: "SuccessfulSetNodeRef",
            note: &node.name,
        };
        ctx.events.write(regarding, note).await;
    }
    for event in outcome.into_iter().flat_map(|outcome| &outcome.events) {
        let note = Note {
            severity: event.severity,
            reason: event.reason,
            note: &event.note,
        };
        ctx.events.write(regarding, note).await;
    }
}

fn forget(gathered: &Gathered, work: &Workplace) {
    let metadata = &gathered.machine.metadata;
    work.tries.forget(&metadata.uid);
    let cluster = ClusterKey {
        namespace: metadata.namespace.clone(),
        name: gathered.machine.spec.cluster_name.clone(),
    };
    let machine = NodeWake {
        namespace: metadata.namespace.clone(),
        name: metadata.name.clone(),
    };
    work.nodes.forget_machine(&cluster, &machine);
}

fn next_look(
    gathered: &Gathered,
    node: &NodeState,
    conditions: &Conditions,
    again: Option<Duration>,
) -> Duration {
    let recheck = conditions
        .recheck
        .and_then(|left| Duration::try_from(left).ok());
    let silent = matches!(node, NodeState::Down { .. } | NodeState::Unreadable(_));
    let missing = !gathered.is_deleting()
        && [Some(&gathered.infra), gathered.config.as_ref()]
            .into_iter()
            .flatten()
            .any(|look| look.there().is_none());
    [
        recheck,
        again,
        silent.then_some(RECONNECT),
        missing.then_some(MISSING),
    ]
    .into_iter()
    .flatten()
    .fold(SYNC_PERIOD, Duration::min)
}
