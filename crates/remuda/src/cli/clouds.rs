//! How clouds are reached, and `remuda permissions`.

use clap::{Args, ValueEnum, value_parser};

use super::TextFormat;

/// How the clouds of AWS and Azure are reached.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct CloudArgs {
    /// Calls in flight at once for one cloud account (the AWS account of an identity's role, else
    /// each access key; an Azure subscription), over all of its pools.
    #[arg(long, value_name = "COUNT", default_value_t = 32, value_parser = value_parser!(u16).range(1..))]
    pub(crate) cloud_concurrency: u16,
    /// Let identities that ask for it by name use this process's own cloud identity: AWS's default
    /// chain (IRSA, Pod Identity, instance profile); on Azure AZURE_CLIENT_ID, with
    /// AZURE_TENANT_ID and AZURE_FEDERATED_TOKEN_FILE for a workload identity. Only a
    /// TerraformClusterIdentity may ask, with the key REMUDA_AMBIENT_CREDENTIALS=true in its Secret.
    #[arg(long)]
    pub(crate) ambient_credentials: bool,
}

/// `remuda permissions`.
#[derive(Debug, Args)]
pub(crate) struct PermissionsArgs {
    /// Which cloud.
    #[arg(value_enum)]
    pub(crate) cloud: PermissionsCloud,
    /// Text: each permission and what for. JSON: an IAM policy, or the definition of an Azure role.
    #[arg(short, long, value_enum, default_value_t = TextFormat::Text)]
    pub(crate) output: TextFormat,
}

/// A cloud with permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PermissionsCloud {
    /// AWS: an IAM policy.
    Aws,
    /// Azure: a custom role.
    Azure,
}
