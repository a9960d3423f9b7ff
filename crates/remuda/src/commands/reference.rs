//! `remuda reference`.

use std::process::ExitCode;

use anyhow::Result;

use crate::{
    cli::{Page, ReferenceArgs},
    output, reference,
};

/// Prints one page as Markdown.
pub(crate) fn run(args: &ReferenceArgs) -> Result<ExitCode> {
    output::text(&match args.page {
        Page::Commands => reference::commands(),
        Page::Variables => reference::variables(),
        Page::Conditions => reference::conditions(),
        Page::Fields => reference::fields()?,
        Page::Metrics => reference::metrics(),
    })?;
    Ok(ExitCode::SUCCESS)
}
