//! `remuda sim`.

use clap::{Args, ValueEnum};

use super::values::speed;

/// `remuda sim`.
#[derive(Debug, Args)]
pub(crate) struct SimArgs {
    /// Which cloud.
    #[arg(value_enum)]
    pub(crate) cloud: SimCloud,
    /// Address to serve on; loopback only.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4566")]
    pub(crate) listen: std::net::SocketAddr,
    /// How many times faster than real the cloud runs.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = speed)]
    pub(crate) speed: f64,
}

/// A simulated cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SimCloud {
    /// Auto Scaling, EC2, S3 and STS.
    Aws,
    /// Resource Manager: scale sets, instances, Autoscale; and the login host.
    Azure,
}
