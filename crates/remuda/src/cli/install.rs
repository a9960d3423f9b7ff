//! `remuda install`.

use clap::{Args, ValueEnum};

use super::{
    Connection, CoreMode, Features,
    values::{image, namespace},
};

/// `remuda install`.
#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    /// Apply it to the cluster of the kubeconfig, instead of printing it.
    #[arg(long)]
    pub(crate) apply: bool,
    /// With --apply: ask the server what would come of it, and change nothing.
    #[arg(long, requires = "apply")]
    pub(crate) dry_run: bool,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = InstallFormat::Yaml, conflicts_with = "apply")]
    pub(crate) output: InstallFormat,
    /// Namespace of the manager.
    #[arg(long, value_name = "NAMESPACE", default_value = "remuda-system", value_parser = namespace)]
    pub(crate) namespace: String,
    /// Image of the manager, made from deploy/Containerfile.
    #[arg(long, value_name = "IMAGE", default_value_t = crate::install::default_image(), value_parser = image)]
    pub(crate) image: String,
    /// Whether MachinePools, Machines and their like are reconciled by this manager, or by
    /// upstream's core, which then brings their definitions.
    #[arg(long, value_enum, default_value_t = CoreMode::Auto)]
    pub(crate) core: CoreMode,
    /// Let cert-manager keep the certificates of the webhooks, instead of the manager.
    #[arg(long)]
    pub(crate) cert_manager: bool,
    /// Managers that run: one works, the others stand by.
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) replicas: u16,
    /// Split the work into this many shares, each with managers of its own.
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=32))]
    pub(crate) shards: u16,
    /// Work on objects of this namespace only, with rights in it only.
    #[arg(long, value_name = "NAMESPACE", value_parser = namespace)]
    pub(crate) watch_namespace: Option<String>,
    /// Work only on objects whose label cluster.x-k8s.io/watch-filter has this value.
    #[arg(long, value_name = "VALUE")]
    pub(crate) watch_filter: Option<String>,
    #[command(flatten)]
    pub(crate) features: Features,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// Formats of `install`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InstallFormat {
    /// YAML documents, with the reason beside each rule.
    Yaml,
    /// One JSON list.
    Json,
    /// infrastructure-components.yaml of a clusterctl provider; the other options do not count.
    Clusterctl,
    /// metadata.yaml of a clusterctl provider.
    ClusterctlMetadata,
}
