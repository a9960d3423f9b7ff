//! `cargo xtask release`: the binary as it is released, with what it is made of.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;
use sha2::{Digest, Sha256};

use crate::sbom::{self, Materials};
use crate::{test::cargo, tools};

/// What to build.
#[derive(Args)]
pub(crate) struct Options {
    /// For which target [default: this machine's].
    #[arg(long)]
    target: Option<String>,
    /// Link the C library in: the binary needs nothing of the machine that it runs on.
    #[arg(long = "static")]
    is_static: bool,
    /// Build a second time, from a copy of the commit and into a target folder elsewhere, and compare
    /// every byte.
    #[arg(long)]
    twice: bool,
    /// Folder to write to.
    #[arg(long, default_value = "target/release-files")]
    out: PathBuf,
}

/// Builds and writes the binary, its bill of materials, the list of licences, and their sums.
///
/// Two builds of the same commit with the same compiler give the same bytes, wherever the checkout,
/// the target folder and the crates lie: their folders are written as `/remuda`, `/target` and
/// `/cargo`.
pub(crate) fn run(root: &Path, options: &Options) -> Result<()> {
    let target = match &options.target {
        Some(target) => target.clone(),
        None => host()?,
    };
    let build = Build {
        root: root.to_owned(),
        target_folder: tools::target_folder(root)?,
        target,
        is_static: options.is_static,
    };
    let out = root.join(&options.out);
    build.write(&out)?;
    if options.twice {
        build.elsewhere()?.compare(&out)?;
    }
    println!("{}", out.display());
    Ok(())
}

/// A static binary of this machine's target; where it is.
pub(crate) fn static_binary(root: &Path) -> Result<PathBuf> {
    let build = Build {
        root: root.to_owned(),
        target_folder: tools::target_folder(root)?,
        target: host()?,
        is_static: true,
    };
    build.binary()
}

/// One build of a release.
struct Build {
    root: PathBuf,
    target_folder: PathBuf,
    target: String,
    is_static: bool,
}

impl Build {
    /// Builds the binary; where it is.
    fn binary(&self) -> Result<PathBuf> {
        let mut build = cargo(&self.root);
        build
            .args(["build", "--release", "--locked", "--package", "remuda"])
            .args(["--target", &self.target])
            .env("CARGO_TARGET_DIR", &self.target_folder)
            .env("CARGO_ENCODED_RUSTFLAGS", self.flags()?)
            .env("CARGO_INCREMENTAL", "0");
        tools::run(&mut build)?;
        let folder = self.target_folder.join(&self.target);
        Ok(folder.join("release/remuda"))
    }

    /// Writes all files of the release.
    fn write(&self, out: &Path) -> Result<()> {
        let built = self.binary()?;
        fs::create_dir_all(out)?;
        fs::copy(&built, out.join("remuda"))
            .with_context(|| format!("copying {}", built.display()))?;
        let lock = fs::read_to_string(self.root.join("Cargo.lock"))?;
        let materials = Materials::read(&self.root, &self.target)?;
        let bill = materials.bill(&sbom::checksums(&lock))?;
        fs::write(
            out.join("remuda.cdx.json"),
            format!("{}\n", serde_json::to_string_pretty(&bill)?),
        )?;
        fs::write(out.join("LICENCES.txt"), materials.licences())?;
        fs::write(out.join("SHA256SUMS"), sums(out)?)?;
        Ok(())
    }

    /// The same build of the commit that is checked out, in other folders.
    fn elsewhere(&self) -> Result<Self> {
        let changed = Command::new("git")
            .args(["status", "--porcelain"])
            .current_dir(&self.root)
            .output()?;
        ensure!(
            changed.stdout.is_empty(),
            "--twice compares commits, and there are changes that are in none"
        );
        let folder = std::env::temp_dir().join(format!("remuda-again-{}", std::process::id()));
        let root = folder.join("sources");
        tools::run(
            Command::new("git")
                .args(["clone", "--quiet"])
                .args([&self.root, &root]),
        )?;
        Ok(Self {
            root,
            target_folder: folder.join("built"),
            target: self.target.clone(),
            is_static: self.is_static,
        })
    }

    /// Builds, and compares with what is in `out`. Its folders are removed when all is equal.
    fn compare(&self, out: &Path) -> Result<()> {
        let folder = self.target_folder.with_file_name("files");
        self.write(&folder)?;
        let [one, other] = [out, &folder].map(|it| fs::read_to_string(it.join("SHA256SUMS")));
        let (one, other) = (one?, other?);
        ensure!(
            one == other,
            "two builds differ:\n{}\n{one}{}\n{other}",
            out.display(),
            folder.display()
        );
        println!("two builds gave the same bytes:\n{one}");
        let both = folder.parent().context("it was made with a parent")?;
        Ok(fs::remove_dir_all(both)?)
    }

    /// Compiler flags that keep this machine's folders out of the binary.
    fn flags(&self) -> Result<String> {
        let home = std::env::var_os("CARGO_HOME")
            .map(PathBuf::from)
            .or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cargo")))
            .context("neither CARGO_HOME nor HOME is set")?;
        let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
        // The last that fits holds, and the target folder is often in the checkout.
        let mut flags = vec![
            remap(&self.root, "/remuda"),
            remap(&home, "/cargo"),
            remap(&self.target_folder, "/target"),
        ];
        if self.is_static {
            flags.push("-Ctarget-feature=+crt-static".to_owned());
        }
        Ok(flags.join("\u{1f}"))
    }
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
