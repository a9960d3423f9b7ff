//! The client of all webhooks of a server: who is trusted, which connections are kept, how many
//! calls are under way.

use std::collections::HashMap;
use std::error::Error as _;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::Semaphore;
use tower::ServiceExt as _;

use super::answer;
use super::connect::Connector;
use super::endpoint::{Endpoint, Service};
use super::{NoServices, ServiceResolver};
use crate::admission::AdmissionReview;

/// Calls under way at the same time, over all webhooks: ours, far above what a webhook that calls
/// back needs, low enough for the sockets of a process. A call that waits for its turn waits
/// within its time limit.
const CALLS: usize = 256;
/// The largest answer that is read: ours, because a list of converted objects comes back in one.
const MAX_ANSWER: usize = 64 * 1024 * 1024;
/// The port of a URL without one.
const HTTPS: u16 = 443;
/// Endpoints whose connections are kept; beyond, all are made anew.
const KEPT: usize = 64;

/// Why there is no answer when the time is up.
const LATE: &str = "context deadline exceeded";

/// What tells one set of connections from another.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Trust {
    ca_bundle: Vec<u8>,
    service: Option<Service>,
    instance: String,
}

type Connections = Client<Connector, Full<Bytes>>;

/// How a webhook is reached.
#[allow(
    clippy::large_enum_variant,
    reason = "one lives as long as one call, and nearly all are connections"
)]
enum Way {
    InProcess(axum::Router),
    Connections(Connections),
}

/// See the module's words.
pub(crate) struct Webhooks {
    resolver: Arc<dyn ServiceResolver>,
    turns: Semaphore,
    kept: Mutex<HashMap<Trust, Connections>>,
}

impl Default for Webhooks {
    fn default() -> Self {
        Self::new(Arc::new(NoServices))
    }
}

impl Webhooks {
    pub(crate) fn new(resolver: Arc<dyn ServiceResolver>) -> Self {
        Self {
            resolver,
            turns: Semaphore::new(CALLS),
            kept: Mutex::default(),
        }
    }

    /// Sends a review and reads the answered object.
    ///
    /// # Errors
    /// Why there is no answer, in the words of a genuine server.
    ///
    /// Cancellation: the webhook may have seen the review.
    pub(crate) async fn ask(
        &self,
        instance: &str,
        endpoint: &Endpoint,
        review: &impl Serialize,
        timeout: Duration,
    ) -> Result<Value, String> {
        let post = |why: &str| format!("Post {:?}: {why}", endpoint.url(timeout));
        let uri = uri(endpoint, timeout)?;
        let way = self.way(instance, endpoint).map_err(|e| post(&e))?;
        let body = serde_json::to_vec(review).expect("a JSON value always serialises");
        let request = Request::builder()
            .method(Method::POST)
            .uri(uri)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, */*")
            .header(header::USER_AGENT, "kube-apiserver-admission")
            .body(Full::from(body))
            .map_err(|error| post(&error.to_string()))?;
        let call = async {
            let _turn = self.turns.acquire().await;
            match way {
                Way::InProcess(router) => hand_over(router, request).await,
                Way::Connections(client) => exchange(&client, request).await,
            }
        };
        match tokio::time::timeout(timeout, call).await {
            Err(_) => Err(post(LATE)),
            Ok(Err(why)) => Err(post(&why)),
            Ok(Ok((parts, bytes))) => answer::object(&parts, &bytes),
        }
    }

    /// Asks an admission webhook, which may be of this process.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub(crate) async fn review(
        &self,
        instance: &str,
        endpoint: &Endpoint,
        review: &AdmissionReview,
        timeout: Duration,
    ) -> Result<Value, String> {
        let uri = uri(endpoint, timeout)?;
        let host = uri.host().filter(|_| endpoint.service.is_none());
        let port = uri.port_u16().unwrap_or(HTTPS);
        let reviewer = host.and_then(|host| self.resolver.reviewer_at(instance, host, port));
        let Some(reviewer) = reviewer else {
            return self.ask(instance, endpoint, review, timeout).await;
        };
        let call = async {
            let _turn = self.turns.acquire().await;
            reviewer.review(uri.path(), review).await
        };
        let answered = tokio::time::timeout(timeout, call).await;
        let answered = answered.unwrap_or_else(|_| Err(LATE.to_owned()));
        answered.map_err(|why| format!("Post {:?}: {why}", endpoint.url(timeout)))
    }

    fn way(&self, instance: &str, endpoint: &Endpoint) -> Result<Way, String> {
        let here = endpoint.service.as_ref().and_then(|service| {
            let Service {
                namespace,
                name,
                port,
            } = service;
            self.resolver.in_process(instance, namespace, name, *port)
        });
        match here {
            Some(router) => Ok(Way::InProcess(router)),
            None => self.connections(instance, endpoint).map(Way::Connections),
        }
    }

    fn connections(&self, instance: &str, endpoint: &Endpoint) -> Result<Connections, String> {
        let trust = Trust {
            ca_bundle: endpoint.ca_bundle.clone(),
            service: endpoint.service.clone(),
            instance: instance.to_owned(),
        };
        let mut kept = self.kept.lock().expect("no holder of this lock panics");
        if let Some(client) = kept.get(&trust) {
            return Ok(client.clone());
        }
        if kept.len() >= KEPT {
            kept.clear();
        }
        let connector = Connector {
            tls: Arc::new(tls(&endpoint.ca_bundle)?),
            service: trust.service.clone(),
            instance: trust.instance.clone(),
            resolver: self.resolver.clone(),
        };
        let client = Client::builder(TokioExecutor::new()).build(connector);
        kept.insert(trust, Client::clone(&client));
        Ok(client)
    }
}

/// Where a review is posted to.
fn uri(endpoint: &Endpoint, timeout: Duration) -> Result<Uri, String> {
    let refused = || {
        format!(
            "Post {:?}: unsupported protocol scheme",
            endpoint.url(timeout)
        )
    };
    endpoint.uri(timeout).ok_or_else(refused)
}

async fn exchange(
    client: &Connections,
    request: Request<Full<Bytes>>,
) -> Result<(http::response::Parts, Bytes), String> {
    let response = client.request(request).await.map_err(|e| reason(&e))?;
    let (parts, body) = response.into_parts();
    let body = Limited::new(body, MAX_ANSWER).collect().await;
    let body = body.map_err(|error| format!("the answer cannot be read: {error}"))?;
    Ok((parts, body.to_bytes()))
}

async fn hand_over(
    router: axum::Router,
    request: Request<Full<Bytes>>,
) -> Result<(http::response::Parts, Bytes), String> {
    let response = router
        .oneshot(request.map(axum::body::Body::new))
        .await
        .unwrap_or_else(|never| match never {});
    let (parts, body) = response.into_parts();
    let body = Limited::new(body, MAX_ANSWER).collect().await;
    let body = body.map_err(|error| format!("the answer cannot be read: {error}"))?;
    Ok((parts, body.to_bytes()))
}

/// The innermost reason of a failed exchange.
fn reason(error: &hyper_util::client::legacy::Error) -> String {
    let mut source = error.source();
    let mut text = error.to_string();
    while let Some(inner) = source {
        if let Some(tls) = inner.downcast_ref::<rustls::Error>() {
            return untrusted(tls);
        }
        if let Some(outer) = inner.downcast_ref::<io::Error>()
            && let Some(tls) = outer
                .get_ref()
                .and_then(|e| e.downcast_ref::<rustls::Error>())
        {
            return untrusted(tls);
        }
        text = inner.to_string();
        if inner.is::<hyper::Error>() && text.contains("closed before message completed") {
            return "EOF".to_owned();
        }
        source = inner.source();
    }
    text
}

fn untrusted(error: &rustls::Error) -> String {
    use rustls::{CertificateError as Certificate, Error};
    let why = match error {
        Error::InvalidCertificate(Certificate::UnknownIssuer) => {
            "certificate signed by unknown authority".to_owned()
        }
        Error::InvalidCertificate(
            Certificate::Expired
            | Certificate::ExpiredContext { .. }
            | Certificate::NotValidYet
            | Certificate::NotValidYetContext { .. },
        ) => "certificate has expired or is not yet valid".to_owned(),
        Error::InvalidCertificate(Certificate::NotValidForNameContext { expected, .. }) => {
            let name = expected.to_str();
            format!("certificate is not valid for {name}")
        }
        Error::InvalidCertificate(other) => other.to_string(),
        other => return format!("tls: {other}"),
    };
    format!("tls: failed to verify certificate: x509: {why}")
}

fn tls(ca_bundle: &[u8]) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    if ca_bundle.is_empty() {
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
    } else {
        for certificate in CertificateDer::pem_slice_iter(ca_bundle) {
            let certificate = certificate.map_err(|e| format!("the caBundle is no PEM: {e}"))?;
            roots
                .add(certificate)
                .map_err(|e| format!("a certificate of the caBundle cannot be used: {e}"))?;
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
