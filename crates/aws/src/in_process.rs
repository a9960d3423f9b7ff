//! The SDK's HTTP client over a service in this process, for example a simulated AWS.

use std::fmt;

use aws_smithy_runtime_api::client::{
    http::{
        HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
    },
    orchestrator::{HttpRequest, HttpResponse},
    result::ConnectorError,
    runtime_components::RuntimeComponents,
};
use aws_smithy_types::body::SdkBody;
use http_body_util::{BodyExt, Full};
use remuda_cloud::in_process::{LocalService, Wire};
use tower::BoxError;

/// An HTTP client over a tower service, for example an `axum::Router`.
#[derive(Clone)]
pub struct InProcess(Wire);

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InProcess")
    }
}

impl InProcess {
    /// Sends every request to `service`.
    pub fn new(service: impl LocalService) -> Self {
        Self(Wire::local(service))
    }

    async fn exchange(self, request: HttpRequest) -> Result<HttpResponse, BoxError> {
        let (parts, body) = request.try_into_http1x()?.into_parts();
        let body = Full::new(body.collect().await?.to_bytes());
        let request = http::Request::from_parts(parts, body);
        let response = self.0.send(request).await?;
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
