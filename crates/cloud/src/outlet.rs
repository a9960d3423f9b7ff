//! The one place where a call leaves.
//!
//! Waiting for a turn, trying again and renewing a credential happen here and not in an SDK,
//! because they are decisions about an account, not about a request: a throttled pool must hold
//! back its neighbours too, and every attempt must be counted.

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use remuda_plan::error::FailureClass;
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::{
    CloudError,
    budget::{PATIENCE, TooLong},
    calls::Call,
    error::{Fault, failure},
    limits::{Limits, Turn},
    locked,
    measured::{CallMeter, CallRecord, SweepAnswer},
    retry::{self, Repeat},
};

/// One credential, kept and renewed.
pub trait Login: fmt::Debug + Send + Sync {
    /// What a request is sent with: keys to sign with, or a token.
    type Pass: Clone + Send + Sync;

    /// What to send with now. One caller renews, the others wait for it.
    ///
    /// # Errors
    /// `NoCredentials` where the identity is at fault; else why nothing came.
    fn current(&self, region: &str) -> impl Future<Output = Result<Self::Pass, CloudError>> + Send;

    /// The cloud refused it: the next caller gets another.
    fn refused(&self, pass: &Self::Pass) -> impl Future<Output = ()> + Send;
}

/// How the calls of one credential leave for one region.
#[derive(Debug)]
pub struct Outlet {
    config: OutletConfig,
    random: Mutex<fastrand::Rng>,
}

/// What an outlet is made of.
#[derive(Debug)]
pub struct OutletConfig {
    /// The cloud in a word, for the log.
    pub cloud: &'static str,
    /// Region or location.
    pub region: String,
    /// Tries of one call within a pass. What still fails then is asked again by the next pass.
    pub tries: u32,
    /// How many calls may leave.
    pub limits: Limits,
    /// Told of every call.
    pub meter: Option<Arc<dyn CallMeter>>,
    /// Seed of the jitter.
    pub seed: u64,
}

impl Outlet {
    /// An outlet that nothing has left yet.
    pub fn new(config: OutletConfig) -> Self {
        let random = Mutex::new(fastrand::Rng::with_seed(config.seed));
        Self { config, random }
    }

    /// Sends a call: waits for its turn, renews a refused credential once, tries again what was
    /// throttled or never arrived, for as long as a pass may wait. `subject` is what it is about, for
    /// people.
    ///
    /// # Errors
    /// The last failure, or `Throttled` when the turn is too far away to wait for.
    ///
    /// # Cancellation
    /// A call that was sent may have arrived; the next pass looks.
    pub async fn call<L, T, F, Fut>(
        &self,
        login: &L,
        call: &'static Call,
        subject: &str,
        attempt: F,
    ) -> Result<T, CloudError>
    where
        L: Login,
        F: Fn(L::Pass) -> Fut,
        Fut: Future<Output = Result<T, Fault>>,
    {
        let patience_ends = Instant::now() + PATIENCE;
        let mut tries = 1;
        let mut renewed = false;
        loop {
            let pass = login.current(&self.config.region).await?;
            let turn = self.turn(call).await?;
            let started = Instant::now();
            // An SDK's future is large, and most of a pass would carry one in every await.
            let span = tracing::debug_span!(
                "cloud call",
                otel.name = call.name,
                otel.kind = "client",
                cloud = self.config.cloud,
                region = self.config.region,
                subject,
            );
            let result = Box::pin(attempt(pass.clone())).instrument(span).await;
            drop(turn);
            self.measure(call, started, result.as_ref().err());
            let fault = match result {
                Ok(value) => return Ok(value),
                Err(fault) => fault,
            };
            if fault.stale_credential && !renewed {
                renewed = true;
                login.refused(&pass).await;
                continue;
            }
            let Some(wait) = self.wait_before_repeating(call, tries, &fault) else {
                return Err(fault.error);
            };
            if tries == self.config.tries || Instant::now() + wait > patience_ends {
                return Err(put_off(fault, wait));
            }
            tokio::time::sleep(wait).await;
            tries += 1;
        }
    }

    /// A sweep told a pool of its group, by an answer of that age.
    pub fn told(&self, age: Duration) {
        if let Some(meter) = &self.config.meter {
            let region = &self.config.region;
            meter.answered(&SweepAnswer { region, age });
        }
    }

    async fn turn(&self, call: &Call) -> Result<Turn, CloudError> {
        let turn = self.config.limits.turn(call.buckets).await;
        turn.map_err(|TooLong { wait }| {
            if let Some(meter) = &self.config.meter {
                meter.held_back(&self.config.region);
            }
            let why = format!("the call budget of {} is used up", self.config.region);
            let mut failure = failure(FailureClass::Throttled, call.name, why);
            failure.retry_after_seconds = Some(whole_seconds(wait));
            failure.into()
        })
    }

    /// How long to wait before another try; `None` when there must be none.
    fn wait_before_repeating(&self, call: &Call, tries: u32, fault: &Fault) -> Option<Duration> {
        match fault.class() {
            // Only the limit that was exceeded pauses, and for everyone.
            FailureClass::Throttled => {
                let bucket = fault.bucket.or(call.buckets.last().copied())?;
                Some(self.config.limits.throttled(bucket, fault.retry_after()))
            }
            FailureClass::Transient if call.repeat == Repeat::Harmless => {
                let wait = retry::TRANSIENT.wait(tries - 1, &mut locked(&self.random));
                Some(wait.max(fault.retry_after().unwrap_or_default()))
            }
            _ => None,
        }
    }

    fn measure(&self, call: &'static Call, started: Instant, fault: Option<&Fault>) {
        let latency = Instant::now().saturating_duration_since(started);
        tracing::debug!(
            cloud = self.config.cloud,
            call = call.name,
            region = self.config.region,
            latency_ms = u64::try_from(latency.as_millis()).unwrap_or(u64::MAX),
            failed = fault.map(|fault| fault.error.to_string()),
            answer = fault
                .and_then(|fault| fault.error.source.as_ref())
                .map(tracing::field::display),
            "cloud call"
        );
        if let Some(meter) = &self.config.meter {
            meter.record(&CallRecord {
                call: call.name,
                region: self.config.region.clone(),
                mutating: call.mutating,
                latency,
                failed: fault.map(Fault::class),
            });
        }
    }
}

/// A fault whose next try is too far away to wait for: the next pass makes it.
fn put_off(fault: Fault, wait: Duration) -> CloudError {
    let mut error = fault.error;
    let wait = whole_seconds(wait);
    error.failure.retry_after_seconds = error.failure.retry_after_seconds.max(Some(wait));
    error
}

/// Whole seconds, rounded up and bounded.
fn whole_seconds(wait: Duration) -> u32 {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    u32::try_from(seconds).unwrap_or(u32::MAX)
}
