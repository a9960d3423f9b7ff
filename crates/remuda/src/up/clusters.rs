//! Workload clusters of `remuda up`: every TerraformCluster that publishes exports gets a workload
//! API in this process, and its Cluster the kubeconfig Secret that Cluster API expects.
//!
//! Real clusters have control planes; here nobody builds one, so this stands in for it: with the
//! simulated scheduler and controllers of `remuda_sim::cluster` beside each API. A cluster on a real
//! cloud is left alone: its kubeconfig Secret comes from whoever built it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams},
    runtime::{WatchStreamExt, watcher},
};
use remuda_api::captf::TerraformCluster;
use remuda_api::keys::label;
use remuda_apiserver::{ApiServer, Serving};
use remuda_sim::kubelet::WorkloadApis;
use serde_json::{Value, json};

use super::which::Which;

const FIELD_MANAGER: &str = "remuda-up";

/// Workload APIs by the cloud's name of the cluster.
#[derive(Clone)]
pub(crate) struct Clusters {
    server: ApiServer,
    which: Which,
    routers: Arc<Mutex<HashMap<String, axum::Router>>>,
}

impl WorkloadApis for Clusters {
    fn for_cluster(&self, kubernetes_cluster_id: &str) -> Option<axum::Router> {
        let routers = self.routers.lock().unwrap_or_else(PoisonError::into_inner);
        routers.get(kubernetes_cluster_id).cloned()
    }
}

impl Clusters {
    /// No cluster is known yet.
    pub(crate) fn new(server: &ApiServer, which: Which) -> Self {
        Self {
            server: server.clone(),
            which,
            routers: Arc::default(),
        }
    }

    /// Follows TerraformClusters for as long as it is polled.
    pub(crate) async fn follow(self, client: Client, serving: Arc<Serving>) {
        let clusters: Api<TerraformCluster> = Api::all(client.clone());
        let watch = watcher(clusters, watcher::Config::default())
            .default_backoff()
            .applied_objects();
        let mut watch = std::pin::pin!(watch);
        while let Some(event) = watch.next().await {
            match event {
                Ok(cluster) => self.serve_when_described(&cluster, &client, &serving).await,
                Err(error) => tracing::warn!(%error, "watching TerraformClusters"),
            }
        }
    }

    /// A cluster whose exports name it gets its API, its kubeconfig and its simulated nodes' door.
    async fn serve_when_described(
        &self,
        cluster: &TerraformCluster,
        client: &Client,
        serving: &Serving,
    ) {
        let exports = cluster
            .status
            .as_ref()
            .and_then(|status| status.exports.as_ref());
        let id = exports
            .and_then(|exports| serde_json::to_value(exports).ok())
            .filter(|exports| self.which.simulates(is_aws(exports)))
            .and_then(|exports| name_in_cloud(&exports));
        let (Some(id), Some(namespace)) = (id, cluster.namespace()) else {
            return;
        };
        let name = cluster
            .labels()
            .get(label::CLUSTER_NAME)
            .cloned()
            .unwrap_or_else(|| cluster.name_any());
        let instance = self.server.instance(&format!("{namespace}/{name}"));
        let kubeconfig = serving.kubeconfig(&instance);
        while let Err(error) = write_kubeconfig(client, &namespace, &name, &kubeconfig).await {
            tracing::warn!(%error, namespace, name, "writing the workload kubeconfig");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let mut routers = self.routers.lock().unwrap_or_else(PoisonError::into_inner);
        if routers.insert(id, instance.router()).is_none() {
            tokio::spawn(remuda_sim::cluster::run(instance.router()));
        }
    }
}

/// Exports of a cluster on AWS: Azure's name no id of the cluster.
fn is_aws(exports: &Value) -> bool {
    exports.get("kubernetes_cluster_id").is_some()
}

/// What the nodes of a cluster call it: its id at AWS, its resource group at Azure.
fn name_in_cloud(exports: &Value) -> Option<String> {
    let text = |field: &str| exports.get(field)?.as_str();
    let azure = text("resource_group_name").map(str::to_lowercase);
    text("kubernetes_cluster_id").map(str::to_owned).or(azure)
}

async fn write_kubeconfig(
    client: &Client,
    namespace: &str,
    cluster: &str,
    kubeconfig: &str,
) -> kube::Result<()> {
    let name = format!("{cluster}-kubeconfig");
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": name, "labels": { label::CLUSTER_NAME: cluster } },
        "type": "cluster.x-k8s.io/secret",
        "stringData": { "value": kubeconfig },
    });
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let params = PatchParams::apply(FIELD_MANAGER).force();
    secrets
        .patch(&name, &params, &Patch::Apply(secret))
        .await
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_both_clouds_find_their_cluster() {
        let aws = json!({ "kubernetes_cluster_id": "captf-team-a-demo-1960e37c" });
        assert_eq!(
            name_in_cloud(&aws).as_deref(),
            Some("captf-team-a-demo-1960e37c")
        );
        let azure = json!({ "resource_group_name": "Captf-Demo" });
        assert_eq!(name_in_cloud(&azure).as_deref(), Some("captf-demo"));
        assert_eq!(name_in_cloud(&json!({})), None);
    }
}
