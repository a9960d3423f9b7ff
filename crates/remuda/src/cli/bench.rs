//! What can be typed after `remuda bench`.

use std::{path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};

use super::{TextFormat, values::duration};

/// `remuda bench`.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Pools.
    #[arg(long, value_name = "COUNT", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pools: u32,
    /// Machines of each pool.
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub(crate) machines: u16,
    /// Pools of each workload cluster.
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pools_per_cluster: u32,
    /// Where they run.
    #[arg(long, value_enum, default_value_t = BenchClouds::Aws)]
    pub(crate) cloud: BenchClouds,
    /// Whether each machine has a Machine object.
    #[arg(long, value_enum, value_name = "WHETHER", default_value_t = Switch::On)]
    pub(crate) machines_objects: Switch,
    /// How long the pools are watched at rest: seconds, or 90s, 2m.
    #[arg(long, value_name = "DURATION", default_value = "120s", value_parser = duration)]
    pub(crate) steady: Duration,
    /// How long everything may take to be Ready.
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// A directory for the Kubernetes API's data; it must not exist and is kept [default: one among
    /// temporary files, removed at the end].
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = TextFormat::Text)]
    pub(crate) output: TextFormat,
    /// End with 1 when a bar is missed. The bars are those of 1,000 pools of 10 machines on 2 cores.
    #[arg(long)]
    pub(crate) check: bool,
}

/// Where pools run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchClouds {
    /// All on AWS.
    Aws,
    /// All on Azure.
    Azure,
    /// Half on each.
    Both,
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    /// Yes.
    On,
    /// No.
    Off,
}
