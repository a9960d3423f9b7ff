//! What wakes a Cluster: itself, its infrastructure cluster, and its machine pools while it goes.

use kube::{api::DynamicObject, runtime::reflector::Store};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::{
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
        (
            Kind::MachinePool,
            None,
            Route::new(queue, deletion, of_pool),
        ),
    ]
}

/// Only the coming and going of pools concerns a Cluster.
fn deletion(pool: &DynamicObject) -> u64 {
    u64::from(pool.metadata.deletion_timestamp.is_some())
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
