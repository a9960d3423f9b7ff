//! What can be typed. Nothing is decided here; see `commands`.

mod bench;
mod clouds;
mod connection;
mod crds;
mod doctor;
mod features;
mod formats;
mod install;
mod machine;
mod manager;
mod reference;
mod sim;
mod telemetry;
mod up;
mod values;
mod view;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub(crate) use bench::{BenchArgs, BenchClouds, Switch};
pub(crate) use clouds::{CloudArgs, PermissionsArgs, PermissionsCloud};
pub(crate) use connection::{Connection, Scope};
pub(crate) use crds::CrdsArgs;
pub(crate) use doctor::DoctorArgs;
pub(crate) use features::Features;
pub(crate) use formats::{DataFormat, TextFormat};
pub(crate) use install::{InstallArgs, InstallFormat};
pub(crate) use machine::{MachineCommand, MachineDeleteArgs, MachineEventsArgs};
pub(crate) use manager::{AgentArgs, CoreMode, ManagerArgs};
pub(crate) use reference::{Page, ReferenceArgs};
pub(crate) use sim::{SimArgs, SimCloud};
pub(crate) use telemetry::{LogFormat, TelemetryArgs};
pub(crate) use up::{BackupArgs, CloudKind, RestoreArgs, UpArgs};
pub(crate) use values::Address;
pub(crate) use view::{GetArgs, GetFormat, Noun, PlanArgs, PlanFormat};

/// Runs the worker machines of Kubernetes clusters on AWS and Azure.
#[derive(Debug, Parser)]
#[command(
    name = "remuda",
    version,
    about,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Start here:\n  remuda up --demo        a Kubernetes API, a simulated AWS and a pool of three nodes\n  remuda get pools        what there is, in another terminal"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) telemetry: TelemetryArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run everything on this machine: a Kubernetes API, the controllers and simulated clouds.
    #[command(
        after_help = "Examples:\n  remuda up --demo\n  remuda up --demo --exit-when-ready --timeout 60s\n  KUBECONFIG=\"$(remuda up --print-kubeconfig-path)\" kubectl get machinepools -A"
    )]
    Up(UpArgs),
    /// Run the controllers and admission webhooks against a Kubernetes API.
    #[command(
        long_about = "Run the controllers and admission webhooks against a Kubernetes API.\n\nOf several replicas one works, the leader; all answer admission reviews. A leader that can't renew its Lease stops before another begins. SIGTERM lets running passes end and gives the Lease up.",
        after_help = "Examples:\n  remuda manager --kubeconfig ~/.kube/config --webhook-host 192.0.2.7\n  remuda manager --core off --watch-filter remuda --namespace team-a\n  remuda manager --shard 0/3            one of three that share the work\n  remuda manager --feature-gates ClusterTopology=true"
    )]
    Manager(ManagerArgs),
    /// Print what runs Remuda in a cluster, or apply it.
    #[command(
        long_about = "Print what runs Remuda in a cluster, or apply it.\n\nNamespace, definitions, roles with the least rights and the reason beside each, the manager (two replicas, one of which works), a disruption budget, and the admission webhooks. Printing asks no cluster: --core=auto then brings the core's definitions; where upstream's core runs, say --core=off. --apply asks the cluster itself.",
        after_help = "Examples:\n  remuda install | less\n  remuda install --image example.com/remuda:v1 --apply --dry-run\n  remuda install --core off --cert-manager | kubectl apply --server-side -f -\n  remuda install --watch-namespace team-a --apply"
    )]
    Install(InstallArgs),
    /// Show what a change will do to the cloud and to running machines, without doing it.
    #[command(
        after_help = "Examples:\n  remuda plan demo-pool-0 -n team-a\n  remuda plan -f pool.yaml --exit-code     0: no changes, 2: changes, 1: failed\n  remuda plan demo-pool-0 -n team-a -o json | jq '.pools[].steps[].because'"
    )]
    Plan(PlanArgs),
    /// Show pools, their machines or their nodes, as a tree.
    #[command(
        after_help = "Examples:\n  remuda get pools -A\n  remuda get machines demo-pool-0 -n team-a -o wide\n  remuda get nodes -n team-a -o json"
    )]
    Get(GetArgs),
    /// Delete one machine of a pool, or see what happened to it.
    #[command(
        subcommand,
        arg_required_else_help = true,
        after_help = "Examples:\n  remuda get machines -n team-a                             their names\n  remuda machine delete demo-pool-0-1a2b3c4d5e -n team-a --dry-run\n  remuda machine events demo-pool-0-1a2b3c4d5e -n team-a"
    )]
    Machine(MachineCommand),
    /// Say whether everything is there that pools need, and what to do where it is not.
    #[command(
        long_about = "Say whether everything is there that pools need, and what to do where it is not.\n\nLooks at the Kubernetes API, the definitions, the webhooks, each identity and, for each pool, its inputs, the permissions of its identity, its image, quotas and subnets. Nothing is changed: it reads, and makes dry runs where the cloud has them. It ends with 1 when something is broken.\n\nAWS has dry runs for EC2 only, so whether Auto Scaling and S3 allow a write is not tried.",
        after_help = "Examples:\n  remuda doctor\n  remuda doctor -n team-a --only identities,permissions\n  remuda doctor --as system:serviceaccount:remuda-system:remuda-manager\n  remuda doctor -o json | jq '.checks[].findings[] | select(.level == \"fail\")'"
    )]
    Doctor(DoctorArgs),
    /// Print the CustomResourceDefinitions that Remuda serves.
    #[command(
        after_help = "Examples:\n  remuda crds | kubectl apply --server-side -f -\n  remuda crds -o json"
    )]
    Crds(CrdsArgs),
    /// Print what the identity of a pool must be allowed in its cloud, and what for.
    #[command(
        long_about = "Print what the identity of a pool must be allowed in its cloud, and what for.\n\nIt is derived from the calls that Remuda can make. As JSON it is an IAM policy, scoped to what carries the tags of pools, or the definition of a custom role on Azure. deploy/aws/iam-policy.json and deploy/azure/role.json hold the same.",
        after_help = "Examples:\n  remuda permissions aws\n  remuda permissions aws -o json > policy.json\n  remuda permissions azure -o json > role.json && az role definition create --role-definition role.json"
    )]
    Permissions(PermissionsArgs),
    /// Serve a simulated cloud alone, for other tools to talk to.
    #[command(
        after_help = "Examples:\n  remuda sim aws --listen 127.0.0.1:4566\n  aws --endpoint-url http://127.0.0.1:4566 autoscaling describe-auto-scaling-groups\n  remuda sim azure --listen 127.0.0.1:4567"
    )]
    Sim(SimArgs),
    /// Measure this machine: how long many pools on simulated clouds take, and what they cost at rest.
    #[command(
        long_about = "Measure this machine: how long many pools on simulated clouds take, and what they cost at rest.\n\nOne process as `remuda up` makes it, over a data directory of its own: Kubernetes API, controllers, clouds, nodes. The pools are created through the API. The clouds' own processes (booting, scaling) take no time and their clocks run as fast as everybody's, so what is measured is work, and what happens every minute happens every minute. The simulated clouds are not kept on disk. Build with --release: docs/reference/performance.md has the figures.",
        after_help = "Examples:\n  remuda bench\n  remuda bench --pools 20 --machines 5 --steady 30s -o json\n  remuda bench --cloud both --check     1: a bar is missed"
    )]
    Bench(BenchArgs),
    /// Write every object of a `remuda up` to a file, while it runs or not.
    #[command(
        long_about = "Write every object of a `remuda up` to a file, while it runs or not.\n\nThe file holds the objects of the management API and of every workload API as of one moment. Secrets in it stay sealed: to restore it you also need the key file (DIR/api/store.key, unless --key-file says otherwise), which is not in it: keep a copy of both, apart from each other. Certificates, tokens and kubeconfigs are not in it; `remuda up` makes new ones after a restore. Nor is the simulated cloud. The file has mode 0600.\n\nA running `remuda up` is asked over its own API, with the administrator's kubeconfig in its data directory.",
        after_help = "Examples:\n  remuda backup monday.backup\n  remuda backup monday.backup --data-dir /var/lib/remuda\n  cp ~/.local/share/remuda/api/store.key /safe/place/     what opens it again"
    )]
    Backup(BackupArgs),
    /// Make the data directory of a `remuda up` from a backup.
    #[command(
        long_about = "Make the data directory of a `remuda up` from a backup.\n\nThe directory must not hold a store yet: nothing is overwritten. The key file that the backup's Secrets are sealed with must be in it (DIR/api/store.key) or be given with --key-file, which copies it there. A file that is cut off or damaged is refused.\n\nObjects are as they were, resource versions included; new ones go on a million behind, so that clients that saw later ones list again. Certificates, tokens and kubeconfigs are new: `remuda up` writes DIR/kubeconfig.",
        after_help = "Examples:\n  remuda restore monday.backup --data-dir ~/restored --key-file /safe/place/store.key\n  remuda up --data-dir ~/restored"
    )]
    Restore(RestoreArgs),
    /// Run on a machine of a pool on Azure: hold its termination back until its Node is drained.
    #[command(
        long_about = "Run on a machine of a pool on Azure: hold its termination back until its Node is drained.\n\nAzure announces the end of an instance to the instance itself (Scheduled Events), up to five minutes ahead; a Spot instance is told 30 seconds ahead. The agent writes what it sees on its own Node, waits until the management side has drained it, and then lets Azure go on. It drains nothing itself. deploy/agent.yaml runs it on every Node.",
        after_help = "Examples:\n  kubectl apply -f deploy/agent.yaml\n  remuda agent --node-name \"$(hostname)\""
    )]
    Agent(AgentArgs),
    /// Print a page of the reference as Markdown.
    #[command(
        after_help = "Examples:\n  remuda reference variables | less\n  remuda reference conditions | grep WaitingForBootstrapData"
    )]
    Reference(ReferenceArgs),
    /// Print a completion script for a shell.
    #[command(
        after_help = "Examples:\n  source <(remuda completions bash)\n  remuda completions zsh > ~/.zfunc/_remuda"
    )]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the version.
    #[command(after_help = "Examples:\n  remuda version\n  remuda version -o json")]
    Version {
        /// Output format.
        #[arg(short, long, value_enum, default_value_t = TextFormat::Text)]
        output: TextFormat,
    },
}

/// Shows help (exit 0) or a usage error (exit 1; 2 is `plan --exit-code`'s word for changes).
pub(crate) fn explain(error: &clap::Error) -> ExitCode {
    let asked_for = !error.use_stderr();
    if error.print().is_err() || !asked_for {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Shows an error with its causes, each once, and never a backtrace.
#[allow(clippy::print_stderr, reason = "a command's last word")]
pub(crate) fn fail(error: &anyhow::Error) -> ExitCode {
    let mut said = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        if !said.contains(&cause) {
            said = format!("{said}: {cause}");
        }
    }
    eprintln!("error: {said}");
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_subcommand_has_an_example() {
        for command in Cli::command().get_subcommands() {
            let help = command
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(
                help.starts_with("Examples:\n"),
                "{} has none",
                command.get_name()
            );
        }
    }
}
