//! `cargo xtask image`: the manager's image, from the binary as it is released.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::{elf, release, tools};

/// Engines that build a Containerfile and run what they built.
const ENGINES: [&str; 2] = ["podman", "docker"];
/// Where Debian, Ubuntu and Alpine keep whom they trust.
const TRUSTED: &str = "/etc/ssl/certs/ca-certificates.crt";
/// What runs the container where cgroups are of the old kind, which podman's usual runtime refuses.
const OLD_RUNTIME: &str = "runc";

/// What to build.
#[derive(Args)]
pub(crate) struct Options {
    /// Name of the image.
    #[arg(long, default_value = concat!("localhost/remuda:v", env!("CARGO_PKG_VERSION")))]
    tag: String,
    /// A static binary that is there already [default: `cargo xtask release --static` makes one].
    #[arg(long)]
    binary: Option<PathBuf>,
    /// What builds it: podman or docker [default: the first of them that is there].
    #[arg(long)]
    engine: Option<String>,
    /// Passed to the engine before its command, for example `--storage-driver=vfs`.
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    engine_option: Vec<String>,
    /// Only check the binary and put the files together.
    #[arg(long)]
    no_build: bool,
}

/// Builds the image and runs it once, as the Deployment does: not root, with nothing to write to.
pub(crate) fn run(root: &Path, options: &Options) -> Result<()> {
    let binary = match &options.binary {
        Some(binary) => binary.clone(),
        None => release::static_binary(root)?,
    };
    let folder = tools::target_folder(root)?.join("image");
    put_together(&binary, &folder)?;
    println!("{}", folder.display());
    if options.no_build {
        return Ok(());
    }
    let engine = Engine::find(options)?;
    let file = root.join("deploy/Containerfile");
    tools::run(
        engine
            .command()
            .args(["build", "--tag", &options.tag, "--file"])
            .args([&file, &folder]),
    )?;
    engine.runs(&options.tag)?;
    println!("{}", options.tag);
    Ok(())
}

/// The folder that the image is built from.
fn put_together(binary: &Path, folder: &Path) -> Result<()> {
    let bytes = fs::read(binary).with_context(|| format!("reading {}", binary.display()))?;
    ensure!(
        elf::is_static(&bytes)?,
        "{} needs a loader, and the image has none: build it with `cargo xtask release --static`",
        binary.display()
    );
    fs::create_dir_all(folder)?;
    fs::copy(binary, folder.join("remuda"))?;
    let trusted = folder.join("ca-certificates.crt");
    fs::copy(TRUSTED, trusted)
        .with_context(|| format!("copying {TRUSTED}: install ca-certificates"))?;
    Ok(())
}

/// A container engine.
struct Engine {
    program: String,
    options: Vec<String>,
}

impl Engine {
    fn find(options: &Options) -> Result<Self> {
        let there = |program: &str| tools::answers(program, &["--version"]);
        let program = match &options.engine {
            Some(program) => program.clone(),
            None => match ENGINES.into_iter().find(|program| there(program)) {
                Some(program) => program.to_owned(),
                None => bail!("neither podman nor docker is in PATH; --no-build ends before them"),
            },
        };
        Ok(Self {
            program,
            options: options.engine_option.clone(),
        })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.options);
        command
    }

    /// Runs the image with the Deployment's limits.
    fn runs(&self, tag: &str) -> Result<()> {
        let mut run = self.command();
        run.args(["run", "--rm", "--read-only", "--network=none"])
            .args(["--cap-drop=all", "--security-opt=no-new-privileges"])
            .args([tag, "version"]);
        tools::run(&mut run).with_context(|| {
            format!(
                "the image does not run; where cgroups are of the old kind, podman needs \
                 --engine-option=--runtime={OLD_RUNTIME} and --engine-option=--cgroup-manager=cgroupfs"
            )
        })
    }
}
