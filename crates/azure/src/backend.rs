//! Azure as a cloud of the backend: options, credentials to tokens, handles to subscriptions and
//! regions.

use std::{fmt, sync::Arc};

use jiff::Timestamp;
use remuda_cloud::{
    Applied, Backend, CloudError,
    accounts::{Cloud, Place},
    backend::CredentialSource,
    budget::Ceiling,
    examined::Fact,
    in_process::{LocalService, Wire},
    limits::{IN_FLIGHT, LimitSettings, Limits},
    measured::CallMeter,
    outlet::Login as _,
    sweep::SweepTiming,
};
use remuda_plan::{
    azure::{action, desired, observed},
    driver::{Desired, Driver, Handle, Observed},
    pool::{
        action::Action,
        read::{Depth, Freshness},
    },
};

use crate::{
    batch::Sweep,
    calls,
    clients::{Clients, ClientsConfig},
    credentials::{self, Ambient},
    images::Images,
    observe::Region,
    tokens::Tokens,
    transport::Transport,
};

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
    pub in_process: Option<Wire>,
    /// Where Azure answers.
    pub endpoints: Endpoints,
    /// The manager's own identity, where pools may use it.
    pub ambient: Option<Ambient>,
    /// Calls in flight for one subscription.
    pub in_flight: usize,
    /// Client-side ceilings per subscription and region; empty for none.
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
            in_flight: IN_FLIGHT,
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
    pub fn in_process(self, service: impl LocalService) -> Self {
        Self {
            in_process: Some(Wire::local(service)),
            ..self
        }
    }
}

/// The Azure backend.
pub type AzureBackend = Backend<Azure>;

/// Azure, as far as it differs from another cloud.
#[derive(Debug)]
pub struct Azure {
    options: Options,
    transport: Transport,
}

impl Cloud for Azure {
    const DRIVER: Driver = Driver::Azure;
    type Options = Options;
    type Handle = observed::Handle;
    type Action = action::Action;
    type Desired = desired::Desired;
    type Login = Tokens;
    type Region = Region;

    fn new(options: Options) -> Self {
        let transport = match &options.in_process {
            Some(wire) => wire.clone().into(),
            None => Transport::network(),
        };
        Self { options, transport }
    }

    fn limits(&self) -> LimitSettings {
        LimitSettings {
            in_flight: self.options.in_flight,
            ceilings: self.options.ceilings.clone(),
            own_buckets: calls::PER_PRINCIPAL,
            seed: self.options.seed,
        }
    }

    fn log_in(&self, source: &CredentialSource) -> Result<Tokens, CloudError> {
        let options = &self.options;
        let usable = credentials::read(source, options.ambient.as_ref())?;
        Ok(Tokens::new(
            usable,
            self.transport.clone(),
            options.endpoints.clone(),
            options.clock.clone(),
            options.meter.clone(),
            options.seed,
        ))
    }

    fn handle(handle: &Handle) -> Option<&observed::Handle> {
        match handle {
            Handle::Azure(handle) => Some(handle),
            Handle::Aws(_) => None,
        }
    }

    fn action(action: &Action) -> Option<&action::Action> {
        match action {
            Action::Azure(action) => Some(action),
            _ => None,
        }
    }

    fn desired(desired: &Desired) -> Option<&desired::Desired> {
        match desired {
            Desired::Azure(desired) => Some(desired),
            Desired::Aws(_) => None,
        }
    }

    async fn who(login: &Tokens) -> Result<String, CloudError> {
        login.current("").await?;
        Ok("an application that Azure gives a token".to_owned())
    }

    async fn examine(
        region: &Region,
        handle: &observed::Handle,
        desired: Option<&desired::Desired>,
    ) -> Vec<Fact> {
        region.examine(handle, desired).await
    }

    /// The account is the subscription, whoever asks.
    fn place(_: &Tokens, handle: &observed::Handle) -> Place {
        Place {
            account: Some(handle.place.subscription_id.to_lowercase()),
            region: handle.place.region.clone(),
        }
    }

    fn open(&self, login: &Arc<Tokens>, place: &Place, limits: Limits) -> Region {
        let clients = Arc::new(Clients::new(ClientsConfig {
            region: &place.region,
            endpoint: &self.options.endpoints.arm,
            tokens: Arc::clone(login),
            limits,
            meter: self.options.meter.clone(),
            seed: self.options.seed,
        }));
        Region {
            sweep: Sweep::new(Arc::clone(&clients), self.options.sweep),
            images: Images::new(Arc::clone(&clients)),
            clients,
        }
    }

    async fn observe(
        region: &Region,
        handle: &observed::Handle,
        depth: Depth,
        freshness: Freshness,
    ) -> Observed {
        Observed::Azure(Box::new(region.observe(handle, depth, freshness).await))
    }

    async fn apply(
        region: &Region,
        handle: &observed::Handle,
        action: &action::Action,
    ) -> Result<Applied, CloudError> {
        region.apply(handle, action).await
    }
}
