//! Reads pools, their machines and their Nodes from the management and workload APIs.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context, Result};
use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::Node,
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
};
use kube::{Api, Client, Resource, ResourceExt, api::ListParams, core::NamespaceResourceScope};
use remuda_api::{
    capi::{Machine, MachineAddressType, MachinePool},
    captf::{Instance, TerraformMachinePool},
};
use remuda_controllers::workload::{ClusterKey, KubeconfigClusters, WorkloadClusters};
use remuda_plan::{driver::Driver, machines::names::instance_key};
use serde::de::DeserializeOwned;

use super::{MachineView, NodeView, ObjectView, PoolView, zones};

/// Objects asked for in one page.
const PAGE: u32 = 500;

/// Everything below the named MachinePools of a namespace (all of them without names; every
/// namespace without one). A workload cluster that cannot be asked leaves its Nodes out.
pub(crate) async fn gather(
    client: &Client,
    namespace: Option<&str>,
    names: &[String],
) -> Result<Vec<PoolView>> {
    let mut pools: Vec<MachinePool> = list(client, namespace)
        .await
        .context("listing MachinePools")?;
    pools.retain(|pool| names.is_empty() || names.contains(&pool.name_any()));
    let infra: HashMap<(String, String), TerraformMachinePool> = list(client, namespace)
        .await
        .context("listing TerraformMachinePools")?
        .into_iter()
        .map(|pool: TerraformMachinePool| {
            (
                (pool.namespace().unwrap_or_default(), pool.name_any()),
                pool,
            )
        })
        .collect();
    let objects = machine_objects(client, namespace).await?;
    let nodes = nodes(client, &pools).await;
    let now = Timestamp::now();
    let mut views: Vec<PoolView> = pools
        .iter()
        .map(|pool| {
            let namespace = pool.namespace().unwrap_or_default();
            let reference = &pool.spec.template.spec.infrastructure_ref;
            let infra = infra.get(&(namespace.clone(), reference.name.clone()));
            let mut view = view(pool, infra, nodes.get(&cluster_key(pool)), now);
            for machine in &mut view.machines {
                let key = (namespace.clone(), instance_key(&machine.provider_id));
                machine.machine = objects.get(&key).map(|object| object_view(object, now));
            }
            view
        })
        .collect();
    views.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    Ok(views)
}

async fn list<K>(client: &Client, namespace: Option<&str>) -> Result<Vec<K>>
where
    K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + DeserializeOwned,
{
    let api: Api<K> = match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    };
    let mut page = ListParams::default().limit(PAGE);
    let mut items = Vec::new();
    loop {
        let list = api.list(&page).await?;
        items.extend(list.items);
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => return Ok(items),
        }
    }
}

/// Machines by namespace and instance; none where the API does not know the kind.
async fn machine_objects(
    client: &Client,
    namespace: Option<&str>,
) -> Result<HashMap<(String, String), Machine>> {
    let machines: Vec<Machine> = match list(client, namespace).await {
        Err(error) if is_unserved(&error) => Vec::new(),
        machines => machines.context("listing Machines")?,
    };
    let by_instance = machines.into_iter().filter_map(|machine| {
        let instance = instance_key(machine.spec.provider_id.as_deref()?);
        Some(((machine.namespace().unwrap_or_default(), instance), machine))
    });
    Ok(by_instance.collect())
}

fn is_unserved(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<kube::Error>();
    matches!(error, Some(kube::Error::Api(status)) if status.code == 404)
}

fn object_view(machine: &Machine, now: Timestamp) -> ObjectView {
    let status = machine.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_ref());
    let condition = |kind: &str| conditions?.iter().find(|condition| condition.type_ == kind);
    let is_deleting = machine.metadata.deletion_timestamp.is_some();
    let why = condition("Deleting").map(|condition| condition.reason.clone());
    ObjectView {
        name: machine.name_any(),
        phase: status
            .and_then(|status| status.phase)
            .map(|phase| format!("{phase:?}")),
        deleting: is_deleting.then(|| why.unwrap_or_else(|| "asked for".to_owned())),
        up_to_date: condition("UpToDate").and_then(|condition| match condition.status.as_str() {
            "True" => Some(true),
            "False" => Some(false),
            _ => None,
        }),
        age_seconds: age(machine.meta().creation_timestamp.as_ref(), now),
    }
}

type NodesByProviderId = BTreeMap<String, Node>;

/// Nodes of every cluster that can be asked, by provider ID.
async fn nodes(client: &Client, pools: &[MachinePool]) -> HashMap<ClusterKey, NodesByProviderId> {
    let clusters = KubeconfigClusters::new(client.clone());
    let mut found = HashMap::new();
    for pool in pools {
        let key = cluster_key(pool);
        if found.contains_key(&key) {
            continue;
        }
        let Ok(workload) = clusters.client(&key).await else {
            continue;
        };
        let nodes: Api<Node> = Api::all(workload);
        let Ok(list) = nodes.list(&ListParams::default()).await else {
            continue;
        };
        let by_provider_id = list.items.into_iter().filter_map(|node| {
            let id = node.spec.as_ref()?.provider_id.clone()?;
            Some((id, node))
        });
        found.insert(key, by_provider_id.collect());
    }
    found
}

fn cluster_key(pool: &MachinePool) -> ClusterKey {
    ClusterKey {
        namespace: pool.namespace().unwrap_or_default(),
        name: pool.spec.cluster_name.clone(),
    }
}

fn view(
    pool: &MachinePool,
    infra: Option<&TerraformMachinePool>,
    nodes: Option<&NodesByProviderId>,
    now: Timestamp,
) -> PoolView {
    let status = pool.status.as_ref();
    let ids = infra
        .and_then(|infra| infra.spec.provider_id_list.as_ref())
        .or(pool.spec.provider_id_list.as_ref());
    let instances: BTreeMap<&str, &Instance> = infra
        .and_then(|infra| infra.status.as_ref()?.instances.as_ref())
        .into_iter()
        .flatten()
        .map(|instance| (instance.provider_id.as_str(), instance))
        .collect();
    let mut machines: Vec<MachineView> = ids
        .into_iter()
        .flatten()
        .map(|id| {
            machine(
                id,
                instances.get(id.as_str()).copied(),
                nodes.and_then(|n| n.get(id)),
                now,
            )
        })
        .collect();
    machines.sort_by(|a, b| (&a.zone, &a.id).cmp(&(&b.zone, &b.id)));
    let (health, message) = health(infra, pool);
    PoolView {
        namespace: pool.namespace().unwrap_or_default(),
        name: pool.name_any(),
        cluster: pool.spec.cluster_name.clone(),
        cloud: infra
            .map_or("", |infra| cloud(&infra.spec.source.image))
            .to_owned(),
        version: pool.spec.template.spec.version.clone(),
        wanted: pool.spec.replicas,
        have: i32::try_from(machines.len()).unwrap_or(i32::MAX),
        ready: status.and_then(|status| status.ready_replicas).unwrap_or(0),
        phase: status
            .and_then(|status| status.phase)
            .map(|phase| format!("{phase:?}")),
        health,
        message,
        age_seconds: age(pool.meta().creation_timestamp.as_ref(), now),
        zones: zones(&machines),
        machines,
    }
}

fn machine(
    id: &str,
    instance: Option<&Instance>,
    node: Option<&Node>,
    now: Timestamp,
) -> MachineView {
    let addresses = instance.and_then(|instance| instance.addresses.as_ref());
    MachineView {
        machine: None,
        id: instance
            .and_then(|instance| instance.instance_id.clone())
            .unwrap_or_else(|| id.rsplit('/').next().unwrap_or(id).to_owned()),
        provider_id: id.to_owned(),
        zone: instance.and_then(|instance| instance.failure_domain.clone()),
        state: instance
            .and_then(|instance| instance.state)
            .map(|state| format!("{state:?}").to_lowercase()),
        address: addresses
            .into_iter()
            .flatten()
            .find(|address| address.type_ == MachineAddressType::InternalIP)
            .map(|address| address.address.clone()),
        node: node.map(|node| node_view(node, now)),
    }
}

fn node_view(node: &Node, now: Timestamp) -> NodeView {
    let status = node.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_ref());
    NodeView {
        name: node.name_any(),
        ready: conditions
            .into_iter()
            .flatten()
            .any(|c| c.type_ == "Ready" && c.status == "True"),
        unschedulable: node
            .spec
            .as_ref()
            .and_then(|spec| spec.unschedulable)
            .unwrap_or(false),
        version: status
            .and_then(|status| status.node_info.as_ref())
            .map(|info| info.kubelet_version.clone())
            .unwrap_or_default(),
        age_seconds: age(node.metadata.creation_timestamp.as_ref(), now),
    }
}

/// The reason of `InfrastructureHealthy` once it says something, else of what comes before it.
fn health(infra: Option<&TerraformMachinePool>, pool: &MachinePool) -> (String, Option<String>) {
    let infra = infra.and_then(|infra| infra.status.as_ref()?.conditions.as_ref());
    let of = |name: &str| -> Option<&Condition> { infra?.iter().find(|c| c.type_ == name) };
    let ready = of("Ready").filter(|ready| ready.status != "True");
    let deciding = match (ready, of("InfrastructureHealthy")) {
        (Some(_), Some(healthy))
            if healthy.status == "False" && healthy.reason != "Provisioning" =>
        {
            Some(healthy)
        }
        (Some(ready), _) => first_bad(infra).or(Some(ready)),
        (None, healthy) => healthy,
    };
    let Some(condition) = deciding else {
        let phase = pool.status.as_ref().and_then(|status| status.phase);
        return (
            phase.map_or_else(|| "Unknown".to_owned(), |phase| format!("{phase:?}")),
            None,
        );
    };
    let message = Some(condition.message.clone()).filter(|message| !message.is_empty());
    (condition.reason.clone(), message)
}

/// The first condition that feeds `Ready` and is not good, in the order a pool gets ready.
fn first_bad(conditions: Option<&Vec<Condition>>) -> Option<&Condition> {
    const ORDER: [&str; 5] = [
        "DependenciesReady",
        "IdentityAllowed",
        "StateReadable",
        "ApplyJobSucceeded",
        "OutputsValid",
    ];
    ORDER.iter().find_map(|name| {
        conditions?
            .iter()
            .find(|condition| condition.type_ == *name && condition.status == "False")
    })
}

fn cloud(image: &str) -> &'static str {
    Driver::from_image(image).map_or("?", Driver::name)
}

fn age(created: Option<&Time>, now: Timestamp) -> i64 {
    created.map_or(0, |created| now.duration_since(created.0).as_secs())
}
