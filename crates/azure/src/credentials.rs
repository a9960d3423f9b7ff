//! Identities to what a token is asked for with: what an identity Secret means, and the manager's
//! own identity where an identity asks for it by name (Azure document 12.1). Nothing is sent here.

use std::{path::PathBuf, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use remuda_cloud::{
    backend::CredentialSource,
    identity::{self, Keys},
};
use remuda_plan::{error::CloudFailure, pool::secret::Secret};

use crate::certificate::Certificate;

/// The manager's own identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ambient {
    /// Workload identity federation: the projected token of the manager's service account.
    Federation {
        /// `AZURE_TENANT_ID`.
        tenant_id: String,
        /// `AZURE_CLIENT_ID`.
        client_id: String,
        /// `AZURE_FEDERATED_TOKEN_FILE`; read anew for every token, since the kubelet rotates it.
        token_file: PathBuf,
    },
    /// A user-assigned identity of the machine the manager runs on.
    ManagedIdentity {
        /// Client id of the identity.
        client_id: String,
    },
}

impl Ambient {
    /// The identity that the environment names, in the order of the Azure document 12.1: a
    /// projected token, then a managed identity by its client id. `variable` reads one variable.
    /// `None`: it names none, and nothing is guessed from where the process runs.
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let text = |name: &str| {
            let value = variable(name)?;
            let value = value.trim();
            (!value.is_empty()).then(|| value.to_owned())
        };
        let client_id = text("AZURE_CLIENT_ID")?;
        Some(
            match (text("AZURE_FEDERATED_TOKEN_FILE"), text("AZURE_TENANT_ID")) {
                (Some(file), tenant_id) => Self::Federation {
                    // A missing tenant is told by whoever uses the identity.
                    tenant_id: tenant_id.unwrap_or_default(),
                    client_id,
                    token_file: PathBuf::from(file),
                },
                (None, _) => Self::ManagedIdentity { client_id },
            },
        )
    }
}

/// Whom a token is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Principal {
    pub(crate) tenant_id: String,
    pub(crate) client_id: String,
}

/// A credential that can be used.
#[derive(Debug, Clone)]
pub(crate) enum Usable {
    /// Service principal with a certificate.
    Certificate(Principal, Arc<Certificate>),
    /// Service principal with a secret.
    Secret(Principal, Secret<String>),
    /// Workload identity federation.
    Federation(Principal, PathBuf),
    /// Managed identity, by client id.
    ManagedIdentity(String),
}

/// Reads a source.
///
/// # Errors
/// `NoCredentials` naming what is missing, never a value.
pub(crate) fn read(
    source: &CredentialSource,
    ambient: Option<&Ambient>,
) -> Result<Usable, CloudFailure> {
    match (source, ambient) {
        (CredentialSource::Keys(keys), _) => read_keys(Keys(keys)),
        (CredentialSource::Ambient, Some(ambient)) => read_ambient(ambient),
        (CredentialSource::Ambient, None) => return Err(identity::ambient_refused("Azure")),
    }
    .map_err(identity::unusable)
}

fn read_ambient(ambient: &Ambient) -> Result<Usable, String> {
    match ambient {
        Ambient::Federation {
            tenant_id,
            client_id,
            token_file,
        } => Ok(Usable::Federation(
            principal(tenant_id, client_id)?,
            token_file.clone(),
        )),
        Ambient::ManagedIdentity { client_id } if client_id.is_empty() => {
            Err("a managed identity needs its client id".to_owned())
        }
        Ambient::ManagedIdentity { client_id } => Ok(Usable::ManagedIdentity(client_id.clone())),
    }
}

/// A certificate in PKCS#12: as base64, or a path below the mount that names a key holding it.
fn certificate(values: Keys<'_>) -> Result<Option<Vec<u8>>, String> {
    if let Some(base64) = values.text("ARM_CLIENT_CERTIFICATE")? {
        let packed: String = base64.split_whitespace().collect();
        return STANDARD
            .decode(packed)
            .map(Some)
            .map_err(|_| "ARM_CLIENT_CERTIFICATE is not base64".to_owned());
    }
    let file = values.file("ARM_CLIENT_CERTIFICATE_PATH")?;
    Ok(file.map(|(_, value)| value.reveal().clone()))
}

/// The certificate wins over the secret, as it does in azurerm.
fn read_keys(values: Keys<'_>) -> Result<Usable, String> {
    let certificate = certificate(values)?;
    let secret = values.text("ARM_CLIENT_SECRET")?;
    if certificate.is_none() && secret.is_none() {
        return Err(
            "the Secret has neither ARM_CLIENT_CERTIFICATE nor ARM_CLIENT_CERTIFICATE_PATH nor \
             ARM_CLIENT_SECRET"
                .to_owned(),
        );
    }
    let tenant = values.text("ARM_TENANT_ID")?;
    let client = values.text("ARM_CLIENT_ID")?;
    let (tenant, client) = match (tenant, client) {
        (Some(tenant), Some(client)) => (tenant, client),
        (tenant, client) => {
            let missing: Vec<&str> = [("ARM_TENANT_ID", &tenant), ("ARM_CLIENT_ID", &client)]
                .into_iter()
                .filter(|(_, value)| value.is_none())
                .map(|(name, _)| name)
                .collect();
            return Err(format!("the Secret lacks {}", missing.join(" and ")));
        }
    };
    let principal = principal(&tenant, &client)?;
    if let Some(packed) = certificate {
        let password = values
            .text("ARM_CLIENT_CERTIFICATE_PASSWORD")?
            .unwrap_or_default();
        let certificate = Certificate::from_pkcs12(&packed, &password)?;
        return Ok(Usable::Certificate(principal, Arc::new(certificate)));
    }
    let secret = secret.unwrap_or_default();
    Ok(Usable::Secret(principal, Secret::new(secret)))
}

/// The tenant becomes part of an address, so it must look like a GUID or a domain.
fn principal(tenant_id: &str, client_id: &str) -> Result<Principal, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    if tenant_id.is_empty() || !tenant_id.chars().all(plain) {
        return Err("the tenant id is neither a GUID nor a domain".to_owned());
    }
    if client_id.is_empty() {
        return Err("the client id is empty".to_owned());
    }
    Ok(Principal {
        tenant_id: tenant_id.to_owned(),
        client_id: client_id.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use remuda_plan::error::FailureClass;

    use super::*;

    const TENANT: (&str, &str) = ("ARM_TENANT_ID", "72f988bf-86f1-41af-91ab-2d7cd011db47");
    const CLIENT: (&str, &str) = ("ARM_CLIENT_ID", "11111111-2222-3333-4444-555555555555");

    fn source(pairs: &[(&str, &str)]) -> CredentialSource {
        CredentialSource::Keys(
            pairs
                .iter()
                .map(|(key, value)| ((*key).to_owned(), Secret::new(value.as_bytes().to_vec())))
                .collect(),
        )
    }

    fn refusal(pairs: &[(&str, &str)]) -> String {
        let own = Ambient::ManagedIdentity {
            client_id: "own".to_owned(),
        };
        let failure = read(&source(pairs), Some(&own)).expect_err("refused");
        assert_eq!(failure.class, FailureClass::NoCredentials);
        failure.message
    }

    #[test]
    fn a_secret_without_credentials_never_falls_back_on_the_managers_own() {
        assert!(refusal(&[TENANT, CLIENT]).contains("neither ARM_CLIENT_CERTIFICATE"));
        assert!(
            refusal(&[
                TENANT,
                CLIENT,
                ("AZURE_FEDERATED_TOKEN_FILE", "/var/run/token")
            ])
            .contains("neither")
        );
    }

    #[test]
    fn missing_keys_are_named_and_values_are_not() {
        let why = refusal(&[("ARM_CLIENT_SECRET", "hunter2")]);
        assert!(why.contains("ARM_TENANT_ID and ARM_CLIENT_ID"), "{why}");
        let why = refusal(&[TENANT, CLIENT, ("ARM_CLIENT_CERTIFICATE", "hunter2!")]);
        assert!(
            why.contains("not base64") && !why.contains("hunter2"),
            "{why}"
        );
        let why = refusal(&[TENANT, CLIENT, ("ARM_CLIENT_CERTIFICATE", "aHVudGVyMg==")]);
        assert!(why.contains("PKCS#12"), "{why}");
        let why = refusal(&[
            ("ARM_TENANT_ID", "a/../b"),
            CLIENT,
            ("ARM_CLIENT_SECRET", "hunter2"),
        ]);
        assert!(why.contains("tenant"), "{why}");
        for path in ["/root/cert.pfx", "/var/run/captf/credentials/../x"] {
            let why = refusal(&[TENANT, CLIENT, ("ARM_CLIENT_CERTIFICATE_PATH", path)]);
            assert!(why.contains("ARM_CLIENT_CERTIFICATE_PATH"), "{why}");
        }
    }

    #[test]
    fn the_environment_names_the_managers_own_identity_or_none() {
        let from = |pairs: &[(&str, &str)]| {
            Ambient::from_environment(|name| {
                let found = pairs.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(from(&[]), None);
        assert_eq!(
            from(&[("AZURE_FEDERATED_TOKEN_FILE", "/var/run/token")]),
            None
        );
        let managed = [("AZURE_CLIENT_ID", " 7a4b ")];
        assert_eq!(
            from(&managed),
            Some(Ambient::ManagedIdentity {
                client_id: "7a4b".to_owned()
            })
        );
        let federated = [
            ("AZURE_CLIENT_ID", "7a4b"),
            ("AZURE_TENANT_ID", TENANT.1),
            ("AZURE_FEDERATED_TOKEN_FILE", "/var/run/token"),
        ];
        assert_eq!(
            from(&federated),
            Some(Ambient::Federation {
                tenant_id: TENANT.1.to_owned(),
                client_id: "7a4b".to_owned(),
                token_file: PathBuf::from("/var/run/token"),
            })
        );
        let without_tenant = from(&[federated[0], federated[2]]).expect("federation is meant");
        let why = read(&CredentialSource::Ambient, Some(&without_tenant)).expect_err("unusable");
        assert!(why.message.contains("tenant"), "{}", why.message);
    }

    #[test]
    fn nothing_secret_is_printed() {
        let usable = read(
            &source(&[TENANT, CLIENT, ("ARM_CLIENT_SECRET", "hunter2")]),
            None,
        )
        .expect("usable");
        assert!(matches!(usable, Usable::Secret(..)));
        assert!(!format!("{usable:?}").contains("hunter2"));
    }

    #[test]
    fn the_managers_own_identity_needs_the_operators_word() {
        let failure = read(&CredentialSource::Ambient, None).expect_err("refused");
        assert_eq!(failure.class, FailureClass::NoCredentials);
        let own = Ambient::ManagedIdentity {
            client_id: "own".to_owned(),
        };
        assert!(matches!(
            read(&CredentialSource::Ambient, Some(&own)),
            Ok(Usable::ManagedIdentity(id)) if id == "own"
        ));
    }
}
