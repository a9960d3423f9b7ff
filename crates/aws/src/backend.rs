//! The backend: credentials to sessions, handles to regions.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use aws_smithy_async::time::{SharedTimeSource, SystemTimeSource};
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_smithy_runtime_api::shared::IntoShared;
use bytes::Bytes;
use http_body_util::Full;
use remuda_cloud::{
    Applied, CloudError, Credentials, PoolBackend, PoolSession, budget::Ceiling, examined::Fact,
    measured::CallMeter,
};
use remuda_plan::{
    aws::observed,
    driver::{Desired, Driver, Handle, Observed},
    error::FailureClass,
    pool::{
        action::Action,
        read::{Depth, Freshness},
    },
};
use tokio::time::Instant;
use tower::{BoxError, Service};

use crate::{
    batch::{Sweep, SweepTiming},
    calls,
    clients::{Clients, ClientsConfig, Transport},
    credentials::{self, CredentialCache},
    errors,
    images::Images,
    in_process::InProcess,
    observe::Region,
};

/// An account that no pool asked for this long is dropped, credential and all: after a rotation
/// nobody uses the old one. Ours: several times the longest default interval between two passes.
const IDLE_ACCOUNT: Duration = Duration::from_mins(30);

/// Host that requests to an in-process service are addressed to; it is never resolved.
const IN_PROCESS_ENDPOINT: &str = "http://aws.remuda.invalid";

/// How the backend reaches AWS.
#[derive(Debug, Clone)]
pub struct Options {
    /// HTTP client; TLS by rustls with ring when `None`.
    pub http_client: Option<SharedHttpClient>,
    /// One endpoint for all services, for example a simulator; AWS's own when `None`. S3 is then
    /// addressed by path, since such an endpoint has no name per bucket.
    pub endpoint_url: Option<String>,
    /// Pools may use the process's own identity where their identity says so.
    pub ambient: bool,
    /// Client-side ceilings per credential and region; empty for none.
    pub ceilings: Vec<(&'static str, Ceiling)>,
    /// Ages and spacing of sweeps.
    pub sweep: SweepTiming,
    /// The wall clock, for signatures and expiry.
    pub time_source: SharedTimeSource,
    /// Told of every call.
    pub meter: Option<Arc<dyn CallMeter>>,
    /// Seed of the jitter.
    pub seed: u64,
}

impl Default for Options {
    /// AWS itself, no ambient identity, the ceilings and ages of the AWS document, 11.2.
    fn default() -> Self {
        Self {
            http_client: None,
            endpoint_url: None,
            ambient: false,
            ceilings: calls::default_ceilings(),
            sweep: SweepTiming::default(),
            time_source: SharedTimeSource::new(SystemTimeSource::new()),
            meter: None,
            seed: 0,
        }
    }
}

impl Options {
    /// Sends every request to a service in this process, for example an `axum::Router`.
    #[must_use]
    pub fn in_process<S, B>(self, service: S) -> Self
    where
        S: Service<http::Request<Full<Bytes>>, Response = http::Response<B>, Error = Infallible>
            + Clone
            + Send
            + Sync
            + 'static,
        S::Future: Send + 'static,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self {
            http_client: Some(InProcess::new(service).into_shared()),
            endpoint_url: Some(IN_PROCESS_ENDPOINT.to_owned()),
            ..self
        }
    }
}

/// The AWS backend.
#[derive(Debug)]
pub struct AwsBackend {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    options: Options,
    transport: Transport,
    accounts: Mutex<BTreeMap<String, Arc<Account>>>,
}

/// One credential, whoever uses it.
#[derive(Debug)]
struct Account {
    credentials: Arc<CredentialCache>,
    regions: Mutex<BTreeMap<String, Arc<Region>>>,
    used_at: Mutex<Instant>,
}

/// AWS through one credential.
#[derive(Debug)]
struct Session {
    account: Arc<Account>,
    /// Keeps options and transport alive for as long as anyone uses them.
    shared: Arc<Shared>,
}

impl AwsBackend {
    /// A backend. Sends nothing yet.
    pub fn new(options: Options) -> Self {
        let http_client = options.http_client.clone().unwrap_or_else(|| {
            aws_smithy_http_client::Builder::new()
                .tls_provider(Provider::Rustls(CryptoMode::Ring))
                .build_https()
        });
        let transport = Transport {
            http_client,
            endpoint_url: options.endpoint_url.clone(),
            time_source: options.time_source.clone(),
        };
        Self {
            shared: Arc::new(Shared {
                options,
                transport,
                accounts: Mutex::default(),
            }),
        }
    }

    /// A backend whose AWS is a service in this process, all else by default.
    pub fn in_process<S, B>(service: S) -> Self
    where
        S: Service<http::Request<Full<Bytes>>, Response = http::Response<B>, Error = Infallible>
            + Clone
            + Send
            + Sync
            + 'static,
        S::Future: Send + 'static,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self::new(Options::default().in_process(service))
    }
}

impl Shared {
    fn account(&self, credentials: &Credentials) -> Result<Arc<Account>, CloudError> {
        let usable = credentials::read(&credentials.source, self.options.ambient)?;
        let fingerprint = credentials::fingerprint(&credentials.source);
        let now = Instant::now();
        let mut accounts = lock(&self.accounts);
        accounts.retain(|_, account| now.duration_since(*lock(&account.used_at)) <= IDLE_ACCOUNT);
        let account = accounts.entry(fingerprint).or_insert_with(|| {
            Arc::new(Account {
                credentials: Arc::new(CredentialCache::new(usable, self.transport.clone())),
                regions: Mutex::default(),
                used_at: Mutex::new(now),
            })
        });
        *lock(&account.used_at) = now;
        Ok(Arc::clone(account))
    }
}

impl Session {
    fn region(&self, name: &str) -> Arc<Region> {
        let mut regions = lock(&self.account.regions);
        let region = regions.entry(name.to_owned()).or_insert_with(|| {
            let options = &self.shared.options;
            let clients = Arc::new(Clients::new(ClientsConfig {
                region: name,
                transport: &self.shared.transport,
                credentials: Arc::clone(&self.account.credentials),
                ceilings: &options.ceilings,
                meter: options.meter.clone(),
                seed: options.seed,
            }));
            Arc::new(Region {
                sweep: Sweep::new(Arc::clone(&clients), options.sweep),
                images: Images::new(Arc::clone(&clients)),
                clients,
            })
        });
        Arc::clone(region)
    }
}

#[async_trait]
impl PoolBackend for AwsBackend {
    fn driver(&self) -> Driver {
        Driver::Aws
    }

    async fn session(&self, credentials: &Credentials) -> Result<Arc<dyn PoolSession>, CloudError> {
        Ok(Arc::new(Session {
            account: self.shared.account(credentials)?,
            shared: Arc::clone(&self.shared),
        }))
    }
}

#[async_trait]
impl PoolSession for Session {
    async fn observe(
        &self,
        handle: &Handle,
        depth: Depth,
        freshness: Freshness,
    ) -> Result<Observed, CloudError> {
        let handle = aws(handle)?;
        let observed = self
            .region(&handle.region)
            .observe(handle, depth, freshness)
            .await;
        Ok(Observed::Aws(Box::new(observed)))
    }

    async fn apply(&self, handle: &Handle, action: &Action) -> Result<Applied, CloudError> {
        match action {
            Action::Aws(action) => {
                let handle = aws(handle)?;
                self.region(&handle.region).apply(handle, action).await
            }
            Action::Azure(_) => Err(elsewhere("Action::Azure")),
            Action::Remember(_) => Err(errors::failure(
                FailureClass::Bug,
                "Remember",
                "a record write is not a cloud call",
            )
            .into()),
        }
    }

    async fn who(&self) -> Result<String, CloudError> {
        self.account.credentials.caller().await
    }

    async fn examine(
        &self,
        handle: &Handle,
        desired: Option<&Desired>,
    ) -> Result<Vec<Fact>, CloudError> {
        let handle = aws(handle)?;
        let desired = match desired {
            None => None,
            Some(Desired::Aws(desired)) => Some(desired.as_ref()),
            Some(Desired::Azure(_)) => return Err(elsewhere("Desired::Azure")),
        };
        Ok(self.region(&handle.region).examine(handle, desired).await)
    }
}

fn aws(handle: &Handle) -> Result<&observed::Handle, CloudError> {
    match handle {
        Handle::Aws(handle) => Ok(handle),
        Handle::Azure(_) => Err(elsewhere("Handle::Azure")),
    }
}

fn elsewhere(what: &str) -> CloudError {
    errors::failure(FailureClass::Bug, what, "belongs to another cloud").into()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Maps of shared handles: whole after every statement.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
