//! `cargo xtask soak`: simulated days from a seed, at any length.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};

/// Which story, and how much of it.
#[derive(Args)]
pub(crate) struct Options {
    /// Seed of the story; the same seed tells the same story.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Simulated hours.
    #[arg(long, default_value_t = 24)]
    hours: u64,
    /// Where it is played; on both clouds unless one is named.
    #[arg(long)]
    cloud: Option<Cloud>,
}

/// A simulated cloud.
#[derive(Clone, Copy, ValueEnum)]
enum Cloud {
    Aws,
    Azure,
}

pub(crate) fn run(root: &Path, options: &Options) -> Result<()> {
    let both = [Cloud::Aws, Cloud::Azure];
    let clouds = options.cloud.map_or(both.to_vec(), |cloud| vec![cloud]);
    for cloud in clouds {
        let (seed, hours) = (options.seed, options.hours);
        let name = match cloud {
            Cloud::Aws => "aws",
            Cloud::Azure => "azure",
        };
        println!("{hours} simulated hours of seed {seed} on {name}");
        let status = Command::new("cargo")
            .current_dir(root)
            .args(["test", "--workspace", "--test", "soak", "--"])
            .args(["--ignored", "--exact", "replay", "--nocapture"])
            .env("REMUDA_SOAK_SEED", seed.to_string())
            .env("REMUDA_SOAK_HOURS", hours.to_string())
            .env("REMUDA_SOAK_CLOUD", name)
            .status()?;
        ensure!(status.success(), "seed {seed} does not hold on {name}");
    }
    Ok(())
}
