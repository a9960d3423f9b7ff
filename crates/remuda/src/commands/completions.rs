//! `remuda completions`.

use std::process::ExitCode;

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::{cli::Cli, output};

/// Prints the completion script of a shell.
pub(crate) fn run(shell: Shell) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "remuda", &mut script);
    output::text(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}
