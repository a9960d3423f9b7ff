//! A service in this process as Azure: no socket, no TLS, and time may be virtual. A simulated
//! Azure plugs in here.

use std::{convert::Infallible, fmt};

use bytes::Bytes;
use http_body_util::Full;
use tower::{BoxError, Service, ServiceExt};

use crate::transport::Transport;

/// Sends every request to a tower service, for example an `axum::Router`, whatever host its URL
/// names. The host comes along in the `Host` header, as it would over a socket.
#[derive(Clone)]
pub struct InProcess(pub(crate) Transport);

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InProcess")
    }
}

impl InProcess {
    /// Sends every request to `service`.
    pub fn new<S, B>(service: S) -> Self
    where
        S: Service<http::Request<Full<Bytes>>, Response = http::Response<B>, Error = Infallible>
            + Clone
            + Send
            + Sync
            + 'static,
        S::Future: Send + 'static,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let service = service
            .map_err(|never| -> BoxError { match never {} })
            .map_request(naming_host);
        Self(Transport::over(service))
    }
}

fn naming_host(mut request: http::Request<Full<Bytes>>) -> http::Request<Full<Bytes>> {
    let host = request
        .uri()
        .authority()
        .and_then(|authority| http::HeaderValue::from_str(authority.as_str()).ok());
    if let Some(host) = host {
        request.headers_mut().insert(http::header::HOST, host);
    }
    request
}
