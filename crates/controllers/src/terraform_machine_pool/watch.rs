//! What wakes a pool: itself, its owner, its cluster, its bootstrap Secret, its variable sources,
//! its identity, its Machines and what they stand for. Not its own status, and not its record: both
//! are this controller's writes.

use std::hash::{DefaultHasher, Hash, Hasher};

use kube::{api::DynamicObject, runtime::reflector::Store};
use remuda_api::keys::label;
use tokio::sync::mpsc;

use crate::{
    kinds::Kind,
    machine_pool::{BOOTSTRAP, LABEL},
    watching::{Kept, ObjectKey, Route, Term, intent, intent_and, itself, version},
};

/// The routes into the pools' queue: the kind watched and the route.
pub(crate) fn routes(
    queue: &mpsc::UnboundedSender<ObjectKey>,
    pools: &Store<DynamicObject>,
    machine_pools: &Kept,
) -> Vec<(Kind, Option<&'static str>, Route)> {
    let by_cluster =
        |pools: Store<DynamicObject>| move |cluster: &DynamicObject| of_cluster(&pools, cluster);
    let secrets = machine_pools.clone();
    let owners = machine_pools.clone();
    let sources = [pools.clone(), pools.clone()];
    let [of_maps, of_secrets] = sources;
    let identities = pools.clone();
    vec![
        (
            Kind::TerraformMachinePool,
            None,
            Route::new(queue, intent, itself),
        ),
        (
            Kind::MachinePool,
            None,
            Route::new(queue, intent, infrastructure),
        ),
        (
            Kind::Cluster,
            None,
            Route::new(queue, intent, by_cluster(pools.clone())),
        ),
        (
            Kind::TerraformCluster,
            None,
            Route::new(queue, cluster_facts, by_cluster(pools.clone())),
        ),
        (
            Kind::Secret,
            Some(label::CLUSTER_NAME),
            Route::new(queue, version, move |secret| bootstrapped(&secrets, secret)),
        ),
        (
            Kind::ConfigMap,
            Some("captf.io/variables=true"),
            Route::new(queue, version, move |map| {
                using(&of_maps, map, "configMapRef")
            }),
        ),
        (
            Kind::Secret,
            Some("captf.io/variables=true"),
            Route::new(queue, version, move |secret| {
                using(&of_secrets, secret, "secretRef")
            }),
        ),
        (
            Kind::TerraformMachinePoolMachine,
            None,
            Route::new(queue, intent, owning_pool),
        ),
        (
            Kind::Machine,
            None,
            Route::new(queue, machine_facts, move |machine| {
                standing_for(&owners, machine)
            }),
        ),
        (
            Kind::TerraformClusterIdentity,
            None,
            Route::new(queue, intent, move |_| {
                identities
                    .state()
                    .iter()
                    .map(|pool| ObjectKey::of(pool))
                    .collect()
            }),
        ),
    ]
}

/// What of a TerraformCluster reaches its pools.
fn cluster_facts(cluster: &DynamicObject) -> u64 {
    intent_and(
        cluster,
        &[
            "/status/initialization",
            "/status/exports",
            "/status/failureDomains",
            "/status/activeJob/operation",
        ],
    )
}

/// What of a Machine reaches its pool: what it is asked for, whether it serves, and how far its
/// deletion has come.
fn machine_facts(machine: &DynamicObject) -> u64 {
    const HEEDED: [&str; 6] = [
        "Available",
        "Deleting",
        "HealthCheckSucceeded",
        "NodeHealthy",
        "OwnerRemediated",
        "Ready",
    ];
    let mut hasher = DefaultHasher::new();
    intent(machine).hash(&mut hasher);
    let conditions = machine.data.pointer("/status/conditions");
    for condition in conditions
        .and_then(serde_json::Value::as_array)
        .into_iter()
        .flatten()
    {
        let text = |field: &str| condition.get(field).and_then(serde_json::Value::as_str);
        if text("type").is_some_and(|kind| HEEDED.contains(&kind)) {
            (text("type"), text("status"), text("reason")).hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// The pool that made the object of a member.
fn owning_pool(infra: &DynamicObject) -> Vec<ObjectKey> {
    let namespace = infra.metadata.namespace.clone().unwrap_or_default();
    infra
        .metadata
        .owner_references
        .iter()
        .flatten()
        .filter(|owner| owner.kind == "TerraformMachinePool")
        .map(|owner| ObjectKey::new(namespace.clone(), owner.name.clone()))
        .collect()
}

/// The pool of the MachinePool whose name a Machine's label holds.
fn standing_for(machine_pools: &Kept, machine: &DynamicObject) -> Vec<ObjectKey> {
    let labels = machine.metadata.labels.as_ref();
    let Some(value) = labels.and_then(|labels| labels.get(label::POOL_NAME)) else {
        return Vec::new();
    };
    let owners = machine_pools.objects(&Term::about(LABEL, machine, value));
    owners
        .iter()
        .flat_map(|owner| infrastructure(owner))
        .collect()
}

/// The pool that a MachinePool's infrastructureRef names.
pub(crate) fn infrastructure(machine_pool: &DynamicObject) -> Vec<ObjectKey> {
    let reference = |field: &str| {
        machine_pool
            .data
            .pointer(&format!("/spec/template/spec/infrastructureRef/{field}"))
            .and_then(serde_json::Value::as_str)
    };
    match (reference("kind"), reference("name")) {
        (Some("TerraformMachinePool"), Some(name)) => vec![ObjectKey::new(
            machine_pool.metadata.namespace.clone().unwrap_or_default(),
            name,
        )],
        _ => Vec::new(),
    }
}

/// The pools of a Cluster, or of the TerraformCluster that carries its label. Without a label a
/// TerraformCluster may belong to any Cluster of its namespace.
fn of_cluster(pools: &Store<DynamicObject>, cluster: &DynamicObject) -> Vec<ObjectKey> {
    let is_cluster = cluster
        .types
        .as_ref()
        .is_some_and(|types| types.kind == "Cluster");
    let labels = cluster.metadata.labels.as_ref();
    let name = if is_cluster {
        cluster.metadata.name.as_ref()
    } else {
        labels.and_then(|labels| labels.get(label::CLUSTER_NAME))
    };
    pools
        .state()
        .iter()
        .filter(|pool| pool.metadata.namespace == cluster.metadata.namespace)
        .filter(|pool| {
            let label = pool
                .metadata
                .labels
                .as_ref()
                .and_then(|l| l.get(label::CLUSTER_NAME));
            name.is_none() || label == name
        })
        .map(|pool| ObjectKey::of(pool))
        .collect()
}

/// The pools whose MachinePool boots from a Secret.
fn bootstrapped(machine_pools: &Kept, secret: &DynamicObject) -> Vec<ObjectKey> {
    let name = secret.metadata.name.as_deref().unwrap_or_default();
    let owners = machine_pools.objects(&Term::about(BOOTSTRAP, secret, name));
    owners
        .iter()
        .flat_map(|owner| infrastructure(owner))
        .collect()
}

/// The pools that take variables from an object.
fn using(pools: &Store<DynamicObject>, source: &DynamicObject, field: &str) -> Vec<ObjectKey> {
    let name = source.metadata.name.as_deref();
    pools
        .state()
        .iter()
        .filter(|pool| pool.metadata.namespace == source.metadata.namespace)
        .filter(|pool| {
            let sources = pool.data.pointer("/spec/variablesFrom");
            sources
                .and_then(serde_json::Value::as_array)
                .into_iter()
                .flatten()
                .any(|from| {
                    from.pointer(&format!("/{field}/name"))
                        .and_then(serde_json::Value::as_str)
                        == name
                })
        })
        .map(|pool| ObjectKey::of(pool))
        .collect()
}
