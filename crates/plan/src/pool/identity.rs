//! Identities: which one, and whether it may be used (captf document 4.1).

use super::{
    objects::{IdentityRef, InfraClusterObject, PoolObject},
    record::Record,
};

/// The identity a pool uses: its own, else the cluster's default, else the cluster's, else (the
/// cluster is gone) the one of the last operation. `kind` is always filled.
pub fn resolve(
    pool: &PoolObject,
    infra_cluster: Option<&InfraClusterObject>,
    record: Option<&Record>,
) -> Option<IdentityRef> {
    let named = pool.spec.identity_ref.clone().or_else(|| {
        let cluster = infra_cluster?;
        cluster
            .spec
            .defaults
            .identity_ref
            .clone()
            .or_else(|| cluster.spec.identity_ref.clone())
    });
    let named = named.or_else(|| {
        let (kind, name) = record?.identity.as_deref()?.split_once('/')?;
        Some(IdentityRef {
            kind: Some(kind.to_owned()),
            name: name.to_owned(),
        })
    })?;
    Some(IdentityRef {
        kind: Some(named.kind.unwrap_or_else(|| CLUSTER_IDENTITY.to_owned())),
        name: named.name,
    })
}

/// Kind of a cluster-scoped identity.
pub const CLUSTER_IDENTITY: &str = "TerraformClusterIdentity";

/// Kind of an identity that is a Secret of the pool's namespace.
pub const LOCAL_SECRET: &str = "Secret";
