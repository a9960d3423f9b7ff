//! Features that can be turned on or off.

use clap::Args;
use remuda_plan::admission::Gates;

/// Which features run.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Features {
    /// Features to turn on or off: MachinePool (on), ClusterTopology (off),
    /// MachineTaintPropagation (on).
    #[arg(
        long = "feature-gates",
        value_name = "GATE=BOOL,...",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) gates: Gates,
}
