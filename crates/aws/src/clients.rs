//! SDK clients of one region. The SDK sends each request once: waiting for a turn, trying again and
//! renewing a credential are the outlet's.

use std::{
    collections::BTreeMap,
    error::Error,
    future::Future,
    sync::{Arc, Mutex},
    time::Duration,
};

use aws_config::{BehaviorVersion, SdkConfig, retry::RetryConfig, timeout::TimeoutConfig};
use aws_credential_types::{Credentials as AwsCredentials, provider::SharedCredentialsProvider};
use aws_sdk_s3::config::{RequestChecksumCalculation, ResponseChecksumValidation};
use aws_smithy_async::{rt::sleep::TokioSleep, time::SharedTimeSource};
use aws_smithy_runtime::client::identity::IdentityCache;
use aws_smithy_runtime_api::client::{
    http::SharedHttpClient, orchestrator::HttpResponse, result::SdkError,
    stalled_stream_protection::StalledStreamProtectionConfig,
};
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use aws_types::region::Region;
use remuda_cloud::{
    CloudError,
    calls::Call,
    limits::Limits,
    locked,
    measured::CallMeter,
    outlet::{Outlet, OutletConfig},
};
use remuda_plan::error::FailureClass;
use tokio::time::Instant;

use crate::{
    calls,
    credentials::{CredentialCache, Provider},
    ec2::{Ec2, Ec2Config, Ec2Error, Parameters},
    errors,
    xml::Document,
};

/// Tries of one call within a pass. Ours.
const TRIES: u32 = 4;

/// How requests travel: shared by all credentials and regions.
#[derive(Debug, Clone)]
pub(crate) struct Transport {
    pub(crate) http_client: SharedHttpClient,
    pub(crate) endpoint_url: Option<String>,
    pub(crate) time_source: SharedTimeSource,
}

impl Transport {
    /// Connecting takes at most 5 s, a whole answer at most 30 s. Ours: the largest answers are
    /// pages of 1,000 instances, which take a second or two.
    fn timeouts() -> TimeoutConfig {
        TimeoutConfig::builder()
            .connect_timeout(Duration::from_secs(5))
            .operation_attempt_timeout(Duration::from_secs(30))
            .build()
    }

    fn sdk_config(&self, region: &str, credentials: SharedCredentialsProvider) -> SdkConfig {
        let mut builder = SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(region.to_owned()))
            .credentials_provider(credentials)
            .identity_cache(IdentityCache::no_cache())
            .http_client(self.http_client.clone())
            .time_source(self.time_source.clone())
            .sleep_impl(TokioSleep::new())
            .retry_config(RetryConfig::disabled())
            .timeout_config(Self::timeouts())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
        builder.set_endpoint_url(self.endpoint_url.clone());
        builder.build()
    }

    /// An STS client with given credentials.
    pub(crate) fn sts(&self, region: &str, with: AwsCredentials) -> aws_sdk_sts::Client {
        aws_sdk_sts::Client::new(&self.sdk_config(region, SharedCredentialsProvider::new(with)))
    }
}

/// The clients of one credential in one region.
#[derive(Debug)]
pub(crate) struct Clients {
    pub(crate) autoscaling: aws_sdk_autoscaling::Client,
    pub(crate) s3: aws_sdk_s3::Client,
    pub(crate) time_source: SharedTimeSource,
    ec2: Ec2,
    credentials: Arc<CredentialCache>,
    pub(crate) outlet: Outlet,
    /// When a call about a subject was first told `NotReadyYet`.
    not_ready_since: Mutex<BTreeMap<(&'static str, String), Instant>>,
}

/// What the clients of a region are made of.
pub(crate) struct ClientsConfig<'a> {
    pub(crate) region: &'a str,
    pub(crate) transport: &'a Transport,
    pub(crate) credentials: Arc<CredentialCache>,
    pub(crate) limits: Limits,
    pub(crate) meter: Option<Arc<dyn CallMeter>>,
    pub(crate) seed: u64,
}

impl Clients {
    pub(crate) fn new(config: ClientsConfig<'_>) -> Self {
        let ClientsConfig {
            region,
            transport,
            credentials,
            limits,
            meter,
            seed,
        } = config;
        let provider = SharedCredentialsProvider::new(Provider {
            cache: Arc::clone(&credentials),
            region: region.to_owned(),
        });
        let sdk = transport.sdk_config(region, provider.clone());
        let s3 = aws_sdk_s3::config::Builder::from(&sdk)
            // A simulator or a private endpoint has no DNS name per bucket.
            .force_path_style(transport.endpoint_url.is_some())
            // The document fixes the headers of a payload; TLS and SigV4 protect its bytes.
            .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
            .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
            .build();
        Self {
            autoscaling: aws_sdk_autoscaling::Client::new(&sdk),
            s3: aws_sdk_s3::Client::from_conf(s3),
            time_source: transport.time_source.clone(),
            ec2: Ec2::new(Ec2Config {
                region,
                endpoint_url: transport.endpoint_url.as_deref(),
                http_client: transport.http_client.clone(),
                credentials: provider,
                time_source: transport.time_source.clone(),
                timeouts: Transport::timeouts(),
            }),
            credentials,
            outlet: Outlet::new(OutletConfig {
                cloud: "aws",
                region: region.to_owned(),
                tries: TRIES,
                limits,
                meter,
                seed,
            }),
            not_ready_since: Mutex::default(),
        }
    }

    /// Sends an EC2 call. `subject` is what the call is about, for people and for A-11.
    pub(crate) async fn ec2(
        &self,
        call: &'static Call,
        subject: &str,
        parameters: Parameters,
    ) -> Result<Document, CloudError> {
        self.call(call, subject, || {
            let send = self.ec2.send(calls::action(call), parameters.clone());
            async move { send.await.map_err(|error: SdkError<Ec2Error, _>| error) }
        })
        .await
    }

    /// Sends a call.
    ///
    /// # Errors
    /// The last failure, or `Throttled` when its turn is too far away to wait for.
    ///
    /// # Cancellation
    /// A call that was sent may have arrived; the next pass looks.
    pub(crate) async fn call<T, E, F, Fut>(
        &self,
        call: &'static Call,
        subject: &str,
        send: F,
    ) -> Result<T, CloudError>
    where
        E: ProvideErrorMetadata + Error + Send + Sync + 'static,
        F: Fn() -> Fut,
        Fut: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
    {
        // The SDK signs with what the login keeps; it is asked once more through `Provider`.
        let attempt = |_| {
            let sent = send();
            async move { sent.await.map_err(|error| errors::read(call, error)) }
        };
        let login = &*self.credentials;
        match self.outlet.call(login, call, subject, attempt).await {
            Ok(value) => {
                self.became_ready(call, subject);
                Ok(value)
            }
            Err(error) => Err(self.settle(call, subject, error)),
        }
    }

    /// what is not ready yet is waited for, but not for ever.
    fn settle(&self, call: &Call, subject: &str, mut error: CloudError) -> CloudError {
        if error.class() == FailureClass::NotReadyYet {
            let now = Instant::now();
            let first = *locked(&self.not_ready_since)
                .entry((call.name, subject.to_owned()))
                .or_insert(now);
            if now.saturating_duration_since(first) >= errors::READY_WITHIN {
                error.failure.class = errors::overdue(&error.failure.code);
            }
        }
        error
    }

    fn became_ready(&self, call: &Call, subject: &str) {
        let mut since = locked(&self.not_ready_since);
        if !since.is_empty() {
            since.remove(&(call.name, subject.to_owned()));
        }
    }
}
