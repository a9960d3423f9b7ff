//! `cargo xtask proofs`: which acceptance statements of `docs/spec` a test cites.
//!
//! A citation is a line `/// Proves: AWS-17, AWS-18.` right above a test function; `/// Proves ours:`
//! cites a statement that this project added to a document it began from.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::Args;
use regex::Regex;

use crate::sources;

/// Prefix of a statement and the document that holds it.
const DOCUMENTS: [(&str, &str); 6] = [
    ("AWS", "aws-machinepool.md"),
    ("AZURE", "azure-machinepool.md"),
    ("CAPI", "cluster-api.md"),
    ("CAPTF", "captf-contract.md"),
    ("CAPZ", "capz.md"),
    ("MAPI", "openshift-machine-api.md"),
];

/// What to print.
#[derive(Args)]
pub(crate) struct Options {
    /// List the statements of a prefix that no test cites.
    #[arg(long, value_name = "PREFIX")]
    missing: Option<String>,
    /// Show where a statement is proven, for example AWS-17.
    #[arg(long, value_name = "ID")]
    show: Option<String>,
}

/// Statement ids to their texts, and to the places that cite them.
pub(crate) struct Proofs {
    statements: BTreeMap<(String, u32), String>,
    citations: BTreeMap<(String, u32), Vec<String>>,
}

/// Prints the counts.
pub(crate) fn run(root: &Path, options: &Options) -> Result<()> {
    let proofs = read(root)?;
    for (prefix, _) in DOCUMENTS {
        let (cited, all) = proofs.count(prefix);
        println!("{prefix:6} {cited:4} of {all:4} cited by a test");
    }
    if let Some(prefix) = &options.missing {
        for ((_, number), text) in proofs.missing(prefix) {
            println!("{prefix}-{number}: {text}");
        }
    }
    if let Some(id) = &options.show {
        let key =
            parse_id(id).with_context(|| format!("{id} is not a statement id like AWS-17"))?;
        let text = proofs
            .statements
            .get(&key)
            .with_context(|| format!("no statement {id}"))?;
        println!("{id}: {text}");
        for place in proofs.citations.get(&key).into_iter().flatten() {
            println!("  {place}");
        }
    }
    let unknown = proofs.unknown();
    if unknown.is_empty() {
        Ok(())
    } else {
        bail!("no such statements: {}", unknown.join(", "))
    }
}

/// Citations of statements that do not exist, with their places.
pub(crate) fn unknown(root: &Path) -> Result<Vec<String>> {
    Ok(read(root)?.unknown())
}

fn parse_id(id: &str) -> Option<(String, u32)> {
    let (prefix, number) = id.split_once('-')?;
    Some((prefix.to_owned(), number.parse().ok()?))
}

fn read(root: &Path) -> Result<Proofs> {
    let mut proofs = Proofs {
        statements: BTreeMap::new(),
        citations: BTreeMap::new(),
    };
    for (prefix, file) in DOCUMENTS {
        let path = root.join("docs/spec").join(file);
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        for (number, statement) in statements(&text) {
            proofs
                .statements
                .insert((prefix.to_owned(), number), statement);
        }
    }
    let line = Regex::new(r"^\s*(?:///?|#)\s*Proves(?: ours)?:\s*(.+)$")?;
    let id = Regex::new(r"([A-Z]+)-(\d+)")?;
    for file in sources::files(root)? {
        if !["rs", "py", "js", "sh"]
            .iter()
            .any(|e| sources::has_extension(&file, e))
        {
            continue;
        }
        let Some(text) = sources::text(root, &file) else {
            continue;
        };
        for (index, found) in text.lines().enumerate() {
            let Some(list) = line.captures(found) else {
                continue;
            };
            for cited in id.captures_iter(&list[1]) {
                let place = format!("{}:{}", file.display(), index + 1);
                let key = (cited[1].to_owned(), cited[2].parse()?);
                proofs.citations.entry(key).or_default().push(place);
            }
        }
    }
    Ok(proofs)
}

/// Numbered lines of the section "Acceptance statements".
fn statements(text: &str) -> BTreeMap<u32, String> {
    let mut found = BTreeMap::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with("## ") {
            inside = line.to_lowercase().contains("acceptance");
        } else if inside
            && let Some((number, rest)) = line.split_once(". ")
            && let Ok(number) = number.parse()
        {
            found.insert(number, rest.to_owned());
        }
    }
    found
}

impl Proofs {
    fn count(&self, prefix: &str) -> (usize, usize) {
        let all: BTreeSet<_> = self
            .statements
            .keys()
            .filter(|(p, _)| p == prefix)
            .collect();
        let cited = all
            .iter()
            .filter(|key| self.citations.contains_key(**key))
            .count();
        (cited, all.len())
    }

    fn missing<'a>(
        &'a self,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a (String, u32), &'a String)> {
        self.statements
            .iter()
            .filter(move |(key, _)| key.0 == prefix && !self.citations.contains_key(*key))
    }

    fn unknown(&self) -> Vec<String> {
        self.citations
            .iter()
            .filter(|(key, _)| !self.statements.contains_key(*key))
            .map(|((prefix, number), places)| format!("{prefix}-{number} at {}", places[0]))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_acceptance_section_counts() {
        let text = "## 1. Intro\n1. not one\n## 8. Acceptance statements\n1. first\n12. twelfth\n## 9. End\n2. no\n";
        let found = statements(text);
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), [1, 12]);
    }
}
