//! Reads what the deletion of a machine would come to.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use kube::{Api, Client, ResourceExt};
use remuda_api::{
    capi::{Cluster, Machine, MachinePool},
    keys::{annotation, label},
};
use remuda_controllers::workload::{ClusterKey, KubeconfigClusters, WorkloadClusters};
use remuda_plan::machines::{
    budget::{self, Blocked, Budget},
    drain::{self, Caution, Found, Labels, Scene},
    drain_rule::DrainRule,
    node::NodeView,
    pod::{Pod, PodName},
};
use serde_json::Value;

use super::{Drain, Fate, Pool, Reader, Removal, Row};

const RULES: &str = "machinedrainrules";
const CAPI: &str = "/apis/cluster.x-k8s.io/v1beta2/namespaces";

/// What the deletion of a machine would come to now.
///
/// # Errors
/// There is no such Machine, or the management API cannot be read. A workload API that cannot be
/// read is part of the answer.
pub(crate) async fn gather(client: &Client, namespace: &str, name: &str) -> Result<Removal> {
    let machines: Api<Machine> = Api::namespaced(client.clone(), namespace);
    let Some(machine) = machines
        .get_opt(name)
        .await
        .context("reading the Machine")?
    else {
        bail!(
            "there is no Machine {name} in namespace {namespace}; `remuda get machines -n \
             {namespace}` lists them"
        );
    };
    let clusters: Api<Cluster> = Api::namespaced(client.clone(), namespace);
    let cluster = clusters.get_opt(&machine.spec.cluster_name).await;
    let cluster = cluster.context("reading the Cluster")?;
    let has = |name: &str| machine.annotations().contains_key(name);
    let cluster_paused = cluster
        .as_ref()
        .is_some_and(|cluster| cluster.spec.paused == Some(true));
    let status = machine.status.as_ref();
    let node = status
        .and_then(|status| status.node_ref.as_ref())
        .map(|node| node.name.clone());
    let labels_of_cluster = cluster.map(|cluster| cluster.labels().clone());
    let drain = match &node {
        _ if has(annotation::EXCLUDE_NODE_DRAINING) => Drain::Excluded,
        None => Drain::NoNode,
        Some(node) => drain(
            client,
            &machine,
            &labels_of_cluster.unwrap_or_default(),
            node,
        )
        .await
        .unwrap_or_else(|error| Drain::Unknown(format!("{error:#}"))),
    };
    let is_hook = |key: &&String| {
        key.starts_with(annotation::PRE_DRAIN_HOOK_PREFIX)
            || key.starts_with(annotation::PRE_TERMINATE_HOOK_PREFIX)
    };
    let limit = machine
        .spec
        .deletion
        .and_then(|deletion| deletion.node_drain_timeout_seconds);
    Ok(Removal {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        provider_id: machine.spec.provider_id.clone(),
        zone: status.and_then(|status| status.failure_domain.clone()),
        node,
        pool: pool(client, &machine).await?,
        is_deleting: machine.metadata.deletion_timestamp.is_some(),
        is_paused: cluster_paused || has(annotation::PAUSED),
        hooks: machine
            .annotations()
            .keys()
            .filter(is_hook)
            .cloned()
            .collect(),
        drain,
        limit_seconds: limit.filter(|limit| *limit > 0),
    })
}

async fn pool(client: &Client, machine: &Machine) -> Result<Option<Pool>> {
    let namespace = machine.namespace().unwrap_or_default();
    let owner = machine
        .owner_references()
        .iter()
        .find(|owner| owner.kind == "MachinePool")
        .map(|owner| owner.name.clone());
    let Some(name) = owner.or_else(|| machine.labels().get(label::POOL_NAME).cloned()) else {
        return Ok(None);
    };
    let pools: Api<MachinePool> = Api::namespaced(client.clone(), &namespace);
    let pool = pools
        .get_opt(&name)
        .await
        .context("reading the MachinePool")?;
    Ok(pool.map(|pool| Pool {
        replicas: pool.spec.replicas.unwrap_or(1),
        managed_by: pool
            .annotations()
            .get(annotation::REPLICAS_MANAGED_BY)
            .filter(|by| *by != "false")
            .cloned(),
        name,
    }))
}

/// The drain of a node, as the controller would plan it now.
async fn drain(client: &Client, machine: &Machine, cluster: &Labels, node: &str) -> Result<Drain> {
    let namespace = machine.namespace().unwrap_or_default();
    let key = ClusterKey {
        namespace: namespace.clone(),
        name: machine.spec.cluster_name.clone(),
    };
    let clusters = KubeconfigClusters::new(client.clone());
    let workload = clusters.client(&key).await.map_err(anyhow::Error::new)?;
    let (workload, management) = (Reader(workload), Reader(client.clone()));
    let Some(node_object) = workload.get(&format!("/api/v1/nodes/{node}")).await? else {
        return Ok(Drain::NoNode);
    };
    let pods = format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{node}");
    let pods: Vec<Pod> = workload.list(&pods).await?.iter().map(Pod::read).collect();
    let rules: Vec<DrainRule> = read_all(
        management
            .list(&format!("{CAPI}/{namespace}/{RULES}"))
            .await?,
    )?;
    let budgets = "/apis/policy/v1/poddisruptionbudgets";
    let budgets: Vec<Budget> = read_all(workload.list(budgets).await?)?;
    let scene = Scene {
        pods: &pods,
        daemon_sets: &daemon_sets(&workload, &pods).await,
        namespaces: &namespaces(&workload).await?,
        rules: &rules,
        machine: machine.labels(),
        cluster,
        unreachable: NodeView::read(&node_object).is_unreachable(),
        now: Timestamp::now(),
    };
    rows(&scene, &budgets).map_err(anyhow::Error::msg)
}

fn read_all<T: serde::de::DeserializeOwned>(objects: Vec<Value>) -> Result<Vec<T>> {
    objects
        .into_iter()
        .map(|object| serde_json::from_value(object).context("an object of an unknown form"))
        .collect()
}

/// Whether the DaemonSets that pods name exist.
async fn daemon_sets(workload: &Reader, pods: &[Pod]) -> BTreeMap<(String, String), Found> {
    let mut found = BTreeMap::new();
    for pod in pods {
        let Some((kind, name)) = &pod.controller else {
            continue;
        };
        let id = (pod.name.namespace.clone(), name.clone());
        if kind != "DaemonSet" || found.contains_key(&id) {
            continue;
        }
        let (namespace, name) = &id;
        let path = format!("/apis/apps/v1/namespaces/{namespace}/daemonsets/{name}");
        let is_there = match workload.get(&path).await {
            Ok(Some(_)) => Found::Yes,
            Ok(None) => Found::No,
            Err(error) => Found::Unknown(format!("{error:#}")),
        };
        found.insert(id, is_there);
    }
    found
}

async fn namespaces(workload: &Reader) -> Result<BTreeMap<String, Labels>> {
    let all = workload.list("/api/v1/namespaces").await?;
    let labels = |object: &Value| {
        let name = object.pointer("/metadata/name")?.as_str()?.to_owned();
        let labels = object.pointer("/metadata/labels").cloned();
        Some((name, serde_json::from_value(labels?).ok()?))
    };
    Ok(all.iter().filter_map(labels).collect())
}

/// One row a pod.
fn rows(scene: &Scene<'_>, budgets: &[Budget]) -> Result<Drain, String> {
    let fates = drain::fates(scene)?;
    let plan = drain::plan(scene)?;
    let evicted = |pod: &Pod| plan.evict.iter().any(|(name, _)| *name == pod.name);
    let blocked = budget::blocked(scene.pods.iter().filter(|pod| evicted(pod)), budgets);
    let rows = fates.iter().map(|fate| {
        let name = &fate.pod.name;
        let kept = blocked.get(name);
        let mut remarks: Vec<String> = kept.map(refusal).into_iter().collect();
        remarks.extend(
            fate.cautions
                .iter()
                .map(|caution| caution_text(*caution).to_owned()),
        );
        let has = |list: &[PodName]| list.contains(name);
        let outcome = if kept.is_some() {
            Fate::Blocked
        } else if evicted(fate.pod) {
            Fate::Evict
        } else if has(&plan.terminating) {
            Fate::Stopping
        } else if has(&plan.awaited) {
            Fate::Awaited
        } else if has(&plan.later) {
            Fate::Later
        } else {
            Fate::Stays
        };
        if outcome == Fate::Stays
            && let Some((kind, owner)) = &fate.pod.controller
            && kind == "DaemonSet"
        {
            remarks.push(format!("of DaemonSet {owner}"));
        }
        Row {
            pod: name.to_string(),
            fate: outcome,
            remarks,
        }
    });
    Ok(Drain::Pods(rows.collect()))
}

fn refusal(blocked: &Blocked) -> String {
    match blocked {
        Blocked::Spent { budget, status } => format!(
            "PodDisruptionBudget {budget} needs {} healthy pods and has {}",
            status.desired_healthy, status.current_healthy
        ),
        Blocked::Several(budgets) => {
            let names: Vec<String> = budgets.iter().map(ToString::to_string).collect();
            format!(
                "PodDisruptionBudgets {} both select it: it can never be evicted",
                names.join(" and ")
            )
        }
    }
}

fn caution_text(caution: Caution) -> &'static str {
    match caution {
        Caution::DaemonSetMissing => "its DaemonSet is gone",
        Caution::ScratchData => "its emptyDir data is lost",
        Caution::NoController => "nothing makes it anew",
    }
}
