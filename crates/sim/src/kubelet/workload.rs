//! Requests to a workload cluster's API: JSON over its router, in process.

use axum::{Router, body::Body};
use http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tower::ServiceExt;

use super::{Nodes, host::Hosts};

/// A node that registered, or is about to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Registered {
    pub(super) cluster_id: String,
    pub(super) node: String,
    pub(super) provider_id: String,
    /// Labels its user data asked for.
    pub(super) labels: Vec<(String, String)>,
}

/// An answer of the API.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) body: Value,
}

impl Reply {
    pub(super) fn is_success(&self) -> bool {
        self.status.is_success()
    }

    /// What the API said, short.
    pub(super) fn why(&self) -> String {
        let message = self
            .body
            .get("message")
            .and_then(Value::as_str)
            .unwrap_or_default();
        format!("{} {message}", self.status.as_u16())
    }
}

impl<H: Hosts> Nodes<H> {
    /// The API of a cluster.
    pub(super) fn api(&self, cluster_id: &str) -> Option<Router> {
        self.apis.for_cluster(cluster_id)
    }

    /// Sends a request; few at once.
    pub(super) async fn send(
        &self,
        api: &Router,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Reply {
        let _place = self
            .requests
            .acquire()
            .await
            .expect("the semaphore is never closed");
        let kind = if method == Method::PATCH {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        let bytes = body.map(ToString::to_string).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::CONTENT_TYPE, kind)
            .header(header::ACCEPT, "application/json")
            .header(header::USER_AGENT, "kubelet (simulated)")
            .body(Body::from(bytes))
            .expect("paths are made of node names");
        let answer = api
            .clone()
            .oneshot(request)
            .await
            .unwrap_or_else(|never| match never {});
        let status = answer.status();
        match answer.into_body().collect().await {
            Ok(body) => {
                let body = serde_json::from_slice(&body.to_bytes()).unwrap_or(Value::Null);
                Reply { status, body }
            }
            Err(_) => Reply {
                status: StatusCode::BAD_GATEWAY,
                body: Value::Null,
            },
        }
    }
}
