//! Simulated nodes: what happens on a machine between its first boot and a Ready Node, and what a
//! cloud controller manager does about Nodes.
//!
//! ```text
//! run ── host      what a node needs of its cloud: news, power, facts, boot payload
//!     ├─ aws       user data: a stub that fetches from S3, or Ignition
//!     ├─ azure     custom data: boot hook and cloud-config in MIME, or Ignition
//!     ├─ payload   what both check of a payload
//!     ├─ join      registration, readiness, initialisation, the end ── node, workload
//!     └─ pods      pods of the nodes: Ready, and stopped
//! ```
//!
//! A node gets nothing handed: it reads its boot payload the way a real image would, with its own
//! rights, and joins with plain HTTP requests. What does not come up is told by the world's
//! `boot_failures`.

mod aws;
mod azure;
mod host;
mod join;
mod node;
mod payload;
mod pods;
mod workload;

use std::{collections::HashMap, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use tokio::{
    sync::{Semaphore, mpsc},
    task::{AbortHandle, JoinHandle, JoinSet},
};

pub(crate) use self::host::{Hosts, Kubelets, NodeNews, Place};

/// Requests of nodes under way at once. Ours: enough to keep a server busy, few enough to leave it
/// room for others.
const REQUESTS_AT_ONCE: usize = 32;

/// The workload clusters' APIs, handed in by the wiring.
pub trait WorkloadApis: Send + Sync {
    /// The API of a cluster; `None` while there is none. AWS names a cluster by its instances' tag
    /// `kubernetes.io/cluster/<id>`, Azure by the resource group in its nodes' `azure.json`.
    fn for_cluster(&self, cluster_id: &str) -> Option<axum::Router>;
}

/// How nodes behave.
#[derive(Debug, Clone, Default)]
pub struct NodeOptions {
    /// Renew a Lease in `kube-node-lease` so often; `None`: never.
    pub lease_every: Option<Duration>,
}

/// Why the node of an instance did not come up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootFailure {
    /// Instance.
    pub instance_id: String,
    /// What went wrong; holds no bootstrap data.
    pub reason: String,
}

/// What all nodes of a cloud share.
struct Nodes<H> {
    host: H,
    apis: Arc<dyn WorkloadApis>,
    options: NodeOptions,
    requests: Semaphore,
    joined: pods::Joined,
    /// Clusters whose pods nobody looks after yet.
    met: mpsc::UnboundedSender<String>,
}

/// Runs the nodes of a host's machines until it is aborted.
pub(crate) fn run<H: Hosts>(
    host: H,
    apis: Arc<dyn WorkloadApis>,
    options: NodeOptions,
) -> JoinHandle<()> {
    let (sender, news) = mpsc::unbounded_channel();
    let first = host.listen(sender);
    let (met, clusters) = mpsc::unbounded_channel();
    let nodes = Arc::new(Nodes {
        host: host.clone(),
        apis,
        options,
        requests: Semaphore::new(REQUESTS_AT_ONCE),
        joined: pods::Joined::default(),
        met,
    });
    tokio::spawn(async move {
        tokio::select! {
            () = host.drive() => {}
            () = follow(nodes, first, news, clusters) => {}
        }
    })
}

/// One task an instance at most: newer news end what older news began. A task that has ended is
/// forgotten, for a handle keeps all of the task's memory.
async fn follow<H: Hosts>(
    nodes: Arc<Nodes<H>>,
    first: Vec<NodeNews>,
    mut news: mpsc::UnboundedReceiver<NodeNews>,
    mut clusters: mpsc::UnboundedReceiver<String>,
) {
    let (mut tasks, mut pods) = (JoinSet::new(), JoinSet::new());
    let mut current: HashMap<Arc<str>, AbortHandle> = HashMap::new();
    let take = |tasks: &mut JoinSet<Arc<str>>,
                current: &mut HashMap<Arc<str>, AbortHandle>,
                news: NodeNews| {
        let (id, is_gone) = (news.instance().clone(), matches!(news, NodeNews::Gone(..)));
        let task = tasks.spawn(nodes.clone().act(news));
        let before = if is_gone {
            current.remove(&id)
        } else {
            current.insert(id, task)
        };
        if let Some(before) = before {
            before.abort();
        }
    };
    for news in first {
        take(&mut tasks, &mut current, news);
    }
    loop {
        tokio::select! {
            Some(news) = news.recv() => take(&mut tasks, &mut current, news),
            Some(cluster) = clusters.recv() => {
                pods.spawn(nodes.clone().tend_pods(cluster));
            }
            Some(ended) = tasks.join_next_with_id() => {
                if let Ok((task, id)) = ended
                    && current.get(&id).is_some_and(|now| now.id() == task)
                {
                    current.remove(&id);
                }
            }
            Some(_) = pods.join_next() => {}
            else => return,
        }
    }
}
