//! Identities to AWS credentials: what an identity Secret means, and the session credentials made
//! from it. In memory only; this process's own environment is read for an ambient identity and for
//! nothing else (captf document 4.2).

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use aws_config::{
    default_provider::credentials::DefaultCredentialsChain, provider_config::ProviderConfig,
};
use aws_credential_types::{
    Credentials as AwsCredentials,
    provider::{ProvideCredentials, error::CredentialsError, future},
};
use aws_types::region::Region;
use remuda_cloud::{
    CloudError,
    backend::CredentialSource,
    identity::{self, Keys as SecretKeys},
    outlet::Login,
};
use remuda_plan::{
    error::{CloudFailure, FailureClass},
    pool::secret::Secret,
};
use tokio::sync::Mutex;

use crate::{
    calls,
    clients::Transport,
    errors,
    profile::{self, Chain, Keys, Role},
};

/// Session credentials are renewed this long before they end. The SDK's own margin is 10 s; ours
/// is longer because a request may wait in the budget after it got its credential.
const RENEW_BEFORE: Duration = Duration::from_mins(5);

/// A credential that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Usable {
    /// Keys, and roles to assume with them.
    Chain(
        Chain,
        /* region of STS, unless a role says */ Option<String>,
    ),
    /// The process's own identity.
    Ambient,
}

/// Reads a source. Nothing is sent.
///
/// # Errors
/// `NoCredentials` naming what is missing, never a value.
pub(crate) fn read(
    source: &CredentialSource,
    ambient_allowed: bool,
) -> Result<Usable, CloudFailure> {
    match source {
        CredentialSource::Ambient if ambient_allowed => Ok(Usable::Ambient),
        CredentialSource::Ambient => Err(identity::ambient_refused("AWS")),
        CredentialSource::Keys(keys) => read_keys(SecretKeys(keys)).map_err(identity::unusable),
    }
}

/// A shared configuration file that the Secret itself carries: named by a path, or by its usual key.
fn file(values: SecretKeys<'_>, variable: &str, usual_key: &str) -> Result<Option<String>, String> {
    match values.file(variable)? {
        Some((key, _)) => values.text(&key),
        None => values.text(usual_key),
    }
}

fn read_keys(values: SecretKeys<'_>) -> Result<Usable, String> {
    let region = values.text("AWS_REGION")?;
    let id = values.text("AWS_ACCESS_KEY_ID")?;
    let secret = values.text("AWS_SECRET_ACCESS_KEY")?;
    let profile = values.text("AWS_PROFILE")?;
    // Static keys win over a profile, as they do in the SDKs' environment.
    let chain = match (id, secret, profile) {
        (Some(id), Some(secret), _) => Chain {
            keys: Keys {
                access_key_id: Secret::new(id),
                secret_access_key: Secret::new(secret),
                session_token: values.text("AWS_SESSION_TOKEN")?.map(Secret::new),
            },
            roles: Vec::new(),
        },
        (Some(_), None, _) => {
            return Err(
                "the Secret has AWS_ACCESS_KEY_ID but not AWS_SECRET_ACCESS_KEY".to_owned(),
            );
        }
        (None, Some(_), _) => {
            return Err(
                "the Secret has AWS_SECRET_ACCESS_KEY but not AWS_ACCESS_KEY_ID".to_owned(),
            );
        }
        (None, None, Some(profile)) => profile::chain(
            &profile,
            file(values, "AWS_CONFIG_FILE", "config")?.as_deref(),
            file(values, "AWS_SHARED_CREDENTIALS_FILE", "credentials")?.as_deref(),
        )?,
        (None, None, None) => {
            return Err(
                "the Secret has neither AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY nor AWS_PROFILE"
                    .to_owned(),
            );
        }
    };
    Ok(Usable::Chain(chain, region))
}

/// Where STS is asked who a credential is, when its identity names no region.
const ANY_REGION: &str = "us-east-1";

/// Credentials of one source, cached until shortly before they end.
#[derive(Debug)]
pub struct CredentialCache {
    usable: Usable,
    transport: Transport,
    cached: Mutex<Option<AwsCredentials>>,
    ambient: tokio::sync::OnceCell<DefaultCredentialsChain>,
}

impl CredentialCache {
    pub(crate) fn new(usable: Usable, transport: Transport) -> Self {
        Self {
            usable,
            transport,
            cached: Mutex::new(None),
            ambient: tokio::sync::OnceCell::new(),
        }
    }

    /// The account that the last role is in: the fifth part of its ARN.
    pub(crate) fn account(&self) -> Option<&str> {
        let Usable::Chain(chain, _) = &self.usable else {
            return None;
        };
        let account = chain.roles.last()?.arn.split(':').nth(4)?;
        (!account.is_empty()).then_some(account)
    }

    /// Who the credentials are: the one call that needs no right.
    ///
    /// # Errors
    /// Why there are no credentials, or the failure of the call.
    pub(crate) async fn caller(&self) -> Result<String, CloudError> {
        let region = match &self.usable {
            Usable::Chain(_, Some(region)) => region,
            Usable::Chain(_, None) | Usable::Ambient => ANY_REGION,
        };
        let credentials = self.current(region).await?;
        let asked = self
            .transport
            .sts(region, credentials)
            .get_caller_identity()
            .send();
        let answer = asked
            .await
            .map_err(|error| errors::read(&calls::CALLER_IDENTITY, error).error)?;
        Ok(answer.arn.unwrap_or_default())
    }

    fn lasts(&self, credentials: &AwsCredentials) -> bool {
        credentials.expiry().is_none_or(|expiry| {
            let now: SystemTime = self.transport.time_source.now();
            expiry
                .duration_since(now)
                .is_ok_and(|left| left > RENEW_BEFORE)
        })
    }

    async fn renew(&self, region: &str) -> Result<AwsCredentials, CloudError> {
        match &self.usable {
            Usable::Ambient => self.ambient(region).await,
            Usable::Chain(chain, sts_region) => {
                let mut credentials = signing_keys(&chain.keys);
                for role in &chain.roles {
                    let at = role
                        .region
                        .as_deref()
                        .or(sts_region.as_deref())
                        .unwrap_or(region);
                    credentials = self.assume(role, at, credentials).await?;
                }
                Ok(credentials)
            }
        }
    }

    async fn assume(
        &self,
        role: &Role,
        region: &str,
        with: AwsCredentials,
    ) -> Result<AwsCredentials, CloudError> {
        let answer = self
            .transport
            .sts(region, with)
            .assume_role()
            .role_arn(&role.arn)
            .role_session_name(&role.session_name)
            .set_external_id(role.external_id.as_ref().map(|id| id.reveal().clone()))
            .set_duration_seconds(role.duration_seconds)
            .send()
            .await
            .map_err(|error| errors::read(&calls::ASSUME_ROLE, error).error)?;
        let session = answer.credentials.ok_or_else(|| {
            CloudError::from(errors::failure(
                FailureClass::Bug,
                calls::ASSUME_ROLE.name,
                "an answer without credentials",
            ))
        })?;
        Ok(AwsCredentials::new(
            session.access_key_id,
            session.secret_access_key,
            Some(session.session_token),
            SystemTime::try_from(session.expiration).ok(),
            "remuda assumed role",
        ))
    }

    async fn ambient(&self, region: &str) -> Result<AwsCredentials, CloudError> {
        let chain = self
            .ambient
            .get_or_init(|| async {
                let region = Region::new(region.to_owned());
                DefaultCredentialsChain::builder()
                    .configure(
                        ProviderConfig::empty()
                            .with_region(Some(region.clone()))
                            .with_time_source(self.transport.time_source.clone())
                            .with_sleep_impl(aws_smithy_async::rt::sleep::TokioSleep::new())
                            .with_http_client(self.transport.http_client.clone()),
                    )
                    .region(region)
                    .build()
                    .await
            })
            .await;
        chain.provide_credentials().await.map_err(|error| {
            let class = match &error {
                CredentialsError::ProviderTimedOut(_) | CredentialsError::ProviderError(_) => {
                    FailureClass::Transient
                }
                _ => FailureClass::NoCredentials,
            };
            CloudError {
                failure: errors::failure(
                    class,
                    "credentials",
                    "the manager's own AWS identity gave no credentials",
                ),
                source: Some(Box::new(error)),
            }
        })
    }
}

impl Login for CredentialCache {
    type Pass = AwsCredentials;

    /// # Errors
    /// `NoCredentials` for an ambient chain that finds nothing; else the failure of `AssumeRole`.
    async fn current(&self, region: &str) -> Result<AwsCredentials, CloudError> {
        let mut cached = self.cached.lock().await;
        if let Some(credentials) = cached.as_ref().filter(|held| self.lasts(held)) {
            return Ok(credentials.clone());
        }
        let fresh = Box::pin(self.renew(region)).await?;
        *cached = Some(fresh.clone());
        Ok(fresh)
    }

    /// the next use makes new ones.
    async fn refused(&self, _: &AwsCredentials) {
        *self.cached.lock().await = None;
    }
}

fn signing_keys(keys: &Keys) -> AwsCredentials {
    AwsCredentials::new(
        keys.access_key_id.reveal(),
        keys.secret_access_key.reveal(),
        keys.session_token
            .as_ref()
            .map(|token| token.reveal().clone()),
        None,
        "remuda identity",
    )
}

/// The SDK's view of a cache, for the clients of one region.
#[derive(Debug, Clone)]
pub(crate) struct Provider {
    pub(crate) cache: Arc<CredentialCache>,
    pub(crate) region: String,
}

impl ProvideCredentials for Provider {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(async move {
            self.cache
                .current(&self.region)
                .await
                .map_err(CredentialsError::provider_error)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(pairs: &[(&str, &str)]) -> CredentialSource {
        CredentialSource::Keys(
            pairs
                .iter()
                .map(|(key, value)| ((*key).to_owned(), Secret::new(value.as_bytes().to_vec())))
                .collect(),
        )
    }

    fn refusal(pairs: &[(&str, &str)]) -> String {
        let failure = read(&source(pairs), true).expect_err("refused");
        assert_eq!(failure.class, FailureClass::NoCredentials);
        failure.message
    }

    #[test]
    fn static_keys_are_enough_and_win_over_a_profile() {
        let usable = read(
            &source(&[
                ("AWS_ACCESS_KEY_ID", "AKIA1"),
                ("AWS_SECRET_ACCESS_KEY", "s"),
                ("AWS_SESSION_TOKEN", "t"),
                ("AWS_PROFILE", "absent"),
            ]),
            false,
        )
        .expect("usable");
        let Usable::Chain(chain, _) = usable else {
            unreachable!("keys make a chain");
        };
        assert_eq!(chain.keys.access_key_id.reveal(), "AKIA1");
        assert!(chain.keys.session_token.is_some());
        assert!(chain.roles.is_empty());
    }

    #[test]
    fn missing_keys_are_named() {
        assert!(refusal(&[]).contains("AWS_ACCESS_KEY_ID"));
        assert!(refusal(&[("AWS_ACCESS_KEY_ID", "AKIA1")]).contains("not AWS_SECRET_ACCESS_KEY"));
        assert!(refusal(&[("AWS_SECRET_ACCESS_KEY", "s")]).contains("not AWS_ACCESS_KEY_ID"));
        assert!(
            refusal(&[("AWS_ACCESS_KEY_ID", " "), ("AWS_SECRET_ACCESS_KEY", "")])
                .contains("neither")
        );
    }

    #[test]
    fn a_profile_reads_the_files_of_the_secret_itself() {
        let files = [
            ("AWS_PROFILE", "pools"),
            ("AWS_CONFIG_FILE", "/var/run/captf/credentials/config"),
            (
                "AWS_SHARED_CREDENTIALS_FILE",
                "/var/run/captf/credentials/credentials",
            ),
            (
                "config",
                "[profile pools]\nrole_arn = arn:r\nsource_profile = base\n",
            ),
            (
                "credentials",
                "[base]\naws_access_key_id = AKIA2\naws_secret_access_key = s\n",
            ),
            ("AWS_REGION", "eu-west-1"),
        ];
        let Usable::Chain(chain, region) = read(&source(&files), false).expect("usable") else {
            unreachable!("a profile makes a chain");
        };
        assert_eq!(chain.roles.len(), 1);
        assert_eq!(region.as_deref(), Some("eu-west-1"));
    }

    #[test]
    fn the_process_own_identity_needs_the_operators_word() {
        assert_eq!(read(&CredentialSource::Ambient, true), Ok(Usable::Ambient));
        let failure = read(&CredentialSource::Ambient, false).expect_err("refused");
        assert_eq!(failure.class, FailureClass::NoCredentials);
    }

    #[test]
    fn nothing_secret_is_printed() {
        let usable = read(
            &source(&[
                ("AWS_ACCESS_KEY_ID", "AKIASECRET"),
                ("AWS_SECRET_ACCESS_KEY", "hunter2"),
            ]),
            false,
        )
        .expect("usable");
        let printed = format!("{usable:?}");
        assert!(
            !printed.contains("AKIASECRET") && !printed.contains("hunter2"),
            "{printed}"
        );
    }
}
