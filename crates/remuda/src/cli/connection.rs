//! Where commands look.

use std::path::PathBuf;

use clap::Args;

/// Which namespaces.
#[derive(Debug, Args)]
pub(crate) struct Scope {
    /// Namespace [default: the kubeconfig's].
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// Every namespace.
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub(crate) all_namespaces: bool,
}

/// How to reach the Kubernetes API and the clouds.
#[derive(Debug, Args)]
pub(crate) struct Connection {
    /// Kubeconfig file [default: $KUBECONFIG, else that of `remuda up`, else ~/.kube/config].
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Data directory of a `remuda up`, for its kubeconfig and its simulated clouds.
    #[arg(long, value_name = "DIR", env = "REMUDA_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}
