//! Rules on dependencies: the arrows between our crates, licences, banned crates, duplicates, and
//! crates that are declared and never named.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

use crate::{features, sources};

/// Which of our crates a crate may depend on (ARCHITECTURE.md, "Arrows"). `remuda`, the tests'
/// `testkit` and `xtask` are free.
const ARROWS: [(&str, &[&str]); 9] = [
    ("remuda-plan", &[]),
    ("remuda-api", &[]),
    ("remuda-apiserver", &[]),
    ("remuda-sim", &[]),
    ("remuda-cloud", &["remuda-plan"]),
    ("remuda-aws", &["remuda-cloud", "remuda-plan"]),
    ("remuda-azure", &["remuda-cloud", "remuda-plan"]),
    (
        "remuda-controllers",
        &["remuda-plan", "remuda-api", "remuda-cloud"],
    ),
    ("remuda-dashboard", &["remuda-plan", "remuda-api"]),
];

/// Crates whose tests too may name nothing of ours: a simulator or server that shares code with
/// what it checks shares its mistakes.
const INDEPENDENT: [&str; 2] = ["remuda-apiserver", "remuda-sim"];

/// What the pure crate may use: nothing that does I/O, keeps time or draws lots.
const PLAN_MAY_USE: [&str; 8] = [
    "base64",
    "flate2",
    "jiff",
    "md-5",
    "regex",
    "serde",
    "serde_json",
    "sha2",
];

/// Crates that must never be in the tree, with the reason.
const BANNED: [(&str, &str); 5] = [
    ("aws-lc-sys", "a C build; ring is the one TLS provider"),
    ("aws-lc-rs", "a C build; ring is the one TLS provider"),
    ("openssl-sys", "a C library; rustls is the one TLS stack"),
    ("aws-sdk-ec2", "7.7 GB of compiler memory for a dozen calls"),
    ("serde_yaml", "archived"),
];

/// Licences we accept; one side of every `OR` must be among them.
const LICENCES: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Crates that are in the tree in several versions, and who has to move before that ends.
const DUPLICATES: &[(&str, &str)] = &[
    ("base64", "hyper-util is ahead of kube"),
    ("bit-set", "cel's lexer is behind proptest"),
    ("bit-vec", "cel's lexer is behind proptest"),
    ("block-buffer", "sha2 0.10 and 0.11"),
    ("core-foundation", "system-configuration (macOS only)"),
    ("cpufeatures", "sha2 0.10 and 0.11"),
    ("crypto-common", "sha2 0.10 and 0.11"),
    ("digest", "sha2 0.10 and 0.11"),
    ("getrandom", "ring, ahash and proptest each a major apart"),
    (
        "hashbrown",
        "tokio-util and kube-runtime are behind indexmap",
    ),
    ("hmac", "digest 0.10 and 0.11"),
    ("md-5", "digest 0.10 and 0.11"),
    ("r-efi", "getrandom (UEFI only)"),
    (
        "rand",
        "opentelemetry_sdk is behind proptest and tungstenite",
    ),
    ("rand_core", "opentelemetry_sdk is behind p12-keystore"),
    (
        "sha2",
        "the AWS crates use 0.11, the pest grammar tools and ours 0.10",
    ),
    ("syn", "proc macros move from 2 to 3"),
    ("synstructure", "proc macros move from syn 2 to 3"),
    ("thiserror", "cel 0.13 uses 1"),
    ("thiserror-impl", "cel 0.13 uses 1"),
];

/// Every breach, one line each.
pub(crate) fn breaches(root: &Path) -> Result<Vec<String>> {
    let metadata = MetadataCommand::new()
        .current_dir(root)
        .other_options(["--locked".to_owned()])
        .exec()
        .context("reading cargo metadata")?;
    let mut breaches = Vec::new();
    for package in metadata.workspace_packages() {
        arrows(package, &mut breaches);
        unnamed(&metadata, package, &mut breaches)?;
    }
    let mut versions: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for package in &metadata.packages {
        let name = package.name.as_str();
        if let Some((_, why)) = BANNED.iter().find(|(banned, _)| *banned == name) {
            breaches.push(format!("{name} is in the dependency tree: {why}"));
        }
        let licence = package.license.as_deref().unwrap_or("none given");
        if !acceptable(licence) {
            breaches.push(format!(
                "{name} has the licence {licence:?}, which is not on our list"
            ));
        }
        versions
            .entry(name)
            .or_default()
            .insert(package.version.to_string());
    }
    duplicates(&versions, &mut breaches);
    Ok(breaches)
}

fn arrows(package: &Package, breaches: &mut Vec<String>) {
    let name = package.name.as_str();
    let Some((_, allowed)) = ARROWS.iter().find(|(from, _)| *from == name) else {
        return;
    };
    for dependency in &package.dependencies {
        let to = dependency.name.as_str();
        let ours = to.starts_with("remuda");
        let shipped = dependency.kind == DependencyKind::Normal;
        if ours && !allowed.contains(&to) && (shipped || INDEPENDENT.contains(&name)) {
            breaches.push(format!(
                "{name} may not depend on {to} (ARCHITECTURE.md, arrows)"
            ));
        }
        if name == "remuda-plan" && shipped && !PLAN_MAY_USE.contains(&to) {
            breaches.push(format!("remuda-plan is pure and may not use {to}"));
        }
    }
}

/// Dependencies that no source file of the package names.
fn unnamed(metadata: &Metadata, package: &Package, breaches: &mut Vec<String>) -> Result<()> {
    let folder = package
        .manifest_path
        .parent()
        .context("a manifest lies in a folder")?;
    let mut code = String::new();
    for file in sources::files(folder.as_std_path())? {
        if sources::has_extension(&file, "rs") {
            code.extend(sources::text(folder.as_std_path(), &file));
        }
    }
    let words: BTreeSet<&str> = code
        .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .collect();
    let node = metadata
        .resolve
        .iter()
        .flat_map(|resolve| &resolve.nodes)
        .find(|node| node.id == package.id)
        .context("a package of the workspace is resolved")?;
    for dependency in &node.deps {
        let name = dependency.name.as_str();
        let for_features = package.name.as_str() == "remuda" && features::DECLARED.contains(&name);
        if !words.contains(name) && !for_features {
            breaches.push(format!(
                "{} declares {name} and never names it",
                package.name
            ));
        }
    }
    Ok(())
}

/// Whether a licence expression can be met from our list. Understands `AND`, `OR`, `/`, brackets
/// only as far as published crates use them.
fn acceptable(expression: &str) -> bool {
    let plain = expression.replace(['(', ')'], " ").replace('/', " OR ");
    plain.split(" AND ").all(|part| {
        part.split(" OR ").any(|one| {
            let one = one.trim();
            let one = one.strip_suffix(" WITH LLVM-exception").unwrap_or(one);
            LICENCES.contains(&one)
        })
    })
}

fn duplicates(versions: &BTreeMap<&str, BTreeSet<String>>, breaches: &mut Vec<String>) {
    for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
        let windows = name.starts_with("windows");
        if !windows && !DUPLICATES.iter().any(|(known, _)| known == name) {
            let list: Vec<&str> = versions.iter().map(String::as_str).collect();
            breaches.push(format!("{name} is in the tree as {}", list.join(" and ")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licence_expressions_are_read() {
        for good in [
            "MIT",
            "MIT-0",
            "MIT OR Apache-2.0",
            "MIT/Apache-2.0",
            "(MIT OR GPL-3.0) AND Unicode-3.0",
        ] {
            assert!(acceptable(good), "{good}");
        }
        for bad in ["GPL-3.0", "MIT AND GPL-3.0", "none given"] {
            assert!(!acceptable(bad), "{bad}");
        }
    }
}
