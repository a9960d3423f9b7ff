//! Simulated nodes: what happens on a machine between its first boot and a Ready Node, and what a
//! cloud controller manager does about Nodes.
//!
//! In: news of instances, their user data and images, and the workload APIs. Out: Nodes. A node
//! gets nothing handed: it reads its user data, fetches its bootstrap data from the simulated S3
//! over the wire with its instance profile's rights, and joins with plain HTTP requests. What does
//! not come up is told by [`crate::aws::World::boot_failures`].

mod bootstrap;
mod join;
mod machine;
mod node;
mod workload;

use std::{collections::HashMap, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use tokio::{
    sync::{Semaphore, mpsc},
    task::{AbortHandle, JoinHandle, JoinSet},
};

pub(crate) use self::workload::Registered;
use crate::aws::{AwsSim, InstanceState, NodeNews};

/// Requests of nodes under way at once. Ours: enough to keep a server busy, few enough to leave it
/// room for others.
const REQUESTS_AT_ONCE: usize = 32;

/// The workload clusters' APIs, handed in by the wiring.
pub trait WorkloadApis: Send + Sync {
    /// The API of the cluster whose instances carry `kubernetes.io/cluster/<id>`; `None` while
    /// there is none.
    fn for_cluster(&self, kubernetes_cluster_id: &str) -> Option<axum::Router>;
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

/// What all nodes share.
struct Nodes {
    sim: AwsSim,
    apis: Arc<dyn WorkloadApis>,
    options: NodeOptions,
    requests: Semaphore,
}

impl AwsSim {
    /// Starts simulated nodes for all instances, those that already run included, and moves the
    /// world in the background from then on. Nodes that had joined before, in a world that was
    /// restored, stay joined. The task runs until it is aborted.
    pub fn run_nodes(&self, apis: Arc<dyn WorkloadApis>) -> JoinHandle<()> {
        self.run_nodes_with(apis, NodeOptions::default())
    }

    /// As [`Self::run_nodes`], with options.
    pub fn run_nodes_with(
        &self,
        apis: Arc<dyn WorkloadApis>,
        options: NodeOptions,
    ) -> JoinHandle<()> {
        let (sender, news) = mpsc::unbounded_channel();
        let first = self.listen_to_instances(sender);
        let nodes = Arc::new(Nodes {
            sim: self.clone(),
            apis,
            options,
            requests: Semaphore::new(REQUESTS_AT_ONCE),
        });
        let driver = self.clone().drive();
        tokio::spawn(async move {
            tokio::select! {
                () = driver => {}
                () = follow(nodes, first, news) => {}
            }
        })
    }

    /// Registers for news of instances; what there is to do about those of that moment.
    fn listen_to_instances(&self, sender: mpsc::UnboundedSender<NodeNews>) -> Vec<NodeNews> {
        let mut state = self.inner.lock();
        state.advance();
        state.fabric.nodes = Some(sender);
        let mut gone = state.registered.clone();
        let mut news = Vec::new();
        for compute in state.estates.iter().map(|estate| &estate.compute) {
            for instance in compute.instances.values() {
                let id = instance.id.clone();
                if instance.state == InstanceState::Terminated {
                    continue;
                }
                gone.remove(&id);
                match instance.state {
                    InstanceState::Running => news.push(NodeNews::RunsAlready(compute.id, id)),
                    InstanceState::Stopping | InstanceState::Stopped => {
                        news.push(NodeNews::Stops(compute.id, id));
                    }
                    _ => {}
                }
            }
        }
        news.extend(gone.into_keys().map(NodeNews::Gone));
        news
    }
}

/// One task an instance at most: newer news end what older news began.
async fn follow(
    nodes: Arc<Nodes>,
    first: Vec<NodeNews>,
    mut news: mpsc::UnboundedReceiver<NodeNews>,
) {
    let mut tasks = JoinSet::new();
    let mut current: HashMap<Arc<str>, AbortHandle> = HashMap::new();
    let begin = |tasks: &mut JoinSet<()>, news: NodeNews| {
        let nodes = nodes.clone();
        match news {
            NodeNews::Runs(estate, id) => (
                id.clone(),
                tasks.spawn(async move { nodes.boot(estate, id).await }),
            ),
            NodeNews::RunsAlready(estate, id) => (
                id.clone(),
                tasks.spawn(async move { nodes.go_on(estate, id).await }),
            ),
            NodeNews::Stops(estate, id) => (
                id.clone(),
                tasks.spawn(async move { nodes.instance_stops(estate, &id).await }),
            ),
            NodeNews::Gone(id) => (
                id.clone(),
                tasks.spawn(async move { nodes.instance_gone(&id).await }),
            ),
        }
    };
    let mut take = |tasks: &mut JoinSet<()>, news: NodeNews| {
        let gone = matches!(news, NodeNews::Gone(..));
        let (id, task) = begin(tasks, news);
        let before = if gone {
            current.remove(&id)
        } else {
            current.insert(id, task)
        };
        if let Some(before) = before {
            before.abort();
        }
    };
    for news in first {
        take(&mut tasks, news);
    }
    loop {
        tokio::select! {
            Some(news) = news.recv() => take(&mut tasks, news),
            Some(_) = tasks.join_next() => {}
            else => return,
        }
    }
}
