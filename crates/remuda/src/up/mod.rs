//! `remuda up`: a Kubernetes API, the controllers and simulated clouds in one process.
//!
//! ```text
//! kubectl ──TLS──▶ management API ◀── controllers ──▶ backends ──▶ simulated AWS, Azure ◀── your tools
//!                  workload APIs  ◀──────────── simulated nodes ◀──────────┘
//! ```

pub(crate) mod call_ledger;
mod cloud_file;
pub(crate) mod clouds;
mod clusters;
mod dashboard;
mod demo;
mod health;
mod install;
pub(crate) mod progress;
pub(crate) mod requests;
pub(crate) mod state;
mod webhooks;
mod which;

use std::{net::SocketAddr, path::Path, sync::Arc, time::Duration};

use anyhow::{Context, Result, bail};
use kube::Client;
use remuda_apiserver::{ApiServer, Serving};
use remuda_cloud::PoolBackend;
use remuda_controllers::{
    Context as ControllerContext, Options as ControllerOptions, clock::SystemClock,
    metrics::Metrics, workload::KubeconfigClusters,
};
use remuda_plan::{driver::Driver, pool::world::Manager};
use remuda_sim::{
    Sim,
    aws::Aws,
    azure::{Azure, AzureSim},
};
use tokio::{task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

use self::{
    call_ledger::CallLedger,
    cloud_file::CloudFile,
    clouds::{Pace, Paced},
    clusters::Clusters,
    demo::Standing,
    progress::Progress,
    requests::RequestCounts,
    state::{UpState, loopback},
    which::Which,
};
use crate::{
    cli::{CloudKind, UpArgs},
    config::KUBECONFIG,
};

pub(crate) use dashboard::anywhere as dashboard_address;
pub(crate) use demo::{
    NAMESPACE as DEMO_NAMESPACE, POOLS as DEMO_POOLS, documents as demo_documents, is_ready,
    is_running,
};
pub(crate) use install::manifests as apply_manifests;

/// Pools worked on at once. Most of them wait for a batch of cloud reads that they share: the more
/// there are, the fewer batches it takes.
const POOLS_AT_ONCE: u16 = 32;
/// Machines worked on at once: each pass waits for several durable writes, which the more of them
/// share (measured: 400 pools of 10 took 35 s instead of 39 s with 8).
const MACHINES_AT_ONCE: u16 = 32;
/// Objects of each other kind worked on at once. The API server is in this process: no pass waits
/// for a network, so more than keep the cores busy only take memory (measured: 200 pools of 10 took
/// 22 s instead of 65 s, and two thirds of the processor time).
const OTHERS_AT_ONCE: u16 = 8;

/// How often the demo's pool is looked at while it gets ready.
const LOOK: Duration = Duration::from_millis(200);

/// What differs between a person's `up` and one that is measured.
pub(crate) struct Setting {
    /// How fast the simulated clouds are.
    pub(crate) pace: Pace,
    /// The simulated clouds are kept on disk.
    pub(crate) keeps_clouds: bool,
    /// Counts what Remuda asks of the management API.
    pub(crate) requests: Option<Arc<RequestCounts>>,
}

impl Setting {
    fn of(args: &UpArgs) -> Self {
        Self {
            pace: Pace::Times(args.speed),
            keeps_clouds: true,
            requests: None,
        }
    }
}

/// Everything that runs.
pub(crate) struct Up {
    /// The management API and the workload APIs.
    pub(crate) server: ApiServer,
    client: Client,
    /// Counts cloud calls.
    pub(crate) calls: Arc<CallLedger>,
    /// The simulated Azure.
    pub(crate) azure: Option<AzureSim>,
    serving: Arc<Serving>,
    /// Where the simulated AWS answers.
    pub(crate) aws_endpoint: Option<String>,
    /// Where the simulated Azure answers.
    pub(crate) azure_endpoint: Option<String>,
    /// Where health checks and metrics are answered.
    pub(crate) health: Option<SocketAddr>,
    controllers: JoinHandle<()>,
    cloud_files: Vec<CloudFile>,
    dashboard: Option<dashboard::Shown>,
    shutdown: CancellationToken,
}

impl Up {
    /// Starts everything, saying so.
    pub(crate) async fn start(dir: &Path, args: &UpArgs, progress: &mut Progress) -> Result<Self> {
        Self::start_in(&Setting::of(args), dir, args, progress).await
    }

    /// Starts everything in a setting of its own.
    pub(crate) async fn start_in(
        setting: &Setting,
        dir: &Path,
        args: &UpArgs,
        progress: &mut Progress,
    ) -> Result<Self> {
        let last = UpState::read(dir);
        let which = Which::of(args, dir, &last)?;
        progress.begin("Kubernetes API");
        let own_webhooks = Arc::<webhooks::Own>::default();
        let (server, serving) = serve(dir, args, last.api_port, own_webhooks.clone()).await?;
        let router = server.management().router();
        let router = match &setting.requests {
            Some(requests) => requests.counting(router),
            None => router,
        };
        let client = Client::new(router, "default");
        let kubeconfig = serving.kubeconfig(&server.management());
        state::private_file(&dir.join(KUBECONFIG), &kubeconfig)?;
        let kinds = install::definitions(&client).await?;
        let installation = install::installation(&client).await?;
        let shutdown = CancellationToken::new();
        let gates = args.features.gates.clone();
        let webhook_port =
            webhooks::serve(&client, own_webhooks, last.webhook_port, gates, &shutdown).await?;
        progress.done(&format!(
            "{} with {kinds} kinds of its own",
            serving.url(&server.management())
        ));

        let clusters = Clusters::new(&server, which);
        let mut cloud_files = Vec::new();
        let aws = cloud::<Aws>(which.aws, dir, setting.pace, last.aws_port, progress).await?;
        if let Some((sim, _)) = &aws {
            if setting.keeps_clouds {
                cloud_files.push(CloudFile::keep(dir, sim));
            }
            sim.run_nodes(Arc::new(clusters.clone()));
        }
        let azure =
            cloud::<Azure>(which.azure, dir, setting.pace, last.azure_port, progress).await?;
        if let Some((sim, _)) = &azure {
            if setting.keeps_clouds {
                cloud_files.push(CloudFile::keep(dir, sim));
            }
            sim.run_nodes(Arc::new(clusters.clone()));
        }
        tokio::spawn(clusters.follow(client.clone(), serving.clone()));

        progress.begin("controllers");
        let calls = CallLedger::new(jiff::Timestamp::now);
        let metrics = Metrics::new(env!("CARGO_PKG_VERSION"), Arc::new(SystemClock));
        let sims = (
            aws.as_ref().map(|(sim, _)| sim),
            azure.as_ref().map(|(sim, _)| sim),
        );
        let backends: [Arc<dyn PoolBackend>; 2] = [
            Arc::new(clouds::aws_backend(
                sims.0,
                (setting.pace, args.clouds),
                Some(health::meter(&calls, &metrics, Driver::Aws)),
            )),
            Arc::new(clouds::azure_backend(
                sims.1,
                (setting.pace, args.clouds),
                Some(health::meter(&calls, &metrics, Driver::Azure)),
            )),
        ];
        let aws_address = aws.map(|(_, address)| address);
        let (azure, azure_address) = azure.unzip();
        let manager = Manager {
            installation,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Manager::default()
        };
        let context = ControllerContext::new(
            client.clone(),
            backends,
            Arc::new(SystemClock),
            Arc::new(KubeconfigClusters::new(client.clone())),
            manager,
        )
        .counting_into(metrics.clone());
        let run = remuda_controllers::run(
            Arc::new(context),
            ControllerOptions {
                concurrency: POOLS_AT_ONCE,
                core_concurrency: Some(OTHERS_AT_ONCE),
                machine_concurrency: Some(MACHINES_AT_ONCE),
                ..ControllerOptions::default()
            },
            shutdown.clone(),
        );
        let controllers = tokio::spawn(run);
        progress.done("running");
        let health = health::serve(args.health_addr, last.health_port, &metrics, &shutdown).await?;
        let parts = dashboard::Place {
            kubeconfig: &kubeconfig,
            client: client.clone(),
            calls: calls.clone(),
            last: last.dashboard_port,
        };
        let dashboard = dashboard::show(args, parts).await?;
        UpState {
            api_port: serving.address().port(),
            webhook_port: Some(webhook_port),
            aws_port: aws_address.map(|address| address.port()),
            azure_port: azure_address.map(|address| address.port()),
            aws_is_real: Some(which.aws == CloudKind::Real),
            azure_is_real: Some(which.azure == CloudKind::Real),
            dashboard_port: dashboard.as_ref().map(|shown| shown.address.port()),
            health_port: health.map(|address| address.port()),
            speed: args.speed,
        }
        .write(dir)?;
        Ok(Self {
            server,
            client,
            calls,
            azure,
            serving,
            aws_endpoint: aws_address.map(|address| format!("http://{address}")),
            azure_endpoint: azure_address.map(|address| format!("http://{address}")),
            health,
            controllers,
            cloud_files,
            dashboard,
            shutdown,
        })
    }

    /// A link to the dashboard that signs in once; `None` when there is no dashboard.
    pub(crate) fn dashboard_link(&self) -> Option<&str> {
        self.dashboard.as_ref().map(|shown| shown.link.as_str())
    }

    /// Applies the demo where it is not there yet; returns whether it did.
    pub(crate) async fn apply_demo(&self) -> Result<bool> {
        if !demo::apply(&self.client).await? {
            return Ok(false);
        }
        for cluster in demo::CLUSTERS {
            let name = format!("{}/{cluster}", demo::NAMESPACE);
            let workload = Client::new(self.server.instance(&name).router(), "default");
            demo::apply_workload(&workload).await?;
        }
        Ok(true)
    }

    /// Waits until a pool of the demo is Ready; returns its nodes.
    ///
    /// # Errors
    /// It is not Ready in time; the error says what was awaited last.
    pub(crate) async fn demo_ready(
        &self,
        pool: &str,
        within: Option<Duration>,
        progress: &mut Progress,
    ) -> Result<i32> {
        let deadline = within.map(|within| Instant::now() + within);
        loop {
            let waiting = match demo::standing(&self.client, pool).await? {
                Standing::Ready(nodes) => return Ok(nodes),
                Standing::NotYet(waiting) => waiting,
            };
            progress.update(&waiting);
            if self.controllers.is_finished() {
                bail!("the controllers ended unexpectedly; -v says more");
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                let seconds = within.unwrap_or_default().as_secs();
                bail!(
                    "{}/{pool} is not Ready after {seconds} s: {waiting}",
                    demo::NAMESPACE
                );
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Resolves when the controllers end by themselves, which they never should.
    pub(crate) async fn controllers_ended(&mut self) {
        let _ = (&mut self.controllers).await;
    }

    /// Lets running passes end, saves the simulated clouds, then closes the listeners.
    ///
    /// # Errors
    /// The clouds cannot be saved.
    pub(crate) async fn stop(self) -> Result<()> {
        const GRACE: Duration = Duration::from_secs(5);
        self.shutdown.cancel();
        drop(self.dashboard);
        if !self.controllers.is_finished() {
            let _ = tokio::time::timeout(GRACE, self.controllers).await;
        }
        let mut saved = Ok(());
        for file in self.cloud_files {
            saved = saved.and(file.close().await);
        }
        if let Ok(serving) = Arc::try_unwrap(self.serving) {
            serving.shutdown().await;
        }
        saved
    }
}

/// Opens a simulated cloud and serves it, saying so; nothing where the real one is meant, which is
/// sent nothing before a pool asks.
async fn cloud<C: Paced>(
    kind: CloudKind,
    dir: &Path,
    pace: Pace,
    last: Option<u16>,
    progress: &mut Progress,
) -> Result<Option<(Sim<C>, SocketAddr)>> {
    if kind == CloudKind::Real {
        progress.begin(C::NAME);
        progress.done("the real one, with the credentials of each pool's identity");
        return Ok(None);
    }
    progress.begin(&format!("simulated {}", C::NAME));
    let sim = cloud_file::open::<C>(dir, pace)?;
    let address = clouds::serve(&sim, last)
        .await
        .with_context(|| format!("serving the simulated {}", C::NAME))?;
    progress.done(&format!("http://{address}, {pace}"));
    Ok(Some((sim, address)))
}

/// Opens the store and listens: on the port that was asked for, else where it listened last time,
/// else on a free one.
async fn serve(
    dir: &Path,
    args: &UpArgs,
    last: u16,
    webhooks: Arc<webhooks::Own>,
) -> Result<(ApiServer, Arc<Serving>)> {
    let asked = args.port;
    let store = state::prepare(dir)?;
    let mut builder = ApiServer::builder()
        .data_dir(store)
        .service_resolver(webhooks);
    if let Some(keys) = &args.key_file {
        builder = builder.key_file(keys);
    }
    let server = builder
        .build()
        .with_context(|| format!("opening the data directory {}", dir.display()))?;
    if asked == 0
        && last != 0
        && let Ok(serving) = server.serve(loopback(last)).await
    {
        return Ok((server, Arc::new(serving)));
    }
    let serving = server.serve(loopback(asked)).await?;
    Ok((server, Arc::new(serving)))
}
