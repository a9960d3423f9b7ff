//! `cargo xtask tidy`: house rules that a compiler does not check. Also run as a test.

use std::path::Path;

use anyhow::{Result, bail};

use crate::{dependencies, features, pages, proofs, sources, symmetry};

/// Longest file, in lines: one sitting.
const MOST_LINES: usize = 600;

/// File names that have no reason to refuse anything.
const NAMELESS: [&str; 4] = ["util", "helpers", "common", "misc"];

/// Text that must not be in shipped Rust code, and what to do instead.
const BANNED_IN_CODE: [(&str, &str); 4] = [
    ("todo!(", "finish it or leave it out"),
    ("unimplemented!(", "finish it or leave it out"),
    ("SystemTime::now(", "take the clock as a parameter"),
    (
        "std::env::var",
        "read the environment in crates/remuda/src/config.rs",
    ),
];

/// Places where a banned text is right, each with its reason.
const ALLOWED_IN_CODE: [(&str, &str); 3] = [
    (
        "crates/remuda/src/config.rs",
        "the one reader of the environment",
    ),
    (
        "crates/apiserver/src/clock.rs",
        "where the system clock enters",
    ),
    (
        "crates/controllers/src/clock.rs",
        "where the system clock enters",
    ),
];

/// Every breach of a rule, one line each.
pub(crate) fn breaches(root: &Path) -> Result<Vec<String>> {
    let mut breaches = dependencies::breaches(root)?;
    breaches.extend(features::breaches(root)?);
    breaches.extend(symmetry::breaches(root)?);
    for unknown in proofs::unknown(root)? {
        breaches.push(format!("cites a statement that does not exist: {unknown}"));
    }
    let files = sources::files(root)?;
    breaches.extend(pages::unlisted(root, &files));
    for file in files {
        let Some(text) = sources::text(root, &file) else {
            continue;
        };
        if sources::has_extension(&file, "rs") {
            rust_file(&file, &text, &mut breaches);
        }
        if sources::has_extension(&file, "md") {
            breaches.extend(pages::breaches(root, &file, &text));
        }
    }
    Ok(breaches)
}

/// Prints the breaches and fails when there are any.
pub(crate) fn run(root: &Path) -> Result<()> {
    let breaches = breaches(root)?;
    for breach in &breaches {
        println!("tidy: {breach}");
    }
    if breaches.is_empty() {
        Ok(())
    } else {
        bail!("{} breaches of house rules", breaches.len())
    }
}

fn rust_file(file: &Path, text: &str, breaches: &mut Vec<String>) {
    let name = file.display().to_string();
    let lines = text.lines().count();
    if lines > MOST_LINES {
        breaches.push(format!(
            "{name} has {lines} lines, more than {MOST_LINES}: split it by noun"
        ));
    }
    if file
        .file_stem()
        .is_some_and(|stem| NAMELESS.iter().any(|bad| stem == *bad))
    {
        breaches.push(format!(
            "{name} has a name that says nothing: name the noun"
        ));
    }
    let shipped = name.starts_with("crates/") && name.contains("/src/");
    if !shipped || ALLOWED_IN_CODE.iter().any(|(allowed, _)| *allowed == name) {
        return;
    }
    let before_tests = text.split("#[cfg(test)]").next().unwrap_or(text);
    for (index, line) in before_tests.lines().enumerate() {
        for (banned, instead) in BANNED_IN_CODE {
            if line.contains(banned) && !line.trim_start().starts_with("//") {
                breaches.push(format!("{name}:{}: `{banned}`: {instead}", index + 1));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_house_is_tidy() {
        let breaches = breaches(&crate::root()).unwrap();
        assert!(breaches.is_empty(), "{}", breaches.join("\n"));
    }

    #[test]
    fn a_long_file_a_nameless_file_and_a_banned_word_are_breaches() {
        let mut breaches = Vec::new();
        rust_file(
            Path::new("crates/x/src/util.rs"),
            &format!("todo!()\n{}", "//\n".repeat(700)),
            &mut breaches,
        );
        assert_eq!(breaches.len(), 3, "{breaches:?}");
    }
}
