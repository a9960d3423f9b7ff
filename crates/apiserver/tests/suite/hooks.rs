//! Webhooks for tests: a real HTTPS server on loopback that answers by script, and requests to an
//! instance in process.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, mpsc};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use remuda_apiserver::Instance;
use rustls::ServerConfig;
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

/// An answer computed from the review.
pub(crate) type Answer =
    Arc<dyn Fn(Value) -> futures::future::BoxFuture<'static, Value> + Send + Sync>;

#[derive(Default)]
struct Script {
    /// Answers by path; the last of a list repeats.
    answers: HashMap<String, Vec<Value>>,
    handlers: HashMap<String, Answer>,
    calls: Vec<Value>,
    /// While this is here, a paused clock does not move by itself.
    hold: Option<mpsc::Sender<()>>,
}

impl Script {
    /// A paused clock jumps whenever nothing runs, also while a packet is on its way. It does not
    /// while a blocking task is there.
    fn hold(&mut self) {
        if self.hold.is_none() {
            let (sender, receiver) = mpsc::channel();
            tokio::task::spawn_blocking(move || receiver.recv());
            self.hold = Some(sender);
        }
    }
}

/// A webhook server. It ends with the runtime. A paused clock stands still from its start until it
/// is scripted to give no answer.
pub(crate) struct Hooks {
    pub(crate) url: String,
    pub(crate) port: u16,
    /// The certificate that it is trusted by, PEM in base64.
    pub(crate) ca: String,
    script: Arc<Mutex<Script>>,
}

impl Hooks {
    pub(crate) async fn start() -> Self {
        let names = vec!["127.0.0.1".to_owned(), "hook.default.svc".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let script = Arc::<Mutex<Script>>::default();
        script.lock().unwrap().hold();
        let served = Arc::downgrade(&script);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Some(script) = served.upgrade() else {
                    return;
                };
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else {
                        return;
                    };
                    let service = service_fn(move |request| answer(script.clone(), request));
                    let server = auto::Builder::new(TokioExecutor::new());
                    let stream = TokioIo::new(stream);
                    let _ = server.serve_connection(stream, service).await;
                });
            }
        });
        Self {
            url: format!("https://127.0.0.1:{port}"),
            port,
            ca: STANDARD.encode(made.cert.pem()),
            script,
        }
    }

    /// Stops a paused clock again.
    pub(crate) fn hold(&self) {
        self.script.lock().unwrap().hold();
    }

    /// How many calls there were.
    pub(crate) fn count(&self) -> usize {
        self.script.lock().unwrap().calls.len()
    }

    /// Scripts the answers of a path.
    pub(crate) fn script(&self, path: &str, answers: &[Value]) {
        let mut script = self.script.lock().unwrap();
        script.answers.insert(path.into(), answers.to_vec());
    }

    /// Lets code answer a path with the `response` of a review.
    pub(crate) fn handle(&self, path: &str, answer: Answer) {
        let mut script = self.script.lock().unwrap();
        script.handlers.insert(path.into(), answer);
    }

    /// The calls so far, which are forgotten.
    pub(crate) fn calls(&self) -> Vec<Value> {
        std::mem::take(&mut self.script.lock().unwrap().calls)
    }

    /// A `clientConfig` for a path.
    pub(crate) fn config(&self, path: &str) -> Value {
        json!({"url": format!("{}{path}", self.url), "caBundle": self.ca})
    }

    /// A webhook about everything of the group `hooks.example.com`.
    pub(crate) fn hook(&self, name: &str, path: &str) -> Value {
        json!({
            "name": name, "clientConfig": self.config(path),
            "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "rules": [{"apiGroups": ["hooks.example.com"], "apiVersions": ["*"],
                       "operations": ["*"], "resources": ["widgets", "widgets/*"]}],
        })
    }
}

async fn answer(
    script: Arc<Mutex<Script>>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    let query = parts.uri.query().unwrap_or_default().to_owned();
    let review: Value = serde_json::from_slice(&body.collect().await.unwrap().to_bytes()).unwrap();
    let (answer, handler) = {
        let mut script = script.lock().unwrap();
        let call = json!({"path": path, "query": query, "review": review});
        script.calls.push(call);
        let handler = script.handlers.get(&path).cloned();
        let answers = script.answers.get_mut(&path);
        let answer = answers.and_then(|list| match list.len() {
            0 => None,
            1 => list.first().cloned(),
            _ => Some(list.remove(0)),
        });
        (answer.unwrap_or_else(|| json!({})), handler)
    };
    let answer = match handler {
        Some(handler) => json!({"response": handler(review.clone()).await}),
        None => answer,
    };
    if answer["hang"] == true {
        script.lock().unwrap().hold = None;
        std::future::pending::<()>().await;
    }
    let status = answer["status"].as_u64().unwrap_or(200);
    let content_type = answer["type"].as_str().unwrap_or("application/json");
    let response = Response::builder()
        .status(u16::try_from(status).unwrap())
        .header("content-type", content_type)
        .body(Full::from(render(&answer, &review)))
        .unwrap();
    Ok(response)
}

/// The text of a scripted answer, as `golden/hooks.py` has it.
fn render(answer: &Value, review: &Value) -> String {
    if let Some(text) = answer["text"].as_str() {
        return text.to_owned();
    }
    let uid = review["request"]["uid"].as_str().unwrap();
    if let Some(own) = answer.get("review") {
        return own.to_string().replace("@UID@", uid);
    }
    let mut out = json!({"apiVersion": review["apiVersion"], "kind": review["kind"]});
    if review["kind"] == "ConversionReview" {
        out["response"] = json!({"uid": uid, "result": {"status": "Success"},
                                 "convertedObjects": convert(answer, review)});
    } else {
        out["response"] = json!({"uid": uid, "allowed": true});
    }
    for (field, value) in answer["response"].as_object().into_iter().flatten() {
        out["response"][field] = value.clone();
    }
    if let Some(patch) = answer.get("patch") {
        out["response"]["patchType"] = "JSONPatch".into();
        out["response"]["patch"] = STANDARD.encode(patch.to_string()).into();
    }
    out.to_string()
}

/// Moves `spec.size` (v1) to `spec.dimension` (v2) and back, then edits the objects as scripted.
fn convert(answer: &Value, review: &Value) -> Vec<Value> {
    let wanted = review["request"]["desiredAPIVersion"].as_str().unwrap();
    let objects = review["request"]["objects"].as_array().unwrap();
    let mut out: Vec<Value> = Vec::new();
    for object in objects {
        let mut object = object.clone();
        object["apiVersion"] = wanted.into();
        let (old, new) = if wanted.ends_with("v2") {
            ("size", "dimension")
        } else {
            ("dimension", "size")
        };
        let moved = object["spec"]
            .as_object_mut()
            .and_then(|spec| spec.remove(old));
        if let Some(value) = moved {
            object["spec"][new] = value;
        }
        for edit in answer["edit"].as_array().into_iter().flatten() {
            let mut at = &mut object;
            let path = edit["path"].as_array().unwrap();
            let (last, way) = path.split_last().unwrap();
            for step in way {
                at = &mut at[step.as_str().unwrap()];
            }
            match edit.get("value") {
                Some(value) => at[last.as_str().unwrap()] = value.clone(),
                None => drop(at.as_object_mut().unwrap().remove(last.as_str().unwrap())),
            }
        }
        out.push(object);
    }
    if answer["drop"] == true {
        out.remove(0);
    }
    if answer["twice"] == true {
        out.extend(out.clone());
    }
    if answer["reverse"] == true {
        out.reverse();
    }
    out
}

/// Lets everything else run until a condition holds.
pub(crate) async fn until(what: &str, condition: impl AsyncFn() -> bool) {
    for _ in 0..1_000_000 {
        if condition().await {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("{what}: this does not come");
}

/// What an instance answered.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) code: u16,
    pub(crate) body: Value,
    pub(crate) warnings: Vec<String>,
}

/// Sends a request in process.
pub(crate) async fn send(
    instance: &Instance,
    method: &str,
    path: &str,
    content_type: &str,
    body: &Value,
) -> Answered {
    let text = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content_type)
        .header("accept", "application/json")
        .body(axum::body::Body::from(text))
        .unwrap();
    let response = instance.router().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let warnings = parts.headers.get_all("warning").iter();
    Answered {
        code: parts.status.as_u16(),
        body: serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| json!({"message": String::from_utf8_lossy(&bytes)})),
        warnings: warnings.map(|w| w.to_str().unwrap().to_owned()).collect(),
    }
}

pub(crate) async fn post(instance: &Instance, path: &str, body: &Value) -> Answered {
    send(instance, "POST", path, "application/json", body).await
}

pub(crate) async fn get(instance: &Instance, path: &str) -> Answered {
    send(instance, "GET", path, "application/json", &Value::Null).await
}

pub(crate) async fn merge(instance: &Instance, path: &str, body: &Value) -> Answered {
    send(
        instance,
        "PATCH",
        path,
        "application/merge-patch+json",
        body,
    )
    .await
}

pub(crate) async fn delete(instance: &Instance, path: &str) -> Answered {
    send(instance, "DELETE", path, "application/json", &Value::Null).await
}

/// The kind of the golden cases, in a group of its own.
pub(crate) async fn define(instance: &Instance, group: &str, conversion: Option<Value>) {
    let spec = json!({"type": "object", "properties": {
        "size": {"type": "integer", "maximum": 100}, "colour": {"type": "string", "default": "red"},
        "dimension": {"type": "integer"}, "note": {"type": "string"},
        "replicas": {"type": "integer"}}});
    let status = json!({"type": "object", "properties": {
        "phase": {"type": "string"}, "replicas": {"type": "integer"}}});
    let version = |name: &str| {
        json!({
            "name": name, "served": true, "storage": name == "v1",
            "schema": {"openAPIV3Schema": {"type": "object",
                                           "properties": {"spec": spec, "status": status}}},
            "subresources": {"status": {}, "scale": {
                "specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas"}},
        })
    };
    let mut definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{group}")},
        "spec": {"group": group, "scope": "Namespaced",
                 "names": {"plural": "widgets", "kind": "Widget"},
                 "versions": [version("v1"), version("v2")]},
    });
    if let Some(conversion) = conversion {
        definition["spec"]["conversion"] = conversion;
    }
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let made = post(instance, path, &definition).await;
    assert_eq!(made.code, 201, "{}", made.body);
}

/// Installs a configuration; `phase` is `mutating` or `validating`.
pub(crate) async fn configure(instance: &Instance, phase: &str, name: &str, hooks: &[Value]) {
    let kind = match phase {
        "mutating" => "MutatingWebhookConfiguration",
        _ => "ValidatingWebhookConfiguration",
    };
    let body = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
                      "metadata": {"name": name}, "webhooks": hooks});
    let path = format!("/apis/admissionregistration.k8s.io/v1/{phase}webhookconfigurations");
    let made = post(instance, &path, &body).await;
    assert_eq!(made.code, 201, "{}", made.body);
}
