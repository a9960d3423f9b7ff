//! ARM for one credential, subscription and region. Waiting for a turn, trying again and renewing a
//! token are the outlet's.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, Uri, header};
use http_body_util::Full;
use remuda_cloud::{
    CloudError,
    calls::Call,
    error::Fault,
    limits::Limits,
    locked,
    measured::CallMeter,
    outlet::{Outlet, OutletConfig},
};
use remuda_plan::{error::FailureClass, pool::secret::Secret};
use serde::{Deserialize, de::DeserializeOwned};

use crate::{calls, errors, headroom::Headroom, tokens::Tokens};

/// Tries of one call (Azure document 10.3).
const TRIES: u32 = 16;

/// A list of more pages than this goes round in circles. Ours: 10,000 members in pages of 10.
const PAGES: usize = 1_000;

const USER_AGENT: &str = concat!("remuda/", env!("CARGO_PKG_VERSION"));

/// The clients of one credential in one region of a subscription.
#[derive(Debug)]
pub(crate) struct Clients {
    endpoint: String,
    tokens: Arc<Tokens>,
    pub(crate) outlet: Outlet,
    pub(crate) headroom: Headroom,
    random: Mutex<fastrand::Rng>,
}

/// What the clients of a region are made of.
pub(crate) struct ClientsConfig<'a> {
    pub(crate) region: &'a str,
    /// `https://management.azure.com`.
    pub(crate) endpoint: &'a str,
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) limits: Limits,
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
            endpoint: config.endpoint.trim_end_matches('/').to_owned(),
            tokens: config.tokens,
            outlet: Outlet::new(OutletConfig {
                cloud: "azure",
                region: config.region.to_owned(),
                tries: TRIES,
                limits: config.limits,
                meter: config.meter,
                seed: config.seed,
            }),
            headroom: Headroom::default(),
            random: Mutex::new(fastrand::Rng::with_seed(config.seed)),
        }
    }

    /// Sends a call.
    ///
    /// # Errors
    /// The last failure, or `Throttled` when its turn is too far away to wait for.
    ///
    /// # Cancellation
    /// A call that was sent may have arrived; the next pass looks.
    pub(crate) async fn send(
        &self,
        call: &'static Call,
        outgoing: &Outgoing,
    ) -> Result<Response<Bytes>, CloudError> {
        let url = self.absolute(call, &outgoing.to)?;
        let url = &url;
        let attempt =
            |token: Secret<String>| async move { self.try_once(call, url, outgoing, &token).await };
        let login = &*self.tokens;
        self.outlet.call(login, call, url.path(), attempt).await
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
        let request = self.request(call, url, outgoing, token).map_err(|why| {
            Fault::new(errors::failure(
                FailureClass::Bug,
                call.name,
                why.to_string(),
            ))
        })?;
        let answer = self.tokens.transport.send(request).await;
        let answer = answer.map_err(|why| errors::no_answer(call.name, why))?;
        self.headroom.note(answer.headers());
        if answer.status().is_success() {
            return Ok(answer);
        }
        let mut fault = errors::read(call.name, &answer);
        if errors::is_arms_own(&fault) {
            fault.bucket = call.buckets.first().copied();
        }
        Err(fault)
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
            .method(calls::method(call))
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

/// A UUID from the seeded generator.
pub(crate) fn random_id(random: &mut fastrand::Rng) -> String {
    uuid::Builder::from_random_bytes(random.u128(..).to_be_bytes())
        .into_uuid()
        .to_string()
}
