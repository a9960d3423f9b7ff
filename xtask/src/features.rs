//! One build for `cargo run` and the tests: both must compile every shared crate with the same
//! features, or each compiles nearly everything for itself. The manifest of `remuda` turns on what
//! the tests' crates turn on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::test::cargo;

/// Crates that `remuda` declares for their features alone.
pub(crate) const DECLARED: [&str; 5] = ["ahash", "hashbrown", "regex_automata", "rustix", "semver"];

/// Every breach, one line each.
pub(crate) fn breaches(root: &Path) -> Result<Vec<String>> {
    let run = features(
        root,
        &[
            "--package",
            "remuda",
            "--edges",
            "normal,build,no-proc-macro",
        ],
    )?;
    let tests = features(
        root,
        &["--workspace", "--edges", "normal,build,dev,no-proc-macro"],
    )?;
    Ok(differences(&run, &tests))
}

/// Package and version to the features it is compiled with, once for each way it is.
type Features = BTreeMap<String, BTreeSet<String>>;

fn features(root: &Path, selection: &[&str]) -> Result<Features> {
    let output = cargo(root)
        .args([
            "tree", "--locked", "--prefix", "none", "--format", "{p}|{f}",
        ])
        .args(selection)
        .output()
        .context("asking cargo for features")?;
    ensure!(
        output.status.success(),
        "cargo tree failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let mut all = Features::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        let line = line.trim_end_matches(" (*)");
        if let Some((package, features)) = line.split_once('|') {
            let ways = all.entry(package.to_owned()).or_default();
            ways.insert(features.to_owned());
        }
    }
    Ok(all)
}

fn differences(run: &Features, tests: &Features) -> Vec<String> {
    run.iter()
        .filter_map(|(package, ways)| {
            let extra = tests.get(package).filter(|tested| *tested != ways)?;
            Some(format!(
                "{package} has the features {ways:?} in `cargo run` and {extra:?} in the tests: turn \
                 the same ones on in Cargo.toml"
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_set_of_features_is_a_breach_and_a_crate_of_the_tests_alone_is_none() {
        let features = |of: &[(&str, &str)]| -> Features {
            of.iter()
                .map(|(package, features)| {
                    (
                        (*package).to_owned(),
                        BTreeSet::from([(*features).to_owned()]),
                    )
                })
                .collect()
        };
        let run = features(&[("a v1", "std"), ("b v1", "std")]);
        let tests = features(&[("a v1", "std"), ("b v1", "alloc,std"), ("c v1", "std")]);
        let found = differences(&run, &tests);
        assert!(found.len() == 1 && found[0].contains("b v1"), "{found:?}");
    }
}
