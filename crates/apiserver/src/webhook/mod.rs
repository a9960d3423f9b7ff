//! Calls to webhooks: one HTTPS POST of a review, and its answer.
//!
//! | file | duty |
//! | --- | --- |
//! | `endpoint`, `config_problems` | where a `clientConfig` points, what is wrong with one |
//! | `client` | connections: trust, reuse, time limits, how many at once |
//! | `connect` | one TLS connection |
//! | `answer` | from status and body to a JSON object, or why not |
//!
//! In: the endpoint, the review, the time limit. Out: the answered object, or the reason as a
//! genuine server words it. Nothing is asked twice; what a webhook means is not known here.

mod answer;
mod client;
mod config_problems;
mod connect;
mod endpoint;

pub(crate) use client::Webhooks;
pub(crate) use config_problems::check_client_config;
pub(crate) use endpoint::Endpoint;

use std::net::SocketAddr;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::admission::AdmissionReview;

/// Finds the address behind a service that a webhook configuration names.
///
/// The server stores Service objects but routes nothing, so a program that embeds it says where
/// such a webhook listens. The webhook's certificate must be for `NAME.NAMESPACE.svc`.
pub trait ServiceResolver: Send + Sync + 'static {
    /// The address of a service's port in an instance (empty for the management API), or `None`
    /// for a service that is not known. Asked again for each new connection.
    fn resolve(&self, instance: &str, namespace: &str, name: &str, port: u16)
    -> Option<SocketAddr>;

    /// The webhooks behind a service of this very process: they are called without a connection, so
    /// no certificate is looked at. Asked before [`Self::resolve`].
    fn in_process(
        &self,
        instance: &str,
        namespace: &str,
        name: &str,
        port: u16,
    ) -> Option<axum::Router> {
        let _ = (instance, namespace, name, port);
        None
    }

    /// The admission webhooks of this very process behind the host and port of a URL that a
    /// configuration names: they are handed the review as it is, so no certificate is looked at and
    /// nothing is written down and read again. The same time limit holds, and the same is asked of
    /// the answer.
    fn reviewer_at(&self, instance: &str, host: &str, port: u16) -> Option<Arc<dyn Reviewer>> {
        let _ = (instance, host, port);
        None
    }
}

/// Admission webhooks of the server's own process.
pub trait Reviewer: Send + Sync {
    /// Answers a review that is posted to `path` with an `AdmissionReview`.
    ///
    /// # Errors
    /// Why there is no answer.
    fn review<'a>(
        &'a self,
        path: &'a str,
        review: &'a AdmissionReview,
    ) -> BoxFuture<'a, Result<Value, String>>;
}

/// Knows no service.
pub(crate) struct NoServices;

impl ServiceResolver for NoServices {
    fn resolve(&self, _: &str, _: &str, _: &str, _: u16) -> Option<SocketAddr> {
        None
    }
}
