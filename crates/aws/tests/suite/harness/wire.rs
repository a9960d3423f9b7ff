//! Requests on their way to a simulated AWS, seen and recorded: the independent account of what
//! the backend sent, whatever the target is.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    fmt,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use tokio::sync::Notify;
use tower::{ServiceExt, service_fn, util::BoxCloneSyncService};

/// A target: whole requests in, whole answers out.
pub type Wire = BoxCloneSyncService<Request<Full<Bytes>>, Response<Full<Bytes>>, Infallible>;

/// One recorded call.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// `autoscaling:CreateAutoScalingGroup`.
    pub name: String,
    /// Query parameters; for S3 `bucket`, `key` and the headers that matter.
    pub params: BTreeMap<String, String>,
    /// HTTP status of the answer.
    pub status: u16,
}

impl Recorded {
    /// It changes something.
    pub fn is_write(&self) -> bool {
        let action = self.name.split_once(':').map_or("", |(_, action)| action);
        !["Describe", "Get", "Head", "List", "AssumeRole"]
            .iter()
            .any(|read| action.starts_with(read))
    }

    /// A parameter, or an empty text.
    pub fn param(&self, name: &str) -> &str {
        self.params.get(name).map_or("", String::as_str)
    }

    /// Values of `prefix1`, `prefix2`, … in order.
    pub fn list(&self, prefix: &str) -> Vec<&str> {
        (1..)
            .map_while(|number| self.params.get(&format!("{prefix}{number}")))
            .map(String::as_str)
            .collect()
    }

    /// Tags written as `prefix.N.Key` and `prefix.N.Value`.
    pub fn tags(&self, prefix: &str) -> BTreeMap<String, String> {
        (1..)
            .map_while(|number| {
                let key = self.params.get(&format!("{prefix}.{number}.Key"))?;
                Some((
                    key.clone(),
                    self.param(&format!("{prefix}.{number}.Value")).to_owned(),
                ))
            })
            .collect()
    }
}

type Answers = dyn Fn(&Recorded) -> Option<Response<Full<Bytes>>> + Send + Sync;
type Amends = dyn Fn(&Recorded, Bytes) -> Bytes + Send + Sync;

/// Answers in place of the target's, and amended answers.
#[derive(Clone)]
pub struct Double {
    /// Answers instead of the target where it returns something.
    pub answers: Arc<Answers>,
    /// Changes the body of the target's answer.
    pub amends: Arc<Amends>,
}

impl Double {
    /// A double that amends nothing.
    pub fn new(
        answers: impl Fn(&Recorded) -> Option<Response<Full<Bytes>>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            answers: Arc::new(answers),
            amends: Arc::new(|_, body| body),
        }
    }
}

/// Records calls, and stops the process under test after a number of writes.
#[derive(Clone, Default)]
pub struct Recorder {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    calls: Mutex<Vec<Recorded>>,
    double: Mutex<Option<Double>>,
    writes: Mutex<Writes>,
    stopped: Notify,
}

#[derive(Default)]
struct Writes {
    made: usize,
    stop_after: Option<usize>,
    /// The answer to this call among the mutating ones is lost.
    lost: Option<usize>,
    calls: usize,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recorder")
    }
}

impl Recorder {
    /// Calls so far: a mark for `since`.
    pub fn mark(&self) -> usize {
        self.inner.calls.lock().unwrap().len()
    }

    /// Calls from a mark on.
    pub fn since(&self, mark: usize) -> Vec<Recorded> {
        self.inner.calls.lock().unwrap()[mark..].to_vec()
    }

    /// Answers instead of the target where it returns something.
    pub fn answer_with(&self, double: Option<Double>) {
        *self.inner.double.lock().unwrap() = double;
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

    /// The answer to the mutating call after `further` others is lost: it is carried out, and the
    /// connection breaks. Whether that happened, when asked with `None`.
    pub fn lose_answer(&self, further: Option<usize>) -> bool {
        let mut writes = self.inner.writes.lock().unwrap();
        let has_happened = writes.lost.is_some_and(|lost| writes.calls > lost);
        writes.lost = further.map(|further| writes.calls + further);
        has_happened
    }

    fn loses_this(&self) -> bool {
        let mut writes = self.inner.writes.lock().unwrap();
        writes.calls += 1;
        writes.lost == Some(writes.calls - 1)
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

    /// The target with this recorder in front.
    pub fn before(&self, target: Wire) -> Wire {
        let recorder = self.clone();
        BoxCloneSyncService::new(service_fn(move |request: Request<Full<Bytes>>| {
            let recorder = recorder.clone();
            let target = target.clone();
            async move { Ok::<_, Infallible>(recorder.pass_on(request, target).await) }
        }))
    }

    async fn pass_on(&self, request: Request<Full<Bytes>>, target: Wire) -> Response<Full<Bytes>> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let mut recorded = read(&parts, &body);
        let double = self.inner.double.lock().unwrap().clone();
        let answer = double
            .as_ref()
            .and_then(|double| (double.answers)(&recorded));
        let answer = if let Some(answer) = answer {
            answer
        } else {
            let request = Request::from_parts(parts, Full::new(body));
            let (mut parts, body) = target.oneshot(request).await.unwrap().into_parts();
            let mut body = body.collect().await.unwrap().to_bytes();
            if let Some(double) = &double {
                let before = body.len();
                body = (double.amends)(&recorded, body);
                if body.len() != before {
                    parts.headers.insert("content-length", body.len().into());
                }
            }
            Response::from_parts(parts, Full::new(body))
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

/// Service from the credential scope; action from the form, or from method and query for S3.
fn read(parts: &http::request::Parts, body: &Bytes) -> Recorded {
    let authorization = parts
        .headers
        .get("authorization")
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let service = authorization
        .split("Credential=")
        .nth(1)
        .and_then(|scope| scope.split('/').nth(3))
        .unwrap_or("unsigned")
        .to_owned();
    if service == "s3" {
        return read_s3(parts);
    }
    let params: BTreeMap<String, String> = form_urlencoded::parse(body).into_owned().collect();
    let action = params.get("Action").cloned().unwrap_or_default();
    Recorded {
        name: format!("{service}:{action}"),
        params,
        status: 0,
    }
}

fn read_s3(parts: &http::request::Parts) -> Recorded {
    let is_tagging = parts
        .uri
        .query()
        .is_some_and(|query| query.split('&').any(|part| part.starts_with("tagging")));
    let action = match (parts.method.as_str(), is_tagging) {
        ("PUT", true) => "PutObjectTagging",
        ("GET", true) => "GetObjectTagging",
        ("PUT", false) => "PutObject",
        ("GET", false) => "GetObject",
        ("HEAD", _) => "HeadObject",
        ("DELETE", _) => "DeleteObject",
        (other, _) => other,
    };
    let path = parts.uri.path().trim_start_matches('/');
    let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
    let mut params = BTreeMap::from([
        ("bucket".to_owned(), bucket.to_owned()),
        ("key".to_owned(), key.to_owned()),
    ]);
    for (name, value) in &parts.headers {
        params.insert(
            name.as_str().to_owned(),
            value.to_str().unwrap_or_default().to_owned(),
        );
    }
    Recorded {
        name: format!("s3:{action}"),
        params,
        status: 0,
    }
}
