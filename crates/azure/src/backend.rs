//! The backend: credentials to sessions, handles to subscriptions and regions.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::Full;
use jiff::Timestamp;
use remuda_cloud::{
    Applied, CloudError, Credentials, PoolBackend, PoolSession, budget::Ceiling, examined::Fact,
    measured::CallMeter,
};
use remuda_plan::{
    azure::observed,
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
    clients::{Clients, ClientsConfig},
    credentials::{self, Ambient},
    errors,
    images::Images,
    in_process::InProcess,
    locked,
    observe::Region,
    tokens::Tokens,
    transport::Transport,
};

/// An account that no pool asked for this long is dropped, credential and all: after a rotation
/// nobody uses the old one. Ours: several times the longest default interval between two passes.
const IDLE_ACCOUNT: Duration = Duration::from_mins(30);

/// The wall clock, for client assertions.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// A clock that shows what `now` returns.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// Where Azure answers. Without slashes at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoints {
    /// ARM: `https://management.azure.com`.
    pub arm: String,
    /// Login host with scheme: `https://login.microsoftonline.com`, or `AZURE_AUTHORITY_HOST`.
    pub authority: String,
    /// The machine's metadata service: `http://169.254.169.254`.
    pub metadata: String,
}

impl Default for Endpoints {
    /// The public cloud (Azure document 0.2, 12).
    fn default() -> Self {
        Self {
            arm: "https://management.azure.com".to_owned(),
            authority: "https://login.microsoftonline.com".to_owned(),
            metadata: "http://169.254.169.254".to_owned(),
        }
    }
}

impl Endpoints {
    /// Everything at one address, for example that of a simulator.
    pub fn all_at(url: &str) -> Self {
        let url = url.trim_end_matches('/');
        Self {
            arm: url.to_owned(),
            authority: url.to_owned(),
            metadata: url.to_owned(),
        }
    }

    /// The public cloud, with the login host that the environment names (`AZURE_AUTHORITY_HOST`).
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Self {
        let host = variable("AZURE_AUTHORITY_HOST").filter(|host| !host.trim().is_empty());
        match host {
            Some(host) => Self::default().with_authority(host.trim()),
            None => Self::default(),
        }
    }

    /// The same with another login host.
    #[must_use]
    pub fn with_authority(self, host: &str) -> Self {
        Self {
            authority: host.trim_end_matches('/').to_owned(),
            ..self
        }
    }
}

/// How the backend reaches Azure.
#[derive(Debug, Clone)]
pub struct Options {
    /// A service in this process as Azure; the network when `None`.
    pub in_process: Option<InProcess>,
    /// Where Azure answers.
    pub endpoints: Endpoints,
    /// The manager's own identity, where pools may use it.
    pub ambient: Option<Ambient>,
    /// Client-side ceilings per credential, subscription and region; empty for none.
    pub ceilings: Vec<(&'static str, Ceiling)>,
    /// Ages and spacing of sweeps.
    pub sweep: SweepTiming,
    /// The wall clock.
    pub clock: Clock,
    /// Told of every call.
    pub meter: Option<Arc<dyn CallMeter>>,
    /// Seed of jitter and request ids.
    pub seed: u64,
}

impl Default for Options {
    /// The public cloud, no ambient identity, the ceilings and ages of the Azure document.
    fn default() -> Self {
        Self {
            in_process: None,
            endpoints: Endpoints::default(),
            ambient: None,
            ceilings: calls::default_ceilings(),
            sweep: SweepTiming::default(),
            clock: Clock::new(Timestamp::now),
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
            in_process: Some(InProcess::new(service)),
            ..self
        }
    }
}

/// The Azure backend.
#[derive(Debug)]
pub struct AzureBackend {
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
    tokens: Arc<Tokens>,
    /// By subscription and region.
    regions: Mutex<BTreeMap<(String, String), Arc<Region>>>,
    used_at: Mutex<Instant>,
}

/// Azure through one credential.
#[derive(Debug)]
struct Session {
    account: Arc<Account>,
    shared: Arc<Shared>,
}

impl AzureBackend {
    /// A backend. Sends nothing yet.
    pub fn new(options: Options) -> Self {
        let transport = match &options.in_process {
            Some(InProcess(transport)) => transport.clone(),
            None => Transport::network(),
        };
        Self {
            shared: Arc::new(Shared {
                options,
                transport,
                accounts: Mutex::default(),
            }),
        }
    }
}

impl Shared {
    fn account(&self, credentials: &Credentials) -> Result<Arc<Account>, CloudError> {
        let fingerprint = credentials::fingerprint(&credentials.source);
        let now = Instant::now();
        let mut accounts = locked(&self.accounts);
        accounts.retain(|_, account| now.duration_since(*locked(&account.used_at)) <= IDLE_ACCOUNT);
        if let Some(account) = accounts.get(&fingerprint) {
            *locked(&account.used_at) = now;
            return Ok(Arc::clone(account));
        }
        let options = &self.options;
        let usable = credentials::read(&credentials.source, options.ambient.as_ref())?;
        let tokens = Tokens::new(
            usable,
            self.transport.clone(),
            options.endpoints.clone(),
            options.clock.clone(),
            options.meter.clone(),
            options.seed,
        );
        let account = Arc::new(Account {
            tokens: Arc::new(tokens),
            regions: Mutex::default(),
            used_at: Mutex::new(now),
        });
        accounts.insert(fingerprint, Arc::clone(&account));
        Ok(account)
    }
}

impl Session {
    fn region(&self, handle: &observed::Handle) -> Arc<Region> {
        let place = &handle.place;
        let key = (place.subscription_id.to_lowercase(), place.region.clone());
        let mut regions = locked(&self.account.regions);
        let region = regions.entry(key).or_insert_with(|| {
            let options = &self.shared.options;
            let clients = Arc::new(Clients::new(ClientsConfig {
                region: &place.region,
                endpoint: &options.endpoints.arm,
                tokens: Arc::clone(&self.account.tokens),
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
impl PoolBackend for AzureBackend {
    fn driver(&self) -> Driver {
        Driver::Azure
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
        let handle = azure(handle)?;
        let observed = self.region(handle).observe(handle, depth, freshness).await;
        Ok(Observed::Azure(Box::new(observed)))
    }

    async fn apply(&self, handle: &Handle, action: &Action) -> Result<Applied, CloudError> {
        let handle = azure(handle)?;
        match action {
            Action::Azure(action) => self.region(handle).apply(handle, action).await,
            Action::Remember(_) => Err(not_ours("a record write is not a cloud call")),
            Action::Aws(_) => Err(not_ours("the action is for another cloud")),
        }
    }

    async fn who(&self) -> Result<String, CloudError> {
        self.account.tokens.current().await?;
        Ok("an application that Azure gives a token".to_owned())
    }

    async fn examine(
        &self,
        handle: &Handle,
        desired: Option<&Desired>,
    ) -> Result<Vec<Fact>, CloudError> {
        let handle = azure(handle)?;
        let desired = match desired {
            None => None,
            Some(Desired::Azure(desired)) => Some(desired.as_ref()),
            Some(Desired::Aws(_)) => return Err(not_ours("what is desired is for another cloud")),
        };
        Ok(self.region(handle).examine(handle, desired).await)
    }
}

fn azure(handle: &Handle) -> Result<&observed::Handle, CloudError> {
    match handle {
        Handle::Azure(handle) => Ok(handle),
        Handle::Aws(_) => Err(not_ours("the handle is for another cloud")),
    }
}

fn not_ours(why: &str) -> CloudError {
    errors::failure(FailureClass::Bug, "azure", why).into()
}
