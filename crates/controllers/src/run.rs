//! Everything that runs: one watch a kind, one queue a controller, until shutdown.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{Arc, Mutex},
};

use futures::{FutureExt, Stream, StreamExt};
use kube::{
    api::DynamicObject,
    core::ApiResource,
    runtime::{
        controller::{Action, Config, Error, ReconcileRequest, applier},
        reflector::{ObjectRef, Store},
    },
};
use remuda_plan::{share::Share, status::publication::Requeue};
use tokio::{sync::mpsc, task::JoinSet};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tokio_util::sync::CancellationToken;

use crate::{
    cluster,
    context::Context,
    contract::Contracts,
    identity,
    kinds::Kind,
    machine, machine_health_check, machine_pool,
    metrics::PoolStores,
    pacing::{Pace, paced},
    passes::{self, Reconciled},
    requeue::Failures,
    share::work_on,
    terraform_machine_pool::{self, Rests},
    watching::{Glances, Kept, ObjectKey, Route, Watch, keep_conditions, keep_only},
    workload::{NodeNews, NodeWake, NodeWatches},
};

/// What runs, and how much of it at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The core controllers (Cluster, MachinePool) run here: standalone mode.
    pub core: bool,
    /// The identity controller runs here: captf's own does not.
    pub identities: bool,
    /// Only objects of this namespace; `None`: of all.
    pub namespace: Option<String>,
    /// Infrastructure pools worked on at once.
    pub concurrency: u16,
    /// Objects of each other kind but Machines worked on at once; `None`: as many as upstream's
    /// controllers do, and no fewer than pools. Waiting in a queue an object costs nothing and its
    /// changes become one; worked on it holds all that it reads.
    pub core_concurrency: Option<u16>,
    /// Machines worked on at once; `None`: likewise. A Machine holds little, and waits for several
    /// writes of its own.
    pub machine_concurrency: Option<u16>,
    /// Which part of the work is done here.
    pub share: Share,
}

impl Options {
    /// How many objects of a kind are worked on at once. Upstream's figures: cluster-api document,
    /// section 0.
    fn concurrency_of(&self, kind: Kind) -> u16 {
        let upstreams = match kind {
            Kind::TerraformMachinePool => return self.concurrency,
            Kind::Machine => 100,
            Kind::MachinePool | Kind::MachineHealthCheck | Kind::Cluster => 50,
            _ => 1,
        };
        let given = match kind {
            Kind::Machine => self.machine_concurrency,
            _ => self.core_concurrency,
        };
        given.unwrap_or(self.concurrency.max(upstreams))
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            core: true,
            identities: true,
            namespace: None,
            concurrency: 10,
            core_concurrency: None,
            machine_concurrency: None,
            share: Share::default(),
        }
    }
}

/// Runs the controllers until `shutdown`, then lets running passes end.
///
/// # Cancellation
/// Dropping the future stops everything at once, as a crash would.
pub async fn run(ctx: Arc<Context>, options: Options, shutdown: CancellationToken) {
    let mut house = House::new(&ctx, &options, &shutdown);
    let (pools, pool_kept) = kept(Kind::TerraformMachinePool, |pool| {
        keep_only(
            pool,
            &[
                &["spec", "identityRef"],
                &["spec", "variablesFrom"],
                &["status", "conditions"],
                &["status", "activeJob", "operation"],
            ],
        );
        keep_conditions(pool, &["Ready", "InfrastructureHealthy", "DriftDetected"]);
    });
    let slim_machine_pool = |pool: &mut DynamicObject| {
        let mut kept: Vec<&[&str]> = vec![
            &["spec", "clusterName"],
            &["spec", "providerIDList"],
            &["spec", "template", "spec", "bootstrap"],
            &["spec", "template", "spec", "infrastructureRef"],
        ];
        kept.extend(cluster::COUNTED);
        keep_only(pool, &kept);
        keep_conditions(pool, &[cluster::COUNTED_CONDITION]);
    };
    let (watch, kept_machine_pools) =
        Watch::new(Kind::MachinePool).keep_by(slim_machine_pool, machine_pool::terms);
    let (machine_pools, machine_pool_kept) =
        (kept_machine_pools.store.clone(), (Kind::MachinePool, watch));
    let leads = ctx.metrics.leading(PoolStores {
        pools: pools.clone(),
        machine_pools: machine_pools.clone(),
        watch_filter: ctx.manager.watch_filter.clone(),
    });
    // A context that serves a second run keeps the first one's: there is one a process.
    let _ = ctx.machine_pools.set(kept_machine_pools.clone());
    let (clusters, cluster_kept) = kept(Kind::Cluster, |cluster| {
        keep_only(cluster, &[&["spec", "infrastructureRef"]]);
    });
    let (infra_clusters, infra_kept) = kept(Kind::TerraformCluster, |cluster| {
        keep_only(
            cluster,
            &[
                &["spec", "identityRef"],
                &["spec", "defaults", "identityRef"],
            ],
        );
    });
    let (identities, identity_kept) = kept(Kind::TerraformClusterIdentity, |identity| {
        keep_only(identity, &[]);
    });
    house.watch(pool_kept);
    house.watch(machine_pool_kept);
    for (kind, watch) in [cluster_kept, infra_kept, identity_kept] {
        let glances = Glances::default();
        ctx.objects.glance_at(kind, glances.clone());
        house.watch((kind, watch.show(glances)));
    }

    let members = ctx.objects.glance_at_members();
    let infra = Watch::new(Kind::TerraformMachinePoolMachine).show(members.infra);
    house.watch((Kind::TerraformMachinePoolMachine, infra));
    let machines = Watch::new(Kind::Machine).show(members.machines);
    house.watch((Kind::Machine, machines));

    let (queue, woken) = waking();
    house.routes(terraform_machine_pool::routes(
        &queue,
        &pools,
        &kept_machine_pools,
    ));
    let rests = Arc::new(Rests::default());
    let woken = {
        let rests = rests.clone();
        woken.inspect(move |key| rests.wake(key.clone().into()))
    };
    house.controller(Kind::TerraformMachinePool, pools.clone(), woken, {
        let ctx = ctx.clone();
        move |key: ObjectKey| {
            let (ctx, rests) = (ctx.clone(), rests.clone());
            async move { terraform_machine_pool::reconcile_woken(&key.into(), &rests, &ctx).await }
                .boxed()
        }
    });
    if options.identities {
        let (queue, woken) = waking();
        let users = identity::Users::new(pools.clone(), clusters.clone(), infra_clusters);
        house.routes(identity::routes(&queue, &identities));
        house.controller(Kind::TerraformClusterIdentity, identities, woken, {
            let ctx = ctx.clone();
            move |key: ObjectKey| {
                let (ctx, users) = (ctx.clone(), users.clone());
                async move { identity::reconcile(&key.name, &users, &ctx).await }.boxed()
            }
        });
    }
    if options.core {
        core(
            &mut house,
            &ctx,
            (&kept_machine_pools, &clusters),
            InfraPools { pools, queue },
        );
    }
    house.stand().await;
    drop(leads);
}

/// The infrastructure pools and their queue: what Nodes tell concerns them, too.
struct InfraPools {
    pools: Store<DynamicObject>,
    queue: mpsc::UnboundedSender<ObjectKey>,
}

impl InfraPools {
    /// Nodes of a MachinePool came or went: its infrastructure pool reads the cloud again.
    fn read_again(&self, machine_pool: &DynamicObject, ctx: &Context) {
        for key in terraform_machine_pool::infrastructure(machine_pool) {
            let reference = ObjectRef::new_with(&key.name, Kind::TerraformMachinePool.resource())
                .within(&key.namespace);
            let uid = self
                .pools
                .get(&reference)
                .and_then(|pool| pool.metadata.uid.clone());
            if let Some(uid) = uid {
                ctx.memories().nodes_changed(&uid);
                // A closed queue means that the controllers are shutting down.
                let _ = self.queue.send(key);
            }
        }
    }
}

/// The core controllers of standalone mode.
fn core(
    house: &mut House<'_>,
    ctx: &Arc<Context>,
    (kept_machine_pools, clusters): (&Kept, &Store<DynamicObject>),
    infra_pools: InfraPools,
) {
    let machine_pools = &kept_machine_pools.store;
    let (queue, woken) = waking();
    let (news, mut heard) = mpsc::unbounded_channel();
    let (machine_news, machines_heard) = mpsc::unbounded_channel();
    let nodes =
        Arc::new(NodeWatches::new(ctx.workload.clone(), news).telling_machines(machine_news));
    machines(house, ctx, nodes.clone(), machines_heard);
    let work = Arc::new(machine_pool::Workplace::new(nodes));
    house.routes(machine_pool::routes(&queue, kept_machine_pools));
    let (owners, listener) = (machine_pools.clone(), ctx.clone());
    house.tasks.spawn(async move {
        while let Some(NodeNews {
            pool,
            machines_changed,
        }) = heard.recv().await
        {
            let reference = ObjectRef::new_with(&pool.name, Kind::MachinePool.resource())
                .within(&pool.namespace);
            if machines_changed && let Some(owner) = owners.get(&reference) {
                infra_pools.read_again(&owner, &listener);
            }
            if queue
                .send(ObjectKey::new(pool.namespace, pool.name))
                .is_err()
            {
                return;
            }
        }
    });
    house.controller(Kind::MachinePool, machine_pools.clone(), woken, {
        let ctx = ctx.clone();
        move |key: ObjectKey| {
            let (ctx, work) = (ctx.clone(), work.clone());
            async move { machine_pool::reconcile(&key, &work, &ctx).await }.boxed()
        }
    });
    health_checks(house, ctx);
    let (queue, woken) = waking();
    let work = Arc::new(cluster::Workplace {
        contracts: Contracts::default(),
        machine_pools: kept_machine_pools.clone(),
        written: Mutex::default(),
    });
    house.routes(cluster::routes(&queue, clusters));
    house.controller(Kind::Cluster, clusters.clone(), woken, {
        let ctx = ctx.clone();
        move |key: ObjectKey| {
            let (ctx, work) = (ctx.clone(), work.clone());
            async move { cluster::reconcile(&key, &work, &ctx).await }.boxed()
        }
    });
}

/// The MachineHealthCheck controller.
fn health_checks(house: &mut House<'_>, ctx: &Arc<Context>) {
    let (checks, kept) = kept(Kind::MachineHealthCheck, |check| {
        keep_only(
            check,
            &[
                &["spec", "clusterName"],
                &["spec", "selector"],
                &["status", "targets"],
            ],
        );
    });
    house.watch(kept);
    let (queue, woken) = waking();
    let work = Arc::new(machine_health_check::Workplace::new(checks.clone()));
    house.routes(machine_health_check::routes(&queue, &checks));
    house.controller(Kind::MachineHealthCheck, checks, woken, {
        let ctx = ctx.clone();
        move |key: ObjectKey| {
            let (ctx, work) = (ctx.clone(), work.clone());
            async move { machine_health_check::reconcile(&key, &work, &ctx).await }.boxed()
        }
    });
}

/// The Machine controller.
fn machines(
    house: &mut House<'_>,
    ctx: &Arc<Context>,
    nodes: Arc<NodeWatches>,
    mut heard: mpsc::UnboundedReceiver<NodeWake>,
) {
    let (watch, machines) = Watch::new(Kind::Machine).keep_by(machine::slim, machine::terms);
    house.watch((Kind::Machine, watch));
    let (queue, woken) = waking();
    house.routes(machine::routes(&queue, &machines));
    house.tasks.spawn(async move {
        while let Some(NodeWake { namespace, name }) = heard.recv().await {
            if queue.send(ObjectKey::new(namespace, name)).is_err() {
                return;
            }
        }
    });
    let work = Arc::new(machine::Workplace::new(nodes));
    house.controller(Kind::Machine, machines.store, woken, {
        let ctx = ctx.clone();
        move |key: ObjectKey| {
            let (ctx, work) = (ctx.clone(), work.clone());
            async move { machine::reconcile(&key, &work, &ctx).await }.boxed()
        }
    });
}

/// A controller's queue, and what comes out of it.
fn waking() -> (
    mpsc::UnboundedSender<ObjectKey>,
    UnboundedReceiverStream<ObjectKey>,
) {
    let (queue, woken) = mpsc::unbounded_channel();
    (queue, UnboundedReceiverStream::new(woken))
}

fn kept(kind: Kind, slim: fn(&mut DynamicObject)) -> (Store<DynamicObject>, (Kind, Watch)) {
    let (watch, store) = Watch::new(kind).keep(slim);
    (store, (kind, watch))
}

/// Watches and controllers while they are put together, and the tasks they become.
struct House<'a> {
    ctx: &'a Arc<Context>,
    options: &'a Options,
    shutdown: &'a CancellationToken,
    watches: BTreeMap<(Kind, Option<&'static str>), Watch>,
    tasks: JoinSet<()>,
    controllers: JoinSet<()>,
}

impl<'a> House<'a> {
    fn new(ctx: &'a Arc<Context>, options: &'a Options, shutdown: &'a CancellationToken) -> Self {
        Self {
            ctx,
            options,
            shutdown,
            watches: BTreeMap::new(),
            tasks: JoinSet::new(),
            controllers: JoinSet::new(),
        }
    }

    /// Adds a watch that keeps its objects; routes that were there before stay.
    fn watch(&mut self, (kind, watch): (Kind, Watch)) {
        let watch = match self.watches.remove(&(kind, None)) {
            Some(before) => watch.taking_over(before),
            None => watch,
        };
        self.watches.insert((kind, None), watch);
    }

    fn routes(&mut self, routes: Vec<(Kind, Option<&'static str>, Route)>) {
        for (kind, selector, route) in routes {
            let watch = self.watches.remove(&(kind, selector)).unwrap_or_else(|| {
                let watch = Watch::new(kind);
                match selector {
                    Some(selector) => watch.labeled(selector),
                    None => watch,
                }
            });
            self.watches.insert((kind, selector), watch.route(route));
        }
    }

    /// Starts a controller. A pass that fails is tried again with growing waits.
    fn controller(
        &mut self,
        kind: Kind,
        store: Store<DynamicObject>,
        woken: impl Stream<Item = ObjectKey> + Unpin + Send + 'static,
        reconcile: impl Fn(ObjectKey) -> Reconciled + Send + 'static,
    ) {
        let resource = kind.resource();
        let metrics = self.ctx.metrics.clone();
        metrics.works_on(kind);
        let (woken_for, gone) = (metrics.clone(), metrics.clone());
        let config = Config::default().concurrency(self.options.concurrency_of(kind));
        let requests = paced(woken, Pace::of(kind))
            .map(move |key| {
                let request = request(&key, &resource);
                woken_for.woken(kind, key);
                Ok::<_, Infallible>(request)
            })
            .take_until(self.shutdown.clone().cancelled_owned());
        let failures = Arc::new(Failures::default());
        let share = self.options.share;
        self.controllers.spawn(async move {
            let passes = applier(
                move |object: Arc<DynamicObject>, failures: Arc<Failures<ObjectKey>>| {
                    let key = ObjectKey::of(&object);
                    if !share.holds(&key.namespace, work_on(kind, &object)) {
                        return std::future::ready(Ok(Action::await_change())).boxed();
                    }
                    let pass = reconcile(key.clone());
                    let metrics = metrics.clone();
                    async move {
                        let requeue = passes::run(kind, &key, pass, &metrics).await?;
                        failures.forget(&key);
                        Ok(action(requeue))
                    }
                    .boxed()
                },
                |object, error, failures| {
                    let key = ObjectKey::of(&object);
                    Action::requeue(failures.wait(&key, error))
                },
                failures,
                store,
                requests,
                config,
            );
            passes
                .for_each(|ended| {
                    if let Err(Error::ObjectNotFound(object)) = ended {
                        let namespace = object.namespace.unwrap_or_default();
                        gone.gone(kind, &ObjectKey::new(namespace, object.name));
                    }
                    std::future::ready(())
                })
                .await;
        });
    }

    /// Runs until shutdown; watches end with the last running pass.
    async fn stand(mut self) {
        let client = self.ctx.objects.client();
        for (_, watch) in std::mem::take(&mut self.watches) {
            let namespace = self.options.namespace.clone();
            self.tasks.spawn(watch.follow(client.clone(), namespace));
        }
        self.shutdown.cancelled().await;
        self.ctx.shutdown.cancel();
        while self.controllers.join_next().await.is_some() {}
        self.tasks.shutdown().await;
    }
}

fn request(key: &ObjectKey, resource: &ApiResource) -> ReconcileRequest<DynamicObject> {
    let reference = ObjectRef::new_with(&key.name, resource.clone());
    if key.namespace.is_empty() {
        reference.into()
    } else {
        reference.within(&key.namespace).into()
    }
}

fn action(requeue: Requeue) -> Action {
    match requeue {
        Requeue::OnChange => Action::await_change(),
        Requeue::After(wait) => Action::requeue(wait),
    }
}
