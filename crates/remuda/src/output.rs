//! Standard output: the only place that writes to it, so that a closed pipe ends a command quietly.

use std::io::{self, ErrorKind, Write};

use anyhow::{Context, Result};
use serde::Serialize;

/// Writes text. A reader that went away (`| head`) is no error.
pub(crate) fn text(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.context("writing to standard output"),
    }
}

/// Writes a value as indented JSON with a final line end.
pub(crate) fn json<T: Serialize>(value: &T) -> Result<()> {
    text(&format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// Writes a value as YAML.
pub(crate) fn yaml<T: Serialize>(value: &T) -> Result<()> {
    text(&serde_saphyr::to_string(value).context("rendering YAML")?)
}

/// Lines with a line end each.
pub(crate) fn lines<T: AsRef<str>>(lines: impl IntoIterator<Item = T>) -> String {
    lines.into_iter().fold(String::new(), |mut text, line| {
        text.push_str(line.as_ref());
        text.push('\n');
        text
    })
}
