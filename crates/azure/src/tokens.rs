//! Tokens for ARM: asked for, kept, renewed (Azure document 12.2 to 12.4).
//!
//! One flight a credential: whoever needs a token while one is asked for waits for it. A token is
//! renewed long before it ends, and an old one that still holds serves while renewal fails. A
//! failure is kept for a while, so that a thousand pools with one bad credential ask once.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::Full;
use remuda_cloud::{
    CloudError,
    measured::{CallMeter, CallRecord},
    outlet::Login,
};
use remuda_plan::{
    error::{CloudFailure, FailureClass},
    pool::secret::Secret,
};
use serde::Deserialize;
use tokio::{sync::Mutex, time::Instant};

use crate::{
    backend::{Clock, Endpoints},
    calls,
    clients::random_id,
    credentials::{Principal, Usable},
    error_body, errors, metadata,
    transport::Transport,
};

/// What ARM's tokens are asked for.
const SCOPE: &str = "https://management.azure.com/.default";

const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// Tokens are renewed this long before they end, or at half their life when that is later (Azure
/// document 12.2).
const RENEW_BEFORE: Duration = Duration::from_mins(20);

/// A token this close to its end may be refused on its way. Ours.
const MARGIN: Duration = Duration::from_secs(30);

/// A failure without a wish of its own is handed out this long before anyone asks again. Ours.
const FAILURE_HOLDS: Duration = Duration::from_secs(5);

/// Where no federated credential matches, an operator must act in Entra (Azure document 12.2).
const OPERATOR_SECONDS: u32 = 300;

/// Tokens of one credential.
#[derive(Debug)]
pub struct Tokens {
    usable: Usable,
    pub(crate) transport: Transport,
    endpoints: Endpoints,
    clock: Clock,
    meter: Option<Arc<dyn CallMeter>>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    held: Option<Held>,
    failed: Option<Failed>,
    random: fastrand::Rng,
}

#[derive(Debug)]
struct Held {
    token: Secret<String>,
    renew_at: Instant,
    ends_at: Instant,
}

#[derive(Debug)]
struct Failed {
    failure: CloudFailure,
    /// `None`: until the Secret changes, and with it this object.
    until: Option<Instant>,
}

/// The answer of the token endpoint or of the metadata service.
#[derive(Deserialize)]
pub(crate) struct Granted {
    access_token: String,
    expires_in: Seconds,
}

/// The token endpoint writes numbers, the metadata service strings.
#[derive(Deserialize)]
#[serde(untagged)]
enum Seconds {
    Number(u64),
    Text(String),
}

impl Tokens {
    pub(crate) fn new(
        usable: Usable,
        transport: Transport,
        endpoints: Endpoints,
        clock: Clock,
        meter: Option<Arc<dyn CallMeter>>,
        seed: u64,
    ) -> Self {
        Self {
            usable,
            transport,
            endpoints,
            clock,
            meter,
            state: Mutex::new(State {
                held: None,
                failed: None,
                random: fastrand::Rng::with_seed(seed),
            }),
        }
    }

    async fn ask(&self, random: &mut fastrand::Rng) -> Result<Granted, CloudError> {
        let principal = match &self.usable {
            Usable::ManagedIdentity(client_id) => {
                return metadata::ask(self, &self.endpoints.metadata, client_id).await;
            }
            Usable::Certificate(principal, _)
            | Usable::Secret(principal, _)
            | Usable::Federation(principal, _) => principal,
        };
        let first = self.ask_once(principal, random).await;
        match first {
            // The file was replaced while its old content was on its way.
            Err(error) if error.failure.code == "AADSTS700024" => {
                self.ask_once(principal, random).await
            }
            first => first,
        }
    }

    async fn ask_once(
        &self,
        principal: &Principal,
        random: &mut fastrand::Rng,
    ) -> Result<Granted, CloudError> {
        let url = format!(
            "{}/{}/oauth2/v2.0/token",
            self.endpoints.authority, principal.tenant_id
        );
        let form = self.form(principal, &url, random).await?;
        let request = Request::post(&url)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(header::ACCEPT, "application/json")
            .body(Full::new(Bytes::from(form.reveal().clone())))
            .map_err(|_| {
                errors::failure(FailureClass::Bug, calls::TOKEN, "the token URL is no URL")
            })?;
        let answer = self.exchange(request).await?;
        if answer.status() == StatusCode::OK {
            return granted(&answer);
        }
        Err(refusal(&answer))
    }

    /// The form of Azure document 12.2.
    async fn form(
        &self,
        principal: &Principal,
        url: &str,
        random: &mut fastrand::Rng,
    ) -> Result<Secret<String>, CloudError> {
        let no = |why: String| errors::failure(FailureClass::NoCredentials, calls::TOKEN, why);
        let assertion = match &self.usable {
            Usable::Certificate(_, certificate) => {
                let now = self.clock.now().as_second();
                let id = random_id(random);
                Some(
                    certificate
                        .assertion(url, &principal.client_id, now, &id)
                        .map_err(no)?,
                )
            }
            Usable::Federation(_, file) => {
                let content = tokio::fs::read_to_string(file).await.map_err(|error| {
                    no(format!(
                        "the federated token file {} cannot be read: {}",
                        file.display(),
                        error.kind()
                    ))
                })?;
                Some(Secret::new(content.trim().to_owned()))
            }
            Usable::Secret(..) | Usable::ManagedIdentity(_) => None,
        };
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials")
            .append_pair("client_id", &principal.client_id)
            .append_pair("scope", SCOPE);
        if let Some(assertion) = &assertion {
            form.append_pair("client_assertion_type", ASSERTION_TYPE)
                .append_pair("client_assertion", assertion.reveal());
        }
        if let Usable::Secret(_, secret) = &self.usable {
            form.append_pair("client_secret", secret.reveal());
        }
        Ok(Secret::new(form.finish()))
    }

    /// Sends a request for a token and measures it.
    pub(crate) async fn exchange(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Bytes>, CloudError> {
        let started = Instant::now();
        let answer = self.transport.send(request).await;
        let failed = match &answer {
            Ok(answer) if answer.status().is_success() => None,
            Ok(answer) => Some(refusal(answer).class()),
            Err(_) => Some(FailureClass::Transient),
        };
        tracing::debug!(call = calls::TOKEN, ?failed, "azure token");
        if let Some(meter) = &self.meter {
            meter.record(&CallRecord {
                call: calls::TOKEN,
                region: String::new(),
                mutating: false,
                latency: Instant::now().saturating_duration_since(started),
                failed,
            });
        }
        answer.map_err(|why| errors::no_answer(calls::TOKEN, why).error)
    }
}

impl Login for Tokens {
    type Pass = Secret<String>;

    /// A token to send now.
    ///
    /// # Errors
    /// `NoCredentials` where the identity is at fault; else why no token came.
    async fn current(&self, _: &str) -> Result<Secret<String>, CloudError> {
        let mut state = self.state.lock().await;
        let now = Instant::now();
        let still_good = state.held.as_ref().filter(|held| now < held.ends_at);
        if let Some(held) = still_good.filter(|held| now < held.renew_at) {
            return Ok(held.token.clone());
        }
        let still_good = still_good.map(|held| held.token.clone());
        let known_to_fail = state
            .failed
            .as_ref()
            .filter(|failed| failed.until.is_none_or(|until| now < until))
            .map(|failed| failed.failure.clone());
        if let Some(failure) = known_to_fail {
            return still_good.ok_or_else(|| failure.into());
        }
        match Box::pin(self.ask(&mut state.random)).await {
            Ok(granted) => {
                let held = Held::since(now, granted);
                let token = held.token.clone();
                state.held = Some(held);
                state.failed = None;
                Ok(token)
            }
            Err(error) => {
                state.failed = Some(Failed::of(&error.failure));
                still_good.ok_or(error)
            }
        }
    }

    /// ARM refused a token: the next caller asks for another.
    async fn refused(&self, token: &Secret<String>) {
        let mut state = self.state.lock().await;
        state.held.take_if(|held| held.token == *token);
    }
}

impl Held {
    fn since(now: Instant, granted: Granted) -> Self {
        let seconds = match granted.expires_in {
            Seconds::Number(seconds) => seconds,
            Seconds::Text(text) => text.trim().parse().unwrap_or_default(),
        };
        let life = Duration::from_secs(seconds);
        let renew_after = life.saturating_sub(RENEW_BEFORE).max(life / 2);
        Self {
            token: Secret::new(granted.access_token),
            renew_at: now + renew_after,
            ends_at: now + life.saturating_sub(MARGIN).max(life / 2),
        }
    }
}

impl Failed {
    fn of(failure: &CloudFailure) -> Self {
        let final_codes = ["AADSTS7000215", "AADSTS7000222", "AADSTS700016"];
        let wait = failure
            .retry_after_seconds
            .map_or(FAILURE_HOLDS, |seconds| {
                Duration::from_secs(u64::from(seconds))
            });
        Self {
            failure: failure.clone(),
            until: (!final_codes.contains(&failure.code.as_str())).then(|| Instant::now() + wait),
        }
    }
}

/// Reads a token out of an answer.
pub(crate) fn granted(answer: &Response<Bytes>) -> Result<Granted, CloudError> {
    serde_json::from_slice(answer.body()).map_err(|_| {
        // The parser's own words may quote the token.
        errors::failure(FailureClass::Bug, calls::TOKEN, "an answer without a token").into()
    })
}

/// Why no token was granted (Azure document 12.2, table).
pub(crate) fn refusal(answer: &Response<Bytes>) -> CloudError {
    let status = answer.status();
    let worded = error_body::read(answer.body());
    let code = worded
        .as_ref()
        .map(|worded| worded.code.clone())
        .unwrap_or_default();
    let asked_to_wait = errors::retry_after(answer.headers());
    let (class, retry_after_seconds) = match (code.as_str(), status.as_u16()) {
        ("AADSTS50196", _) | (_, 429) => (FailureClass::Throttled, asked_to_wait),
        (_, 500..=599) => (FailureClass::Transient, asked_to_wait),
        ("AADSTS70021" | "AADSTS700213" | "AADSTS700024", _) => {
            (FailureClass::NoCredentials, Some(OPERATOR_SECONDS))
        }
        _ => (FailureClass::NoCredentials, asked_to_wait),
    };
    let message = worded.map_or_else(
        || format!("HTTP status {}", status.as_u16()),
        |worded| worded.message,
    );
    CloudFailure {
        class,
        call: calls::TOKEN.to_owned(),
        code,
        message,
        retry_after_seconds,
    }
    .into()
}
