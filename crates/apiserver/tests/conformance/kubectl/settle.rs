//! What may differ between two runs, replaced by a name for it.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Patterns and what stands for what they find.
static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let table = [
        (r"https://127\.0\.0\.1:\d+(/clusters/[^ ]+)?", "<server>"),
        (r"127\.0\.0\.1:\d+", "<address>"),
        (
            r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
            "<uid>",
        ),
        (r"\b2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
        (
            r"\b2\d{3}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}",
            "<time>",
        ),
        (
            r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} 2\d{3} \d\d:\d\d:\d\d [+-]\d{4}",
            "<time>",
        ),
        (r"(LIVE|MERGED|kubectl-edit)-\d+", "$1-<n>"),
        (r"(?m)^([IWEF])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ", "$1 "),
        (r#"(resourceVersion\\?"?: ?\\?")\d+"#, "$1<revision>"),
        (r"(Resource Version: +)\d+", "$1<revision>"),
        (r"(resource version to be 1, was )\d+", "$1<revision>"),
        // Where a server keeps its objects is its own affair.
        (r"Key: /registry[^/]*/", "Key: /registry/"),
    ];
    let compiled = table.map(|(pattern, name)| (Regex::new(pattern).expect("a pattern"), name));
    compiled.into()
});

/// An age, and the blanks that line up what follows.
static AGE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(^|\s)(?:\d+[smhd]){1,2}( +|$)").expect("a pattern"));

/// A text without what may differ.
pub(super) fn settled(text: &str, folder: &str) -> String {
    let mut text = text.replace(folder, "<folder>");
    for (pattern, name) in PATTERNS.iter() {
        text = pattern.replace_all(&text, *name).into_owned();
    }
    let mut lines: Vec<String> = text
        .lines()
        // kubectl's own log of a watch that it gave up: there or not, by the moment.
        .filter(|line| !line.contains("reflector.go:"))
        .map(|line| without_ages(line).trim_end().to_owned())
        .collect();
    // A genuine server names the problems of an object in no certain order.
    for problems in lines.chunk_by_mut(|a, b| a.starts_with("* ") && b.starts_with("* ")) {
        problems.sort();
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

/// Ages grow by the second: `12s   Normal` becomes `<age>   Normal`.
fn without_ages(line: &str) -> String {
    let name = |found: &Captures| {
        let blanks = if found[2].len() > 1 { "   " } else { &found[2] };
        format!("{}<age>{blanks}", &found[1])
    };
    // Twice, because neighbours share a blank.
    let once = AGE.replace_all(line, name).into_owned();
    AGE.replace_all(&once, name).into_owned()
}
