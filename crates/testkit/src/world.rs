//! One world: an API server in memory, simulated clouds with nodes, and controllers that can be
//! started, stopped and crashed.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use aws_smithy_async::time::{SharedTimeSource, TimeSource};
use jiff::Timestamp;
use kube::Client;
use remuda_apiserver::{ApiServer, TokioClock};
use remuda_aws::AwsBackend;
use remuda_azure::AzureBackend;
use remuda_cloud::PoolBackend;
use remuda_controllers::{
    Context, Options,
    clock::RuntimeClock,
    kinds::Kind,
    metrics::Metrics,
    objects::{LiveObjects, Objects, Target},
    workload::MadeClusters,
};
use remuda_plan::{admission::Gates, driver::Driver, pool::world::Manager};
use remuda_sim::{
    SimClock,
    aws::{AwsSim, Timing},
    azure::{self, AzureSim},
    kubelet::WorkloadApis,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::{
    admission::InProcess,
    demo::{Demo, NAMESPACE},
    requests::Requests,
    tripwire::{Tripwire, Wired, WiredCloud},
};

/// Every world starts here.
const START: &str = "2026-10-01T08:00:00Z";
/// Field manager of what a test writes.
pub(crate) const TEST: &str = "test";

/// What a world is made of.
#[derive(Debug, Clone)]
pub struct Builder {
    pub(crate) seed: u64,
    timing: Timing,
    azure_timing: azure::Timing,
    installation: String,
    watch_filter: String,
    full_speed: bool,
    whole_cluster: bool,
    workload_cluster: &'static str,
    pub(crate) options: Options,
    admission: Option<Gates>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            seed: 1,
            timing: Timing::realistic(),
            azure_timing: azure::Timing::realistic(),
            installation: "1b4e28ba-2fa1-4d2b-883f-0016d3cca427".to_owned(),
            watch_filter: String::new(),
            full_speed: false,
            whole_cluster: false,
            workload_cluster: "demo",
            options: Options::default(),
            admission: None,
        }
    }
}

impl Builder {
    /// Seed of every random choice.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How long the cloud's processes take.
    #[must_use]
    pub fn timing(mut self, timing: Timing) -> Self {
        self.timing = timing;
        self
    }

    /// How long Azure's processes take.
    #[must_use]
    pub fn azure_timing(mut self, timing: azure::Timing) -> Self {
        self.azure_timing = timing;
        self
    }

    /// Installation id of the manager.
    #[must_use]
    pub fn installation(mut self, id: &str) -> Self {
        id.clone_into(&mut self.installation);
        self
    }

    /// Only objects with this filter label.
    #[must_use]
    pub fn watch_filter(mut self, filter: &str) -> Self {
        filter.clone_into(&mut self.watch_filter);
        self
    }

    /// The backend sends as fast as it can: no client-side ceilings.
    #[must_use]
    pub fn full_speed(mut self) -> Self {
        self.full_speed = true;
        self
    }

    /// The workload cluster has a scheduler and Kubernetes' own controllers: Deployments and
    /// DaemonSets get their pods, nodes in trouble their taints. Without it only kubelets live
    /// there, and pods are what a test makes them.
    #[must_use]
    pub fn whole_cluster(mut self) -> Self {
        self.whole_cluster = true;
        self
    }

    /// Which cluster of the namespace `team-a` [`World::workload`] means, and gets the rest of a
    /// cluster: `demo`, on AWS, unless said otherwise.
    #[must_use]
    pub fn workload_cluster(mut self, name: &'static str) -> Self {
        self.workload_cluster = name;
        self
    }

    /// What runs.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// The API server asks the manager's admission webhooks, with these feature gates.
    #[must_use]
    pub fn admission(mut self, gates: Gates) -> Self {
        self.admission = Some(gates);
        self
    }

    /// The world, with the custom resources installed and no controller running.
    pub async fn build(self) -> World {
        let start: Timestamp = START.parse().unwrap();
        let webhooks = InProcess::default();
        let server = ApiServer::builder()
            .clock(Arc::new(TokioClock::starting_at(start)))
            .seed(self.seed)
            .service_resolver(Arc::new(webhooks.clone()))
            .build()
            .expect("a server in memory can be built");
        let aws = AwsSim::builder()
            .clock(SimClock::starting_at(start))
            .seed(self.seed)
            .timing(self.timing.clone())
            .demo();
        let azure = AzureSim::builder()
            .clock(SimClock::starting_at(start))
            .seed(self.seed)
            .timing(self.azure_timing.clone())
            .demo();
        let client = Client::new(server.management().router(), "default");
        let clock = RuntimeClock::starting_at(start);
        let world = World {
            metrics: Metrics::new("test", Arc::new(clock)),
            clock,
            // Tests look at everything.
            objects: LiveObjects::new(client).keeping_managers(),
            nodes: Mutex::default(),
            rest_of_cluster: Mutex::default(),
            running: Mutex::default(),
            workload_server: server.clone(),
            server,
            aws,
            webhooks,
            azure,
            azure_nodes: Mutex::default(),
            requests: Requests::default(),
            builder: self,
        };
        world.install().await;
        if let Some(gates) = world.builder.admission.clone() {
            let manager = world.manager_client();
            world.webhooks.open(&world.objects, manager, gates).await;
        }
        world.run_nodes();
        if world.builder.whole_cluster {
            world.run_rest_of_cluster();
        }
        world
    }
}

/// One world.
pub struct World {
    /// The embedded API server.
    pub server: ApiServer,
    /// The simulated AWS.
    pub aws: AwsSim,
    /// The simulated Azure.
    pub azure: AzureSim,
    /// The management cluster's objects, with an administrator's rights.
    pub objects: LiveObjects,
    /// Serves the workload clusters: another one after a move.
    pub(crate) workload_server: ApiServer,
    /// What the controllers count, whichever run of them.
    pub metrics: Arc<Metrics>,
    pub(crate) clock: RuntimeClock,
    pub(crate) nodes: Mutex<Option<AbortOnDropHandle<()>>>,
    pub(crate) rest_of_cluster: Mutex<Option<AbortOnDropHandle<()>>>,
    pub(crate) azure_nodes: Mutex<Option<AbortOnDropHandle<()>>>,
    pub(crate) running: Mutex<Option<Running>>,
    pub(crate) webhooks: InProcess,
    /// What the manager asked of the management API.
    pub requests: Requests,
    pub(crate) builder: Builder,
}

pub(crate) struct Running {
    task: JoinHandle<()>,
    shutdown: CancellationToken,
}

/// Every cluster id means the one workload cluster.
struct OneCluster(axum::Router);

impl WorkloadApis for OneCluster {
    fn for_cluster(&self, _: &str) -> Option<axum::Router> {
        Some(self.0.clone())
    }
}

#[derive(Debug)]
struct WorldTime(SimClock);

impl TimeSource for WorldTime {
    fn now(&self) -> SystemTime {
        SystemTime::from(self.0.now())
    }
}

impl World {
    /// Starts with the defaults.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A world with the defaults.
    pub async fn new() -> Self {
        Self::builder().build().await
    }

    /// The world's time.
    pub fn now(&self) -> Timestamp {
        remuda_controllers::clock::Clock::now(&self.clock)
    }

    /// Objects of the workload cluster.
    pub fn workload(&self) -> LiveObjects {
        self.workload_of(NAMESPACE, self.builder.workload_cluster)
    }

    /// Objects of a workload cluster.
    pub fn workload_of(&self, namespace: &str, cluster: &str) -> LiveObjects {
        let instance = self
            .workload_server
            .instance(&format!("{namespace}/{cluster}"));
        LiveObjects::new(Client::new(instance.router(), "default"))
    }

    pub(crate) async fn install(&self) {
        let kind = Kind::CustomResourceDefinition.resource();
        for crd in remuda_api::crds() {
            let body = serde_json::to_value(&crd).unwrap();
            self.objects.create(&kind, None, &body, TEST).await.unwrap();
        }
        self.give_rights().await;
    }

    /// Instances of the simulated AWS join the workload cluster `team-a/demo` from now on, those of
    /// the simulated Azure `team-a/demo-azure`.
    pub fn run_nodes(&self) {
        let router = self
            .workload_server
            .instance(&format!("{NAMESPACE}/demo"))
            .router();
        let task = self.aws.run_nodes(Arc::new(OneCluster(router)));
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        *nodes = Some(AbortOnDropHandle::new(task));
        let router = self
            .workload_server
            .instance(&format!("{NAMESPACE}/demo-azure"))
            .router();
        let task = self.azure.run_nodes(Arc::new(OneCluster(router)));
        let mut nodes = self
            .azure_nodes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *nodes = Some(AbortOnDropHandle::new(task));
    }

    /// The workload cluster gets its scheduler and its controllers.
    fn run_rest_of_cluster(&self) {
        let name = format!("{NAMESPACE}/{}", self.builder.workload_cluster);
        let router = self.workload_server.instance(&name).router();
        let task = tokio::spawn(remuda_sim::cluster::run(router));
        let mut rest = self
            .rest_of_cluster
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *rest = Some(AbortOnDropHandle::new(task));
    }

    /// A client of the workload cluster, with every right.
    pub fn workload_client(&self) -> Client {
        let name = format!("{NAMESPACE}/{}", self.builder.workload_cluster);
        Client::new(self.workload_server.instance(&name).router(), "default")
    }

    /// Every instance of the simulated Azure that exists now gets its node agent.
    pub fn run_agents(&self) -> Vec<AbortOnDropHandle<()>> {
        let workload = self
            .workload_server
            .instance(&format!("{NAMESPACE}/demo-azure"));
        let sets = self.azure.world().scale_sets();
        let instances = sets.into_iter().flat_map(|set| set.instances);
        instances
            .map(|instance| {
                let service = self.azure.metadata_router(&instance.id);
                let nodes = kube::Api::all(Client::new(workload.router(), "default"));
                let task = tokio::spawn(async move {
                    let agent = remuda_controllers::agent::Agent {
                        guest: &remuda_azure::Guest::in_process(service),
                        nodes,
                        node: &instance.computer_name.to_lowercase(),
                    };
                    let never = CancellationToken::new();
                    agent.run(Duration::from_secs(1), &never).await;
                });
                AbortOnDropHandle::new(task)
            })
            .collect()
    }

    /// Instances that boot from now on never become Nodes.
    pub fn stop_nodes(&self) {
        for nodes in [&self.nodes, &self.azure_nodes] {
            nodes.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
    }

    /// A context as a process of its own would make it; its writes go through `tripwire`.
    pub fn context(&self, tripwire: &Tripwire) -> Context {
        let management = Wired::new(self.manager_service(), tripwire.clone());
        let cloud = WiredCloud(Wired::new(self.aws.router(), tripwire.clone()));
        let mut options = remuda_aws::Options {
            time_source: SharedTimeSource::new(WorldTime(self.aws.clock())),
            seed: self.builder.seed,
            meter: Some(self.metrics.meter(Driver::Aws)),
            ..remuda_aws::Options::default()
        };
        if self.builder.full_speed {
            options.ceilings.clear();
        }
        let aws: Arc<dyn PoolBackend> = Arc::new(AwsBackend::new(options.in_process(cloud)));
        let azure: Arc<dyn PoolBackend> = Arc::new(self.azure_backend(tripwire));
        let (server, wire) = (self.workload_server.clone(), tripwire.clone());
        let workload = MadeClusters::new(move |key| {
            let instance = server.existing_instance(&key.to_string())?;
            Some(Client::new(
                Wired::far(instance.router(), wire.clone()),
                "default",
            ))
        });
        let manager = Manager {
            installation: self.builder.installation.clone(),
            watch_filter: self.builder.watch_filter.clone(),
            version: "test".to_owned(),
            ..Manager::default()
        };
        Context::new(
            Client::new(management, "default"),
            [aws, azure],
            Arc::new(self.clock),
            Arc::new(workload),
            manager,
        )
        .counting_into(self.metrics.clone())
    }

    fn azure_backend(&self, tripwire: &Tripwire) -> AzureBackend {
        let cloud = WiredCloud(Wired::new(self.azure.router(), tripwire.clone()));
        let clock = self.azure.clock();
        let mut options = remuda_azure::Options {
            clock: remuda_azure::Clock::new(move || clock.now()),
            seed: self.builder.seed,
            meter: Some(self.metrics.meter(Driver::Azure)),
            ..remuda_azure::Options::default()
        };
        if self.builder.full_speed {
            options.ceilings.clear();
        }
        AzureBackend::new(options.in_process(cloud))
    }

    /// Starts the controllers.
    pub fn start(&self) {
        self.start_with(&Tripwire::never());
    }

    /// Starts the controllers with their writes going through a tripwire.
    pub fn start_with(&self, tripwire: &Tripwire) {
        let shutdown = CancellationToken::new();
        let ctx = Arc::new(self.context(tripwire));
        let options = self.builder.options.clone();
        let task = tokio::spawn(remuda_controllers::run(ctx, options, shutdown.clone()));
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(old) = running.replace(Running { task, shutdown }) {
            old.task.abort();
        }
    }

    fn take_running(&self) -> Option<Running> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.take()
    }

    /// Stops the controllers the way a signal does, and waits until they are done.
    pub async fn stop(&self) {
        if let Some(running) = self.take_running() {
            running.shutdown.cancel();
            running
                .task
                .await
                .expect("the controllers end without a panic");
        }
    }

    /// Stops the controllers the way a power cut does.
    pub async fn crash(&self) {
        if let Some(running) = self.take_running() {
            running.task.abort();
            let _ = running.task.await;
        }
    }

    /// Lets time pass.
    pub async fn pass(&self, span: Duration) {
        tokio::time::sleep(span).await;
    }

    /// Creates objects, with their status where they have one.
    pub async fn apply(&self, demo: &Demo) {
        for object in demo.objects() {
            self.create(object).await;
        }
    }

    /// Creates one object, with its status where it has one.
    pub async fn create(&self, object: &Value) {
        let kind = kind_of(object);
        let resource = kind.resource();
        let name = object["metadata"]["name"].as_str().unwrap();
        let namespace = object["metadata"]["namespace"].as_str();
        self.objects
            .create(&resource, namespace, object, TEST)
            .await
            .unwrap_or_else(|error| panic!("{error}"));
        if kind == Kind::CustomResourceDefinition {
            self.let_core_use(object).await;
            let what = format!("{name} is served");
            self.object_becomes(kind, name, &what, |crd| {
                crate::expect::condition(crd, "Established")
                    .is_some_and(|(status, _)| status == "True")
            })
            .await;
        }
        if let Some(status) = object.get("status") {
            let target = Target {
                resource: &resource,
                namespace,
                name,
                subresource: Some("status"),
            };
            let patch = json!({ "status": status });
            self.objects
                .merge_patch(&target, &patch, TEST)
                .await
                .unwrap_or_else(|error| panic!("{error}"));
        }
    }

    /// Merge-patches an object of the DEMO namespace.
    pub async fn patch(&self, kind: Kind, name: &str, patch: Value) {
        self.patch_in(kind, NAMESPACE, name, None, patch).await;
    }

    /// Merge-patches the status of an object of the DEMO namespace.
    pub async fn patch_status(&self, kind: Kind, name: &str, status: Value) {
        let patch = json!({ "status": status });
        self.patch_in(kind, NAMESPACE, name, Some("status"), patch)
            .await;
    }

    /// Merge-patches any object.
    pub async fn patch_in(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        subresource: Option<&'static str>,
        patch: Value,
    ) {
        let resource = kind.resource();
        let target = Target {
            resource: &resource,
            namespace: kind.is_namespaced().then_some(namespace),
            name,
            subresource,
        };
        self.objects
            .merge_patch(&target, &patch, TEST)
            .await
            .unwrap_or_else(|error| panic!("{error}"));
    }

    /// Deletes an object of the DEMO namespace.
    pub async fn delete(&self, kind: Kind, name: &str) {
        let namespace = kind.is_namespaced().then_some(NAMESPACE);
        self.objects
            .delete(&kind.resource(), namespace, name, None)
            .await
            .unwrap_or_else(|error| panic!("{error}"));
    }

    /// An object of the DEMO namespace.
    pub async fn get(&self, kind: Kind, name: &str) -> Option<Value> {
        self.objects
            .get(kind, NAMESPACE, name)
            .await
            .unwrap_or_else(|error| panic!("{error}"))
    }
}

fn kind_of(object: &Value) -> Kind {
    let (version, kind) = (object["apiVersion"].as_str(), object["kind"].as_str());
    Kind::from_manifest(version.unwrap_or_default(), kind.unwrap_or_default())
        .unwrap_or_else(|| panic!("the test kit does not know {version:?} {kind:?}"))
}
