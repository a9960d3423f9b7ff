//! One watch of Nodes a workload cluster, shared by all its pools and Machines, that wakes exactly
//! those whose Nodes changed.

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

use remuda_plan::machines::names::instance_key;

use super::{ClusterKey, NodeCache, NodeFact, Unreachable, WorkloadClusters, nodes::rest_of};

/// A pool, or a Machine, whose Nodes changed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeWake {
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
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
    tell: Tell,
}

/// Who is told.
#[derive(Clone)]
struct Tell {
    pools: mpsc::UnboundedSender<NodeNews>,
    machines: Option<mpsc::UnboundedSender<NodeWake>>,
}

struct Watch {
    cache: Arc<NodeCache>,
    interest: Arc<Interest>,
    machines: Arc<Interest>,
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
    /// Sorted: a Machine has one, a pool a few.
    by_pool: HashMap<NodeWake, Box<[String]>>,
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
        let mut ids: Vec<String> = ids.iter().map(|id| instance_key(id)).collect();
        ids.sort_unstable();
        ids.dedup();
        let ids = ids.into_boxed_slice();
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

    fn is_empty(&self) -> bool {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.by_pool.is_empty()
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
            tell: Tell {
                pools: news,
                machines: None,
            },
        }
    }

    /// Machines are told, too.
    #[must_use]
    pub fn telling_machines(mut self, machines: mpsc::UnboundedSender<NodeWake>) -> Self {
        self.tell.machines = Some(machines);
        self
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
        self.watched(cluster, |watch| watch.interest.set(pool, ids, short))
            .await
    }

    /// The same for one Machine, which is woken by whatever of the Node it decides on.
    ///
    /// # Errors
    /// The cluster cannot be reached.
    pub async fn nodes_of_machine(
        &self,
        cluster: &ClusterKey,
        machine: &NodeWake,
        ids: BTreeSet<String>,
    ) -> Result<(Client, Arc<NodeCache>), Unreachable> {
        self.watched(cluster, |watch| watch.machines.set(machine, ids, false))
            .await
    }

    async fn watched(
        &self,
        cluster: &ClusterKey,
        register: impl FnOnce(&Watch),
    ) -> Result<(Client, Arc<NodeCache>), Unreachable> {
        let client = self.clusters.client(cluster).await?;
        let mut watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        if watches.get(cluster).is_some_and(Watch::is_worn_out) {
            // Credentials may have changed: the pools of the cluster ask again one by one.
            watches.remove(cluster);
        }
        let watch = watches
            .entry(cluster.clone())
            .or_insert_with(|| start(client.clone(), self.tell.clone()));
        register(watch);
        Ok((client, watch.cache.clone()))
    }

    /// The pool is gone: nobody is woken for it any more. The watch of a cluster without pools ends.
    pub fn forget_pool(&self, cluster: &ClusterKey, pool: &NodeWake) {
        let mut watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        if watches
            .get(cluster)
            .is_some_and(|watch| watch.interest.forget(pool) && watch.machines.is_empty())
        {
            watches.remove(cluster);
        }
    }

    /// The same for a Machine.
    pub fn forget_machine(&self, cluster: &ClusterKey, machine: &NodeWake) {
        let mut watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        if watches
            .get(cluster)
            .is_some_and(|watch| watch.machines.forget(machine) && watch.interest.is_empty())
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

fn start(client: Client, tell: Tell) -> Watch {
    let cache = Arc::new(NodeCache::default());
    let interest = Arc::new(Interest::default());
    let machines = Arc::new(Interest::default());
    let follower = Follower {
        cache: cache.clone(),
        interest: interest.clone(),
        machines: machines.clone(),
        tell,
    };
    let task = tokio::spawn(follower.follow(client));
    Watch {
        cache,
        interest,
        machines,
        started: Instant::now(),
        _task: AbortOnDropHandle::new(task),
    }
}

/// What one cluster's watch writes to.
struct Follower {
    cache: Arc<NodeCache>,
    interest: Arc<Interest>,
    machines: Arc<Interest>,
    tell: Tell,
}

/// Whom an event wakes.
#[derive(Default)]
struct Awake {
    pools: BTreeSet<NodeWake>,
    machines: BTreeSet<NodeWake>,
    machines_changed: bool,
}

impl Follower {
    /// Follows the Nodes of one cluster until it is aborted.
    async fn follow(self, client: Client) {
        let nodes: Api<Node> = Api::all(client);
        let mut events =
            Box::pin(watcher::watcher(nodes, watcher::Config::default()).default_backoff());
        let mut listed = Vec::new();
        while let Some(event) = events.next().await {
            let awake = match event {
                Ok(event) => self.take(event, &mut listed),
                Err(error) => self.broken(error.to_string()),
            };
            // A closed channel means that the controllers are shutting down.
            for pool in awake.pools {
                let machines_changed = awake.machines_changed;
                let _ = self.tell.pools.send(NodeNews {
                    pool,
                    machines_changed,
                });
            }
            for machine in awake.machines {
                if let Some(machines) = &self.tell.machines {
                    let _ = machines.send(machine);
                }
            }
        }
    }

    fn take(&self, event: Event<Node>, listed: &mut Vec<(NodeFact, u64)>) -> Awake {
        match event {
            Event::Init => {
                listed.clear();
                Awake::default()
            }
            Event::InitApply(node) => {
                listed.push((NodeFact::of(&node), rest_of(&node)));
                Awake::default()
            }
            Event::InitDone => {
                self.cache.replace(std::mem::take(listed));
                Awake {
                    pools: self.interest.everyone(),
                    machines: self.machines.everyone(),
                    machines_changed: false,
                }
            }
            Event::Apply(node) => self.applied(&node),
            Event::Delete(node) => {
                let name = node.metadata.name.as_deref().unwrap_or_default();
                let ids = self.cache.remove(name);
                Awake {
                    pools: self.interest.of(&ids),
                    machines: self.machines.of(&ids),
                    machines_changed: true,
                }
            }
        }
    }

    fn applied(&self, node: &Node) -> Awake {
        let fact = NodeFact::of(node);
        let id = fact.provider_id.as_deref();
        let machines_changed = id.is_some_and(|id| self.cache.by_provider_id(id).is_none());
        let touched = self.cache.put(fact, rest_of(node));
        let known = self.interest.of(&touched.by_fact);
        let pools = if machines_changed && known.is_empty() {
            self.interest.short()
        } else {
            known
        };
        Awake {
            pools,
            machines: self.machines.of(&touched.by_anything),
            machines_changed,
        }
    }

    /// Machines are told at once: how long the silence lasts decides what they say.
    fn broken(&self, why: String) -> Awake {
        tracing::warn!(error = %why, "the watch of a workload cluster's Nodes failed");
        let was_whole = self.cache.trouble().is_none();
        self.cache.broken(why);
        let machines = if was_whole {
            self.machines.everyone()
        } else {
            BTreeSet::new()
        };
        Awake {
            machines,
            ..Awake::default()
        }
    }
}
