//! Which files the repository holds, as git sees them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Paths relative to the root of all files that git tracks or would track.
pub(crate) fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .context("running git ls-files")?;
    ensure!(
        output.status.success(),
        "git ls-files failed: is this a git checkout?"
    );
    let mut files: Vec<PathBuf> = String::from_utf8(output.stdout)?
        .lines()
        .map(PathBuf::from)
        .filter(|file| root.join(file).is_file())
        .collect();
    files.sort();
    files.dedup();
    Ok(files)
}

/// The text of a file, or `None` when it is not UTF-8.
pub(crate) fn text(root: &Path, file: &Path) -> Option<String> {
    String::from_utf8(std::fs::read(root.join(file)).ok()?).ok()
}

/// Whether a path ends in `.extension`.
pub(crate) fn has_extension(file: &Path, extension: &str) -> bool {
    file.extension().is_some_and(|found| found == extension)
}
