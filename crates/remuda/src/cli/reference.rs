//! `remuda reference`.

use clap::{Args, ValueEnum};

/// `remuda reference`.
#[derive(Debug, Args)]
pub(crate) struct ReferenceArgs {
    /// Which page.
    #[arg(value_enum)]
    pub(crate) page: Page,
}

/// Pages of the reference that this program knows by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Page {
    /// Every command with its options.
    Commands,
    /// Variables of the machine pool drivers: type, default, rules, effect of a change.
    Variables,
    /// Conditions, their reasons, and events of each kind.
    Conditions,
    /// Fields of the kinds that Remuda serves.
    Fields,
    /// Metrics that a manager and `remuda up` are scraped for.
    Metrics,
}
