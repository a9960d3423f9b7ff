//! Reads of one pass of a MachineHealthCheck.

use std::collections::BTreeMap;

use remuda_api::keys::{annotation, label};
use remuda_plan::{
    machines::{
        remediation::{
            check::{HealthCheck as Settings, is_checked},
            health::{ClusterFacts, NodeState, Target},
        },
        view::{ConditionView, MachineView, condition},
    },
    pool::{objects::Metadata, selector::selects},
};
use serde::Deserialize;
use serde_json::Value;

use super::objects::HealthCheck;
use crate::{
    context::Context,
    kinds::Kind,
    objects::{ApiError, LiveObjects, Objects},
    watching::ObjectKey,
    workload::ClusterKey,
};

/// What a pass read.
pub(super) struct Gathered {
    /// The check.
    pub check: HealthCheck,
    /// The check exactly as stored.
    pub live: Value,
    /// What it asks for.
    pub settings: Settings,
    /// Metadata of its Cluster.
    pub cluster_metadata: Metadata,
    /// What the Cluster says about itself.
    pub cluster: ClusterFacts,
    /// Paused by the Cluster or the annotation.
    pub paused: bool,
    /// The Machines under the check.
    pub targets: Vec<Checked>,
}

/// A Machine under the check.
pub(super) struct Checked {
    /// The whole object.
    pub raw: Value,
    /// What is decided on.
    pub target: Target,
}

/// A Cluster, as far as it is looked at.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Cluster {
    metadata: Metadata,
    spec: ClusterSpec,
    status: ClusterStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ClusterSpec {
    paused: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ClusterStatus {
    conditions: Vec<ConditionView>,
}

/// Reads everything. `None`: the check is gone.
///
/// # Errors
/// A read failed, or the Cluster does not exist. Nodes that cannot be read are part of what was
/// gathered.
pub(super) async fn gather(key: &ObjectKey, ctx: &Context) -> Result<Option<Gathered>, ApiError> {
    let kind = Kind::MachineHealthCheck;
    let Some(live) = ctx.objects.get(kind, &key.namespace, &key.name).await? else {
        return Ok(None);
    };
    let check: HealthCheck = parsed(live.clone(), &key.name)?;
    let name = &check.spec.cluster_name;
    let cluster = ctx.objects.get(Kind::Cluster, &key.namespace, name).await?;
    let cluster = cluster
        .ok_or_else(|| ApiError::NotFound(format!("the Cluster {}/{name}", key.namespace)))?;
    let cluster: Cluster = parsed(cluster, name)?;
    let since = |kind: &str| {
        condition(&cluster.status.conditions, kind)
            .filter(|condition| condition.holds() == Some(true))
            .and_then(|condition| condition.last_transition_time)
    };
    let facts = ClusterFacts {
        control_plane_initialized: since("ControlPlaneInitialized"),
        infrastructure_ready: since("InfrastructureReady"),
    };
    let targets = targets(key, &check, ctx).await?;
    Ok(Some(Gathered {
        settings: check.spec.settings(),
        paused: cluster.spec.paused || check.metadata.annotations.contains_key(annotation::PAUSED),
        cluster_metadata: cluster.metadata,
        cluster: facts,
        targets,
        check,
        live,
    }))
}

fn parsed<T: serde::de::DeserializeOwned>(object: Value, name: &str) -> Result<T, ApiError> {
    serde_json::from_value(object).map_err(|error| ApiError::Failed {
        what: format!("read {name}"),
        why: format!("unexpected shape: {error}"),
    })
}

async fn targets(
    key: &ObjectKey,
    check: &HealthCheck,
    ctx: &Context,
) -> Result<Vec<Checked>, ApiError> {
    let of_cluster = format!("{}={}", label::CLUSTER_NAME, check.spec.cluster_name);
    let machines = ctx
        .objects
        .list(Kind::Machine, &key.namespace, &of_cluster)
        .await?;
    let mut checked = Vec::new();
    for raw in machines {
        let machine: MachineView = parsed(raw.clone(), "a Machine")?;
        if is_checked(&machine) && selects(&check.spec.selector, &machine.metadata.labels) {
            checked.push((raw, machine));
        }
    }
    let cluster = ClusterKey {
        namespace: key.namespace.clone(),
        name: check.spec.cluster_name.clone(),
    };
    let wanted = !checked.is_empty();
    let nodes = if wanted {
        nodes(&cluster, ctx).await
    } else {
        None
    };
    Ok(checked
        .into_iter()
        .map(|(raw, machine)| {
            let node = node(&machine, nodes.as_ref());
            Checked {
                raw,
                target: Target { machine, node },
            }
        })
        .collect())
}

/// Conditions of the Nodes of a workload cluster by name; `None`: it cannot be asked.
async fn nodes(
    cluster: &ClusterKey,
    ctx: &Context,
) -> Option<BTreeMap<String, Vec<ConditionView>>> {
    let client = match ctx.workload.client(cluster).await {
        Ok(client) => client,
        Err(why) => {
            tracing::debug!(%cluster, %why, "Nodes cannot be checked");
            return None;
        }
    };
    let nodes = LiveObjects::new(client).list(Kind::Node, "", "").await;
    let nodes = nodes
        .inspect_err(|error| tracing::debug!(%cluster, %error, "Nodes cannot be checked"))
        .ok()?;
    let named = nodes.iter().map(|node| {
        let name = node.pointer("/metadata/name").and_then(Value::as_str);
        let conditions = node.pointer("/status/conditions").cloned();
        let conditions = conditions.and_then(|list| serde_json::from_value(list).ok());
        (
            name.unwrap_or_default().to_owned(),
            conditions.unwrap_or_default(),
        )
    });
    Some(named.collect())
}

/// A Node that cannot be looked for is unknown, whether or not the Machine knows its name.
fn node(machine: &MachineView, nodes: Option<&BTreeMap<String, Vec<ConditionView>>>) -> NodeState {
    match (nodes, &machine.status.node_ref) {
        (None, _) => NodeState::Unknown,
        (Some(_), None) => NodeState::NotYet,
        (Some(nodes), Some(reference)) => nodes
            .get(&reference.name)
            .map_or(NodeState::Gone, |conditions| {
                NodeState::There(conditions.clone())
            }),
    }
}
