//! `remuda machine`.

use clap::{Args, Subcommand};

use super::Connection;

/// What can be done to one machine.
#[derive(Debug, Subcommand)]
pub(crate) enum MachineCommand {
    /// Drain one machine and end exactly its instance.
    #[command(
        long_about = "Drain one machine and end exactly its instance.\n\nIt first prints what will be evicted from the machine's node, what stays, and what blocks, as the controller itself decides it. Then it deletes the Machine object; the controllers cordon the node, evict its pods within their disruption budgets, wait for volumes, end the instance and remove the node. Ctrl-C does not stop that.\n\nWithout --shrink the pool keeps its size: a new machine takes the place. With --shrink the machine is marked to go first and the pool is made one smaller, so that no machine takes its place.",
        after_help = "Examples:\n  remuda machine delete demo-pool-0-1a2b3c4d5e -n team-a --dry-run\n  remuda machine delete demo-pool-0-1a2b3c4d5e -n team-a\n  remuda machine delete demo-pool-0-1a2b3c4d5e -n team-a --shrink\n\nThe same with kubectl:\n  keep size   kubectl delete machine NAME -n NAMESPACE\n  --shrink    kubectl annotate machine NAME -n NAMESPACE cluster.x-k8s.io/delete-machine=yes\n              kubectl scale machinepool POOL -n NAMESPACE --replicas=N-1\n  --force     kubectl annotate machine NAME -n NAMESPACE \\\n                machine.cluster.x-k8s.io/exclude-node-draining= \\\n                machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach="
    )]
    Delete(MachineDeleteArgs),
    /// Show what happened to a machine, its infrastructure and its node, oldest first.
    #[command(
        after_help = "Examples:\n  remuda machine events demo-pool-0-1a2b3c4d5e -n team-a\n\nThe same with kubectl, one object at a time:\n  kubectl events -n NAMESPACE --for machine/NAME\n  kubectl events -n NAMESPACE --for terraformmachinepoolmachine/NAME\n  kubectl events --for node/NODE                       in the workload cluster"
    )]
    Events(MachineEventsArgs),
}

/// `remuda machine delete`.
#[derive(Debug, Args)]
pub(crate) struct MachineDeleteArgs {
    /// Name of the Machine.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Namespace [default: the kubeconfig's].
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// A new machine takes the place; this is the default.
    #[arg(long, conflicts_with = "shrink")]
    pub(crate) keep_size: bool,
    /// Make the pool one smaller; this machine goes.
    #[arg(long)]
    pub(crate) shrink: bool,
    /// Do not drain: pods end with the instance, whatever their disruption budgets say, and
    /// volumes are not waited for.
    #[arg(long)]
    pub(crate) force: bool,
    /// Print what would happen, and end.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `remuda machine events`.
#[derive(Debug, Args)]
pub(crate) struct MachineEventsArgs {
    /// Name of the Machine; it may be gone.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Namespace [default: the kubeconfig's].
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    #[command(flatten)]
    pub(crate) connection: Connection,
}
