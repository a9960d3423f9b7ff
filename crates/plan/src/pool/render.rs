//! Rendering of the 14 contract inputs from Kubernetes objects (captf document 2.1), behind the
//! gates DEP-6 to DEP-10.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{
    autoscaling,
    findings::Wait,
    hash::{self, InputsHash},
    inputs::{Inputs, NamespacedName, ObjectRef},
    keys,
    objects::InfraClusterObject,
    owner::Owners,
    secret::Secret,
    variables::{self, Merged},
    world::{Lookup, World},
};

/// Everything an apply starts from.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    /// The contract inputs.
    pub inputs: Inputs,
    /// User variables.
    pub variables: Merged,
    /// Their hash.
    pub hash: InputsHash,
}

/// Renders the inputs.
///
/// # Errors
/// The first closed gate of DEP-6 to DEP-10 (the driver's own check of variables comes after).
pub fn render(world: &World, owners: Owners<'_>) -> Result<Rendered, Wait> {
    let cluster = provisioned_cluster(world, owners)?;
    let exports = exports(cluster)?;
    let (bootstrap_data, bootstrap_format) = bootstrap(world, owners)?;
    let variables = variables::merge(&world.pool.spec, &world.sources)?;
    let owner = owners.machine_pool;
    let (bounds, _) = autoscaling::bounds(&owner.metadata.annotations);
    let pool = &world.pool.metadata;
    let inputs = Inputs {
        captf_contract: "v1alpha1".to_owned(),
        captf_cluster: NamespacedName {
            name: owners.cluster.metadata.name.clone(),
            namespace: owners.cluster.metadata.namespace.clone(),
        },
        captf_object: ObjectRef {
            kind: keys::POOL_KIND.to_owned(),
            name: pool.name.clone(),
            namespace: pool.namespace.clone(),
        },
        captf_cluster_outputs: exports,
        captf_tags: tags(world),
        machinepool_name: owner.metadata.name.clone(),
        replicas: autoscaling::rendered_replicas(
            owner.spec.replicas,
            world.pool.status.replicas,
            bounds,
        ),
        bootstrap_data,
        bootstrap_format,
        failure_domains: owner.spec.failure_domains.clone(),
        cluster_failure_domains: cluster
            .status
            .failure_domains
            .iter()
            .map(|domain| domain.name.clone())
            .collect(),
        kubernetes_version: owner
            .spec
            .template
            .spec
            .version
            .clone()
            .filter(|version| !version.is_empty()),
        node_labels: owner.spec.template.metadata.labels.clone(),
        autoscaling: bounds,
    };
    let hash = hash::of(&world.pool.spec.source.image, &inputs, &variables);
    Ok(Rendered {
        inputs,
        variables,
        hash,
    })
}

/// The six tags (captf document 2.11).
pub fn tags(world: &World) -> BTreeMap<String, String> {
    let pool = &world.pool.metadata;
    let template = pool.annotations.get(keys::CLONED_FROM_NAME);
    let mut tags = ownership(world);
    tags.insert(keys::TAG_MANAGED_BY.to_owned(), "captf".to_owned());
    tags.insert(
        keys::TAG_TEMPLATE.to_owned(),
        template.cloned().unwrap_or_default(),
    );
    tags
}

/// The four tags that say whose a cloud object is. Known without any other object.
pub fn ownership(world: &World) -> BTreeMap<String, String> {
    let pool = &world.pool.metadata;
    let cluster = pool.labels.get(keys::CLUSTER_NAME);
    [
        (keys::TAG_CLUSTER, cluster.cloned().unwrap_or_default()),
        (keys::TAG_NAMESPACE, pool.namespace.clone()),
        (keys::TAG_KIND, keys::POOL_KIND.to_owned()),
        (keys::TAG_NAME, pool.name.clone()),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value))
    .collect()
}

/// DEP-6.
fn provisioned_cluster<'a>(
    world: &'a World,
    owners: Owners<'_>,
) -> Result<&'a InfraClusterObject, Wait> {
    let name = &owners.cluster.spec.infrastructure_ref.name;
    match &world.infra_cluster {
        Lookup::Found(cluster) if cluster.status.initialization.provisioned => Ok(cluster),
        Lookup::Found(_) => Err(Wait::ClusterInfrastructure(format!(
            "TerraformCluster {name} is not provisioned yet"
        ))),
        Lookup::Missing => Err(Wait::ClusterInfrastructure(format!(
            "TerraformCluster {name} does not exist"
        ))),
        Lookup::Failed(why) => Err(Wait::Unreadable(format!(
            "TerraformCluster {name} could not be read: {why}"
        ))),
    }
}

/// DEP-7.
fn exports(cluster: &InfraClusterObject) -> Result<Value, Wait> {
    if cluster.metadata.annotations.contains_key(keys::MANAGED_BY) {
        return Ok(json!({}));
    }
    let name = &cluster.metadata.name;
    let Some(exports) = &cluster.status.exports else {
        return Err(Wait::ClusterExports(format!(
            "TerraformCluster {name} is provisioned but publishes no status.exports (they are left \
             out above 65536 bytes)"
        )));
    };
    if !hash::hashable(exports) {
        return Err(Wait::ClusterExports(format!(
            "status.exports of TerraformCluster {name} holds a fractional number; only whole \
             numbers can be compared"
        )));
    }
    Ok(exports.clone())
}

/// DEP-8.
fn bootstrap(world: &World, owners: Owners<'_>) -> Result<(Secret<String>, String), Wait> {
    let owner = owners.machine_pool;
    let name = owner
        .spec
        .template
        .spec
        .bootstrap
        .data_secret_name
        .as_deref();
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return Err(Wait::BootstrapData(format!(
            "MachinePool {} names no bootstrap data Secret yet",
            owner.metadata.name
        )));
    };
    let secret = match &world.bootstrap {
        Lookup::Found(secret) => secret,
        Lookup::Missing => {
            return Err(Wait::BootstrapData(format!(
                "bootstrap Secret {name} does not exist"
            )));
        }
        Lookup::Failed(why) => {
            return Err(Wait::Unreadable(format!(
                "bootstrap Secret {name} could not be read: {why}"
            )));
        }
    };
    let Some(value) = &secret.value else {
        return Err(Wait::BootstrapData(format!(
            "bootstrap Secret {name} has no key value"
        )));
    };
    let format = match secret.format.as_deref() {
        None => "cloud-config",
        Some(b"cloud-config") => "cloud-config",
        Some(b"ignition") => "ignition",
        Some(_) => {
            return Err(Wait::BootstrapData(format!(
                "bootstrap Secret {name} has an unknown format: cloud-config or ignition"
            )));
        }
    };
    Ok((
        Secret::new(STANDARD.encode(value.reveal())),
        format.to_owned(),
    ))
}
