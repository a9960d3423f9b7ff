//! The listener: TLS on loopback, HTTP/1.1 and HTTP/2, bearer tokens, one path a instance.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::{Request, Response, Uri, header};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{ApiServer, CredentialError, MANAGEMENT, kubeconfig};
use crate::handlers;
use crate::instance::Instance;
use crate::request::Caller;
use crate::request::path::{self, Route};
use crate::status_error::Failure;

const CLUSTERS: &str = "/clusters/";
/// A client that does not finish its handshake in this time is dropped.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Streams of one HTTP/2 connection: a client holds one a watch, so the usual 200 are too few.
const STREAMS: u32 = 1_024;
/// How long requests may finish after a shutdown was asked for.
const GRACE: Duration = Duration::from_secs(2);

/// Why a server could not listen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address is reachable from other machines.
    #[error("{0} is not a loopback address: use 127.0.0.1 or [::1]")]
    NotLoopback(SocketAddr),
    /// The address is taken or not allowed.
    #[error("cannot listen on {address}: {source}; choose another port")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// No certificate could be made.
    #[error(transparent)]
    Credentials(#[from] CredentialError),
    /// TLS refused its own certificate.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
}

/// A listener at work. Dropping it stops it.
#[derive(Debug)]
pub struct Serving {
    server: ApiServer,
    address: SocketAddr,
    stop: CancellationToken,
    connections: TaskTracker,
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Serving {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of an instance.
    pub fn url(&self, instance: &Instance) -> String {
        match instance.name() {
            MANAGEMENT => format!("https://{}", self.address),
            name => format!("https://{}{CLUSTERS}{name}", self.address),
        }
    }

    /// A kubeconfig that makes its holder the administrator of an instance. It holds a secret.
    pub fn kubeconfig(&self, instance: &Instance) -> String {
        let name = match instance.name() {
            MANAGEMENT => "remuda".to_owned(),
            name => name.replace('/', "-"),
        };
        let authority = self.server.authority();
        let token = authority.token(instance.name());
        kubeconfig::render(&name, &self.url(instance), authority.certificate(), &token)
    }

    /// Stops listening and waits a short time for requests that are under way. Watches are cut.
    pub async fn shutdown(self) {
        self.stop.cancel();
        self.connections.close();
        // What is still open after the grace time ends with the runtime.
        let _ = tokio::time::timeout(GRACE, self.connections.wait()).await;
    }
}

/// Starts to listen.
pub(super) async fn start(server: ApiServer, address: SocketAddr) -> Result<Serving, ServeError> {
    if !address.ip().is_loopback() {
        return Err(ServeError::NotLoopback(address));
    }
    let acceptor = acceptor(&server)?;
    let listen = |source| ServeError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(listen)?;
    let address = listener.local_addr().map_err(listen)?;
    let stop = CancellationToken::new();
    let connections = TaskTracker::new();
    let accepting = accept(
        server.clone(),
        listener,
        acceptor,
        stop.clone(),
        connections.clone(),
    );
    connections.spawn(accepting);
    Ok(Serving {
        server,
        address,
        stop,
        connections,
    })
}

fn acceptor(server: &ApiServer) -> Result<TlsAcceptor, ServeError> {
    let (chain, key) = server.authority().server_certificate()?;
    let tls = |error: rustls::Error| ServeError::Tls(error.to_string());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(tls)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(tls)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn accept(
    server: ApiServer,
    listener: TcpListener,
    acceptor: TlsAcceptor,
    stop: CancellationToken,
    connections: TaskTracker,
) {
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of file handles, most likely: give connections time to close.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let (server, acceptor, stop) = (server.clone(), acceptor.clone(), stop.clone());
        connections.spawn(async move {
            let work = connection(server, acceptor, stream, stop.clone());
            if let Err(error) = work.await {
                tracing::debug!(error, "a connection ended early");
            }
        });
    }
}

async fn connection(
    server: ApiServer,
    acceptor: TlsAcceptor,
    stream: TcpStream,
    stop: CancellationToken,
) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    stream.set_nodelay(true).map_err(text)?;
    let handshake = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await;
    let stream = handshake
        .map_err(|_| "the handshake took too long".to_owned())?
        .map_err(text)?;
    let service = tower::service_fn(move |request: Request<hyper::body::Incoming>| {
        let server = server.clone();
        async move { Ok::<_, std::convert::Infallible>(answer(&server, request.map(Body::new)).await) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http2().max_concurrent_streams(STREAMS);
    let service = TowerToHyperService::new(service);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => ended.map_err(|error| error.to_string()),
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(GRACE / 2, connection).await;
            Ok(())
        }
    }
}

/// Finds the instance, checks the token, and hands the request on.
async fn answer(server: &ApiServer, mut request: Request<Body>) -> Response<Body> {
    let Some((name, uri)) = split(request.uri()) else {
        return handlers::refuse(&Failure::no_such_path());
    };
    // Unknown instances and wrong tokens look alike, so that names cannot be probed.
    let open = matches!(
        path::parse(uri.path()),
        Some(Route::Health | Route::Version)
    );
    let known = has_token(&request, &server.authority().token(&name));
    let instance = server.existing_instance(&name);
    let instance = match instance {
        Some(instance) if open || known => instance,
        None if known => return handlers::refuse(&Failure::no_such_path()),
        _ => return handlers::refuse(&Failure::unauthorized()),
    };
    *request.uri_mut() = uri;
    request.extensions_mut().insert(Caller::admin());
    handlers::handle(&instance, request).await
}

/// Splits the instance's name from the path.
fn split(uri: &Uri) -> Option<(String, Uri)> {
    let whole = uri.path_and_query()?.as_str();
    let Some(rest) = whole.strip_prefix(CLUSTERS) else {
        return Some((MANAGEMENT.to_owned(), whole.parse().ok()?));
    };
    let (namespace, rest) = rest.split_once('/')?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (name, rest) = rest.split_at(end);
    let rest = if rest.starts_with('/') {
        rest.to_owned()
    } else {
        format!("/{rest}")
    };
    Some((format!("{namespace}/{name}"), rest.parse().ok()?))
}

fn has_token(request: &Request<Body>, token: &str) -> bool {
    let header = request.headers().get(header::AUTHORIZATION);
    let given = header
        .and_then(|value| value.to_str().ok())
        .and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme
                .eq_ignore_ascii_case("bearer")
                .then_some(token.trim())
        });
    given.is_some_and(|given| same_bytes(given.as_bytes(), token.as_bytes()))
}

/// Compares without telling by its time where the difference is.
fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |seen, (a, b)| seen | (a ^ b)) == 0
}
