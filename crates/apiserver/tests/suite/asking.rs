//! Requests in process, as somebody: what the tests of access send and read.

use axum::body::Body;
use http::{Method, Request};
use http_body_util::BodyExt;
use remuda_apiserver::{ApiServer, Caller, Instance};
use serde_json::{Value, json};
use tower::ServiceExt;

/// A server in memory, repeatable.
pub(crate) fn instance() -> (ApiServer, Instance) {
    let server = ApiServer::builder().seed(1).build().expect("a server");
    let instance = server.management();
    (server, instance)
}

/// One client with an identity.
pub(crate) struct As(pub(crate) axum::Router);

impl As {
    pub(crate) fn admin(instance: &Instance) -> Self {
        Self(instance.router())
    }

    pub(crate) fn user(instance: &Instance, name: &str) -> Self {
        Self(instance.router_as(Caller::user(name)))
    }

    /// Sends a request; the answer is its code and its body.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> (u16, Value) {
        let mut request = Request::builder().method(method.clone()).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if method == Method::PATCH && !headers.iter().any(|(name, _)| *name == "content-type") {
            request = request.header("content-type", "application/merge-patch+json");
        }
        let body = body.map_or(Body::empty(), |body| Body::from(body.to_string()));
        let request = request.body(body).expect("a valid request");
        let answer = self.0.clone().oneshot(request).await.expect("an answer");
        let code = answer.status().as_u16();
        let bytes = answer
            .into_body()
            .collect()
            .await
            .expect("a body")
            .to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        (
            code,
            serde_json::from_str(&text).unwrap_or(Value::String(text)),
        )
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        self.send(Method::GET, path, &[], None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.send(Method::POST, path, &[], Some(&body)).await
    }

    /// Sends a request that must succeed.
    pub(crate) async fn made(&self, path: &str, body: Value) -> Value {
        let (code, answer) = self.post(path, body).await;
        assert_eq!(code, 201, "{path}: {answer}");
        answer
    }
}

pub(crate) const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// Gives a user a role of these rules, in a namespace or (with an empty one) in the cluster.
pub(crate) async fn grant(admin: &As, user: &str, namespace: &str, name: &str, rules: Value) {
    let (place, kind) = match namespace {
        "" => (RBAC.to_owned(), "Cluster"),
        namespace => (format!("{RBAC}/namespaces/{namespace}"), ""),
    };
    let lower = kind.to_lowercase();
    let role = json!({"metadata": {"name": name}, "rules": rules});
    admin.made(&format!("{place}/{lower}roles"), role).await;
    let binding = json!({
        "metadata": {"name": name},
        "subjects": [{"kind": "User", "name": user}],
        "roleRef": {"kind": format!("{kind}Role"), "name": name},
    });
    admin
        .made(&format!("{place}/{lower}rolebindings"), binding)
        .await;
}
