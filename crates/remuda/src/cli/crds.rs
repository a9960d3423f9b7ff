//! `remuda crds`.

use clap::Args;

use super::DataFormat;

/// `remuda crds`.
#[derive(Debug, Args)]
pub(crate) struct CrdsArgs {
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = DataFormat::Yaml)]
    pub(crate) output: DataFormat,
}
