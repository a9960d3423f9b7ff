//! The demo: `examples/demo`, applied as a person would, and what it takes to be Ready.

use anyhow::{Context, Result};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{Api, Client, ResourceExt};
use remuda_api::{
    capi::{MachinePool, MachinePoolPhase},
    captf::TerraformMachinePool,
};
use serde_json::{Value, json};

use super::install;

/// Namespace of the demo.
pub(crate) const NAMESPACE: &str = "team-a";
/// The demo's pools: one on AWS, one on Azure.
pub(crate) const POOLS: [&str; 2] = ["demo-pool-0", "demo-azure-pool-0"];

/// The demo's clusters, one a pool.
pub(super) const CLUSTERS: [&str; 2] = ["demo", "demo-azure"];

/// What runs in each workload cluster.
const WORKLOAD: &str = include_str!("../../../../examples/demo/workload/10-shop.yaml");

/// The manifests, in the order they are applied. The pools' own are the examples of captf's
/// documentation; the one for AWS is unchanged.
const MANIFESTS: [&str; 8] = [
    include_str!("../../../../examples/demo/00-identity.yaml"),
    include_str!("../../../../examples/demo/10-cluster.yaml"),
    include_str!("../../../../examples/demo/20-machinepool.yaml"),
    include_str!("../../../../examples/demo/30-terraformmachinepool.yaml"),
    include_str!("../../../../examples/demo/40-azure-identity.yaml"),
    include_str!("../../../../examples/demo/50-azure-cluster.yaml"),
    include_str!("../../../../examples/demo/60-azure-machinepool.yaml"),
    include_str!("../../../../examples/demo/70-azure-terraformmachinepool.yaml"),
];

/// The demo's manifests of one cloud: identity, cluster, pool.
///
/// # Errors
/// They are no YAML.
pub(crate) fn documents(azure: bool) -> Result<Vec<Value>> {
    let (of_aws, of_azure) = MANIFESTS.split_at(4);
    let texts = if azure { of_azure } else { of_aws };
    let mut documents = Vec::new();
    for text in texts {
        let several: Vec<Value> =
            serde_saphyr::from_multiple(text).context("reading the demo's manifests")?;
        documents.extend(several);
    }
    Ok(documents)
}

/// Applies the demo, unless one of its MachinePools is there already: what a person made of it
/// stays.
/// Returns whether it applied anything.
pub(crate) async fn apply(client: &Client) -> Result<bool> {
    let owners: Api<MachinePool> = Api::namespaced(client.clone(), NAMESPACE);
    for pool in POOLS {
        let found = owners.get_opt(pool).await;
        if found.context("looking for the demo")?.is_some() {
            return Ok(false);
        }
    }
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE },
    });
    let mut manifests = vec![namespace];
    manifests.extend(documents(false)?);
    manifests.extend(documents(true)?);
    install::manifests(client, NAMESPACE, &manifests).await?;
    Ok(true)
}

/// Applies what runs on the demo's nodes to a workload cluster.
pub(crate) async fn apply_workload(client: &Client) -> Result<()> {
    let documents: Vec<Value> =
        serde_saphyr::from_multiple(WORKLOAD).context("reading the demo's workload")?;
    install::manifests(client, "default", &documents)
        .await
        .context("giving the demo's cluster something to run")
}

/// How a pool of the demo stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Standing {
    /// Ready, with this many nodes.
    Ready(i32),
    /// Not yet; what is awaited.
    NotYet(String),
}

/// Reads how a pool of the demo stands.
pub(crate) async fn standing(client: &Client, pool: &str) -> Result<Standing> {
    let owners: Api<MachinePool> = Api::namespaced(client.clone(), NAMESPACE);
    let pools: Api<TerraformMachinePool> = Api::namespaced(client.clone(), NAMESPACE);
    let owner = owners
        .get(pool)
        .await
        .with_context(|| format!("reading the MachinePool {pool}"))?;
    let infra = pools
        .get(pool)
        .await
        .with_context(|| format!("reading the TerraformMachinePool {pool}"))?;
    Ok(judge(&owner, &infra))
}

fn judge(owner: &MachinePool, pool: &TerraformMachinePool) -> Standing {
    let wanted = owner.spec.replicas.unwrap_or(1);
    if is_ready(pool) && is_running(owner) {
        return Standing::Ready(wanted);
    }
    let members = pool.spec.provider_id_list.as_ref().map_or(0, Vec::len);
    let waiting = match ready_condition(pool) {
        Some(ready) if ready.status != "True" && members == 0 => ready.message.clone(),
        Some(_) => {
            let status = owner.status.as_ref();
            let nodes = status.and_then(|status| status.ready_replicas).unwrap_or(0);
            format!("{members} of {wanted} machines, {nodes} of {wanted} nodes Ready")
        }
        None => format!("{} is not looked at yet", pool.name_any()),
    };
    Standing::NotYet(waiting)
}

/// The owner says that all machines it wants are there, with a Ready node each.
pub(crate) fn is_running(owner: &MachinePool) -> bool {
    let wanted = owner.spec.replicas.unwrap_or(1);
    owner.status.as_ref().is_some_and(|status| {
        let linked = status.node_refs.as_ref().map_or(0, Vec::len);
        status.phase == Some(MachinePoolPhase::Running)
            && status.ready_replicas.unwrap_or(0) == wanted
            && i32::try_from(linked) == Ok(wanted)
    })
}

/// The infrastructure says that nothing is left to do.
pub(crate) fn is_ready(pool: &TerraformMachinePool) -> bool {
    ready_condition(pool).is_some_and(|ready| ready.status == "True")
}

fn ready_condition(pool: &TerraformMachinePool) -> Option<&Condition> {
    let conditions = pool.status.as_ref()?.conditions.as_ref()?;
    conditions
        .iter()
        .find(|condition| condition.type_ == "Ready")
}

#[cfg(test)]
mod tests {
    use remuda_sim::azure;

    use super::*;

    fn azure_object(kind: &str) -> Value {
        let documents = MANIFESTS[4..].iter().flat_map(|text| {
            serde_saphyr::from_multiple::<Value>(text).expect("the manifests are YAML")
        });
        documents
            .into_iter()
            .find(|object| object["kind"] == kind)
            .expect("one of each kind")
    }

    #[test]
    fn the_azure_demo_is_what_the_simulated_world_holds() {
        let secret = &azure_object("Secret")["stringData"];
        assert_eq!(secret["ARM_CLIENT_ID"], azure::DEMO_CLIENT_ID);
        assert_eq!(secret["ARM_CLIENT_SECRET"], azure::DEMO_CLIENT_SECRET);
        assert_eq!(secret["ARM_TENANT_ID"], azure::DEMO_TENANT);
        assert_eq!(secret["ARM_SUBSCRIPTION_ID"], azure::DEMO_SUBSCRIPTION);
        let exports = &azure_object("TerraformCluster")["status"]["exports"];
        assert_eq!(exports["subscription_id"], azure::DEMO_SUBSCRIPTION);
        assert_eq!(exports["resource_group_name"], azure::DEMO_GROUP);
        assert_eq!(exports["region"], azure::DEMO_REGION);
        assert_eq!(exports["worker_subnet_id"], azure::DEMO_WORKER_SUBNET);
        assert_eq!(
            exports["worker"]["identity_id"],
            azure::DEMO_WORKER_IDENTITY
        );
        let client = &exports["worker"]["identity_client_id"];
        assert_eq!(client, azure::DEMO_WORKER_CLIENT_ID);
        let image = &azure_object("TerraformMachinePool")["spec"]["variables"]["image_id"];
        assert_eq!(
            image,
            &format!("{}/versions/{{semver}}", azure::DEMO_GALLERY)
        );
    }
}
