//! The owner gates DEP-1 to DEP-5: whose pool is it, and of which cluster (captf document 2.4).

use super::{
    findings::Wait,
    keys,
    objects::{ClusterObject, MachinePoolObject, OwnerReference, PoolObject},
    world::{Lookup, World},
};

/// The owners a pool was proven to have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Owners<'a> {
    /// The MachinePool.
    pub machine_pool: &'a MachinePoolObject,
    /// The Cluster.
    pub cluster: &'a ClusterObject,
}

/// The owner reference that makes a MachinePool the owner, for `gather` to follow.
pub fn owner_reference(pool: &PoolObject) -> Option<&OwnerReference> {
    pool.metadata.owner_references.iter().find(|owner| {
        owner.kind == keys::OWNER_KIND && owner.api_version.starts_with(keys::OWNER_GROUP_PREFIX)
    })
}

/// Opens or closes the owner gates.
///
/// # Errors
/// The first closed gate.
pub fn check(world: &World) -> Result<Owners<'_>, Wait> {
    let pool = &world.pool;
    if pool.metadata.owner_references.is_empty() {
        return Err(Wait::Owner("no MachinePool owns this pool yet".to_owned()));
    }
    let Some(reference) = owner_reference(pool) else {
        return Err(Wait::OwnerMachinePool(
            "none of the owner references names a MachinePool".to_owned(),
        ));
    };
    let machine_pool = match &world.owner {
        Lookup::Found(owner) => owner,
        Lookup::Missing => {
            return Err(Wait::OwnerNotFound(format!(
                "MachinePool {} does not exist",
                reference.name
            )));
        }
        Lookup::Failed(why) => return Err(unreadable("MachinePool", &reference.name, why)),
    };
    let Some(cluster_name) = pool.metadata.labels.get(keys::CLUSTER_NAME) else {
        return Err(Wait::Owner(format!(
            "the label {} is not set yet",
            keys::CLUSTER_NAME
        )));
    };
    points_back(pool, reference, machine_pool, cluster_name)?;
    let cluster = match &world.cluster {
        Lookup::Found(cluster) => cluster,
        Lookup::Missing => {
            return Err(Wait::Owner(format!(
                "Cluster {cluster_name} does not exist"
            )));
        }
        Lookup::Failed(why) => return Err(unreadable("Cluster", cluster_name, why)),
    };
    let infrastructure = &cluster.spec.infrastructure_ref;
    if infrastructure.kind != keys::CLUSTER_KIND || infrastructure.api_group != keys::POOL_GROUP {
        return Err(Wait::ClusterNotTerraform(format!(
            "Cluster {cluster_name} has infrastructure of kind {:?}, not {}",
            infrastructure.kind,
            keys::CLUSTER_KIND
        )));
    }
    Ok(Owners {
        machine_pool,
        cluster,
    })
}

/// DEP-4: the MachinePool means this pool, and this pool means that MachinePool.
fn points_back(
    pool: &PoolObject,
    reference: &OwnerReference,
    owner: &MachinePoolObject,
    cluster_name: &str,
) -> Result<(), Wait> {
    let back = &owner.spec.template.spec.infrastructure_ref;
    let name = &owner.metadata.name;
    let problem = if reference.uid != owner.metadata.uid {
        "is another object than the owner reference means: its UID differs".to_owned()
    } else if back.api_group != keys::POOL_GROUP
        || back.kind != keys::POOL_KIND
        || back.name != pool.metadata.name
    {
        format!(
            "refers to {} {} as its infrastructure",
            back.kind, back.name
        )
    } else if owner.spec.cluster_name != cluster_name {
        format!(
            "belongs to cluster {}, but the label {} of the pool says {cluster_name}",
            owner.spec.cluster_name,
            keys::CLUSTER_NAME
        )
    } else {
        return Ok(());
    };
    Err(Wait::OwnerMismatch(format!("MachinePool {name} {problem}")))
}

fn unreadable(kind: &str, name: &str, why: &str) -> Wait {
    Wait::Unreadable(format!("{kind} {name} could not be read: {why}"))
}
