//! An HTTP client that calls a service in this process: no socket, no TLS, and time may be
//! virtual. A simulated AWS plugs in here.

use std::{convert::Infallible, fmt};

use aws_smithy_runtime_api::client::{
    http::{
        HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
    },
    orchestrator::{HttpRequest, HttpResponse},
    result::ConnectorError,
    runtime_components::RuntimeComponents,
};
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use tower::{BoxError, Service, ServiceExt, util::BoxCloneSyncService};

/// An HTTP client over a tower service, for example an `axum::Router`.
#[derive(Clone)]
pub struct InProcess {
    service: BoxCloneSyncService<http::Request<Full<Bytes>>, http::Response<Bytes>, BoxError>,
}

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
        let whole_answers = service.map_err(|never| match never {}).and_then(
            |response: http::Response<B>| async move {
                let (parts, body) = response.into_parts();
                let bytes = body.collect().await.map_err(Into::into)?.to_bytes();
                Ok::<_, BoxError>(http::Response::from_parts(parts, bytes))
            },
        );
        Self {
            service: BoxCloneSyncService::new(whole_answers),
        }
    }

    async fn exchange(self, request: HttpRequest) -> Result<HttpResponse, BoxError> {
        let (parts, body) = request.try_into_http1x()?.into_parts();
        let body = Full::new(body.collect().await?.to_bytes());
        let response = self
            .service
            .oneshot(http::Request::from_parts(parts, body))
            .await?;
        Ok(HttpResponse::try_from(response.map(SdkBody::from))?)
    }
}

impl HttpConnector for InProcess {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let connector = self.clone();
        HttpConnectorFuture::new(async move {
            connector
                .exchange(request)
                .await
                .map_err(ConnectorError::io)
        })
    }
}

impl HttpClient for InProcess {
    fn http_connector(
        &self,
        _settings: &HttpConnectorSettings,
        _components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}
