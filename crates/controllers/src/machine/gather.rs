//! Reads of one pass of a Machine.

use std::collections::BTreeSet;

use jiff::Timestamp;
use remuda_plan::machines::{
    conditions::{self, NodeState},
    names::instance_key,
    node::NodeView,
    view::{ConditionView, condition},
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    Workplace,
    objects::{Cluster, Machine, Reference},
};
use crate::{
    adopt::Referenced,
    context::Context,
    kinds::Kind,
    objects::{ApiError, LiveObjects, Objects},
    watching::ObjectKey,
    workload::{ClusterKey, NodeWake},
};

/// What a pass read.
pub(crate) struct Gathered {
    /// The Machine.
    pub machine: Machine,
    /// The Machine exactly as stored.
    pub live: Value,
    /// Its Cluster; `None`: it does not exist.
    pub cluster: Option<Cluster>,
    /// The infrastructure object.
    pub infra: Look,
    /// The bootstrap config; `None`: none is named.
    pub config: Option<Look>,
    /// The Node; `None`: the first list of Nodes is under way.
    pub node: Option<NodeState>,
    /// Objects of the workload cluster, when there is a client.
    pub workload: Option<LiveObjects>,
    /// The time.
    pub now: Timestamp,
}

/// A referenced object, as a pass found it.
pub(crate) enum Look {
    /// It is there.
    There(Box<Referenced>),
    /// It is proven absent: its kind and name.
    Missing(String),
    /// It could not be read.
    Unknown(ApiError),
}

impl Look {
    pub(super) fn there(&self) -> Option<&Referenced> {
        match self {
            Self::There(there) => Some(there),
            Self::Missing(_) | Self::Unknown(_) => None,
        }
    }

    /// What the conditions say of it. `done` are the fields that say so, the newest first.
    pub(super) fn referenced(&self, done: &[&str], was_there: bool) -> conditions::Referenced {
        match self {
            Self::There(there) => conditions::Referenced::There {
                kind: there.resource.kind.clone(),
                done: there.flag(done),
                ready: there.ready(),
                deleting: there.metadata.deletion_timestamp.is_some(),
            },
            Self::Missing(what) => conditions::Referenced::Missing {
                what: what.clone(),
                was_there,
            },
            Self::Unknown(error) => conditions::Referenced::Unknown(error.to_string()),
        }
    }
}

/// Where an infrastructure object says that it is provisioned.
pub(super) const PROVISIONED: [&str; 2] = ["/status/initialization/provisioned", "/status/ready"];
/// Where a bootstrap config says that its data is there.
pub(super) const CREATED: [&str; 2] = ["/status/initialization/dataSecretCreated", "/status/ready"];

impl Referenced {
    /// The first of these fields that is there.
    pub(super) fn flag(&self, pointers: &[&str]) -> bool {
        pointers
            .iter()
            .find_map(|pointer| self.object.pointer(pointer)?.as_bool())
            .unwrap_or(false)
    }

    pub(super) fn text(&self, pointer: &str) -> Option<&str> {
        let text = self.object.pointer(pointer)?.as_str()?;
        (!text.is_empty()).then_some(text)
    }

    fn ready(&self) -> Option<ConditionView> {
        let conditions = self.object.pointer("/status/conditions")?.clone();
        let conditions: Vec<ConditionView> = serde_json::from_value(conditions).ok()?;
        condition(&conditions, "Ready").cloned()
    }
}

/// Reads everything. `None`: the Machine is gone.
///
/// # Errors
/// The Machine or its Cluster could not be read. What else cannot be read is part of the answer.
pub(crate) async fn gather(
    key: &ObjectKey,
    work: &Workplace,
    ctx: &Context,
) -> Result<Option<Gathered>, ApiError> {
    let objects = &ctx.objects;
    let found = objects
        .get(Kind::Machine, &key.namespace, &key.name)
        .await?;
    let Some(live) = found else {
        return Ok(None);
    };
    let machine: Machine = parsed(&live, "Machine", key)?;
    let name = &machine.spec.cluster_name;
    let cluster = objects.glance(Kind::Cluster, &key.namespace, name).await?;
    let cluster = cluster
        .map(|cluster| parsed(&cluster, "Cluster", key))
        .transpose()?;
    let infra = look(&machine.spec.infrastructure_ref, key, work, ctx).await;
    let config = match &machine.spec.bootstrap.config_ref {
        Some(reference) => Some(look(reference, key, work, ctx).await),
        None => None,
    };
    let (workload, node) = node(key, &machine, &infra, work, ctx).await;
    Ok(Some(Gathered {
        machine,
        live,
        cluster,
        infra,
        config,
        node,
        workload,
        now: ctx.now(),
    }))
}

fn parsed<T: DeserializeOwned>(object: &Value, kind: &str, key: &ObjectKey) -> Result<T, ApiError> {
    serde::Deserialize::deserialize(object).map_err(|error| ApiError::Failed {
        what: format!("read {kind} of {}/{}", key.namespace, key.name),
        why: format!("unexpected shape: {error}"),
    })
}

/// The object a reference names.
pub(super) async fn look(
    reference: &Reference,
    key: &ObjectKey,
    work: &Workplace,
    ctx: &Context,
) -> Look {
    let (group, kind) = (&reference.api_group, &reference.kind);
    let resource = match work.contracts.resolve(&ctx.objects, group, kind).await {
        Ok(resource) => resource,
        Err(error) => return Look::Unknown(error),
    };
    let read = ctx
        .objects
        .get_of(&resource, Some(&key.namespace), &reference.name)
        .await;
    match read {
        Ok(Some(object)) => Look::There(Box::new(Referenced {
            metadata: object
                .get("metadata")
                .and_then(|metadata| serde::Deserialize::deserialize(metadata).ok())
                .unwrap_or_default(),
            resource,
            object,
        })),
        Ok(None) => Look::Missing(format!("{kind} {}", reference.name)),
        Err(error) => {
            work.contracts.forget(group, kind);
            Look::Unknown(error)
        }
    }
}

/// The Node, found by provider ID: a name is no proof, because a new instance may take it.
async fn node(
    key: &ObjectKey,
    machine: &Machine,
    infra: &Look,
    work: &Workplace,
    ctx: &Context,
) -> (Option<LiveObjects>, Option<NodeState>) {
    let cluster = ClusterKey {
        namespace: key.namespace.clone(),
        name: machine.spec.cluster_name.clone(),
    };
    let wake = NodeWake {
        namespace: key.namespace.clone(),
        name: key.name.clone(),
    };
    let own = machine.spec.provider_id.as_deref();
    let reported = infra
        .there()
        .and_then(|infra| infra.text("/spec/providerID"));
    let id = own.filter(|id| !id.is_empty()).or(reported);
    let ids: BTreeSet<String> = id.iter().map(|id| (*id).to_owned()).collect();
    let reached = work.nodes.nodes_of_machine(&cluster, &wake, ids).await;
    let Ok((client, cache)) = reached else {
        let since = work.silence.since(&cluster, ctx.now());
        return (None, Some(NodeState::Down { since }));
    };
    let workload = LiveObjects::new(client);
    if cache.trouble().is_some() {
        let since = work.silence.since(&cluster, ctx.now());
        return (Some(workload), Some(NodeState::Down { since }));
    }
    if !cache.is_current() {
        return (Some(workload), None);
    }
    work.silence.is_over(&cluster);
    let Some(id) = id else {
        return (Some(workload), Some(NodeState::Absent));
    };
    let names = cache.names_by_provider_id(id);
    let state = match names.as_slice() {
        [] => NodeState::Absent,
        [name] => read_node(&workload, name, id).await,
        several => NodeState::Several(several.to_vec()),
    };
    (Some(workload), Some(state))
}

async fn read_node(workload: &LiveObjects, name: &str, id: &str) -> NodeState {
    match workload.get(Kind::Node, "", name).await {
        Ok(Some(node)) => {
            let node = NodeView::read(&node);
            // It may have been replaced since the watch saw it.
            if instance_key(&node.provider_id) == instance_key(id) {
                NodeState::Seen(Box::new(node))
            } else {
                NodeState::Absent
            }
        }
        Ok(None) => NodeState::Absent,
        Err(error) => NodeState::Unreadable(error.to_string()),
    }
}
