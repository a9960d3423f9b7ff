//! `remuda version`.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;

use crate::{cli::TextFormat, output};

/// Prints the version and what it speaks.
pub(crate) fn run(format: TextFormat) -> Result<ExitCode> {
    let version = env!("CARGO_PKG_VERSION");
    match format {
        TextFormat::Text => output::text(&format!("remuda {version}\n"))?,
        TextFormat::Json => output::json(&json!({
            "version": version,
            "contract": "v1alpha1",
            "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
        }))?,
    }
    Ok(ExitCode::SUCCESS)
}
