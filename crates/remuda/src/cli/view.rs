//! `remuda plan` and `remuda get`: what looks.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{CloudArgs, Connection, Scope};

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
    #[command(flatten)]
    pub(crate) clouds: CloudArgs,
    /// End with 2 when there are changes.
    #[arg(long)]
    pub(crate) exit_code: bool,
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
