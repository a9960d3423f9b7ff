//! `remuda manager` and `remuda agent`: what runs in a cluster.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::values::{Address, address};

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
    /// Only objects of this namespace.
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
    /// Features to turn on or off: MachinePool (on), ClusterTopology (off),
    /// MachineTaintPropagation (on).
    #[arg(
        long,
        value_name = "GATE=BOOL,...",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) feature_gates: remuda_plan::admission::Gates,
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
