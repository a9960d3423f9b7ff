//! AWS as a cloud of the backend: options, credentials to logins, handles to regions.

use std::sync::Arc;

use aws_smithy_async::time::{SharedTimeSource, SystemTimeSource};
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_smithy_runtime_api::shared::IntoShared;
use remuda_cloud::{
    Applied, Backend, CloudError,
    accounts::{Cloud, Place},
    backend::CredentialSource,
    budget::Ceiling,
    examined::Fact,
    in_process::LocalService,
    limits::{IN_FLIGHT, LimitSettings, Limits},
    measured::CallMeter,
    sweep::SweepTiming,
};
use remuda_plan::{
    aws::{action, desired, observed},
    driver::{Desired, Driver, Handle, Observed},
    pool::{
        action::Action,
        read::{Depth, Freshness},
    },
};

use crate::{
    batch::Sweep,
    calls,
    clients::{Clients, ClientsConfig, Transport},
    credentials::{self, CredentialCache},
    images::Images,
    in_process::InProcess,
    observe::Region,
};

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
    /// Calls in flight for one account.
    pub in_flight: usize,
    /// Client-side ceilings per account and region; empty for none.
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
            in_flight: IN_FLIGHT,
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
    pub fn in_process(self, service: impl LocalService) -> Self {
        Self {
            http_client: Some(InProcess::new(service).into_shared()),
            endpoint_url: Some(IN_PROCESS_ENDPOINT.to_owned()),
            ..self
        }
    }
}

/// The AWS backend.
pub type AwsBackend = Backend<Aws>;

/// AWS, as far as it differs from another cloud.
#[derive(Debug)]
pub struct Aws {
    options: Options,
    transport: Transport,
}

impl Cloud for Aws {
    const DRIVER: Driver = Driver::Aws;
    type Options = Options;
    type Handle = observed::Handle;
    type Action = action::Action;
    type Desired = desired::Desired;
    type Login = CredentialCache;
    type Region = Region;

    fn new(options: Options) -> Self {
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
        Self { options, transport }
    }

    fn limits(&self) -> LimitSettings {
        LimitSettings {
            in_flight: self.options.in_flight,
            ceilings: self.options.ceilings.clone(),
            own_buckets: &[],
            seed: self.options.seed,
        }
    }

    fn log_in(&self, source: &CredentialSource) -> Result<CredentialCache, CloudError> {
        let usable = credentials::read(source, self.options.ambient)?;
        Ok(CredentialCache::new(usable, self.transport.clone()))
    }

    fn handle(handle: &Handle) -> Option<&observed::Handle> {
        match handle {
            Handle::Aws(handle) => Some(handle),
            Handle::Azure(_) => None,
        }
    }

    fn action(action: &Action) -> Option<&action::Action> {
        match action {
            Action::Aws(action) => Some(action),
            _ => None,
        }
    }

    fn desired(desired: &Desired) -> Option<&desired::Desired> {
        match desired {
            Desired::Aws(desired) => Some(desired),
            Desired::Azure(_) => None,
        }
    }

    async fn who(login: &CredentialCache) -> Result<String, CloudError> {
        login.caller().await
    }

    async fn examine(
        region: &Region,
        handle: &observed::Handle,
        desired: Option<&desired::Desired>,
    ) -> Vec<Fact> {
        region.examine(handle, desired).await
    }

    /// The account is that of the last role, which its ARN names. Plain keys name none, and asking
    /// STS would cost a call of every credential: they count as an account each.
    fn place(login: &CredentialCache, handle: &observed::Handle) -> Place {
        Place {
            account: login.account().map(ToOwned::to_owned),
            region: handle.region.clone(),
        }
    }

    fn open(&self, login: &Arc<CredentialCache>, place: &Place, limits: Limits) -> Region {
        let clients = Arc::new(Clients::new(ClientsConfig {
            region: &place.region,
            transport: &self.transport,
            credentials: Arc::clone(login),
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
        Observed::Aws(Box::new(region.observe(handle, depth, freshness).await))
    }

    async fn apply(
        region: &Region,
        handle: &observed::Handle,
        action: &action::Action,
    ) -> Result<Applied, CloudError> {
        region.apply(handle, action).await
    }
}
