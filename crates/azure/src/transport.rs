//! How requests travel: over TLS to Azure, or to a service in this process.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use remuda_cloud::in_process::Wire;
use tower::BoxError;

/// Ours: a machine that does not answer a SYN within this time is not there.
const CONNECT: Duration = Duration::from_secs(5);

/// A whole answer takes at most this long. Ours: the largest answers are pages of instances with
/// their views, which take a few seconds.
const ANSWER: Duration = Duration::from_secs(30);

/// Sends requests. No proxy is ever used: the metadata service must not be asked through one
/// (Azure document 12.4), and ARM needs none.
#[derive(Debug, Clone)]
pub(crate) struct Transport {
    wire: Wire,
}

impl From<Wire> for Transport {
    fn from(wire: Wire) -> Self {
        Self { wire }
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAnswer {
    /// Nothing came in time.
    #[error("no answer in time")]
    InTime,
    /// The connection could not be made, or broke.
    #[error("the endpoint could not be reached")]
    Unreachable(#[source] BoxError),
}

impl Transport {
    /// Over TLS by rustls with ring and the machine's own certificate authorities; without TLS
    /// only where a URL says `http`, as the metadata service's does.
    pub(crate) fn network() -> Self {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_connect_timeout(Some(CONNECT));
        let provider = rustls::crypto::ring::default_provider();
        let connector = match HttpsConnectorBuilder::new().with_provider_and_native_roots(provider)
        {
            Ok(builder) => builder
                .https_or_http()
                .enable_all_versions()
                .wrap_connector(http),
            Err(error) => return Self::broken(error.to_string()),
        };
        let client: Client<_, Full<Bytes>> = Client::builder(TokioExecutor::new()).build(connector);
        Wire::over(client).into()
    }

    /// A machine without certificate authorities reaches nothing, and every call says why.
    fn broken(why: String) -> Self {
        let refuse = tower::service_fn(move |_: http::Request<Full<Bytes>>| {
            let why: BoxError = format!("no certificate authorities on this machine: {why}").into();
            async move { Err::<http::Response<Full<Bytes>>, _>(why) }
        });
        Wire::over(refuse).into()
    }

    /// Sends one request.
    ///
    /// # Cancellation
    /// It may have arrived.
    pub(crate) async fn send(
        &self,
        request: http::Request<Full<Bytes>>,
    ) -> Result<http::Response<Bytes>, NoAnswer> {
        tokio::time::timeout(ANSWER, self.wire.send(request))
            .await
            .map_err(|_| NoAnswer::InTime)?
            .map_err(NoAnswer::Unreachable)
    }
}
