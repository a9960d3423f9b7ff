//! `cargo xtask crds`: `deploy/crds/*.yaml`, one file a kind, from the Rust types.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::tools;

const FOLDER: &str = "deploy/crds";

/// Writes the files, or compares them with what the types say.
pub(crate) fn run(root: &Path, check: bool) -> Result<()> {
    let wanted = split(&tools::remuda_says(root, &["crds"])?)?;
    let folder = root.join(FOLDER);
    if check {
        return compare(&folder, &wanted);
    }
    fs::create_dir_all(&folder)?;
    for stale in present(&folder)?
        .into_keys()
        .filter(|name| !wanted.contains_key(name))
    {
        fs::remove_file(folder.join(stale))?;
    }
    for (name, text) in &wanted {
        fs::write(folder.join(name), text)?;
    }
    println!("{} files in {FOLDER}", wanted.len());
    Ok(())
}

/// File name to text: a document is named after its `metadata.name`.
fn split(stream: &str) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    for document in stream
        .split("---\n")
        .filter(|document| !document.trim().is_empty())
    {
        let name = document
            .lines()
            .skip_while(|line| *line != "metadata:")
            .find_map(|line| line.strip_prefix("  name: "))
            .context("a CRD without metadata.name")?;
        files.insert(
            format!("{}.yaml", name.trim_matches('"')),
            document.to_owned(),
        );
    }
    Ok(files)
}

fn present(folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    if folder.is_dir() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            files.insert(
                entry.file_name().to_string_lossy().into_owned(),
                fs::read_to_string(entry.path())?,
            );
        }
    }
    Ok(files)
}

fn compare(folder: &Path, wanted: &BTreeMap<String, String>) -> Result<()> {
    let have = present(folder)?;
    if &have == wanted {
        return Ok(());
    }
    let stale: Vec<&String> = wanted
        .keys()
        .chain(have.keys())
        .filter(|name| have.get(*name) != wanted.get(*name))
        .collect();
    bail!("{FOLDER} is not up to date ({stale:?}): run `cargo xtask crds`");
}
