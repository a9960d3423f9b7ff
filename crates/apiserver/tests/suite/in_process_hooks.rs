//! Webhooks of the server's own process, called without a connection.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt, future::BoxFuture};
use remuda_apiserver::{AdmissionReview, ApiServer, Reviewer, ServiceResolver};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::hooks::{Hooks, configure, define, post};

const WIDGETS: &str = "/apis/hooks.example.com/v1/namespaces/default/widgets";
/// Nothing listens there: whoever needs a connection gets none.
const PORT: u16 = 1;

fn widget(name: &str) -> Value {
    json!({"apiVersion": "hooks.example.com/v1", "kind": "Widget", "metadata": {"name": name},
           "spec": {"size": 1}})
}

/// Knows the webhooks of the management API.
struct Here;

impl ServiceResolver for Here {
    fn resolve(&self, _: &str, _: &str, _: &str, _: u16) -> Option<SocketAddr> {
        None
    }

    fn reviewer_at(&self, instance: &str, host: &str, port: u16) -> Option<Arc<dyn Reviewer>> {
        let here = (instance, host, port) == ("", "127.0.0.1", PORT);
        here.then(|| Arc::new(Here) as Arc<dyn Reviewer>)
    }
}

/// Refuses what is named `bad` at `/judge`; other paths answer never, or with something else.
impl Reviewer for Here {
    fn review<'a>(
        &'a self,
        path: &'a str,
        review: &'a AdmissionReview,
    ) -> BoxFuture<'a, Result<Value, String>> {
        let request = &review.request;
        let answer = match path {
            "/judge" => {
                let object = review.object.as_ref().unwrap();
                let allowed = object["metadata"]["name"] != "bad";
                let response = json!({"uid": request["uid"], "allowed": allowed});
                Ok(
                    json!({"apiVersion": review.api_version, "kind": "AdmissionReview",
                          "response": response}),
                )
            }
            "/silent" => return std::future::pending().boxed(),
            "/other" => Ok(json!({"a": 1})),
            _ => Err("there is no such webhook".to_owned()),
        };
        std::future::ready(answer).boxed()
    }
}

fn server() -> ApiServer {
    let builder = ApiServer::builder().seed(1);
    builder.service_resolver(Arc::new(Here)).build().unwrap()
}

fn at(path: &str) -> Value {
    format!("https://127.0.0.1:{PORT}{path}").into()
}

#[tokio::test(start_paused = true)]
async fn they_are_called_without_a_connection_and_others_with_one() {
    let hooks = Hooks::start().await;
    let server = server();
    let (ours, theirs) = (server.management(), server.instance("tenant"));
    let mut hook = hooks.hook("h.example.com", "/judge");
    hook["clientConfig"]["url"] = at("/judge");
    for instance in [&ours, &theirs] {
        define(instance, "hooks.example.com", None).await;
        configure(instance, "validating", "a", &[hook.clone()]).await;
    }
    assert_eq!(post(&ours, WIDGETS, &widget("good")).await.code, 201);
    let refused = post(&ours, WIDGETS, &widget("bad")).await;
    assert_eq!(refused.code, 400, "{}", refused.body);
    let unreached = post(&theirs, WIDGETS, &widget("good")).await;
    let why = unreached.body["message"].as_str().unwrap();
    assert!(why.ends_with("connection refused"), "{why}");
    let remote = hooks.hook("n.example.com", "/n");
    configure(&ours, "validating", "b", &[remote]).await;
    assert_eq!(post(&ours, WIDGETS, &widget("fine")).await.code, 201);
    assert_eq!(hooks.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn they_have_the_same_time_and_must_answer_the_same() {
    let mut hook = Hooks::start().await.hook("h.example.com", "/");
    let instance = server().management();
    define(&instance, "hooks.example.com", None).await;
    hook["timeoutSeconds"] = 7.into();
    for (path, seconds, why) in [
        ("/silent", 7, "context deadline exceeded"),
        ("/other", 0, "webhook response was absent"),
        ("/none", 0, "there is no such webhook"),
    ] {
        hook["clientConfig"]["url"] = at(path);
        configure(
            &instance,
            "validating",
            path.trim_start_matches('/'),
            &[hook.clone()],
        )
        .await;
        let start = Instant::now();
        let refused = post(&instance, WIDGETS, &widget("w")).await;
        assert_eq!(refused.code, 500, "{}", refused.body);
        assert_eq!(start.elapsed(), Duration::from_secs(seconds));
        let said = refused.body["message"].as_str().unwrap();
        assert!(said.contains(why), "{path}: {said}");
        let configuration =
            format!("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations{path}");
        assert_eq!(
            crate::hooks::delete(&instance, &configuration).await.code,
            200
        );
    }
}
