//! In which forms commands answer.

use clap::ValueEnum;

/// Text or JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TextFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// YAML or JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataFormat {
    /// YAML documents.
    Yaml,
    /// One JSON list.
    Json,
}
