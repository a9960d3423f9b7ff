//! `remuda manager`: the controllers against any Kubernetes API.
//!
//! ```text
//! every replica:  health endpoints, metrics, admission webhooks
//! the leader:     controllers ──▶ backends ──▶ AWS, Azure
//! ```
//!
//! Nothing is kept on disk: state is in the Kubernetes API and in the clouds.

mod core;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client, config::Kubeconfig};
use remuda_aws::AwsBackend;
use remuda_azure::{AzureBackend, Endpoints};
use remuda_cloud::PoolBackend;
use remuda_controllers::{
    Context as ControllerContext, Options as ControllerOptions,
    admission::{CERTIFICATES, Certificates, Endpoint, Keeper, Scope},
    clock::SystemClock,
    election::{Election, Timing},
    metrics::Metrics,
    objects::LiveObjects,
    workload::KubeconfigClusters,
};
use remuda_plan::{driver::Driver, pool::world::Manager};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub(crate) use self::core::is_upstreams as core_is_upstreams;
use crate::{
    cli::ManagerArgs,
    dashboard, reach,
    telemetry::health::{self, Health},
    up::clouds::interrupted,
    webhooks::{self, Settings},
};

/// Name of the Lease that replicas share.
const LEASE: &str = "remuda-manager";
/// Time until the webhooks' certificates are tried again.
const RETRY: Duration = Duration::from_secs(2);

/// Runs until it is interrupted.
pub(crate) async fn run(args: ManagerArgs) -> Result<()> {
    let shutdown = CancellationToken::new();
    tokio::spawn({
        let shutdown = shutdown.clone();
        async move {
            interrupted().await;
            shutdown.cancel();
        }
    });
    let config = configuration(&args).await?;
    let client = remuda_controllers::connect::client(config.clone());
    let client = client.context("connecting to the Kubernetes API")?;
    let _dashboard = dashboard(&args, config, &client).await?;
    let core = core::runs_here(args.core, &client).await?;
    let installation = installation(&client, &args.system_namespace).await?;
    let health = Health::default();
    let metrics = Metrics::new(env!("CARGO_PKG_VERSION"), Arc::new(SystemClock));
    if let Some(address) = args.health_addr {
        let listener = health::listen(address).await?;
        health::serve(listener, health.clone(), metrics.clone(), &shutdown);
    }
    serve_webhooks(&args, core, &client, &health, &shutdown).await?;

    let manager = Manager {
        watch_filter: args.watch_filter.clone().unwrap_or_default(),
        installation,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..Manager::default()
    };
    let options = ControllerOptions {
        core,
        namespace: args.namespace.clone().filter(|it| !it.is_empty()),
        concurrency: args.concurrency,
        share: args.shard,
        ..ControllerOptions::default()
    };
    let work = {
        let (client, args) = (client.clone(), args.clone());
        move |stop: CancellationToken| {
            let context = context(&client, &args, manager.clone(), &metrics);
            remuda_controllers::run(Arc::new(context), options.clone(), stop)
        }
    };
    if args.leader_elect {
        let election = Election {
            objects: LiveObjects::new(client),
            clock: Arc::new(SystemClock),
            namespace: args.system_namespace.clone(),
            name: LEASE.to_owned(),
            share: args.shard,
            identity: identity(),
            timing: Timing::of_lease(args.leader_elect_lease_duration),
        };
        election.lead(shutdown, work).await;
    } else {
        work(shutdown).await;
    }
    Ok(())
}

/// The Kubernetes API: the kubeconfig that was given, else that of the environment, else the cluster
/// that this process runs in.
async fn configuration(args: &ManagerArgs) -> Result<kube::Config> {
    Ok(match &args.kubeconfig {
        Some(file) => {
            let kubeconfig = Kubeconfig::read_from(file)
                .with_context(|| format!("reading the kubeconfig {}", file.display()))?;
            kube::Config::from_custom_kubeconfig(
                kubeconfig,
                &kube::config::KubeConfigOptions::default(),
            )
            .await
            .context("the kubeconfig")?
        }
        None => kube::Config::infer()
            .await
            .context("no Kubernetes API: give --kubeconfig, or run inside a cluster")?,
    })
}

/// The dashboard, on every replica, where it is wanted.
async fn dashboard(
    args: &ManagerArgs,
    config: kube::Config,
    client: &Client,
) -> Result<Option<dashboard::Shown>> {
    if !args.dashboard {
        return Ok(None);
    }
    let address = args.dashboard_addr;
    dashboard::only_here(address)?;
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("the dashboard cannot listen on {address}"))?;
    let parts = dashboard::Parts {
        listener,
        kubernetes: dashboard::bare(config)?,
        client: client.clone(),
        calls: None,
    };
    dashboard::serve(parts).map(Some)
}

/// The id that new records get: the UID of the manager's namespace, the same for every replica and
/// after every restart.
async fn installation(client: &Client, namespace: &str) -> Result<String> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let found = namespaces
        .get(namespace)
        .await
        .with_context(|| format!("reading the namespace {namespace}; it must exist"))?;
    found
        .metadata
        .uid
        .with_context(|| format!("the namespace {namespace} has no UID"))
}

/// This process among its replicas: the pod's name, and a random part, for a restarted pod is
/// another candidate.
fn identity() -> String {
    let host = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    format!("{}_{:016x}", host.trim(), fastrand::u64(..))
}

/// Serves the webhooks on every replica. The first pass of their keeper makes this one ready.
async fn serve_webhooks(
    args: &ManagerArgs,
    core: bool,
    client: &Client,
    health: &Health,
    shutdown: &CancellationToken,
) -> Result<()> {
    if !args.webhooks {
        health.set_ready();
        return Ok(());
    }
    let address = SocketAddr::from(([0, 0, 0, 0], args.webhook_port));
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("listening for admission reviews on {address}"))?;
    let endpoint = match &args.webhook_host {
        Some(host) => Endpoint::Host(format!("{host}:{}", listener.local_addr()?.port())),
        None => Endpoint::Service {
            namespace: args.system_namespace.clone(),
            name: args.webhook_service.clone(),
        },
    };
    let certificates = match &args.webhook_cert_dir {
        Some(folder) => Certificates::Mounted(folder.clone()),
        None => Certificates::Own {
            namespace: args.system_namespace.clone(),
            secret: CERTIFICATES.to_owned(),
        },
    };
    let settings = Settings {
        endpoint,
        certificates,
        scope: Some(Scope {
            core,
            infrastructure: true,
        }),
        gates: args.features.gates.clone(),
    };
    let (keeper, _) = webhooks::serve(client, listener, settings, shutdown)?;
    tokio::spawn(keep(keeper, health.clone(), shutdown.clone()));
    Ok(())
}

async fn keep(keeper: Keeper, health: Health, shutdown: CancellationToken) {
    while let Err(error) = keeper.pass().await {
        tracing::warn!(%error, "the webhooks have no certificate yet");
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = tokio::time::sleep(RETRY) => {}
        }
    }
    health.set_ready();
    keeper.run(shutdown).await;
}

fn context(
    client: &Client,
    args: &ManagerArgs,
    manager: Manager,
    metrics: &Arc<Metrics>,
) -> ControllerContext {
    let aws = AwsBackend::new(remuda_aws::Options {
        endpoint_url: args.aws_endpoint_url.clone(),
        meter: Some(metrics.meter(Driver::Aws)),
        ..reach::aws(args.clouds)
    });
    let mut azure = reach::azure(args.clouds);
    azure.meter = Some(metrics.meter(Driver::Azure));
    if let Some(url) = &args.azure_endpoint_url {
        azure.endpoints = Endpoints::all_at(url);
    }
    let azure = AzureBackend::new(azure);
    let backends: [Arc<dyn PoolBackend>; 2] = [Arc::new(aws), Arc::new(azure)];
    ControllerContext::new(
        client.clone(),
        backends,
        Arc::new(SystemClock),
        Arc::new(KubeconfigClusters::new(client.clone())),
        manager,
    )
    .counting_into(metrics.clone())
}
