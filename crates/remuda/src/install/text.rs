//! YAML as text, so that the comments stay.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::output;

/// The documents of a stream.
pub(crate) fn documents(stream: &str) -> impl Iterator<Item = &str> {
    stream
        .split("---\n")
        .filter(|document| !document.trim().is_empty())
}

/// The documents of a stream as values.
pub(crate) fn values(stream: &str) -> Result<Vec<Value>> {
    serde_saphyr::from_multiple(stream).context("the manifests as YAML")
}

/// A document whose object has these labels, too.
pub(crate) fn labelled(document: &str, labels: &[(&str, &str)]) -> String {
    const METADATA: &str = "metadata:\n";
    const LABELS: &str = "  labels:\n";
    let lines = output::lines(
        labels
            .iter()
            .map(|(key, value)| format!("    {key}: {value}")),
    );
    let start = if document.starts_with(METADATA) {
        0
    } else {
        document.find("\nmetadata:\n").map_or(0, |at| at + 1)
    };
    let (before, rest) = document.split_at(start + METADATA.len());
    // The block of metadata ends with the first line that is not indented.
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if !line.starts_with(' ') {
            break;
        }
        end += line.len();
    }
    let (metadata, after) = rest.split_at(end);
    match metadata.split_once(LABELS) {
        Some((above, below)) => format!("{before}{above}{LABELS}{lines}{below}{after}"),
        None => format!("{before}{LABELS}{lines}{metadata}{after}"),
    }
}
