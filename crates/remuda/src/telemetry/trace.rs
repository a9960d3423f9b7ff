//! Traces: every pass with the calls to Kubernetes and to clouds below it, as OpenTelemetry spans,
//! sent to a collector by OTLP (HTTP, protobuf). Off unless an endpoint is given.
//!
//! Attributes are what the spans of the code name: kinds, names, calls and regions. Bodies and
//! credentials never are.

use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{
    Resource,
    trace::{SdkTracerProvider, Tracer},
};
use tokio::runtime::Handle;

/// What the collector is told to be the service.
const SERVICE: &str = "remuda";
/// One batch takes at most this long; what a collector does not take in time is lost.
const SENDING: Duration = Duration::from_secs(10);
/// At the end, what is left is sent within this time.
const AT_THE_END: Duration = Duration::from_secs(3);

/// Spans on their way to a collector. Dropping it sends what is left.
pub(crate) struct Traces(SdkTracerProvider);

impl Traces {
    /// Sends to `endpoint`, such as `http://127.0.0.1:4318`, from now on.
    ///
    /// # Errors
    /// The endpoint is no URL, or the machine has no certificate authorities.
    pub(crate) fn to(endpoint: &str, runtime: &Handle) -> Result<Self> {
        let url = format!("{}/v1/traces", endpoint.trim_end_matches('/'));
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Sender::new(runtime)?)
            .with_endpoint(url)
            .with_timeout(SENDING)
            .build()
            .with_context(|| format!("sending traces to {endpoint}"))?;
        let about = Resource::builder().with_service_name(SERVICE).build();
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(about)
            .build();
        Ok(Self(provider))
    }

    /// What makes spans.
    pub(crate) fn tracer(&self) -> Tracer {
        self.0.tracer(SERVICE)
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown_with_timeout(AT_THE_END) {
            tracing::debug!(%error, "the last traces were not sent");
        }
    }
}

/// Sends requests on the runtime: batches are sent from a thread of their own.
#[derive(Debug)]
struct Sender {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    runtime: Handle,
}

impl Sender {
    fn new(runtime: &Handle) -> Result<Self> {
        let connector = HttpsConnectorBuilder::new()
            .with_provider_and_native_roots(rustls::crypto::ring::default_provider())
            .context("the certificate authorities of this machine")?
            .https_or_http()
            .enable_http1()
            .build();
        Ok(Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
            runtime: runtime.clone(),
        })
    }
}

#[async_trait::async_trait]
impl HttpClient for Sender {
    async fn send_bytes(
        &self,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, HttpError> {
        let client = self.client.clone();
        let whole = async move {
            let (parts, body) = client.request(request.map(Full::new)).await?.into_parts();
            let body = body.collect().await?.to_bytes();
            Ok::<_, HttpError>(http::Response::from_parts(parts, body))
        };
        // Timers belong to the runtime, and the caller's thread is none of its.
        let sent = self
            .runtime
            .spawn(async move { tokio::time::timeout(SENDING, whole).await });
        sent.await??
    }
}
