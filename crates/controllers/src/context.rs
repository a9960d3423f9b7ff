//! What a reconcile may touch. Everything outside the process comes in here, so that a test can
//! replace each part and replay a scenario.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use jiff::Timestamp;
use kube::Client;
use remuda_api::keys::label;
use remuda_cloud::PoolBackend;
use remuda_plan::{
    driver::Driver,
    pool::{
        objects::Metadata,
        world::{Manager, Memory},
    },
};
use tokio_util::sync::CancellationToken;

use crate::{
    clock::Clock, events::Recorder, metrics::Metrics, objects::LiveObjects, watching::Kept,
    workload::WorkloadClusters,
};

/// Field manager of everything Remuda writes as a provider.
pub const FIELD_MANAGER: &str = "remuda";

/// What a reconcile may touch.
pub struct Context {
    /// The management cluster's objects.
    pub objects: LiveObjects,
    /// Clouds by driver.
    pub backends: BTreeMap<Driver, Arc<dyn PoolBackend>>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Events.
    pub events: Recorder,
    /// Workload clusters.
    pub workload: Arc<dyn WorkloadClusters>,
    /// Settings of this manager.
    pub manager: Manager,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// Asked to stop: no new operation starts, running ones end as interrupted.
    pub shutdown: CancellationToken,
    /// All MachinePools with the ids they have registered; unset where nothing watches.
    pub(crate) machine_pools: OnceLock<Kept>,
    memories: Memories,
}

impl Context {
    /// A context over one management cluster. `manager.installation` is the id that new records
    /// get; it must be the same after a restart.
    pub fn new(
        client: Client,
        backends: impl IntoIterator<Item = Arc<dyn PoolBackend>>,
        clock: Arc<dyn Clock>,
        workload: Arc<dyn WorkloadClusters>,
        manager: Manager,
    ) -> Self {
        let objects = LiveObjects::new(client);
        let metrics = Metrics::new(&manager.version, clock.clone());
        Self {
            events: Recorder::new(objects.clone(), clock.clone(), metrics.clone()),
            objects,
            backends: backends
                .into_iter()
                .map(|backend| (backend.driver(), backend))
                .collect(),
            clock,
            workload,
            manager,
            metrics,
            shutdown: CancellationToken::new(),
            machine_pools: OnceLock::new(),
            memories: Memories::default(),
        }
    }

    /// Counts into `metrics`, which outlive the context.
    #[must_use]
    pub fn counting_into(mut self, metrics: Arc<Metrics>) -> Self {
        self.events.count_into(metrics.clone());
        self.metrics = metrics;
        self
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Whether an object is this manager's to write: without a watch filter all are.
    pub(crate) fn is_ours(&self, object: &Metadata) -> bool {
        let filter = &self.manager.watch_filter;
        filter.is_empty() || object.labels.get(label::WATCH_FILTER) == Some(filter)
    }

    /// What the previous passes of this process left behind.
    pub(crate) fn memories(&self) -> &Memories {
        &self.memories
    }
}

/// Memories of pools by UID. Losing one costs reads, never correctness.
#[derive(Debug, Default)]
pub(crate) struct Memories {
    by_uid: Mutex<HashMap<String, Memory>>,
    /// Pools whose Nodes came or went since their last pass began.
    nodes_changed: Mutex<HashSet<String>>,
}

impl Memories {
    /// What a pass starts with. News that come while it runs are the next one's.
    pub(crate) fn get(&self, uid: &str) -> Option<Memory> {
        let by_uid = self.by_uid.lock().unwrap_or_else(PoisonError::into_inner);
        let mut memory = by_uid.get(uid).cloned()?;
        let mut changed = self
            .nodes_changed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        memory.nodes_changed |= changed.remove(uid);
        Some(memory)
    }

    /// Nodes of the pool came or went.
    pub(crate) fn nodes_changed(&self, uid: &str) {
        let mut changed = self
            .nodes_changed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        changed.insert(uid.to_owned());
    }

    /// A refresh of a pool that rests came to nothing; `None`: nothing is known of the pool.
    pub(crate) fn refreshed(&self, uid: &str, at: Timestamp) -> Option<()> {
        let mut by_uid = self.by_uid.lock().unwrap_or_else(PoisonError::into_inner);
        by_uid.get_mut(uid)?.refreshed_at = Some(at);
        Some(())
    }

    pub(crate) fn set(&self, uid: &str, memory: Option<Memory>) {
        let mut by_uid = self.by_uid.lock().unwrap_or_else(PoisonError::into_inner);
        match memory {
            Some(memory) => by_uid.insert(uid.to_owned(), memory),
            None => by_uid.remove(uid),
        };
    }
}
