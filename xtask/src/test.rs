//! `cargo xtask test`: whatever the tests need, then the tests.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};
use clap::Args;

use crate::{deploy, permissions, reference, tidy, tools};

/// What to run.
#[derive(Args)]
pub(crate) struct Options {
    /// Only the tests: no formatting, lints, tidy.
    #[arg(long)]
    only_tests: bool,
    /// Skip the tests against moto (nothing is installed then).
    #[arg(long)]
    no_moto: bool,
    /// Skip the tests in a browser (nothing is installed then).
    #[arg(long)]
    no_browser: bool,
    /// Fail instead of skipping when kubectl, python or chromium is missing (as CI does).
    #[arg(long, env = "CI", value_parser = clap::builder::BoolishValueParser::new())]
    strict: bool,
    /// Passed to the test programs, for example a name to filter by.
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// Runs every check; the first failure ends it.
pub(crate) fn run(root: &Path, options: &Options) -> Result<()> {
    let mut tests = cargo(root);
    tests.args(["test", "--workspace", "--all-targets", "--locked"]);
    // One failing test program does not hide what the others would say.
    tests.arg("--no-fail-fast");
    match tools::kubectl() {
        Ok(()) => {}
        Err(why) if options.strict => bail!("{why}"),
        Err(why) => println!("skipping the kubectl tests: {why}"),
    }
    if options.no_moto {
        println!("skipping the tests against moto (--no-moto)");
    } else {
        match tools::moto_python(root) {
            Ok(python) => {
                tests
                    .env("REMUDA_MOTO_PYTHON", &python)
                    .env("REMUDA_PYTHON", &python);
            }
            Err(why) if options.strict => return Err(why),
            Err(why) => println!("skipping the tests against moto: {why:#}"),
        }
    }
    if options.no_browser {
        println!("skipping the tests in a browser (--no-browser)");
        tests.env("REMUDA_BROWSER", "none");
    } else {
        match tools::browser() {
            Ok(()) => {}
            Err(why) if options.strict => return Err(why),
            Err(why) => println!("skipping the tests in a browser: {why:#}"),
        }
    }
    match tools::prometheus(root) {
        Ok(None) => {}
        Ok(Some(programs)) => {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let folders = std::iter::once(programs).chain(std::env::split_paths(&path));
            tests.env("PATH", std::env::join_paths(folders)?);
        }
        Err(why) if options.strict => return Err(why),
        Err(why) => println!("skipping the tests with Prometheus: {why:#}"),
    }
    if !options.only_tests {
        tools::run(cargo(root).args(["fmt", "--all", "--check"]))?;
        tidy::run(root)?;
    }
    tools::run(cargo(root).args(["build", "--workspace", "--all-targets", "--locked"]))?;
    if !options.only_tests {
        deploy::run(root, true)?;
        permissions::run(root, true)?;
        reference::run(root, true)?;
        let lints = [
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ];
        tools::run(cargo(root).args(lints))?;
    }
    tests.arg("--").args(&options.arguments);
    tools::run(&mut tests)?;
    tools::run(cargo(root).args(["test", "--workspace", "--doc", "--locked"]))?;
    println!("all checks passed");
    Ok(())
}

/// cargo at the root; the target folder is the workspace's own.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}
