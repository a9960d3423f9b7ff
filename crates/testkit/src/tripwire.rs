//! Ends a process right after its n-th write: the write reaches the server, the answer never
//! reaches the process, and nothing else it asks is answered any more.

use std::{
    convert::Infallible,
    fmt,
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use axum::body::Body;
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use tokio::sync::Notify;
use tower::{Service, ServiceExt};

/// A write to the management API or to a cloud that is about to be carried out.
#[derive(Debug, Clone)]
pub struct Write {
    /// Its name, as [`Tripwire::writes`] tells it.
    pub name: String,
    /// Its body as text.
    pub body: String,
}

type Looked = Pin<Box<dyn Future<Output = ()> + Send>>;

#[derive(Clone)]
struct Observer(Arc<dyn Fn(Write) -> Looked + Send + Sync>);

impl fmt::Debug for Observer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Observer")
    }
}

/// Counts the writes of one process and may end it. Clones share the count.
#[derive(Debug, Clone, Default)]
pub struct Tripwire {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Trips at this write; `None`: never.
    at: Option<usize>,
    writes: Mutex<Vec<String>>,
    tripped: AtomicBool,
    news: Notify,
    /// Kubernetes writes whose body holds one of these texts are refused.
    refused: Mutex<Vec<String>>,
    observer: Mutex<Option<Observer>>,
    /// Workload clusters answer nothing but errors.
    cut: AtomicBool,
    /// Watches of paths with these ends show nothing.
    deaf: Mutex<Vec<String>>,
    /// Watches of paths with these ends are refused.
    unwatchable: Mutex<Vec<String>>,
    workload_writes: Mutex<Vec<String>>,
}

impl Tripwire {
    /// Never trips, only counts.
    pub fn never() -> Self {
        Self::default()
    }

    /// Trips right after write number `at`, counted from 1.
    pub fn after(at: usize) -> Self {
        Self {
            inner: Arc::new(Inner {
                at: Some(at),
                ..Inner::default()
            }),
        }
    }

    /// From now on the API server fails every write whose body holds `text`.
    pub fn refuse(&self, text: &str) {
        self.inner
            .refused
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(text.to_owned());
    }

    /// The API server takes every write again.
    pub fn refuse_nothing(&self) {
        self.inner
            .refused
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    /// Watches of the management API that begin from now on and whose path ends like this show
    /// nothing: a cache that is behind.
    pub fn deafen(&self, path_end: &str) {
        self.inner
            .deaf
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(path_end.to_owned());
    }

    /// Watches of the management API that begin from now on and whose path ends like this fail.
    pub fn break_watches(&self, path_end: &str) {
        self.inner
            .unwatchable
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(path_end.to_owned());
    }

    fn is_deaf(&self, uri: &http::Uri) -> bool {
        watches_one_of(uri, &self.inner.deaf)
    }

    fn breaks(&self, uri: &http::Uri) -> bool {
        watches_one_of(uri, &self.inner.unwatchable)
    }

    /// From now on workload clusters cannot be reached (`true`), or can again. Watches that run end
    /// by themselves.
    pub fn cut_workload(&self, cut: bool) {
        self.inner.cut.store(cut, Ordering::SeqCst);
    }

    /// The writes to workload clusters so far, in order: `PATCH /api/v1/nodes/…`.
    pub fn workload_writes(&self) -> Vec<String> {
        self.inner
            .workload_writes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn wrote_far(&self, what: &str) {
        self.inner
            .workload_writes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(what.to_owned());
    }

    /// Lets `look` see every write to the management API and the clouds right before it is carried
    /// out.
    pub fn before_writes(&self, look: impl Fn(Write) -> Looked + Send + Sync + 'static) {
        *self
            .inner
            .observer
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(Observer(Arc::new(look)));
    }

    async fn write_comes(&self, write: &Write) {
        let observer = self
            .inner
            .observer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some(Observer(look)) = observer {
            look(write.clone()).await;
        }
    }

    fn refuses(&self, body: &[u8]) -> bool {
        let body = String::from_utf8_lossy(body);
        let refused = self
            .inner
            .refused
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        refused.iter().any(|text| body.contains(text))
    }

    /// The writes so far, in order: `PATCH /api/…`, `aws CreateAutoScalingGroup` or
    /// `azure PUT /subscriptions/…`.
    pub fn writes(&self) -> Vec<String> {
        self.inner
            .writes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Whether it has tripped.
    pub fn has_tripped(&self) -> bool {
        self.inner.tripped.load(Ordering::SeqCst)
    }

    /// Waits until it trips.
    pub async fn tripped(&self) {
        loop {
            let news = self.inner.news.notified();
            if self.has_tripped() {
                return;
            }
            news.await;
        }
    }

    /// A dead process gets no answers.
    async fn alive(&self) {
        if self.has_tripped() {
            std::future::pending::<()>().await;
        }
    }

    async fn wrote(&self, what: String) {
        let count = {
            let mut writes = self
                .inner
                .writes
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            writes.push(what);
            writes.len()
        };
        if self.inner.at == Some(count) {
            self.inner.tripped.store(true, Ordering::SeqCst);
            self.inner.news.notify_waiters();
        }
        self.alive().await;
    }
}

/// A service seen through a tripwire.
#[derive(Debug, Clone)]
pub(crate) struct Wired<S> {
    service: S,
    tripwire: Tripwire,
    /// It is a workload cluster.
    far: bool,
}

impl<S> Wired<S> {
    pub(crate) fn new(service: S, tripwire: Tripwire) -> Self {
        Self {
            service,
            tripwire,
            far: false,
        }
    }

    /// A workload cluster.
    pub(crate) fn far(service: S, tripwire: Tripwire) -> Self {
        Self {
            far: true,
            ..Self::new(service, tripwire)
        }
    }
}

type Answer<R> = Pin<Box<dyn Future<Output = Result<R, Infallible>> + Send>>;

/// The Kubernetes API: everything but a read is a write. Events tell, they do not act.
impl<S> Service<Request<kube::client::Body>> for Wired<S>
where
    S: Service<Request<kube::client::Body>, Response = Response<Body>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answer<Response<Body>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<kube::client::Body>) -> Self::Future {
        let (service, tripwire) = (self.service.clone(), self.tripwire.clone());
        let path = request.uri().path().to_owned();
        let reads = request.method() == Method::GET || path.contains("/events.k8s.io/");
        let write = (!reads).then(|| format!("{} {path}", request.method()));
        let far = self.far;
        let shows_nothing = !far && tripwire.is_deaf(request.uri());
        let breaks = !far && tripwire.breaks(request.uri());
        Box::pin(async move {
            tripwire.alive().await;
            if shows_nothing {
                std::future::pending::<()>().await;
            }
            if breaks {
                return Ok(unavailable());
            }
            if far && tripwire.inner.cut.load(Ordering::SeqCst) {
                return Ok(unavailable());
            }
            let Some(write) = write else {
                let answer = service.oneshot(request).await;
                tripwire.alive().await;
                return answer;
            };
            let (parts, body) = request.into_parts();
            let body = body
                .collect()
                .await
                .expect("a client's body is in memory")
                .to_bytes();
            if tripwire.refuses(&body) {
                return Ok(unavailable());
            }
            if far {
                let request = Request::from_parts(parts, kube::client::Body::from(body));
                let answer = service.oneshot(request).await;
                tripwire.wrote_far(&write);
                tripwire.wrote(write).await;
                return answer;
            }
            let write = Write {
                name: write,
                body: String::from_utf8_lossy(&body).into_owned(),
            };
            tripwire.write_comes(&write).await;
            let request = Request::from_parts(parts, kube::client::Body::from(body));
            let answer = service.oneshot(request).await;
            let write = write.name;
            tripwire.wrote(write).await;
            answer
        })
    }
}

/// Whether it is a watch of a path with one of these ends.
fn watches_one_of(uri: &http::Uri, ends: &Mutex<Vec<String>>) -> bool {
    let watches = uri.query().is_some_and(|query| query.contains("watch="));
    let ends = ends.lock().unwrap_or_else(PoisonError::into_inner);
    watches && ends.iter().any(|end| uri.path().ends_with(end))
}

fn unavailable() -> Response<Body> {
    let status = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","code":503,
        "reason":"ServiceUnavailable","message":"refused by the test"}"#;
    Response::builder()
        .status(503)
        .header("content-type", "application/json")
        .body(Body::from(status))
        .expect("the parts are valid")
}

/// A cloud: the action, or the method of an object request, tells a write.
#[derive(Debug, Clone)]
pub(crate) struct WiredCloud<S>(pub(crate) Wired<S>);

impl<S, R> Service<Request<Full<Bytes>>> for WiredCloud<S>
where
    S: Service<Request<Full<Bytes>>, Response = R, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
    R: Send + 'static,
{
    type Response = R;
    type Error = Infallible;
    type Future = Answer<R>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        let (service, tripwire) = (self.0.service.clone(), self.0.tripwire.clone());
        Box::pin(async move {
            tripwire.alive().await;
            let write = cloud_write(&request).await;
            if let Some(write) = &write {
                tripwire.write_comes(write).await;
            }
            let answer = service.oneshot(request).await;
            if let Some(write) = write {
                tripwire.wrote(write.name).await;
            }
            tripwire.alive().await;
            answer
        })
    }
}

async fn cloud_write(request: &Request<Full<Bytes>>) -> Option<Write> {
    const READS: [&str; 4] = ["Describe", "Get", "List", "AssumeRole"];
    let method = request.method();
    let path = request.uri().path();
    let asks_for_token = path.ends_with("/oauth2/v2.0/token");
    if method == Method::GET || method == Method::HEAD || asks_for_token {
        return None;
    }
    let body = match request.body().clone().collect().await {
        Ok(body) => body.to_bytes(),
        Err(never) => match never {},
    };
    let body = String::from_utf8_lossy(&body).into_owned();
    if path.starts_with("/subscriptions/") {
        let name = format!("azure {method} {path}");
        return Some(Write { name, body });
    }
    let action = body
        .split('&')
        .find_map(|pair| pair.strip_prefix("Action="));
    let name = match action {
        Some(action) if READS.iter().any(|read| action.starts_with(read)) => return None,
        Some(action) => format!("aws {action}"),
        None => format!("aws {method} {path}"),
    };
    Some(Write { name, body })
}
