//! Drain of a Node and the wait for its volumes: the reads and the evictions. What is evicted when
//! is decided in `plan::machines::drain`.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use remuda_plan::machines::{
    drain::{self, DrainPlan, Labels, Scene},
    drain_rule::DrainRule,
    node::NodeView,
    pod::PodName,
    progress::{Eviction, Progress, progress},
    volumes,
};

use super::gather::Gathered;
use crate::{
    context::Context,
    kinds::Kind,
    objects::{ApiError, Objects},
    workload::evacuation::Workload,
};

/// How long one pass evicts (Cluster API document, DR9).
const EVICTING: SignedDuration = SignedDuration::from_secs(10);

/// Cordons the Node and does what its drain is due.
///
/// # Errors
/// Why nothing was evicted: something could not be read, or a rule is invalid.
pub(super) async fn drain(
    gathered: &Gathered,
    node: &NodeView,
    workload: &Workload<'_>,
    since: Timestamp,
    ctx: &Context,
) -> Result<Progress, String> {
    match workload.cordon(node).await {
        Ok(()) => {}
        Err(ApiError::NotFound(_)) => return Ok(progress(&DrainPlan::default(), &[], since)),
        Err(error) => return Err(error.to_string()),
    }
    let plan = plan(gathered, node, workload, ctx).await?;
    let evictions = evict(&plan, workload, ctx).await;
    Ok(progress(&plan, &evictions, since))
}

async fn evict(
    plan: &DrainPlan,
    workload: &Workload<'_>,
    ctx: &Context,
) -> Vec<(PodName, Eviction)> {
    let begun = ctx.now();
    let mut evictions = Vec::new();
    for (pod, uid) in &plan.evict {
        let late = ctx.now().duration_since(begun) >= EVICTING || ctx.shutdown.is_cancelled();
        let eviction = if late {
            Eviction::Failed("there was no time for it in this pass".to_owned())
        } else {
            workload.evict(pod, uid, plan.grace_seconds).await
        };
        evictions.push((pod.clone(), eviction));
    }
    evictions
}

/// What the drain of the Node would do now.
async fn plan(
    gathered: &Gathered,
    node: &NodeView,
    workload: &Workload<'_>,
    ctx: &Context,
) -> Result<DrainPlan, String> {
    let words = |error: ApiError| error.to_string();
    let pods = workload.pods(&node.name).await.map_err(words)?;
    let namespace = &gathered.machine.metadata.namespace;
    let rules = ctx
        .objects
        .list(Kind::MachineDrainRule, namespace, "")
        .await;
    let rules = rules
        .map_err(words)?
        .into_iter()
        .map(|rule| {
            serde_json::from_value::<DrainRule>(rule)
                .map_err(|error| format!("a MachineDrainRule has an unexpected shape: {error}"))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let daemon_sets = workload.daemon_sets(&pods).await;
    let namespaces = if rules.iter().any(DrainRule::asks_for_namespaces) {
        workload.namespaces(&pods).await
    } else {
        BTreeMap::new()
    };
    let none = Labels::new();
    let cluster = gathered.cluster.as_ref();
    drain::plan(&Scene {
        pods: &pods,
        daemon_sets: &daemon_sets,
        namespaces: &namespaces,
        rules: &rules,
        machine: &gathered.machine.metadata.labels,
        cluster: cluster.map_or(&none, |cluster| &cluster.metadata.labels),
        unreachable: node.is_unreachable(),
        now: ctx.now(),
    })
}

/// What volumes are waited for; `None`: none.
///
/// # Errors
/// Something could not be read.
pub(super) async fn volumes(
    gathered: &Gathered,
    node: &NodeView,
    workload: &Workload<'_>,
    since: Timestamp,
    ctx: &Context,
) -> Result<Option<String>, String> {
    let words = |error: ApiError| error.to_string();
    if node.is_unreachable() {
        return Ok(None);
    }
    let attachments = workload.attachments(&node.name).await.map_err(words)?;
    if attachments.is_empty() && node.volumes_attached.is_empty() {
        return Ok(None);
    }
    let plan = plan(gathered, node, workload, ctx).await?;
    let all = workload.volumes().await.map_err(words)?;
    volumes::waiting(&volumes::Scene {
        on_node: &node.volumes_attached,
        attachments: &attachments,
        volumes: &all,
        kept_claims: &plan.kept_claims,
        since,
    })
}
