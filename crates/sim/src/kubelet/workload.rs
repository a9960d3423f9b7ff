//! Requests of nodes to their workload cluster's API.

use axum::Router;
use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Nodes, host::Hosts};
use crate::cluster::client::{self, Reply};

/// A node that registered, or is about to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Registered {
    pub(super) cluster_id: String,
    pub(super) node: String,
    pub(super) provider_id: String,
    /// Labels its user data asked for.
    pub(super) labels: Vec<(String, String)>,
}

impl<H: Hosts> Nodes<H> {
    /// The API of a cluster.
    pub(super) fn api(&self, cluster_id: &str) -> Option<Router> {
        self.apis.for_cluster(cluster_id)
    }

    /// Sends a request; few at once.
    pub(super) async fn send(
        &self,
        api: &Router,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Reply {
        let _place = self
            .requests
            .acquire()
            .await
            .expect("the semaphore is never closed");
        client::send(api, "kubelet (simulated)", (method, path), body).await
    }
}
