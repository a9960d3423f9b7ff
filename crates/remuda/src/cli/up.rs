//! `remuda up`, and the copies of its data directory.

use std::{path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};

use super::{
    CloudArgs, Features,
    values::{Address, address, duration, speed},
};

/// `remuda up`.
#[derive(Debug, Args)]
pub(crate) struct UpArgs {
    /// Apply the demo: a machine pool of three nodes on each cloud.
    #[arg(long)]
    pub(crate) demo: bool,
    /// Where the API's data, certificates and kubeconfig live [default: remuda under the user's
    /// data home].
    #[arg(long, value_name = "DIR", env = "REMUDA_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// File with the keys that Secrets are sealed with on disk: one a line, the first one seals; it
    /// is made when there is none [default: api/store.key in the data directory].
    #[arg(long, value_name = "FILE", env = "REMUDA_KEY_FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// Port of the Kubernetes API on 127.0.0.1; 0 takes the one used last time, else a free one.
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// End with 0 once everything is Ready, or with 1 and the reason after --timeout.
    #[arg(long)]
    pub(crate) exit_when_ready: bool,
    /// How long --exit-when-ready waits: seconds, or 90s, 2m.
    #[arg(long, value_name = "DURATION", default_value = "120s", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// How many times faster than real the simulated clouds run.
    #[arg(long, value_name = "FACTOR", default_value_t = 10.0, value_parser = speed)]
    pub(crate) speed: f64,
    /// Which AWS pools run on: a simulated one in this process, or AWS itself with the credentials
    /// of each pool's identity. A data directory stays with the one it began with.
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    pub(crate) aws: CloudKind,
    /// Which Azure pools run on.
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    pub(crate) azure: CloudKind,
    #[command(flatten)]
    pub(crate) clouds: CloudArgs,
    /// Where the dashboard listens, on loopback; port 0 takes the one used last time, else a free
    /// one.
    #[arg(long, value_name = "ADDRESS", default_value_t = crate::up::dashboard_address())]
    pub(crate) dashboard_addr: std::net::SocketAddr,
    /// Serve no dashboard.
    #[arg(long, conflicts_with = "dashboard_addr")]
    pub(crate) no_dashboard: bool,
    /// Address of /healthz, /readyz and /metrics; 0: none. Port 0 takes the one used last time, else
    /// a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = address)]
    pub(crate) health_addr: Address,
    #[command(flatten)]
    pub(crate) features: Features,
    /// Print where the kubeconfig is (or will be) and end.
    #[arg(long)]
    pub(crate) print_kubeconfig_path: bool,
}

/// Which cloud of a kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CloudKind {
    /// In this process.
    #[default]
    Simulated,
    /// The provider's own; calls cost money.
    Real,
}

/// `remuda backup`.
#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// The file to write; it must not exist.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Data directory of the `remuda up` [default: remuda under the user's data home].
    #[arg(long, value_name = "DIR", env = "REMUDA_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// The key file, when `remuda up` was given one and does not run now.
    #[arg(long, value_name = "FILE", env = "REMUDA_KEY_FILE")]
    pub(crate) key_file: Option<PathBuf>,
}

/// `remuda restore`.
#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// The backup to read.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The data directory to make.
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: PathBuf,
    /// The key file that the backup is sealed with; it is copied into the data directory.
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
}
