//! ARM for one credential, subscription and region, and the one place where a call leaves.
//!
//! Waiting for a turn, trying again and renewing a token happen in [`Clients::send`], because they
//! are decisions about an account, not about a request: a throttled pool must hold back its
//! neighbours too, and every attempt must be counted.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, Uri, header};
use http_body_util::Full;
use remuda_cloud::{
    CloudError,
    budget::{self, Budget, Ceiling, TooLong},
    measured::{CallMeter, CallRecord, SweepAnswer},
    retry::{self, Repeat},
};
use remuda_plan::{error::FailureClass, pool::secret::Secret};
use serde::{Deserialize, de::DeserializeOwned};
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::{
    calls::Call,
    errors::{self, Fault},
    headroom::Headroom,
    locked,
    tokens::Tokens,
};

/// Tries of one call (Azure document 10.3).
const TRIES: u32 = 16;

/// A list of more pages than this goes round in circles. Ours: 10,000 members in pages of 10.
const PAGES: usize = 1_000;

const USER_AGENT: &str = concat!("remuda/", env!("CARGO_PKG_VERSION"));

/// The clients of one credential in one region of a subscription.
#[derive(Debug)]
pub(crate) struct Clients {
    pub(crate) region: String,
    endpoint: String,
    tokens: Arc<Tokens>,
    budget: Budget,
    pub(crate) headroom: Headroom,
    meter: Option<Arc<dyn CallMeter>>,
    random: Mutex<fastrand::Rng>,
}

/// What the clients of a region are made of.
pub(crate) struct ClientsConfig<'a> {
    pub(crate) region: &'a str,
    /// `https://management.azure.com`.
    pub(crate) endpoint: &'a str,
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) ceilings: &'a [(&'static str, Ceiling)],
    pub(crate) meter: Option<Arc<dyn CallMeter>>,
    pub(crate) seed: u64,
}

/// A request but for what every request carries.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outgoing {
    /// Path with its query below the endpoint, or a whole URL that Azure gave.
    pub(crate) to: String,
    /// JSON; may hold custom data.
    pub(crate) body: Option<Secret<Bytes>>,
    /// Only make what is not there.
    pub(crate) if_none_match: bool,
    /// Only change what still has this tag.
    pub(crate) if_match: Option<String>,
}

impl Outgoing {
    /// A request without a body.
    pub(crate) fn to(to: impl Into<String>) -> Self {
        Self {
            to: to.into(),
            ..Self::default()
        }
    }

    /// A request with a JSON body.
    pub(crate) fn with_body(to: impl Into<String>, body: &serde_json::Value) -> Self {
        Self {
            body: Some(Secret::new(Bytes::from(body.to_string()))),
            ..Self::to(to)
        }
    }
}

/// A page of a list (Azure document 4.7).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page<T> {
    #[serde(default = "Vec::new")]
    value: Vec<T>,
    next_link: Option<String>,
}

impl Clients {
    pub(crate) fn new(config: ClientsConfig<'_>) -> Self {
        Self {
            region: config.region.to_owned(),
            endpoint: config.endpoint.trim_end_matches('/').to_owned(),
            tokens: config.tokens,
            budget: Budget::new(config.ceilings, config.seed),
            headroom: Headroom::default(),
            meter: config.meter,
            random: Mutex::new(fastrand::Rng::with_seed(config.seed)),
        }
    }

    /// Sends a call: waits for its turn, renews a refused token once, tries again what was
    /// throttled or never arrived, for as long as a pass may wait.
    ///
    /// # Errors
    /// The last failure, or `Throttled` when the turn is too far away to wait for.
    ///
    /// # Cancellation
    /// A call that was sent may have arrived; the next pass looks.
    pub(crate) async fn send(
        &self,
        call: &'static Call,
        outgoing: &Outgoing,
    ) -> Result<Response<Bytes>, CloudError> {
        let url = self.absolute(call, &outgoing.to)?;
        let patience_ends = Instant::now() + budget::PATIENCE;
        let mut tries = 1;
        let mut renewed = false;
        loop {
            self.take_turn(call).await?;
            let token = self.tokens.current().await?;
            let span = tracing::debug_span!(
                "cloud call",
                otel.name = call.name,
                otel.kind = "client",
                cloud = "azure",
                region = self.region,
                subject = url.path(),
            );
            let tried = self.try_once(call, &url, outgoing, &token).instrument(span);
            let fault = match tried.await {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            if fault.stale_token && !renewed {
                renewed = true;
                self.tokens.refused(&token).await;
                continue;
            }
            let Some(wait) = self.wait_before_repeating(call, tries, &fault) else {
                return Err(fault.error);
            };
            if tries == TRIES || Instant::now() + wait > patience_ends {
                return Err(put_off(fault, wait));
            }
            tokio::time::sleep(wait).await;
            tries += 1;
        }
    }

    /// Reads one object.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        call: &'static Call,
        to: impl Into<String>,
    ) -> Result<T, CloudError> {
        let answer = self.send(call, &Outgoing::to(to)).await?;
        json(call, answer.body())
    }

    /// Reads all pages of a list; a page that fails fails the list.
    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        call: &'static Call,
        to: impl Into<String>,
    ) -> Result<Vec<T>, CloudError> {
        let mut found = Vec::new();
        let mut next = to.into();
        for _ in 0..PAGES {
            let page: Page<T> = self.get(call, next).await?;
            found.extend(page.value);
            match page.next_link.filter(|link| !link.is_empty()) {
                Some(link) => next = link,
                None => return Ok(found),
            }
        }
        Err(errors::failure(FailureClass::Bug, call.name, "a list without end").into())
    }

    /// A whole URL: what Azure gave is followed as it is, but never to another host, since the
    /// token goes along.
    fn absolute(&self, call: &Call, to: &str) -> Result<Uri, CloudError> {
        let whole = if to.starts_with('/') {
            format!("{}{to}", self.endpoint)
        } else {
            to.to_owned()
        };
        whole
            .parse()
            .ok()
            .filter(|uri| self.is_ours(uri))
            .ok_or_else(|| {
                let why = format!("Azure points to an address outside {}", self.endpoint);
                errors::failure(FailureClass::Bug, call.name, why).into()
            })
    }

    /// Whether an address is ARM's: scheme, host and port, however they are written.
    pub(crate) fn is_ours(&self, uri: &Uri) -> bool {
        let origin = |uri: &Uri| {
            let scheme = uri.scheme_str()?.to_lowercase();
            let usual_port = if scheme == "https" { 443 } else { 80 };
            let port = uri.port_u16().unwrap_or(usual_port);
            Some((scheme, uri.host()?.to_lowercase(), port))
        };
        let own = self.endpoint.parse().ok().and_then(|own| origin(&own));
        own.is_some() && origin(uri) == own
    }

    async fn try_once(
        &self,
        call: &'static Call,
        url: &Uri,
        outgoing: &Outgoing,
        token: &Secret<String>,
    ) -> Result<Response<Bytes>, Fault> {
        let started = Instant::now();
        let result = match self.request(call, url, outgoing, token) {
            Ok(request) => match self.tokens.transport.send(request).await {
                Ok(answer) => {
                    self.headroom.note(answer.headers());
                    if answer.status().is_success() {
                        Ok(answer)
                    } else {
                        Err(errors::read(call.name, &answer))
                    }
                }
                Err(why) => Err(errors::no_answer(call.name, why)),
            },
            Err(why) => Err(Fault {
                error: errors::failure(FailureClass::Bug, call.name, why.to_string()).into(),
                stale_token: false,
            }),
        };
        self.measure(call, started, result.as_ref().err());
        result
    }

    fn request(
        &self,
        call: &Call,
        url: &Uri,
        outgoing: &Outgoing,
        token: &Secret<String>,
    ) -> Result<Request<Full<Bytes>>, http::Error> {
        let mut bearer = header::HeaderValue::from_str(&format!("Bearer {}", token.reveal()))?;
        bearer.set_sensitive(true);
        let id = random_id(&mut locked(&self.random));
        let mut request = Request::builder()
            .method(call.method())
            .uri(url.clone())
            .header(header::AUTHORIZATION, bearer)
            .header(header::ACCEPT, "application/json")
            .header(header::USER_AGENT, USER_AGENT)
            .header("x-ms-client-request-id", id);
        if outgoing.if_none_match {
            request = request.header(header::IF_NONE_MATCH, "*");
        }
        if let Some(tag) = &outgoing.if_match {
            request = request.header(header::IF_MATCH, tag);
        }
        let body = match &outgoing.body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                body.reveal().clone()
            }
            None => Bytes::new(),
        };
        request.body(Full::new(body))
    }

    /// A sweep told a pool of its group.
    pub(crate) fn told(&self, age: Duration) {
        if let Some(meter) = &self.meter {
            let region = &self.region;
            meter.answered(&SweepAnswer { region, age });
        }
    }

    async fn take_turn(&self, call: &Call) -> Result<(), CloudError> {
        for bucket in [call.arm, call.policy] {
            self.budget
                .admit(bucket)
                .await
                .map_err(|TooLong { wait }| {
                    if let Some(meter) = &self.meter {
                        meter.held_back(&self.region);
                    }
                    let why = format!("the call budget of {} is used up", self.region);
                    let mut failure = errors::failure(FailureClass::Throttled, call.name, why);
                    failure.retry_after_seconds = Some(whole_seconds(wait));
                    failure
                })?;
        }
        Ok(())
    }

    /// How long to wait before another try; `None` when there must be none.
    fn wait_before_repeating(&self, call: &Call, tries: u32, fault: &Fault) -> Option<Duration> {
        match fault.class() {
            // Only the limit that was exceeded pauses, and for everyone.
            FailureClass::Throttled => {
                let bucket = if fault.is_arms_own() {
                    call.arm
                } else {
                    call.policy
                };
                Some(self.budget.throttled(bucket, fault.retry_after()))
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
            call = call.name,
            region = self.region,
            latency_ms = u64::try_from(latency.as_millis()).unwrap_or(u64::MAX),
            failed = fault.map(|fault| fault.error.to_string()),
            answer = fault
                .and_then(|fault| fault.error.source.as_ref())
                .map(tracing::field::display),
            "azure call"
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

/// Reads an answer.
///
/// # Errors
/// `Bug`, without quoting the answer.
pub(crate) fn json<T: DeserializeOwned>(call: &Call, body: &[u8]) -> Result<T, CloudError> {
    serde_json::from_slice(body).map_err(|error| {
        let why = format!(
            "an answer that is not Azure's, at line {} column {}",
            error.line(),
            error.column()
        );
        errors::failure(FailureClass::Bug, call.name, why).into()
    })
}

/// A header of an answer.
pub(crate) fn header_text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(ToOwned::to_owned)
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

/// A UUID from the seeded generator.
pub(crate) fn random_id(random: &mut fastrand::Rng) -> String {
    uuid::Builder::from_random_bytes(random.u128(..).to_be_bytes())
        .into_uuid()
        .to_string()
}
