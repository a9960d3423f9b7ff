//! `cargo xtask deploy`: what people install from, written by the program itself.
//!
//! | folder | what |
//! | --- | --- |
//! | `deploy/crds` | one file a definition |
//! | `deploy/kustomize` | the manager, as a kustomize base |
//! | `deploy/clusterctl` | the files of a clusterctl provider; its cluster templates are written by hand |

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::tools;

/// File name to text.
type Files = BTreeMap<String, String>;

const KUSTOMIZATION: &str = "kustomization.yaml";
const HEAD: &str = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n";

/// Writes the files or compares them with what it says.
pub(crate) fn run(root: &Path, check: bool) -> Result<()> {
    let folders = [
        ("deploy/crds", definitions(root)?, ""),
        ("deploy/kustomize", kustomize(root)?, ""),
        ("deploy/clusterctl", clusterctl(root)?, "cluster-template"),
    ];
    for (folder, wanted, by_hand) in folders {
        let place = root.join(folder);
        let mut present = present(&place)?;
        present.retain(|name, _| by_hand.is_empty() || !name.starts_with(by_hand));
        if check {
            compare(folder, &present, &wanted)?;
            continue;
        }
        fs::create_dir_all(&place)?;
        for stale in present.keys().filter(|name| !wanted.contains_key(*name)) {
            fs::remove_file(place.join(stale))?;
        }
        for (name, text) in &wanted {
            fs::write(place.join(name), text)?;
        }
        println!("{} files in {folder}", wanted.len());
    }
    Ok(())
}

/// One file a definition, named after it.
fn definitions(root: &Path) -> Result<Files> {
    let mut files = Files::new();
    for document in documents(&tools::remuda_says(root, &["crds"])?) {
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
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    let kustomization = format!("{HEAD}{}", resources(&names));
    files.insert(KUSTOMIZATION.to_owned(), kustomization);
    Ok(files)
}

/// The manager in a file a part; the definitions are a base of their own.
fn kustomize(root: &Path) -> Result<Files> {
    let mut parts: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for document in documents(&tools::remuda_says(root, &["install"])?) {
        let kind = document
            .lines()
            .find_map(|line| line.strip_prefix("kind: "));
        let part = match kind.context("a document without a kind")? {
            "CustomResourceDefinition" => continue,
            "Namespace" => "namespace.yaml",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => "webhooks.yaml",
            kind if kind == "ServiceAccount" || kind.contains("Role") => "rbac.yaml",
            _ => "manager.yaml",
        };
        parts.entry(part).or_default().push(document.to_owned());
    }
    let mut names = vec!["../crds"];
    names.extend(parts.keys());
    let kustomization = format!(
        "# The same as `remuda install` prints. Another image: kustomize edit set image remuda=…\n\
         {HEAD}{}labels:\n  - pairs:\n      app.kubernetes.io/part-of: remuda\n",
        resources(&names)
    );
    let texts = parts.iter().map(|(name, documents)| {
        let text = documents.join("---\n");
        ((*name).to_owned(), text)
    });
    let mut files: Files = texts.collect();
    files.insert(KUSTOMIZATION.to_owned(), kustomization);
    Ok(files)
}

fn resources(names: &[&str]) -> String {
    let lines = names.iter().map(|name| format!("  - {name}\n"));
    format!("resources:\n{}", lines.collect::<String>())
}

fn clusterctl(root: &Path) -> Result<Files> {
    let files = [
        ("infrastructure-components.yaml", "clusterctl"),
        ("metadata.yaml", "clusterctl-metadata"),
    ];
    files
        .into_iter()
        .map(|(name, format)| {
            Ok((
                name.to_owned(),
                tools::remuda_says(root, &["install", "-o", format])?,
            ))
        })
        .collect()
}

fn documents(stream: &str) -> impl Iterator<Item = &str> {
    stream
        .split("---\n")
        .filter(|document| !document.trim().is_empty())
}

fn present(folder: &Path) -> Result<Files> {
    let mut files = Files::new();
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

fn compare(folder: &str, have: &Files, wanted: &Files) -> Result<()> {
    let mut stale: Vec<&String> = wanted
        .keys()
        .chain(have.keys())
        .filter(|name| have.get(*name) != wanted.get(*name))
        .collect();
    stale.dedup();
    if stale.is_empty() {
        return Ok(());
    }
    bail!("{folder} is not up to date ({stale:?}): run `cargo xtask deploy`");
}
