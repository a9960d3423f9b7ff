//! Pages of the book and beside it: every link within the repository leads somewhere, and the book's
//! table of contents names every page.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// The book's table of contents.
const CONTENTS: &str = "docs/SUMMARY.md";

/// Breaches of one page.
pub(crate) fn breaches(root: &Path, file: &Path, text: &str) -> Vec<String> {
    let folder = file.parent().unwrap_or(Path::new(""));
    links(text)
        .into_iter()
        .filter(|link| !root.join(normal(&folder.join(link))).exists())
        .map(|link| format!("{} links to {link}, which is not there", file.display()))
        .collect()
}

/// Pages under `docs/` that the table of contents leaves out.
pub(crate) fn unlisted(root: &Path, files: &[PathBuf]) -> Vec<String> {
    let Ok(contents) = std::fs::read_to_string(root.join(CONTENTS)) else {
        return vec![format!("{CONTENTS} is not there")];
    };
    let listed: BTreeSet<PathBuf> = links(&contents)
        .into_iter()
        .map(|link| normal(&Path::new("docs").join(link)))
        .collect();
    files
        .iter()
        .filter(|file| file.starts_with("docs") && file.extension().is_some_and(|it| it == "md"))
        .filter(|file| *file != Path::new(CONTENTS) && !listed.contains(*file))
        .map(|file| format!("{CONTENTS} does not list {}", file.display()))
        .collect()
}

/// Targets of Markdown links that stay within the repository, without fragments. Code is left out.
fn links(text: &str) -> Vec<String> {
    let mut in_code = false;
    let mut links = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        let prose: String = line.split('`').step_by(2).collect();
        for rest in prose.split("](").skip(1) {
            let Some((target, _)) = rest.split_once(')') else {
                continue;
            };
            let path = target.split('#').next().unwrap_or_default();
            let is_elsewhere = target.contains("://") || target.starts_with("mailto:");
            if !path.is_empty() && !is_elsewhere {
                links.push(path.to_owned());
            }
        }
    }
    links
}

/// A path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                parts.pop();
            }
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => parts.push(part),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_within_the_repository_are_found_and_others_left_alone() {
        let text =
            "[a](b.md#c), [d](https://e.f/g), [h](#i), `[n](o)`\n```\n[j](k)\n```\n[l](../m/)";
        assert_eq!(links(text), ["b.md", "../m/"]);
    }

    #[test]
    fn a_path_is_read_as_a_browser_would() {
        assert_eq!(
            normal(Path::new("docs/a/../b/./c.md")),
            Path::new("docs/b/c.md")
        );
    }
}
