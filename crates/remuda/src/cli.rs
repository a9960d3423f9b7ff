//! What can be typed. Nothing is decided here; see `commands`.

mod machine;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use machine::{MachineCommand, MachineDeleteArgs, MachineEventsArgs};

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
    /// Say more on standard error: -v for what is done, -vv for every call.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
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
        after_help = "Examples:\n  remuda manager --kubeconfig ~/.kube/config --webhook-host 192.0.2.7\n  remuda manager --core off --watch-filter remuda --namespace team-a\n  remuda manager --feature-gates ClusterTopology=true"
    )]
    Manager(ManagerArgs),
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
    /// Print the CustomResourceDefinitions that Remuda serves.
    #[command(
        after_help = "Examples:\n  remuda crds | kubectl apply --server-side -f -\n  remuda crds -o json"
    )]
    Crds(CrdsArgs),
    /// Serve a simulated cloud alone, for other tools to talk to.
    #[command(
        after_help = "Examples:\n  remuda sim aws --listen 127.0.0.1:4566\n  aws --endpoint-url http://127.0.0.1:4566 autoscaling describe-auto-scaling-groups\n  remuda sim azure --listen 127.0.0.1:4567"
    )]
    Sim(SimArgs),
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

/// `remuda up`.
#[derive(Debug, Args)]
pub(crate) struct UpArgs {
    /// Apply the demo: a cluster with one AWS machine pool of three nodes.
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
    /// Where the dashboard listens, on loopback; port 0 takes the one used last time, else a free
    /// one.
    #[arg(long, value_name = "ADDRESS", default_value_t = crate::up::dashboard_address())]
    pub(crate) dashboard_addr: std::net::SocketAddr,
    /// Serve no dashboard.
    #[arg(long, conflicts_with = "dashboard_addr")]
    pub(crate) no_dashboard: bool,
    /// Features to turn on or off: MachinePool (on), ClusterTopology (off),
    /// MachineTaintPropagation (off).
    #[arg(
        long,
        value_name = "GATE=BOOL,...",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) feature_gates: remuda_plan::admission::Gates,
    /// Print where the kubeconfig is (or will be) and end.
    #[arg(long)]
    pub(crate) print_kubeconfig_path: bool,
}

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
    /// Address of /healthz and /readyz; 0: none.
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
    /// MachineTaintPropagation (off).
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

/// An address to listen on; `None`: do not.
pub(crate) type Address = Option<std::net::SocketAddr>;

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

/// `remuda plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// Pools by name (of the TerraformMachinePool); none: all of the namespace.
    #[arg(value_name = "POOL")]
    pub(crate) pools: Vec<String>,
    /// Files with objects as they will be; `-` reads standard input. They are laid over what the
    /// API holds; nothing is written.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) filename: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) scope: Scope,
    #[command(flatten)]
    pub(crate) connection: Connection,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = PlanFormat::Text)]
    pub(crate) output: PlanFormat,
    /// End with 2 when there are changes.
    #[arg(long)]
    pub(crate) exit_code: bool,
}

/// `remuda get`.
#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    /// What to show.
    #[arg(value_enum)]
    pub(crate) what: Noun,
    /// Only pools of these names (of the MachinePool).
    #[arg(value_name = "POOL")]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) scope: Scope,
    #[command(flatten)]
    pub(crate) connection: Connection,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = GetFormat::Table)]
    pub(crate) output: GetFormat,
}

/// `remuda crds`.
#[derive(Debug, Args)]
pub(crate) struct CrdsArgs {
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = DataFormat::Yaml)]
    pub(crate) output: DataFormat,
}

/// `remuda sim`.
#[derive(Debug, Args)]
pub(crate) struct SimArgs {
    /// Which cloud.
    #[arg(value_enum)]
    pub(crate) cloud: SimCloud,
    /// Address to serve on; loopback only.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4566")]
    pub(crate) listen: std::net::SocketAddr,
    /// How many times faster than real the cloud runs.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = speed)]
    pub(crate) speed: f64,
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

/// What `get` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Noun {
    /// Machine pools, with their zones and machines below them.
    #[value(alias = "pool")]
    Pools,
    /// Machines by pool and zone.
    #[value(alias = "machine")]
    Machines,
    /// Nodes by pool.
    #[value(alias = "node")]
    Nodes,
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

/// A simulated cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SimCloud {
    /// Auto Scaling, EC2, S3 and STS.
    Aws,
    /// Resource Manager: scale sets, instances, Autoscale; and the login host.
    Azure,
}

/// Text or JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TextFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// YAML or JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataFormat {
    /// YAML documents.
    Yaml,
    /// One JSON list.
    Json,
}

/// Formats of `plan`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanFormat {
    /// For people.
    Text,
    /// One JSON document.
    Json,
    /// One YAML document.
    Yaml,
}

/// Formats of `get`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GetFormat {
    /// A tree with columns.
    Table,
    /// More columns.
    Wide,
    /// One JSON document.
    Json,
    /// One YAML document.
    Yaml,
    /// Names only.
    Name,
}

/// Reads `90`, `90s`, `2m`, `1m30s`.
fn duration(text: &str) -> Result<Duration, String> {
    if let Ok(seconds) = text.parse::<u64>() {
        return Ok(Duration::from_secs(seconds));
    }
    let spoken: jiff::SignedDuration = text
        .parse()
        .map_err(|_| format!("{text} is not a duration like 90s or 2m"))?;
    Duration::try_from(spoken).map_err(|_| "a duration cannot be negative".to_owned())
}

/// Reads `127.0.0.1:9440`, `:9440` for every address of this machine, or `0` for none.
fn address(text: &str) -> Result<Address, String> {
    if text == "0" {
        return Ok(None);
    }
    let whole = if text.starts_with(':') {
        format!("0.0.0.0{text}")
    } else {
        text.to_owned()
    };
    let read = whole.parse();
    read.map(Some)
        .map_err(|_| format!("{text} is not an address like 127.0.0.1:9440 or :9440"))
}

/// Reads a positive factor.
fn speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if factor.is_finite() && factor >= 0.1 => Ok(factor),
        _ => Err("the factor is a number of at least 0.1".to_owned()),
    }
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

    #[test]
    fn durations_are_read_as_people_write_them() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("2m"), Ok(Duration::from_mins(2)));
        assert!(duration("soon").is_err());
        assert!(duration("-5s").is_err());
    }

    #[test]
    fn addresses_are_read_as_people_write_them() {
        let read = |text: &str| address(text).map(|it| it.map(|it| it.to_string()));
        assert_eq!(read(":9440"), Ok(Some("0.0.0.0:9440".to_owned())));
        assert_eq!(read("127.0.0.1:1"), Ok(Some("127.0.0.1:1".to_owned())));
        assert_eq!(read("0"), Ok(None));
        assert!(read("9440").is_err());
    }
}
