//! Which namespaces hold objects that use an identity, from what the watches hold: no request.

use std::collections::BTreeSet;

use kube::{api::DynamicObject, runtime::reflector::Store};
use remuda_api::keys::label;
use serde_json::Value;

/// At most this many namespaces are listed (the schema's own limit).
const NAMESPACES: usize = 1000;

/// Pools and clusters that may use identities.
#[derive(Clone)]
pub(crate) struct Users {
    pools: Store<DynamicObject>,
    clusters: Store<DynamicObject>,
    infra_clusters: Store<DynamicObject>,
}

impl Users {
    /// Looks into these stores.
    pub(crate) fn new(
        pools: Store<DynamicObject>,
        clusters: Store<DynamicObject>,
        infra_clusters: Store<DynamicObject>,
    ) -> Self {
        Self {
            pools,
            clusters,
            infra_clusters,
        }
    }

    /// Namespaces with objects that use the identity, sorted.
    pub(crate) fn namespaces(&self, identity: &str) -> Vec<String> {
        let mut namespaces = BTreeSet::new();
        let infra_clusters = self.infra_clusters.state();
        for cluster in &infra_clusters {
            if named(cluster, "/spec/identityRef") == Some(identity)
                || named(cluster, "/spec/defaults/identityRef") == Some(identity)
            {
                namespaces.extend(cluster.metadata.namespace.clone());
            }
        }
        for pool in self.pools.state() {
            let own = named(&pool, "/spec/identityRef");
            let uses = match own {
                Some(own) => own == identity,
                None => self.inherited(&pool).as_deref() == Some(identity),
            };
            if uses {
                namespaces.extend(pool.metadata.namespace.clone());
            }
        }
        namespaces.into_iter().take(NAMESPACES).collect()
    }

    /// The identity a pool inherits from its TerraformCluster.
    fn inherited(&self, pool: &DynamicObject) -> Option<String> {
        let label = pool.metadata.labels.as_ref()?.get(label::CLUSTER_NAME)?;
        let cluster = self.clusters.find(|cluster| {
            cluster.metadata.namespace == pool.metadata.namespace
                && cluster.metadata.name.as_ref() == Some(label)
        })?;
        let name = cluster
            .data
            .pointer("/spec/infrastructureRef/name")?
            .as_str()?
            .to_owned();
        let infra = self.infra_clusters.find(|infra| {
            infra.metadata.namespace == pool.metadata.namespace
                && infra.metadata.name.as_ref() == Some(&name)
        })?;
        named(&infra, "/spec/defaults/identityRef")
            .or_else(|| named(&infra, "/spec/identityRef"))
            .map(str::to_owned)
    }
}

/// The cluster-scoped identity that a reference names.
fn named<'a>(object: &'a DynamicObject, pointer: &str) -> Option<&'a str> {
    let reference = object.data.pointer(pointer)?;
    let kind = reference.get("kind").and_then(Value::as_str);
    if kind.is_some_and(|kind| kind != "TerraformClusterIdentity") {
        return None;
    }
    reference.get("name").and_then(Value::as_str)
}
