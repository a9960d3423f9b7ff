//! Clients from the `<cluster>-kubeconfig` Secrets that Cluster API keeps.

use std::{collections::HashMap, sync::Mutex, time::Duration};

use async_trait::async_trait;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use tokio::time::Instant;

use super::{ClusterKey, Unreachable, WorkloadClusters};

/// Key of the kubeconfig in its Secret.
const KUBECONFIG_KEY: &str = "value";

/// A Secret that was read within this time is not read again: every pass over a pool or a Machine
/// asks for its cluster. Ours.
const RECENT: Duration = Duration::from_secs(5);

/// Workload clusters by their kubeconfig Secrets; a client is kept until its Secret changes.
pub struct KubeconfigClusters {
    management: Client,
    clients: Mutex<HashMap<ClusterKey, Kept>>,
}

struct Kept {
    resource_version: Option<String>,
    client: Client,
    read_at: Instant,
}

impl KubeconfigClusters {
    /// Reads the Secrets with `management`.
    pub fn new(management: Client) -> Self {
        Self {
            management,
            clients: Mutex::default(),
        }
    }

    /// The client of a Secret that was just read, if it is still the one that it was made from.
    fn kept(&self, cluster: &ClusterKey, resource_version: Option<&String>) -> Option<Client> {
        let mut clients = self
            .clients
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let kept = clients
            .get_mut(cluster)
            .filter(|kept| kept.resource_version.as_ref() == resource_version)?;
        kept.read_at = Instant::now();
        Some(kept.client.clone())
    }

    fn recent(&self, cluster: &ClusterKey) -> Option<Client> {
        let clients = self
            .clients
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let kept = clients.get(cluster)?;
        (kept.read_at.elapsed() < RECENT).then(|| kept.client.clone())
    }

    fn keep(&self, cluster: &ClusterKey, resource_version: Option<String>, client: &Client) {
        let mut clients = self
            .clients
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        clients.insert(
            cluster.clone(),
            Kept {
                resource_version,
                client: client.clone(),
                read_at: Instant::now(),
            },
        );
    }
}

#[async_trait]
impl WorkloadClusters for KubeconfigClusters {
    async fn client(&self, cluster: &ClusterKey) -> Result<Client, Unreachable> {
        if let Some(client) = self.recent(cluster) {
            return Ok(client);
        }
        let name = format!("{}-kubeconfig", cluster.name);
        let secrets: Api<Secret> = Api::namespaced(self.management.clone(), &cluster.namespace);
        let secret = secrets
            .get_opt(&name)
            .await
            .map_err(|error| Unreachable::Unreadable(error.to_string()))?
            .ok_or_else(|| Unreachable::NoKubeconfig(format!("{}/{name}", cluster.namespace)))?;
        let resource_version = secret.metadata.resource_version.clone();
        if let Some(client) = self.kept(cluster, resource_version.as_ref()) {
            return Ok(client);
        }
        let client = connect(&secret).await?;
        self.keep(cluster, resource_version, &client);
        Ok(client)
    }
}

/// Builds a client from the Secret. Parse errors are not passed on: their text may quote the file.
async fn connect(secret: &Secret) -> Result<Client, Unreachable> {
    let text = secret
        .data
        .as_ref()
        .and_then(|data| data.get(KUBECONFIG_KEY))
        .ok_or_else(|| {
            Unreachable::BadKubeconfig(format!("the key {KUBECONFIG_KEY:?} is missing"))
        })?;
    let text = std::str::from_utf8(&text.0)
        .map_err(|_| Unreachable::BadKubeconfig("it is not UTF-8".to_owned()))?;
    let kubeconfig = Kubeconfig::from_yaml(text)
        .map_err(|_| Unreachable::BadKubeconfig("it is not a kubeconfig".to_owned()))?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .map_err(|_| {
            Unreachable::BadKubeconfig("its context, cluster or user is incomplete".to_owned())
        })?;
    crate::connect::client(config)
        .map_err(|_| Unreachable::BadKubeconfig("no client can be built from it".to_owned()))
}
