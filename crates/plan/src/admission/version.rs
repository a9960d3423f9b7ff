//! Kubernetes versions.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::problem::Problem;

static SEMANTIC: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"\Av(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)(?:[-+][0-9A-Za-z.+_-]*)?\z",
    )
    .expect("a constant pattern")
});

/// The version with the `v` that it lacks; `None` where it has one, or is no number anyway.
pub(super) fn completed(version: &Value) -> Option<String> {
    let version = version.as_str()?;
    version
        .starts_with(|c: char| c.is_ascii_digit())
        .then(|| format!("v{version}"))
}

/// What is wrong with a version. One that is absent or empty is a schema's to judge.
pub(super) fn problem(field: &str, version: &Value) -> Option<Problem> {
    let text = version.as_str()?;
    (!SEMANTIC.is_match(text))
        .then(|| Problem::invalid(field, version, "must be a semantic version such as v1.35.0"))
}
