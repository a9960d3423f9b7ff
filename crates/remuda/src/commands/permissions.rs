//! `remuda permissions`.

use std::process::ExitCode;

use anyhow::Result;
use remuda_cloud::permissions::Grant;

use crate::{
    cli::{PermissionsArgs, PermissionsCloud, TextFormat},
    output,
};

/// Prints what a pool's identity must be allowed.
pub(crate) fn run(args: &PermissionsArgs) -> Result<ExitCode> {
    let (grants, document) = match args.cloud {
        PermissionsCloud::Aws => (remuda_aws::permissions(), remuda_aws::policy()),
        PermissionsCloud::Azure => (remuda_azure::permissions(), remuda_azure::role()),
    };
    match args.output {
        TextFormat::Text => output::text(&text(&grants))?,
        TextFormat::Json => output::json(&document)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// An action a line, with what for in a second column.
fn text(grants: &[Grant]) -> String {
    let longest = grants.iter().map(|grant| grant.action.len()).max();
    let width = longest.unwrap_or_default() + 2;
    output::lines(grants.iter().map(|grant| {
        let reasons: Vec<&str> = grant.reasons.iter().copied().collect();
        format!("{:width$}{}", grant.action, reasons.join("; "))
    }))
}
