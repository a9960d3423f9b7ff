//! `cargo xtask soak`: simulated days from a seed, at any length.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use clap::Args;

/// Which story, and how much of it.
#[derive(Args)]
pub(crate) struct Options {
    /// Seed of the story; the same seed tells the same story.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Simulated hours.
    #[arg(long, default_value_t = 24)]
    hours: u64,
}

pub(crate) fn run(root: &Path, options: &Options) -> Result<()> {
    println!("{} simulated hours of seed {}", options.hours, options.seed);
    let status = Command::new("cargo")
        .current_dir(root)
        .args(["test", "-p", "remuda-controllers", "--test", "soak", "--"])
        .args(["--ignored", "--exact", "replay", "--nocapture"])
        .env("REMUDA_SOAK_SEED", options.seed.to_string())
        .env("REMUDA_SOAK_HOURS", options.hours.to_string())
        .status()?;
    ensure!(status.success(), "seed {} does not hold", options.seed);
    Ok(())
}
