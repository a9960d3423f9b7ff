//! What wakes a Cluster: itself, its infrastructure cluster, and the counters of its machine pools.

use std::hash::{DefaultHasher, Hash, Hasher};

use kube::{api::DynamicObject, runtime::reflector::Store};
use serde_json::Value;
use tokio::sync::mpsc;

use super::{COUNTED, COUNTED_CONDITION};
use crate::{
    conditions::status_of,
    kinds::Kind,
    watching::{ObjectKey, Route, intent, intent_and, itself},
};

/// The routes into the Clusters' queue: the kind watched and the route.
pub(crate) fn routes(
    queue: &mpsc::UnboundedSender<ObjectKey>,
    clusters: &Store<DynamicObject>,
) -> Vec<(Kind, Option<&'static str>, Route)> {
    let by_infra = clusters.clone();
    vec![
        (Kind::Cluster, None, Route::new(queue, intent, itself)),
        (
            Kind::TerraformCluster,
            None,
            Route::new(
                queue,
                |infra| intent_and(infra, &["/status/initialization", "/status/failureDomains"]),
                move |infra| referring(&by_infra, infra),
            ),
        ),
        (Kind::MachinePool, None, Route::new(queue, counted, of_pool)),
    ]
}

/// The coming and going of pools concerns a Cluster, and what it counts.
fn counted(pool: &DynamicObject) -> u64 {
    let mut hasher = DefaultHasher::new();
    pool.metadata.deletion_timestamp.is_some().hash(&mut hasher);
    for path in COUNTED {
        let value = pool.data.pointer(&format!("/{}", path.join("/")));
        let value = match path {
            [.., "conditions"] => status_of(value, COUNTED_CONDITION),
            _ => value.map(Value::to_string),
        };
        value.hash(&mut hasher);
    }
    hasher.finish()
}

fn of_pool(pool: &DynamicObject) -> Vec<ObjectKey> {
    let name = pool
        .data
        .pointer("/spec/clusterName")
        .and_then(Value::as_str);
    let namespace = pool.metadata.namespace.clone().unwrap_or_default();
    name.map(|name| ObjectKey::new(namespace, name))
        .into_iter()
        .collect()
}

fn referring(clusters: &Store<DynamicObject>, infra: &DynamicObject) -> Vec<ObjectKey> {
    let name = infra.metadata.name.as_deref();
    clusters
        .state()
        .iter()
        .filter(|cluster| cluster.metadata.namespace == infra.metadata.namespace)
        .filter(|cluster| {
            cluster
                .data
                .pointer("/spec/infrastructureRef/name")
                .and_then(Value::as_str)
                == name
        })
        .map(|cluster| ObjectKey::of(cluster))
        .collect()
}
