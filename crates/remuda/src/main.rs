//! Remuda: worker machines of Kubernetes clusters on AWS and Azure.
//!
//! `cli` is what was typed, `config` what the environment says, `commands` one file a subcommand,
//! `up` and `manager` which controllers and clouds run.

use std::process::ExitCode;

use clap::Parser;

mod bench;
mod cli;
mod commands;
mod config;
mod dashboard;
mod doctor;
mod install;
mod machine;
mod manager;
mod output;
mod plan_text;
mod preview_view;
mod reach;
mod reference;
mod telemetry;
mod up;
mod view;
mod webhooks;

/// Objects are trees of small values that one thread makes and another drops: glibc's allocator
/// takes locks for that, and keeps what is freed.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(help_or_usage) => return cli::explain(&help_or_usage),
    };
    // Whoever runs a manager reads its log and nothing else of it.
    let least = u8::from(matches!(cli.command, cli::Command::Manager(_)));
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return cli::fail(&anyhow::Error::from(error)),
    };
    let traces = match telemetry::log::start(&cli.telemetry, least, runtime.handle()) {
        Ok(traces) => traces,
        Err(error) => return cli::fail(&error),
    };
    let ended = runtime.block_on(commands::run(cli));
    drop(traces);
    match ended {
        Ok(code) => code,
        Err(error) => cli::fail(&error),
    }
}
