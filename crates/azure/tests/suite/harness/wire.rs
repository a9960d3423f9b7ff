//! Between backend and simulator: records every request, loses answers, ends the process under
//! test after a number of writes.

use std::{
    convert::Infallible,
    fmt,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use remuda_sim::azure::AzureSim;
use serde_json::Value;
use tokio::{sync::Notify, time::Instant};
use tower::{ServiceExt, service_fn, util::BoxCloneSyncService};

/// A target: whole requests in, whole answers out.
pub type Wire = BoxCloneSyncService<Request<Full<Bytes>>, Response<Full<Bytes>>, Infallible>;

/// One recorded request.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// `PATCH virtualMachineScaleSets`: method and kind, for short.
    pub name: String,
    /// `https://management.azure.com`.
    pub origin: String,
    /// Path.
    pub path: String,
    /// Query.
    pub query: String,
    /// Headers.
    pub headers: HeaderMap,
    /// Body as it was sent.
    pub body: Bytes,
    /// Status of the answer.
    pub status: u16,
    /// When it was sent.
    pub at: Instant,
}

impl Recorded {
    /// It changes something in ARM.
    pub fn is_write(&self) -> bool {
        !self.name.starts_with("GET ") && self.name != "POST token"
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The fields of a form.
    pub fn form(&self) -> std::collections::BTreeMap<String, String> {
        form_urlencoded::parse(&self.body).into_owned().collect()
    }

    /// The name and the last part of the path: `PATCH virtualMachineScaleSets/workers-7d91b187`.
    pub fn on(&self) -> String {
        let last = self.path.rsplit('/').next().unwrap_or_default();
        format!("{}/{last}", self.name)
    }
}

/// Answers in place of the target's.
pub type Answers = dyn Fn(&Recorded) -> Option<Response<Full<Bytes>>> + Send + Sync;

/// Records requests.
#[derive(Clone, Default)]
pub struct Recorder {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    calls: Mutex<Vec<Recorded>>,
    answers: Mutex<Option<Arc<Answers>>>,
    writes: Mutex<Writes>,
    stopped: Notify,
}

#[derive(Default)]
struct Writes {
    made: usize,
    stop_after: Option<usize>,
    /// The answer to this request among the writes is lost.
    lost: Option<usize>,
    sent: usize,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recorder")
    }
}

impl Recorder {
    /// Requests so far: a mark for `since`.
    pub fn mark(&self) -> usize {
        self.inner.calls.lock().unwrap().len()
    }

    /// Requests from a mark on.
    pub fn since(&self, mark: usize) -> Vec<Recorded> {
        self.inner.calls.lock().unwrap()[mark..].to_vec()
    }

    /// Answers instead of the target where `answers` returns something.
    pub fn answer_with(
        &self,
        answers: impl Fn(&Recorded) -> Option<Response<Full<Bytes>>> + Send + Sync + 'static,
    ) {
        *self.inner.answers.lock().unwrap() = Some(Arc::new(answers));
    }

    /// The target answers again.
    pub fn pass_everything(&self) {
        *self.inner.answers.lock().unwrap() = None;
    }

    /// Writes made so far, record writes included.
    pub fn writes_made(&self) -> usize {
        self.inner.writes.lock().unwrap().made
    }

    /// The process under test ends right after this many further writes.
    pub fn stop_after(&self, further: Option<usize>) {
        let mut writes = self.inner.writes.lock().unwrap();
        writes.stop_after = further.map(|further| writes.made + further);
    }

    /// The answer to the write after `further` others is lost: it is carried out, and the
    /// connection breaks. Whether that happened, when asked with `None`.
    pub fn lose_answer(&self, further: Option<usize>) -> bool {
        let mut writes = self.inner.writes.lock().unwrap();
        let has_happened = writes.lost.is_some_and(|lost| writes.sent > lost);
        writes.lost = further.map(|further| writes.sent + further);
        has_happened
    }

    fn loses_this(&self) -> bool {
        let mut writes = self.inner.writes.lock().unwrap();
        writes.sent += 1;
        writes.lost == Some(writes.sent - 1)
    }

    /// Resolves when the process under test must end.
    pub async fn stopped(&self) {
        loop {
            let notified = self.inner.stopped.notified();
            if self.is_over() {
                return;
            }
            notified.await;
        }
    }

    fn is_over(&self) -> bool {
        let writes = self.inner.writes.lock().unwrap();
        writes.stop_after.is_some_and(|limit| writes.made >= limit)
    }

    /// Counts a write that was carried out; never returns when it was the last one allowed.
    pub async fn wrote(&self) {
        self.inner.writes.lock().unwrap().made += 1;
        if self.is_over() {
            self.inner.stopped.notify_waiters();
            std::future::pending::<()>().await;
        }
    }

    /// The simulator with this recorder in front.
    pub fn before(&self, sim: &AzureSim) -> Wire {
        let recorder = self.clone();
        let router = sim.router();
        BoxCloneSyncService::new(service_fn(move |request: Request<Full<Bytes>>| {
            let (recorder, router) = (recorder.clone(), router.clone());
            async move { Ok::<_, Infallible>(recorder.pass_on(request, router).await) }
        }))
    }

    async fn pass_on(
        &self,
        request: Request<Full<Bytes>>,
        router: axum::Router,
    ) -> Response<Full<Bytes>> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let mut recorded = read(&parts, &body);
        let double = self.inner.answers.lock().unwrap().clone();
        let answer = if let Some(answer) = double.and_then(|answers| answers(&recorded)) {
            answer
        } else {
            let request = Request::from_parts(parts, axum::body::Body::from(body));
            whole(router.oneshot(request).await.unwrap()).await
        };
        recorded.status = answer.status().as_u16();
        let is_done = recorded.is_write() && recorded.status < 300;
        self.inner.calls.lock().unwrap().push(recorded);
        if is_done {
            self.wrote().await;
            if self.loses_this() {
                let mut broken = Response::new(Full::default());
                *broken.status_mut() = http::StatusCode::GATEWAY_TIMEOUT;
                return broken;
            }
        }
        answer
    }
}

async fn whole(answer: axum::response::Response) -> Response<Full<Bytes>> {
    let (parts, body) = answer.into_parts();
    match body.collect().await {
        Ok(body) => Response::from_parts(parts, Full::new(body.to_bytes())),
        // A connection that breaks shows as a body that does.
        Err(_) => Response::builder()
            .status(504)
            .body(Full::default())
            .unwrap(),
    }
}

fn read(parts: &http::request::Parts, body: &Bytes) -> Recorded {
    let path = parts.uri.path().to_owned();
    let segments: Vec<&str> = path.split('/').collect();
    let kind = if path.ends_with("/token") {
        "token"
    } else {
        // Kinds and names alternate; a list ends with its kind.
        let after_provider = segments
            .iter()
            .position(|part| part.eq_ignore_ascii_case("providers"))
            .map_or(0, |at| at + 2);
        let rest = &segments[after_provider.min(segments.len())..];
        let kind = rest.len().saturating_sub(1) / 2 * 2;
        rest.get(kind).copied().unwrap_or_default()
    };
    Recorded {
        name: format!("{} {kind}", parts.method),
        origin: format!(
            "{}://{}",
            parts.uri.scheme_str().unwrap_or_default(),
            parts.uri.authority().map_or("", |it| it.as_str())
        ),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers.clone(),
        body: body.clone(),
        status: 0,
        at: Instant::now(),
        path,
    }
}

/// Names of requests.
pub fn names(calls: &[Recorded]) -> Vec<&str> {
    calls.iter().map(|call| call.name.as_str()).collect()
}

/// What the writes among them were made on: `PATCH virtualMachineScaleSets/workers-7d91b187`.
pub fn writes(calls: &[Recorded]) -> Vec<String> {
    calls
        .iter()
        .filter(|call| call.is_write())
        .map(Recorded::on)
        .collect()
}

/// A JSON answer with headers.
pub fn answer(status: u16, headers: &[(&str, &str)], body: &Value) -> Response<Full<Bytes>> {
    let mut answer = Response::builder().status(status);
    for (name, value) in headers {
        answer = answer.header(*name, *value);
    }
    answer
        .body(Full::new(Bytes::from(body.to_string())))
        .unwrap()
}
