//! The listener: loopback only, a bounded number of connections, one path an instance.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::{Request, Response, Uri};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection::{self, GRACE};
use super::credentials::{Credentials, Shown};
use super::{ApiServer, CredentialError, MANAGEMENT, kubeconfig};
use crate::access::{self, Caller};
use crate::handlers;
use crate::instance::Instance;
use crate::request::path;
use crate::status_error::Failure;

const CLUSTERS: &str = "/clusters/";
/// Connections at the same time; more wait in the system's queue. Each client holds one or two.
const CONNECTIONS: usize = 1_024;

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
    let acceptor = connection::acceptor(server.authority())?;
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

async fn accept(
    server: ApiServer,
    listener: TcpListener,
    acceptor: TlsAcceptor,
    stop: CancellationToken,
    connections: TaskTracker,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let next = async {
            let place = places.clone().acquire_owned().await;
            (place, listener.accept().await)
        };
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = next => accepted,
        };
        let (place, stream) = match accepted {
            (place, Ok((stream, _))) => (place, stream),
            (_, Err(error)) => {
                // Out of file handles, most likely: give connections time to close.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let (server, acceptor, stop) = (server.clone(), acceptor.clone(), stop.clone());
        connections.spawn(async move {
            let _place = place;
            let work = connection::serve(server, acceptor, stream, stop);
            if let Err(error) = work.await {
                tracing::debug!(error, "a connection ended early");
            }
        });
    }
}

/// Finds the instance and the caller, and hands the request on.
pub(super) async fn answer(
    server: &ApiServer,
    credentials: &Credentials,
    mut request: Request<Body>,
) -> Response<Body> {
    let Some((name, uri)) = split(request.uri()) else {
        return handlers::refuse(&Failure::no_such_path());
    };
    // Unknown instances and wrong credentials look alike, so that names cannot be probed.
    let Some(instance) = server.existing_instance(&name) else {
        return handlers::refuse(&Failure::unauthorized());
    };
    let caller = match credentials.shown(&instance, request.headers()) {
        Shown::Caller(caller) => caller,
        Shown::Nothing if access::is_open(path::parse(uri.path()).as_ref()) => Caller::anonymous(),
        Shown::Nothing | Shown::Wrong => return handlers::refuse(&Failure::unauthorized()),
    };
    *request.uri_mut() = uri;
    request.extensions_mut().insert(caller);
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
