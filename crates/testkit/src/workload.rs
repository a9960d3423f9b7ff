//! The workload cluster `team-a/demo` as a person with every right sees it: plain requests.

use http::{Method, Request, header};
use kube::client::Body;
use serde_json::{Value, json};

use crate::world::World;

/// An answer of the workload API.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// HTTP status.
    pub code: u16,
    /// The object, or the `Status`.
    pub body: Value,
}

impl Answer {
    /// The object; a refusal fails the test.
    pub fn ok(self) -> Value {
        assert!(self.code < 300, "{}: {:#}", self.code, self.body);
        self.body
    }
}

impl World {
    /// Sends a request to the workload API; patches are merge patches.
    pub async fn ask_workload(&self, method: Method, path: &str, body: Option<&Value>) -> Answer {
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
            .body(Body::from(bytes.into_bytes()))
            .expect("a test's path is a path");
        let answer = self.workload_client().send(request).await;
        let answer = answer.unwrap_or_else(|error| panic!("{path}: {error}"));
        let code = answer.status().as_u16();
        let bytes = http_body_util::BodyExt::collect(answer.into_body()).await;
        let bytes = bytes
            .expect("an answer in process arrives whole")
            .to_bytes();
        Answer {
            code,
            body: serde_json::from_slice(&bytes).unwrap_or(Value::Null),
        }
    }

    /// Creates an object of the workload cluster at the path of its kind.
    pub async fn create_workload(&self, path: &str, object: &Value) -> Value {
        self.ask_workload(Method::POST, path, Some(object))
            .await
            .ok()
    }

    /// The objects at a path of the workload cluster.
    pub async fn list_workload(&self, path: &str) -> Vec<Value> {
        let list = self.ask_workload(Method::GET, path, None).await.ok();
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// Asks for the eviction of a pod of the namespace `default`.
    pub async fn evict(&self, pod: &str) -> Answer {
        let eviction = json!({
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": pod },
        });
        let path = format!("/api/v1/namespaces/default/pods/{pod}/eviction");
        self.ask_workload(Method::POST, &path, Some(&eviction))
            .await
    }
}
