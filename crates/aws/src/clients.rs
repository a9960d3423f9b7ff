//! SDK clients of one region, and the one place where a call leaves.
//!
//! The SDK sends each request once. Waiting for a turn, trying again and renewing a credential
//! happen in [`Clients::call`], because they are decisions about an account, not about a request:
//! a throttled pool must hold back its neighbours too, and every attempt must be counted.

use std::{
    collections::BTreeMap,
    error::Error,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
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
    budget::{Budget, Ceiling},
    measured::{CallMeter, CallRecord, SweepAnswer},
    retry::{self, Repeat},
};
use remuda_plan::error::FailureClass;
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::{
    calls::Call,
    credentials::{CredentialCache, Provider},
    ec2::{Ec2, Ec2Config, Ec2Error, Parameters},
    errors::{self, Fault},
    xml::Node,
};

/// Attempts of one call within a pass. What still fails then is asked again by the next pass. Ours.
const ATTEMPTS: u32 = 4;

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
    pub(crate) region: String,
    pub(crate) autoscaling: aws_sdk_autoscaling::Client,
    pub(crate) s3: aws_sdk_s3::Client,
    pub(crate) time_source: SharedTimeSource,
    ec2: Ec2,
    credentials: Arc<CredentialCache>,
    budget: Budget,
    meter: Option<Arc<dyn CallMeter>>,
    random: Mutex<fastrand::Rng>,
    /// When a call about a subject was first told `NotReadyYet`.
    not_ready_since: Mutex<BTreeMap<(&'static str, String), Instant>>,
}

/// What the clients of a region are made of.
pub(crate) struct ClientsConfig<'a> {
    pub(crate) region: &'a str,
    pub(crate) transport: &'a Transport,
    pub(crate) credentials: Arc<CredentialCache>,
    pub(crate) ceilings: &'a [(&'static str, Ceiling)],
    pub(crate) meter: Option<Arc<dyn CallMeter>>,
    pub(crate) seed: u64,
}

impl Clients {
    pub(crate) fn new(config: ClientsConfig<'_>) -> Self {
        let ClientsConfig {
            region,
            transport,
            credentials,
            ceilings,
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
            region: region.to_owned(),
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
            budget: Budget::new(ceilings, seed),
            meter,
            random: Mutex::new(fastrand::Rng::with_seed(seed)),
            not_ready_since: Mutex::default(),
        }
    }

    /// Sends an EC2 call. `subject` is what the call is about, for people and for A-11.
    pub(crate) async fn ec2(
        &self,
        call: &'static Call,
        subject: &str,
        parameters: Parameters,
    ) -> Result<Node, CloudError> {
        self.call(call, subject, || {
            let send = self.ec2.send(call.action(), parameters.clone());
            async move { send.await.map_err(|error: SdkError<Ec2Error, _>| error) }
        })
        .await
    }

    /// Sends a call: waits for its turn, renews a refused credential once, tries again what
    /// was throttled or never arrived.
    ///
    /// # Errors
    /// The last failure, or `Throttled` when the turn is too far away to wait for.
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
        let mut attempt = 1;
        let mut renewed = false;
        loop {
            self.credentials.current(&self.region).await?;
            self.take_turn(call).await?;
            let started = Instant::now();
            // An SDK future is large, and most of a pass would carry one in every await.
            let span = tracing::debug_span!(
                "cloud call",
                otel.name = call.name,
                otel.kind = "client",
                cloud = "aws",
                region = self.region,
                subject,
            );
            let result = Box::pin(send())
                .instrument(span)
                .await
                .map_err(|error| errors::read(call, error));
            self.measure(call, started, result.as_ref().err());
            let fault = match result {
                Ok(value) => {
                    self.became_ready(call, subject);
                    return Ok(value);
                }
                Err(fault) => fault,
            };
            if fault.credential && !renewed {
                renewed = true;
                self.credentials.forget().await;
                continue;
            }
            if attempt == ATTEMPTS || !self.wait_to_repeat(call, attempt, &fault).await {
                return Err(self.settle(call, subject, fault));
            }
            attempt += 1;
        }
    }

    async fn take_turn(&self, call: &Call) -> Result<(), CloudError> {
        self.budget.admit(call.bucket).await.map_err(|too_long| {
            if let Some(meter) = &self.meter {
                meter.held_back(&self.region);
            }
            let mut failure = errors::failure(
                FailureClass::Throttled,
                call.name,
                format!("the call budget of {} is used up", self.region),
            );
            failure.retry_after_seconds = Some(whole_seconds(too_long.wait));
            failure.into()
        })
    }

    /// Waits before another attempt; false when there must be none.
    async fn wait_to_repeat(&self, call: &Call, attempt: u32, fault: &Fault) -> bool {
        match fault.class() {
            FailureClass::Throttled => {
                // The next attempt's turn comes after this wait, and so does everyone else's.
                self.budget.throttled(call.bucket, fault.retry_after());
                true
            }
            FailureClass::Transient if call.repeat == Repeat::Harmless => {
                let wait = retry::TRANSIENT.wait(attempt - 1, &mut lock(&self.random));
                tokio::time::sleep(wait.max(fault.retry_after().unwrap_or_default())).await;
                true
            }
            _ => false,
        }
    }

    /// what is not ready yet is waited for, but not for ever.
    fn settle(&self, call: &Call, subject: &str, fault: Fault) -> CloudError {
        let mut error = fault.error;
        if error.class() == FailureClass::NotReadyYet {
            let now = Instant::now();
            let first = *lock(&self.not_ready_since)
                .entry((call.name, subject.to_owned()))
                .or_insert(now);
            if now.saturating_duration_since(first) >= errors::READY_WITHIN {
                error.failure.class = errors::overdue(&error.failure.code);
            }
        }
        error
    }

    fn became_ready(&self, call: &Call, subject: &str) {
        let mut since = lock(&self.not_ready_since);
        if !since.is_empty() {
            since.remove(&(call.name, subject.to_owned()));
        }
    }

    /// A sweep told a pool of its group.
    pub(crate) fn told(&self, age: Duration) {
        if let Some(meter) = &self.meter {
            let region = &self.region;
            meter.answered(&SweepAnswer { region, age });
        }
    }

    fn measure(&self, call: &'static Call, started: Instant, fault: Option<&Fault>) {
        let latency = Instant::now().saturating_duration_since(started);
        tracing::debug!(
            call = call.name,
            region = self.region,
            latency_ms = u64::try_from(latency.as_millis()).unwrap_or(u64::MAX),
            failed = fault.map(|fault| fault.error.to_string()),
            "aws call"
        );
        if let Some(meter) = &self.meter {
            meter.record(&CallRecord {
                call: call.name,
                region: self.region.clone(),
                mutating: call.mutating,
                latency,
                failed: fault.map(Fault::class),
            });
        }
    }
}

/// Whole seconds, rounded up and bounded.
fn whole_seconds(wait: Duration) -> u32 {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    u32::try_from(seconds).unwrap_or(u32::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What these mutexes guard is never left half changed: no code of ours panics under them.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
