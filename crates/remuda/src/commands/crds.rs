//! `remuda crds`.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;

use crate::{
    cli::{CrdsArgs, DataFormat},
    output,
};

/// Prints every CustomResourceDefinition that Remuda serves.
pub(crate) fn run(args: &CrdsArgs) -> Result<ExitCode> {
    match args.output {
        DataFormat::Yaml => output::text(&remuda_api::crd_yaml())?,
        DataFormat::Json => output::json(&json!({
            "apiVersion": "v1",
            "kind": "List",
            "items": remuda_api::crds(),
        }))?,
    }
    Ok(ExitCode::SUCCESS)
}
