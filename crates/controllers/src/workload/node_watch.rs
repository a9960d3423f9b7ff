//! One watch of Nodes a workload cluster, shared by all its pools, that wakes exactly the pools
//! whose members' Nodes changed.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client,
    runtime::{
        WatchStreamExt,
        watcher::{self, Event},
    },
};
use tokio::{sync::mpsc, time::Instant};
use tokio_util::task::AbortOnDropHandle;

use super::{ClusterKey, NodeCache, NodeFact, Unreachable, WorkloadClusters};

/// A pool whose Nodes changed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeWake {
    /// Namespace of the MachinePool.
    pub namespace: String,
    /// Name of the MachinePool.
    pub name: String,
}

/// What Nodes tell a pool.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeNews {
    /// The pool to wake.
    pub pool: NodeWake,
    /// A Node came or went: so did a machine of the pool, and its cloud knows more than was read.
    pub machines_changed: bool,
}

/// The Node watches of all workload clusters. Dropping it ends them.
pub struct NodeWatches {
    clusters: Arc<dyn WorkloadClusters>,
    watches: Mutex<HashMap<ClusterKey, Watch>>,
    news: mpsc::UnboundedSender<NodeNews>,
}

struct Watch {
    cache: Arc<NodeCache>,
    interest: Arc<Interest>,
    started: Instant,
    _task: AbortOnDropHandle<()>,
}

/// Who wants to hear about which provider ID.
#[derive(Debug, Default)]
struct Interest {
    inner: Mutex<InterestInner>,
}

#[derive(Debug, Default)]
struct InterestInner {
    by_id: HashMap<String, NodeWake>,
    by_pool: HashMap<NodeWake, BTreeSet<String>>,
    /// Pools that know of fewer machines than they want, and were not yet told of a Node that
    /// nobody knows: it may be theirs.
    short: BTreeSet<NodeWake>,
}

impl Interest {
    fn set(&self, pool: &NodeWake, ids: BTreeSet<String>, short: bool) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if short {
            inner.short.insert(pool.clone());
        } else {
            inner.short.remove(pool);
        }
        if inner.by_pool.get(pool) == Some(&ids) {
            return;
        }
        for old in inner.by_pool.remove(pool).unwrap_or_default() {
            if inner.by_id.get(&old) == Some(pool) {
                inner.by_id.remove(&old);
            }
        }
        for id in &ids {
            inner.by_id.insert(id.clone(), pool.clone());
        }
        inner.by_pool.insert(pool.clone(), ids);
    }

    /// Forgets a pool; `true`: none is left.
    fn forget(&self, pool: &NodeWake) -> bool {
        self.set(pool, BTreeSet::new(), false);
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.by_pool.remove(pool);
        inner.by_pool.is_empty()
    }

    fn of(&self, ids: &BTreeSet<String>) -> BTreeSet<NodeWake> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        ids.iter()
            .filter_map(|id| inner.by_id.get(id))
            .cloned()
            .collect()
    }

    /// Pools that a Node which nobody knows may belong to; each is named once until it asks again.
    fn short(&self) -> BTreeSet<NodeWake> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut inner.short)
    }

    fn everyone(&self) -> BTreeSet<NodeWake> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.by_pool.keys().cloned().collect()
    }
}

impl NodeWatches {
    /// Watches nothing yet; what pools should know goes to `news`.
    pub fn new(clusters: Arc<dyn WorkloadClusters>, news: mpsc::UnboundedSender<NodeNews>) -> Self {
        Self {
            clusters,
            watches: Mutex::default(),
            news,
        }
    }

    /// The Nodes of a cluster, for one pool that is woken from now on when a Node of one of `ids`
    /// changes, and (while it is `short` of machines) when a Node comes that nobody knows. Starts the cluster's watch when there is none; until its first list is complete
    /// the cache is not current, and the pool is woken when it is.
    ///
    /// # Errors
    /// The cluster cannot be reached.
    pub async fn nodes(
        &self,
        cluster: &ClusterKey,
        pool: &NodeWake,
        ids: BTreeSet<String>,
        short: bool,
    ) -> Result<(Client, Arc<NodeCache>), Unreachable> {
        let client = self.clusters.client(cluster).await?;
        let mut watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        if watches.get(cluster).is_some_and(Watch::is_worn_out) {
            // Credentials may have changed: the pools of the cluster ask again one by one.
            watches.remove(cluster);
        }
        let watch = watches
            .entry(cluster.clone())
            .or_insert_with(|| start(client.clone(), self.news.clone()));
        watch.interest.set(pool, ids, short);
        Ok((client, watch.cache.clone()))
    }

    /// The pool is gone: nobody is woken for it any more. The watch of a cluster without pools ends.
    pub fn forget_pool(&self, cluster: &ClusterKey, pool: &NodeWake) {
        let mut watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        if watches
            .get(cluster)
            .is_some_and(|watch| watch.interest.forget(pool))
        {
            watches.remove(cluster);
        }
    }
}

/// A watch that has been broken since its start this long ago is started anew, with a new client.
const WORN_OUT: Duration = Duration::from_mins(1);

impl Watch {
    fn is_worn_out(&self) -> bool {
        self.cache.trouble().is_some() && self.started.elapsed() > WORN_OUT
    }
}

fn start(client: Client, news: mpsc::UnboundedSender<NodeNews>) -> Watch {
    let cache = Arc::new(NodeCache::default());
    let interest = Arc::new(Interest::default());
    let task = tokio::spawn(follow(client, cache.clone(), interest.clone(), news));
    Watch {
        cache,
        interest,
        started: Instant::now(),
        _task: AbortOnDropHandle::new(task),
    }
}

/// Follows the Nodes of one cluster until it is aborted.
async fn follow(
    client: Client,
    cache: Arc<NodeCache>,
    interest: Arc<Interest>,
    news: mpsc::UnboundedSender<NodeNews>,
) {
    let nodes: Api<Node> = Api::all(client);
    let mut events =
        Box::pin(watcher::watcher(nodes, watcher::Config::default()).default_backoff());
    let mut listed = Vec::new();
    while let Some(event) = events.next().await {
        let mut machines_changed = false;
        let awake = match event {
            Ok(Event::Init) => {
                listed.clear();
                BTreeSet::new()
            }
            Ok(Event::InitApply(node)) => {
                listed.push(NodeFact::of(&node));
                BTreeSet::new()
            }
            Ok(Event::InitDone) => {
                cache.replace(std::mem::take(&mut listed));
                interest.everyone()
            }
            Ok(Event::Apply(node)) => {
                let fact = NodeFact::of(&node);
                let id = fact.provider_id.as_deref();
                machines_changed = id.is_some_and(|id| cache.by_provider_id(id).is_none());
                let known = interest.of(&cache.put(fact));
                if machines_changed && known.is_empty() {
                    interest.short()
                } else {
                    known
                }
            }
            Ok(Event::Delete(node)) => {
                machines_changed = true;
                interest.of(&cache.remove(node.metadata.name.as_deref().unwrap_or_default()))
            }
            Err(error) => {
                tracing::warn!(%error, "the watch of a workload cluster's Nodes failed");
                cache.broken(error.to_string());
                BTreeSet::new()
            }
        };
        for pool in awake {
            // A closed channel means that the controllers are shutting down.
            let _ = news.send(NodeNews {
                pool,
                machines_changed,
            });
        }
    }
}
