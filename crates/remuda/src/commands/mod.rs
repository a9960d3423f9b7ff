//! One file a subcommand.

mod agent;
mod backup;
mod bench;
mod completions;
mod crds;
mod doctor;
mod get;
mod install;
mod machine;
mod manager;
mod permissions;
mod plan;
mod reference;
mod restore;
mod sim;
mod up;
mod version;

use std::process::ExitCode;

use anyhow::Result;

use crate::cli::{Cli, Command};

/// Runs what was typed.
pub(crate) async fn run(cli: Cli) -> Result<ExitCode> {
    match cli.command {
        Command::Up(args) => up::run(args).await,
        Command::Manager(args) => manager::run(args).await,
        Command::Install(args) => install::run(args).await,
        Command::Plan(args) => plan::run(args).await,
        Command::Get(args) => get::run(args).await,
        Command::Machine(command) => machine::run(command).await,
        Command::Doctor(args) => doctor::run(args).await,
        Command::Crds(args) => crds::run(&args),
        Command::Permissions(args) => permissions::run(&args),
        Command::Sim(args) => sim::run(args).await,
        Command::Bench(args) => bench::run(args).await,
        Command::Backup(args) => backup::run(args).await,
        Command::Restore(args) => restore::run(&args),
        Command::Agent(args) => agent::run(args).await,
        Command::Reference(args) => reference::run(&args),
        Command::Completions { shell } => completions::run(shell),
        Command::Version { output } => version::run(output),
    }
}
