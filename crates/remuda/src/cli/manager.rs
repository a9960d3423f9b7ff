//! `remuda manager` and `remuda agent`: what runs in a cluster.

use std::{path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};
use remuda_plan::share::Share;

use super::{
    CloudArgs, Features,
    values::{Address, address, lease, share},
};

/// `remuda manager`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ManagerArgs {
    /// Kubeconfig file [default: $KUBECONFIG, ~/.kube/config, else the cluster this runs in].
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Whether MachinePools, Machines and their like are reconciled here, or by upstream's core.
    #[arg(long, value_enum, default_value_t = CoreMode::Auto)]
    pub(crate) core: CoreMode,
    /// Only objects whose label cluster.x-k8s.io/watch-filter has this value.
    #[arg(long, value_name = "VALUE")]
    pub(crate) watch_filter: Option<String>,
    /// Do one share of the work: 0/3, 1/3 or 2/3 of three. A cluster and all that belongs to it is in
    /// one share; each share elects its own leader.
    #[arg(long, value_name = "INDEX/COUNT", default_value = "0/1", hide_default_value = true, value_parser = share)]
    pub(crate) shard: Share,
    /// Only objects of this namespace; empty: of all.
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// Namespace of the manager itself: its Lease, its certificates, its installation's id.
    #[arg(
        long,
        value_name = "NAMESPACE",
        env = "POD_NAMESPACE",
        default_value = "remuda-system"
    )]
    pub(crate) system_namespace: String,
    /// Pools worked on at once.
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    pub(crate) concurrency: u16,
    /// Work only while holding the Lease; false: there is one replica.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    pub(crate) leader_elect: bool,
    /// How long a leader's Lease holds without renewal, in whole seconds: so soon another takes over
    /// from one that died.
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = lease)]
    pub(crate) leader_elect_lease_duration: Duration,
    /// Address of /healthz, /readyz and /metrics; 0: none.
    #[arg(long, value_name = "ADDRESS", default_value = ":9440", value_parser = address)]
    pub(crate) health_addr: Address,
    /// Serve the admission webhooks.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    pub(crate) webhooks: bool,
    /// Port of the admission webhooks; 0 takes a free one.
    #[arg(long, value_name = "PORT", default_value_t = 9443)]
    pub(crate) webhook_port: u16,
    /// Name of the Service in front of the webhooks, in the manager's namespace.
    #[arg(long, value_name = "NAME", default_value = "remuda-webhooks")]
    pub(crate) webhook_service: String,
    /// Host at which API servers reach the webhooks without a Service.
    #[arg(long, value_name = "HOST")]
    pub(crate) webhook_host: Option<String>,
    /// Folder with tls.crt, tls.key and perhaps ca.crt, kept by something else such as cert-manager
    /// [default: own certificates, which renew themselves].
    #[arg(long, value_name = "DIR")]
    pub(crate) webhook_cert_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) features: Features,
    /// Serve the dashboard; people sign in with tokens of their own, such as `kubectl create token`
    /// prints.
    #[arg(long)]
    pub(crate) dashboard: bool,
    /// Where the dashboard listens, on loopback: kubectl port-forward reaches it.
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "127.0.0.1:8080",
        requires = "dashboard"
    )]
    pub(crate) dashboard_addr: std::net::SocketAddr,
    #[command(flatten)]
    pub(crate) clouds: CloudArgs,
    /// Where AWS answers, for simulators.
    #[arg(long, value_name = "URL", env = "AWS_ENDPOINT_URL")]
    pub(crate) aws_endpoint_url: Option<String>,
    /// Where Azure answers, for simulators.
    #[arg(long, value_name = "URL")]
    pub(crate) azure_endpoint_url: Option<String>,
}

/// Who reconciles the core's kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CoreMode {
    /// This manager, unless upstream's package installed their definitions.
    Auto,
    /// This manager.
    On,
    /// Upstream's.
    Off,
}

/// `remuda agent`.
#[derive(Debug, Args)]
pub(crate) struct AgentArgs {
    /// The Node of this machine.
    #[arg(long, value_name = "NAME", env = "NODE_NAME")]
    pub(crate) node_name: String,
    /// Where the machine's metadata service answers.
    #[arg(
        long,
        value_name = "URL",
        env = "REMUDA_METADATA_ENDPOINT",
        default_value = "http://169.254.169.254"
    )]
    pub(crate) metadata_endpoint: String,
}
