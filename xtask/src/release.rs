//! `cargo xtask release`: the binary as it is released, with what it is made of.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;
use sha2::{Digest, Sha256};

use crate::sbom::{self, Materials};
use crate::{test::cargo, tools};

/// What to build.
#[derive(Args)]
pub(crate) struct Options {
    /// For which target [default: this machine's]. A static binary: `x86_64-unknown-linux-musl`.
    #[arg(long)]
    target: Option<String>,
    /// Folder to write to.
    #[arg(long, default_value = "target/release-files")]
    out: std::path::PathBuf,
}

/// Builds and writes the binary, its bill of materials, the list of licences, and their sums.
///
/// Two builds of the same commit with the same compiler give the same bytes, wherever the checkout
/// and the crates lie: their folders are written as `/remuda` and `/cargo`.
pub(crate) fn run(root: &Path, options: &Options) -> Result<()> {
    let target = match &options.target {
        Some(target) => target.clone(),
        None => host()?,
    };
    let out = root.join(&options.out);
    fs::create_dir_all(&out)?;
    let mut build = cargo(root);
    build
        .args(["build", "--release", "--locked", "--package", "remuda"])
        .args(["--target", &target])
        .env("CARGO_ENCODED_RUSTFLAGS", flags(root)?)
        .env("CARGO_INCREMENTAL", "0");
    tools::run(&mut build)?;
    let built = tools::target_folder(root)?
        .join(&target)
        .join("release/remuda");
    fs::copy(&built, out.join("remuda")).with_context(|| format!("copying {}", built.display()))?;

    let lock = fs::read_to_string(root.join("Cargo.lock"))?;
    let materials = Materials::read(root, &target)?;
    let bill = materials.bill(&sbom::checksums(&lock))?;
    fs::write(
        out.join("remuda.cdx.json"),
        format!("{}\n", serde_json::to_string_pretty(&bill)?),
    )?;
    fs::write(out.join("LICENCES.txt"), materials.licences())?;
    fs::write(out.join("SHA256SUMS"), sums(&out)?)?;
    println!("{}", out.display());
    Ok(())
}

/// Compiler flags that keep this machine's folders out of the binary.
fn flags(root: &Path) -> Result<String> {
    let home = std::env::var_os("CARGO_HOME")
        .map(std::path::PathBuf::from)
        .or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cargo")))
        .context("neither CARGO_HOME nor HOME is set")?;
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    Ok([remap(root, "/remuda"), remap(&home, "/cargo")].join("\u{1f}"))
}

fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output()?;
    let text = String::from_utf8(output.stdout)?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc names no host")?.to_owned())
}

/// One line a file, as `sha256sum --check` reads them.
fn sums(folder: &Path) -> Result<String> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != "SHA256SUMS" {
            let sum = Sha256::digest(fs::read(entry.path())?);
            let hex = sum
                .iter()
                .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
            lines.push(format!("{hex}  {name}\n"));
        }
    }
    ensure!(!lines.is_empty(), "nothing was built");
    lines.sort_by(|one, other| one[66..].cmp(&other[66..]));
    Ok(lines.concat())
}
