//! `remuda doctor`.

use clap::Args;

use super::{CloudArgs, CoreMode, connection::Connection, formats::TextFormat};

/// `remuda doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) connection: Connection,
    /// Only pools of this namespace [default: of every one].
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// Namespace of the manager itself.
    #[arg(
        long,
        value_name = "NAMESPACE",
        env = "POD_NAMESPACE",
        default_value = "remuda-system"
    )]
    pub(crate) system_namespace: String,
    /// With the rights of somebody else, such as the manager's:
    /// system:serviceaccount:remuda-system:remuda-manager.
    #[arg(long = "as", value_name = "USER")]
    pub(crate) as_user: Option<String>,
    /// Whether the manager runs the core controllers: decides which rights it needs.
    #[arg(long, value_enum, default_value_t = CoreMode::Auto)]
    pub(crate) core: CoreMode,
    /// Only these checks: definitions, rights, webhooks, identities, pools, permissions, images,
    /// quotas, subnets.
    #[arg(long, value_name = "CHECK", value_delimiter = ',', value_parser = check)]
    pub(crate) only: Vec<String>,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = TextFormat::Text)]
    pub(crate) output: TextFormat,
    #[command(flatten)]
    pub(crate) clouds: CloudArgs,
}

/// Reads the name of a check.
fn check(text: &str) -> Result<String, String> {
    let names = crate::doctor::CHECKS.iter().map(|check| check.name);
    if names.clone().any(|name| name == text) {
        return Ok(text.to_owned());
    }
    let names: Vec<&str> = names.collect();
    Err(format!("there is no check {text}: {}", names.join(", ")))
}
