//! What is so at the moment of a scrape: pools, queues, drains, whether the controllers run.
//!
//! Read from the watches' own stores, so that a deleted pool leaves no series behind, and nothing
//! outlives the controllers that said it.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use kube::{
    api::DynamicObject,
    runtime::reflector::{ObjectRef, Store},
};
use prometheus_client::{collector::Collector, encoding::DescriptorEncoder, metrics::MetricType};
use remuda_api::keys::label;
use tokio::time::Instant;

use super::{
    captf,
    series::labels,
    table::{
        DRAINS_RUNNING, LEADER, Metric, POOL_MACHINES, POOL_READY, POOL_READY_MACHINES,
        POOL_WANTED, QUEUE_DEPTH,
    },
};
use crate::{conditions::status_of, kinds::Kind, watching::ObjectKey};

/// Where pools are looked up.
#[derive(Clone)]
pub(crate) struct PoolStores {
    /// The TerraformMachinePools.
    pub pools: Store<DynamicObject>,
    /// The MachinePools.
    pub machine_pools: Store<DynamicObject>,
    /// Only objects with this watch-filter label are this manager's; empty: all are.
    pub watch_filter: String,
}

/// How one pool stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pool {
    pub(super) namespace: String,
    pub(super) name: String,
    uid: String,
    wanted: i64,
    machines: i64,
    ready_machines: i64,
    is_ready: bool,
    /// The same under captf's names.
    pub(super) shown: captf::Shown,
}

/// What is so at the moment. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Standing(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// The run of the controllers that speaks; a new one supersedes it.
    run: Option<u64>,
    runs: u64,
    pools: Option<PoolStores>,
    waiting: BTreeMap<Kind, HashMap<ObjectKey, Instant>>,
    draining: HashSet<ObjectKey>,
    /// What passes told of pools, by UID.
    told: HashMap<String, captf::Told>,
}

impl Standing {
    /// The controllers run from now on; returns the run's number.
    pub(super) fn begin(&self, pools: PoolStores) -> u64 {
        let mut state = self.lock();
        let run = state.runs + 1;
        *state = State {
            run: Some(run),
            runs: run,
            pools: Some(pools),
            ..State::default()
        };
        run
    }

    /// That run has ended: what it said holds no longer.
    pub(super) fn end(&self, run: u64) {
        let mut state = self.lock();
        if state.run == Some(run) {
            *state = State {
                runs: run,
                ..State::default()
            };
        }
    }

    /// Something woke an object.
    pub(super) fn woken(&self, kind: Kind, key: ObjectKey) {
        let mut state = self.lock();
        let waiting = state.waiting.entry(kind).or_default();
        waiting.entry(key).or_insert_with(Instant::now);
    }

    /// The object's pass begins, or there is none to come; since when it waited.
    pub(super) fn begun(&self, kind: Kind, key: &ObjectKey) -> Option<Instant> {
        self.lock().waiting.entry(kind).or_default().remove(key)
    }

    /// Whether the Node of a Machine is being drained.
    pub(super) fn draining(&self, machine: &ObjectKey, is_so: bool) {
        let mut state = self.lock();
        if is_so {
            state.draining.insert(machine.clone());
        } else {
            state.draining.remove(machine);
        }
    }

    /// A pass told of a pool; `tell` makes of what was known what is known now, if anything.
    pub(super) fn told(
        &self,
        uid: &str,
        tell: impl FnOnce(Option<&captf::Told>) -> Option<captf::Told>,
    ) {
        let mut state = self.lock();
        let told = tell(state.told.get(uid)).filter(|_| state.run.is_some());
        if let Some(told) = told {
            state.told.insert(uid.to_owned(), told);
        } else {
            state.told.remove(uid);
        }
    }

    /// What was told of these pools; of others it is forgotten.
    fn told_of(&self, pools: &[Pool]) -> HashMap<String, captf::Told> {
        let there: HashSet<&str> = pools.iter().map(|pool| pool.uid.as_str()).collect();
        let mut state = self.lock();
        state.told.retain(|uid, _| there.contains(uid.as_str()));
        state.told.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each statement leaves the maps whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Standing")
    }
}

impl Collector for Standing {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let (leads, stores, depths, drains) = {
            let state = self.lock();
            let depths: Vec<(Kind, usize)> = state
                .waiting
                .iter()
                .map(|(kind, keys)| (*kind, keys.len()))
                .collect();
            let leads = state.run.is_some();
            (leads, state.pools.clone(), depths, state.draining.len())
        };
        gauges(&mut encoder, &LEADER, [([], i64::from(leads))])?;
        gauges(&mut encoder, &DRAINS_RUNNING, [([], count(drains))])?;
        let depths = depths
            .into_iter()
            .map(|(kind, depth)| ([kind.resource().kind], count(depth)));
        gauges(&mut encoder, &QUEUE_DEPTH, depths)?;
        let leading = stores.map(|stores| stores.read());
        captf::encode_active(&mut encoder, leading.as_deref())?;
        let pools = leading.unwrap_or_default();
        let figures: [(&'static Metric, Figure); 4] = [
            (&POOL_WANTED, |pool| pool.wanted),
            (&POOL_MACHINES, |pool| pool.machines),
            (&POOL_READY_MACHINES, |pool| pool.ready_machines),
            (&POOL_READY, |pool| i64::from(pool.is_ready)),
        ];
        for (metric, figure) in figures {
            let of = |pool: &Pool| ([pool.namespace.clone(), pool.name.clone()], figure(pool));
            gauges(&mut encoder, metric, pools.iter().map(of))?;
        }
        let told = self.told_of(&pools);
        captf::encode(&mut encoder, &pools, |pool| told.get(&pool.uid))
    }
}

/// One number of a pool.
type Figure = fn(&Pool) -> i64;

/// Writes the gauges of one metric.
pub(super) fn gauges<const N: usize>(
    encoder: &mut DescriptorEncoder<'_>,
    metric: &'static Metric,
    values: impl IntoIterator<Item = ([String; N], i64)>,
) -> fmt::Result {
    let mut encoder =
        encoder.encode_descriptor(metric.name, metric.help, None, MetricType::Gauge)?;
    for (named, value) in values {
        let labels = labels(metric, named.map(Into::into));
        if N == 0 {
            encoder.encode_gauge(&value)?;
        } else {
            encoder.encode_family(&labels)?.encode_gauge(&value)?;
        }
    }
    Ok(())
}

fn count(of: usize) -> i64 {
    i64::try_from(of).unwrap_or(i64::MAX)
}

impl PoolStores {
    /// The pools of this manager, by namespace and name.
    fn read(&self) -> Vec<Pool> {
        let mut pools: Vec<Pool> = self
            .pools
            .state()
            .iter()
            .filter(|pool| self.is_ours(pool))
            .map(|pool| self.pool(pool))
            .collect();
        pools.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        pools
    }

    fn is_ours(&self, pool: &DynamicObject) -> bool {
        let labels = pool.metadata.labels.as_ref();
        let filter = labels.and_then(|labels| labels.get(label::WATCH_FILTER));
        self.watch_filter.is_empty() || filter == Some(&self.watch_filter)
    }

    fn pool(&self, pool: &DynamicObject) -> Pool {
        let key = ObjectKey::of(pool);
        let owners = pool.metadata.owner_references.iter().flatten();
        let kind = Kind::MachinePool.resource();
        let owner = owners
            .filter(|owner| owner.kind == kind.kind)
            .find_map(|owner| {
                let reference =
                    ObjectRef::new_with(&owner.name, kind.clone()).within(&key.namespace);
                self.machine_pools.get(&reference)
            });
        let number = |pointer: &str| {
            let owner = owner.as_ref()?;
            owner.data.pointer(pointer)?.as_i64()
        };
        let ids = owner.as_ref().and_then(|owner| {
            let ids = owner.data.pointer("/spec/providerIDList")?;
            ids.as_array().map(Vec::len)
        });
        let ready = status_of(pool.data.pointer("/status/conditions"), "Ready");
        Pool {
            wanted: owner
                .as_ref()
                .map_or(0, |_| number("/spec/replicas").unwrap_or(1)),
            machines: count(ids.unwrap_or_default()),
            ready_machines: number("/status/readyReplicas").unwrap_or_default(),
            is_ready: ready.as_deref() == Some("True"),
            shown: captf::Shown::of(pool),
            uid: pool.metadata.uid.clone().unwrap_or_default(),
            namespace: key.namespace,
            name: key.name,
        }
    }
}
