//! How the real clouds are reached: by what was typed and what the environment says.

use remuda_azure::{Ambient, Endpoints};

use crate::{cli::CloudArgs, config};

/// AWS itself.
pub(crate) fn aws(args: CloudArgs) -> remuda_aws::Options {
    remuda_aws::Options {
        ambient: args.ambient_credentials,
        in_flight: args.cloud_concurrency.into(),
        ..remuda_aws::Options::default()
    }
}

/// Azure itself, in the public cloud or where the environment says.
pub(crate) fn azure(args: CloudArgs) -> remuda_azure::Options {
    azure_from(args, config::variable)
}

fn azure_from(
    args: CloudArgs,
    variable: impl Fn(&str) -> Option<String> + Copy,
) -> remuda_azure::Options {
    let ambient = args
        .ambient_credentials
        .then(|| Ambient::from_environment(variable))
        .flatten();
    if args.ambient_credentials && ambient.is_none() {
        tracing::warn!(
            "--ambient-credentials: the environment names no identity on Azure: set \
             AZURE_CLIENT_ID, and AZURE_TENANT_ID and AZURE_FEDERATED_TOKEN_FILE for a workload \
             identity"
        );
    }
    remuda_azure::Options {
        endpoints: Endpoints::from_environment(variable),
        ambient,
        in_flight: args.cloud_concurrency.into(),
        ..remuda_azure::Options::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(ambient_credentials: bool) -> CloudArgs {
        CloudArgs {
            cloud_concurrency: 7,
            ambient_credentials,
        }
    }

    fn environment(name: &str) -> Option<String> {
        let value = match name {
            "AZURE_CLIENT_ID" => "7a4b",
            "AZURE_AUTHORITY_HOST" => "https://login.example/",
            _ => return None,
        };
        Some(value.to_owned())
    }

    #[test]
    fn the_processs_own_identity_is_for_those_who_say_so() {
        assert!(!aws(typed(false)).ambient);
        assert!(aws(typed(true)).ambient);
        assert_eq!(azure_from(typed(false), environment).ambient, None);
        let own = Ambient::ManagedIdentity {
            client_id: "7a4b".to_owned(),
        };
        assert_eq!(azure_from(typed(true), environment).ambient, Some(own));
        assert_eq!(azure_from(typed(true), |_| None).ambient, None);
    }

    #[test]
    fn what_was_typed_bounds_the_calls_and_the_environment_names_the_login_host() {
        assert_eq!(aws(typed(false)).in_flight, 7);
        let azure = azure_from(typed(false), environment);
        assert_eq!(azure.in_flight, 7);
        assert_eq!(azure.endpoints.authority, "https://login.example");
    }
}
