//! `remuda manager`.

use std::process::ExitCode;

use anyhow::Result;

use crate::{cli::ManagerArgs, manager};

/// Serves until it is told to stop.
pub(crate) async fn run(args: ManagerArgs) -> Result<ExitCode> {
    manager::run(args).await?;
    Ok(ExitCode::SUCCESS)
}
