//! Repository chores, one file each: `cargo xtask test`, `deploy`, `image`, `permissions`, `proofs`, `reference`,
//! `release`, `soak`, `tidy`.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a terminal program"
)]

mod dependencies;
mod deploy;
mod elf;
mod features;
mod image;
mod pages;
mod permissions;
mod proofs;
mod reference;
mod release;
mod sbom;
mod soak;
mod sources;
mod symmetry;
mod test;
mod tidy;
mod tools;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Chores of the Remuda repository.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Bring what the tests need, then run formatting, lints, tidy and all tests.
    Test(test::Options),
    /// Write `deploy/` as the program prints it (or, with --check, compare).
    Deploy {
        /// Change nothing; fail when a file is not up to date.
        #[arg(long)]
        check: bool,
    },
    /// Build the manager's image from a static binary, and run it once.
    Image(image::Options),
    /// Write `deploy/aws/iam-policy.json` and `deploy/azure/role.json` from the tables of cloud calls
    /// (or, with --check, compare).
    Permissions {
        /// Change nothing; fail when a file is not up to date.
        #[arg(long)]
        check: bool,
    },
    /// Count which acceptance statements of docs/spec are cited by a test.
    Proofs(proofs::Options),
    /// Write the pages of `docs/reference` that the program prints (or, with --check, compare).
    Reference {
        /// Change nothing; fail when a page is not up to date.
        #[arg(long)]
        check: bool,
    },
    /// Play simulated days from a seed and check what must always hold.
    Soak(soak::Options),
    /// Build the binary as it is released, with its bill of materials, licences and sums.
    Release(release::Options),
    /// House rules that a compiler does not check.
    Tidy,
}

fn main() -> ExitCode {
    match run(Cli::parse().chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> Result<()> {
    let root = root();
    match chore {
        Chore::Test(options) => test::run(&root, &options),
        Chore::Deploy { check } => deploy::run(&root, check),
        Chore::Image(options) => image::run(&root, &options),
        Chore::Permissions { check } => permissions::run(&root, check),
        Chore::Proofs(options) => proofs::run(&root, &options),
        Chore::Reference { check } => reference::run(&root, check),
        Chore::Soak(options) => soak::run(&root, &options),
        Chore::Release(options) => release::run(&root, &options),
        Chore::Tidy => tidy::run(&root),
    }
}

/// The repository's root: the folder above this crate.
fn root() -> PathBuf {
    let mut root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.pop();
    root
}
