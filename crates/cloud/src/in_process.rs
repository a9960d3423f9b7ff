//! A service in this process as a cloud: no socket, no TLS, and time may be virtual. A simulated
//! cloud plugs in here.

use std::{convert::Infallible, fmt};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use tower::{BoxError, Service, ServiceExt, util::BoxCloneSyncService};

/// A service that answers as a cloud would, for example an `axum::Router`.
pub trait LocalService:
    Service<
        Request<Full<Bytes>>,
        Response = Response<Self::Body>,
        Error = Infallible,
        Future: Send + 'static,
    > + Clone
    + Send
    + Sync
    + 'static
{
    /// Body of its answers.
    type Body: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static;
}

impl<S, B> LocalService for S
where
    S: Service<
            Request<Full<Bytes>>,
            Response = Response<B>,
            Error = Infallible,
            Future: Send + 'static,
        > + Clone
        + Send
        + Sync
        + 'static,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type Body = B;
}

/// How whole requests travel and whole answers come back.
#[derive(Clone)]
pub struct Wire(BoxCloneSyncService<Request<Full<Bytes>>, Response<Bytes>, BoxError>);

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wire")
    }
}

impl Wire {
    /// To a service in this process, whatever host a request names. The host comes along in the
    /// `Host` header, as it would over a socket.
    pub fn local(service: impl LocalService) -> Self {
        let infallible = service.map_err(|never| -> BoxError { match never {} });
        Self::over(infallible.map_request(naming_host))
    }

    /// To `service`, which need not be a network.
    pub fn over<S, B>(service: S) -> Self
    where
        S: Service<Request<Full<Bytes>>, Response = Response<B>, Future: Send + 'static>
            + Clone
            + Send
            + Sync
            + 'static,
        S::Error: Into<BoxError>,
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let whole = service
            .map_err(Into::into)
            .and_then(|response: Response<B>| async move {
                let (parts, body) = response.into_parts();
                let bytes = body.collect().await.map_err(Into::into)?.to_bytes();
                Ok::<_, BoxError>(Response::from_parts(parts, bytes))
            });
        Self(BoxCloneSyncService::new(whole))
    }

    /// Sends one request.
    ///
    /// # Errors
    /// Why no whole answer came.
    ///
    /// # Cancellation
    /// It may have arrived.
    pub async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Bytes>, BoxError> {
        self.0.clone().oneshot(request).await
    }
}

fn naming_host(mut request: Request<Full<Bytes>>) -> Request<Full<Bytes>> {
    let host = request
        .uri()
        .authority()
        .and_then(|authority| http::HeaderValue::from_str(authority.as_str()).ok());
    if let Some(host) = host {
        request.headers_mut().insert(http::header::HOST, host);
    }
    request
}
