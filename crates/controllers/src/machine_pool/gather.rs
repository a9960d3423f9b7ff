//! Reads of one pass of a MachinePool into [`Facts`].

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use remuda_api::keys::annotation;
use remuda_plan::pool::objects::Metadata;
use serde_json::Value;

use super::{
    facts::{self, Facts, InfraFacts, Infrastructure, NodeRef, Nodes, Previous},
    machines::{self, Surface, Surfaced},
    members::{self, Applied},
    objects::{Cluster, MachinePool, Reference},
};
use crate::{
    adopt::Referenced,
    contract::Contracts,
    kinds::Kind,
    objects::{ApiError, LiveObjects, Objects},
    watching::ObjectKey,
    workload::{ClusterKey, NodeWake, NodeWatches},
};

/// What a pass read.
pub(crate) struct Gathered {
    /// The pool.
    pub pool: MachinePool,
    /// The pool exactly as stored.
    pub live: Value,
    /// Its Cluster; `None`: it does not exist.
    pub cluster: Option<Cluster>,
    /// The infrastructure object and its resource, when it exists.
    pub infra: Option<Referenced>,
    /// The bootstrap config and its resource, when one is named and exists.
    pub config: Option<Referenced>,
    /// What is to be done about its Machines, when it has any and they could be read.
    pub machines: Option<Surfaced>,
    /// The Machines are as their watch showed them: nothing is taken away on their ground.
    pub glanced: bool,
    /// Objects of the workload cluster, when it can be reached.
    pub workload: Option<LiveObjects>,
    /// What decisions are made on.
    pub facts: Facts,
}

/// Where to read.
pub(crate) struct Sources<'a> {
    pub objects: &'a LiveObjects,
    pub contracts: &'a Contracts,
    pub nodes: &'a NodeWatches,
    pub applied: &'a Applied,
    pub now: jiff::Timestamp,
}

/// Reads everything, but for Machines that it may glance at. `None`: the pool is gone.
///
/// # Errors
/// The pool or its Cluster could not be read. What else cannot be read is part of the facts.
pub(crate) async fn gather(
    key: &ObjectKey,
    sources: &Sources<'_>,
    may_glance: bool,
) -> Result<Option<Gathered>, ApiError> {
    let found = sources
        .objects
        .get(Kind::MachinePool, &key.namespace, &key.name)
        .await?;
    let Some(live) = found else {
        return Ok(None);
    };
    let pool: MachinePool = parsed(&live, "MachinePool", key)?;
    let cluster_key = ClusterKey {
        namespace: key.namespace.clone(),
        name: pool.spec.cluster_name.clone(),
    };
    let cluster = sources
        .objects
        .glance(Kind::Cluster, &key.namespace, &cluster_key.name)
        .await?;
    let cluster: Option<Cluster> = cluster
        .map(|cluster| parsed(&cluster, "Cluster", key))
        .transpose()?;
    let reference = &pool.spec.template.spec.infrastructure_ref;
    let (infra, infrastructure) = match referenced(sources, &key.namespace, reference).await {
        Ok(Some(infra)) => {
            let facts = infra_facts(&infra.object, &infra.metadata);
            (Some(infra), Infrastructure::Known(facts))
        }
        Ok(None) => (None, Infrastructure::Missing),
        Err(error) => (None, Infrastructure::Unreadable(error.to_string())),
    };
    let (config, bootstrap) = bootstrap(sources, &key.namespace, &pool).await;
    let read = match &infrastructure {
        Infrastructure::Unreadable(why) => Err(why.clone()),
        Infrastructure::Known(_) | Infrastructure::Missing => {
            let read = members::read(sources.objects, &pool, infra.as_ref(), may_glance).await;
            read.map_err(|error| error.to_string())
        }
    };
    let members: BTreeSet<String> = match &read {
        Ok(Some(read)) => read.provider_ids().cloned().collect(),
        Ok(None) | Err(_) => BTreeSet::new(),
    };
    let (workload, nodes) = nodes(sources, &cluster_key, &pool, &infrastructure, members).await;
    let stays = pool.metadata.deletion_timestamp.is_none()
        && matches!(&infrastructure, Infrastructure::Known(infra) if !infra.deleting);
    let glanced = matches!(&read, Ok(Some(read)) if read.glanced);
    let surface = Surface {
        pool: &pool,
        live: &live,
        nodes: &nodes,
        may_create: stays,
        applied: sources.applied,
    };
    let read = match read {
        Ok(Some(read)) => read
            .completed(&surface, sources.objects)
            .await
            .map(Some)
            .map_err(|error| error.to_string()),
        other => other,
    };
    let (surfaced, known) = match read {
        Ok(Some(read)) => {
            let (surfaced, known) = surface.decide(read);
            (Some(surfaced), Ok(Some(known)))
        }
        Ok(None) => (None, Ok(None)),
        Err(why) => (None, Err(why)),
    };
    let facts = facts(
        &pool,
        cluster.as_ref(),
        (bootstrap, infrastructure),
        nodes,
        machines::facts(known),
        sources.now,
    );
    Ok(Some(Gathered {
        pool,
        live,
        cluster,
        infra,
        config,
        machines: surfaced,
        glanced,
        workload,
        facts,
    }))
}

fn parsed<T: serde::de::DeserializeOwned>(
    object: &Value,
    kind: &str,
    key: &ObjectKey,
) -> Result<T, ApiError> {
    serde::Deserialize::deserialize(object).map_err(|error| ApiError::Failed {
        what: format!("read {kind} of {}/{}", key.namespace, key.name),
        why: format!("unexpected shape: {error}"),
    })
}

/// The object a reference names; `None` when it does not exist.
async fn referenced(
    sources: &Sources<'_>,
    namespace: &str,
    reference: &Reference,
) -> Result<Option<Referenced>, ApiError> {
    let (group, kind) = (&reference.api_group, &reference.kind);
    let resource = sources
        .contracts
        .resolve(sources.objects, group, kind)
        .await?;
    let object = sources
        .objects
        .get_of(&resource, Some(namespace), &reference.name)
        .await
        .inspect_err(|_| sources.contracts.forget(group, kind))?;
    Ok(object.map(|object| Referenced {
        resource,
        metadata: object
            .get("metadata")
            .and_then(|metadata| serde::Deserialize::deserialize(metadata).ok())
            .unwrap_or_default(),
        object,
    }))
}

async fn bootstrap(
    sources: &Sources<'_>,
    namespace: &str,
    pool: &MachinePool,
) -> (Option<Referenced>, facts::Bootstrap) {
    let bootstrap = &pool.spec.template.spec.bootstrap;
    let Some(reference) = &bootstrap.config_ref else {
        let named = bootstrap
            .data_secret_name
            .as_deref()
            .is_some_and(|name| !name.is_empty());
        let provided = if named {
            facts::Bootstrap::SecretProvided
        } else {
            facts::Bootstrap::Unset
        };
        return (None, provided);
    };
    match referenced(sources, namespace, reference).await {
        Ok(Some(config)) => {
            let at = |pointer: &str| config.object.pointer(pointer);
            let created = at("/status/initialization/dataSecretCreated")
                .or_else(|| at("/status/ready"))
                .and_then(Value::as_bool)
                .unwrap_or(false);
            let name = at("/status/dataSecretName").and_then(Value::as_str);
            let state = match (created, name) {
                (true, Some(name)) => facts::Bootstrap::ConfigReady(name.to_owned()),
                _ => facts::Bootstrap::ConfigNotReady,
            };
            (Some(config), state)
        }
        Ok(None) => (None, facts::Bootstrap::ConfigMissing),
        Err(_) => (None, facts::Bootstrap::ConfigNotReady),
    }
}

pub(super) fn infra_facts(object: &Value, metadata: &Metadata) -> InfraFacts {
    let at = |pointer: &str| object.pointer(pointer);
    let ready = at("/status/conditions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .find(|condition| condition.get("type").and_then(Value::as_str) == Some("Ready"))
        .map(|condition| {
            let text = |field: &str| {
                condition
                    .get(field)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned()
            };
            (text("status"), text("reason"), text("message"))
        });
    InfraFacts {
        provisioned: at("/status/initialization/provisioned")
            .or_else(|| at("/status/ready"))
            .and_then(Value::as_bool)
            .unwrap_or(false),
        replicas: at("/status/replicas")
            .and_then(Value::as_i64)
            .and_then(|replicas| i32::try_from(replicas).ok()),
        provider_ids: at("/spec/providerIDList")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|id| id.as_str().map(str::to_owned))
            .collect(),
        ready,
        deleting: metadata.deletion_timestamp.is_some(),
    }
}

/// Nodes of the pool's members, and those the last pass referred to.
async fn nodes(
    sources: &Sources<'_>,
    cluster: &ClusterKey,
    pool: &MachinePool,
    infrastructure: &Infrastructure,
    members: BTreeSet<String>,
) -> (Option<LiveObjects>, Nodes) {
    let mut ids = members;
    ids.extend(pool.spec.provider_id_list.iter().cloned());
    if let Infrastructure::Known(infra) = infrastructure {
        ids.extend(infra.provider_ids.iter().cloned());
    }
    let wake = NodeWake {
        namespace: pool.metadata.namespace.clone(),
        name: pool.metadata.name.clone(),
    };
    let wanted = usize::try_from(pool.spec.replicas.unwrap_or(1)).unwrap_or(0);
    let short = ids.len() < wanted;
    let reached = sources.nodes.nodes(cluster, &wake, ids.clone(), short);
    let (client, cache) = match reached.await {
        Ok(reached) => reached,
        Err(unreachable) => return (None, Nodes::Unknown(unreachable.to_string())),
    };
    let workload = Some(LiveObjects::new(client));
    if cache.trouble().is_some() {
        let why = "the watch of the workload cluster's Nodes is broken".to_owned();
        return (workload, Nodes::Unknown(why));
    }
    if !cache.is_current() {
        return (workload, Nodes::Listing);
    }
    let by_provider_id: BTreeMap<String, Arc<_>> = ids
        .into_iter()
        .filter_map(|id| cache.by_provider_id(&id).map(|node| (id, node)))
        .collect();
    let names = pool
        .status
        .node_refs
        .iter()
        .map(|reference| reference.name.clone());
    let by_name = names
        .map(|name| (name.clone(), cache.by_name(&name)))
        .collect();
    (
        workload,
        Nodes::Known {
            by_provider_id,
            by_name,
        },
    )
}

fn facts(
    pool: &MachinePool,
    cluster: Option<&Cluster>,
    (bootstrap, infrastructure): (facts::Bootstrap, Infrastructure),
    nodes: Nodes,
    machines: facts::Machines,
    now: jiff::Timestamp,
) -> Facts {
    let annotations = &pool.metadata.annotations;
    let managed = annotations.get(annotation::REPLICAS_MANAGED_BY);
    let status = &pool.status;
    Facts {
        desired: pool.spec.replicas.unwrap_or(1),
        min_ready_seconds: pool.spec.template.spec.min_ready_seconds.unwrap_or(0),
        version: pool.spec.template.spec.version.clone(),
        replicas_managed: managed.is_some_and(|value| value != "false"),
        deleting: pool.metadata.deletion_timestamp.is_some(),
        cluster_deleting: cluster
            .is_none_or(|cluster| cluster.metadata.deletion_timestamp.is_some()),
        paused: annotations.contains_key(annotation::PAUSED)
            || cluster.is_some_and(|c| c.spec.paused),
        bootstrap,
        infrastructure,
        nodes,
        machines,
        previous: Previous {
            provider_ids: pool.spec.provider_id_list.clone(),
            phase: status.phase.clone(),
            replicas: status.replicas,
            ready: status.ready_replicas,
            available: status.available_replicas,
            up_to_date: status.up_to_date_replicas,
            node_refs: status
                .node_refs
                .iter()
                .map(|reference| NodeRef {
                    name: reference.name.clone(),
                    uid: reference.uid.clone(),
                })
                .collect(),
            provisioned: status.initialization.infrastructure_provisioned,
            versions: status
                .versions
                .iter()
                .map(|version| (version.version.clone(), version.replicas))
                .collect(),
        },
        now,
    }
}
