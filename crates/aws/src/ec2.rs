//! The EC2 Query protocol on the SDK's own orchestrator: signing, endpoints, timeouts and
//! credentials are the SDK's; the dozen calls we make are parameters and an XML tree.
//!
//! The generated EC2 crate is not used: it costs more to build than the rest of the workspace.

use std::fmt;

use aws_credential_types::provider::SharedCredentialsProvider;
use aws_runtime::auth::{
    SigV4OperationSigningConfig,
    sigv4::{SCHEME_ID, SigV4AuthScheme},
};
use aws_smithy_async::{rt::sleep::TokioSleep, time::SharedTimeSource};
use aws_smithy_runtime::client::{identity::IdentityCache, orchestrator::operation::Operation};
use aws_smithy_runtime_api::{
    box_error::BoxError,
    client::{
        auth::{
            AuthSchemeOptionResolverParams, SharedAuthScheme, SharedAuthSchemeOptionResolver,
            static_resolver::StaticAuthSchemeOptionResolver,
        },
        http::SharedHttpClient,
        orchestrator::{HttpRequest, HttpResponse, OrchestratorError},
        result::SdkError,
        runtime_components::RuntimeComponentsBuilder,
        runtime_plugin::StaticRuntimePlugin,
    },
};
use aws_smithy_types::{
    body::SdkBody,
    config_bag::Layer,
    error::{ErrorMetadata, metadata::ProvideErrorMetadata},
    timeout::TimeoutConfig,
};
use aws_types::{
    SigningName,
    region::{Region, SigningRegion},
};
use form_urlencoded::Serializer;

use crate::xml::Document;

/// The API version that all parameters follow.
const API_VERSION: &str = "2016-11-15";

/// Parameters of a call by name: `LaunchTemplateData.ImageId`.
pub(crate) type Parameters = Vec<(String, String)>;

/// A client for one region.
#[derive(Debug, Clone)]
pub(crate) struct Ec2 {
    operation: Operation<Query, Document, Ec2Error>,
}

/// What a client is made of.
pub(crate) struct Ec2Config<'a> {
    pub(crate) region: &'a str,
    pub(crate) endpoint_url: Option<&'a str>,
    pub(crate) http_client: SharedHttpClient,
    pub(crate) credentials: SharedCredentialsProvider,
    pub(crate) time_source: SharedTimeSource,
    pub(crate) timeouts: TimeoutConfig,
}

/// An action with its parameters. Printing shows the action alone: user data is long, not secret.
struct Query {
    action: &'static str,
    parameters: Parameters,
}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.action)
    }
}

/// An error answer of EC2.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}", meta.code().unwrap_or("no code"), meta.message().unwrap_or("no message"))]
pub(crate) struct Ec2Error {
    meta: ErrorMetadata,
}

impl ProvideErrorMetadata for Ec2Error {
    fn meta(&self) -> &ErrorMetadata {
        &self.meta
    }
}

impl Ec2 {
    /// A client that sends each call once; trying again is the caller's.
    pub(crate) fn new(config: Ec2Config<'_>) -> Self {
        let region = Region::new(config.region.to_owned());
        let signing = SigV4OperationSigningConfig {
            region: Some(SigningRegion::from(region)),
            name: Some(SigningName::from_static("ec2")),
            ..SigV4OperationSigningConfig::default()
        };
        let mut layer = Layer::new("ec2");
        layer.store_put(signing);
        layer.store_put(AuthSchemeOptionResolverParams::new(()));
        let components = RuntimeComponentsBuilder::new("ec2")
            .with_auth_scheme(SharedAuthScheme::new(SigV4AuthScheme::new()))
            .with_auth_scheme_option_resolver(Some(SharedAuthSchemeOptionResolver::new(
                StaticAuthSchemeOptionResolver::new(vec![SCHEME_ID]),
            )))
            .with_identity_cache(Some(IdentityCache::no_cache()))
            .with_identity_resolver(SCHEME_ID, config.credentials);
        let endpoint = config
            .endpoint_url
            .map_or_else(|| endpoint_of(config.region), ToOwned::to_owned);
        let operation = Operation::builder()
            .service_name("ec2")
            .operation_name("Query")
            .http_client(config.http_client)
            .endpoint_url(&endpoint)
            .no_retry()
            .timeout_config(config.timeouts)
            .sleep_impl(TokioSleep::new())
            .time_source(config.time_source)
            .runtime_plugin(
                StaticRuntimePlugin::new()
                    .with_config(layer.freeze())
                    .with_runtime_components(components),
            )
            .serializer(serialize)
            .deserializer(deserialize)
            .build();
        Self { operation }
    }

    /// Sends one call; the answer is a document.
    pub(crate) async fn send(
        &self,
        action: &'static str,
        parameters: Parameters,
    ) -> Result<Document, SdkError<Ec2Error, HttpResponse>> {
        self.operation.invoke(Query { action, parameters }).await
    }
}

/// The public endpoint of a region, by partition.
fn endpoint_of(region: &str) -> String {
    let suffix = if region.starts_with("cn-") {
        "amazonaws.com.cn"
    } else if region.starts_with("us-isob-") {
        "sc2s.sgov.gov"
    } else if region.starts_with("us-iso-") {
        "c2s.ic.gov"
    } else {
        "amazonaws.com"
    };
    format!("https://ec2.{region}.{suffix}")
}

fn serialize(query: Query) -> Result<HttpRequest, BoxError> {
    let mut body = Serializer::new(String::new());
    body.append_pair("Action", query.action)
        .append_pair("Version", API_VERSION);
    for (name, value) in &query.parameters {
        body.append_pair(name, value);
    }
    let body = body.finish();
    let request = http::Request::builder()
        .method(http::Method::POST)
        .uri("/")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("content-length", body.len())
        .body(SdkBody::from(body))?;
    Ok(HttpRequest::try_from(request)?)
}

fn deserialize(response: &HttpResponse) -> Result<Document, OrchestratorError<Ec2Error>> {
    let body = response.body().bytes().unwrap_or_default();
    let parsed = Document::parse(body);
    if response.status().is_success() {
        return parsed.map_err(OrchestratorError::other);
    }
    // <Response><Errors><Error><Code/><Message/></Error></Errors></Response>
    let answer = parsed.ok();
    let error = answer
        .as_ref()
        .and_then(|it| it.root().items("Errors").next());
    let mut meta = ErrorMetadata::builder();
    if let Some(error) = error {
        if let Some(code) = error.text_at(&["Code"]) {
            meta = meta.code(code);
        }
        if let Some(message) = error.text_at(&["Message"]) {
            meta = meta.message(message);
        }
    }
    Err(OrchestratorError::operation(Ec2Error {
        meta: meta.build(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_follow_the_partition_of_the_region() {
        assert_eq!(
            endpoint_of("us-east-1"),
            "https://ec2.us-east-1.amazonaws.com"
        );
        assert_eq!(
            endpoint_of("cn-north-1"),
            "https://ec2.cn-north-1.amazonaws.com.cn"
        );
    }

    #[test]
    fn a_request_is_a_signed_form_with_the_pinned_version() {
        let request = serialize(Query {
            action: "DescribeImages",
            parameters: vec![("Owner.1".to_owned(), "self&co".to_owned())],
        })
        .expect("a request");
        assert_eq!(
            request.body().bytes(),
            Some(b"Action=DescribeImages&Version=2016-11-15&Owner.1=self%26co".as_slice())
        );
    }
}
