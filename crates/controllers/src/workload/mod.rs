//! Access to workload clusters: a client a cluster, and one shared watch of its Nodes.
//!
//! A cluster that cannot be reached is `Unreachable`, never "a cluster without Nodes".

pub mod evacuation;
mod kubeconfig;
mod node_watch;
mod nodes;

use std::{collections::BTreeMap, fmt};

use async_trait::async_trait;
use kube::Client;

pub use self::{
    kubeconfig::KubeconfigClusters,
    node_watch::{NodeNews, NodeWake, NodeWatches},
    nodes::{NodeCache, NodeFact},
};

/// A Cluster by namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClusterKey {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
}

impl fmt::Display for ClusterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Why a workload cluster cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreachable {
    /// There is no kubeconfig yet.
    #[error("the Secret {0} with the workload cluster's kubeconfig does not exist yet")]
    NoKubeconfig(String),
    /// The kubeconfig cannot be used.
    #[error("the kubeconfig of the workload cluster cannot be used: {0}")]
    BadKubeconfig(String),
    /// Nobody knows the cluster.
    #[error("no workload API is known for the cluster {0}")]
    Unknown(ClusterKey),
    /// Reading the kubeconfig failed.
    #[error("reading the kubeconfig failed: {0}")]
    Unreadable(String),
}

/// Hands out clients of workload clusters.
#[async_trait]
pub trait WorkloadClusters: Send + Sync {
    /// A client of the cluster's own Kubernetes API.
    ///
    /// # Errors
    /// Why there is none; the caller keeps what it last knew.
    async fn client(&self, cluster: &ClusterKey) -> Result<Client, Unreachable>;
}

/// Workload clusters that live in this process: every cluster known beforehand.
#[derive(Clone, Default)]
pub struct GivenClusters {
    clients: BTreeMap<ClusterKey, Client>,
}

impl GivenClusters {
    /// No cluster yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a cluster.
    #[must_use]
    pub fn with(mut self, cluster: ClusterKey, client: Client) -> Self {
        self.clients.insert(cluster, client);
        self
    }
}

#[async_trait]
impl WorkloadClusters for GivenClusters {
    async fn client(&self, cluster: &ClusterKey) -> Result<Client, Unreachable> {
        self.clients
            .get(cluster)
            .cloned()
            .ok_or_else(|| Unreachable::Unknown(cluster.clone()))
    }
}

/// Workload clusters made by a function, for a server that serves any number of them.
pub struct MadeClusters<F>(F);

impl<F> MadeClusters<F>
where
    F: Fn(&ClusterKey) -> Option<Client> + Send + Sync,
{
    /// Asks `make` for each client.
    pub fn new(make: F) -> Self {
        Self(make)
    }
}

#[async_trait]
impl<F> WorkloadClusters for MadeClusters<F>
where
    F: Fn(&ClusterKey) -> Option<Client> + Send + Sync,
{
    async fn client(&self, cluster: &ClusterKey) -> Result<Client, Unreachable> {
        (self.0)(cluster).ok_or_else(|| Unreachable::Unknown(cluster.clone()))
    }
}
