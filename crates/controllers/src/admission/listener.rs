//! HTTPS: a bounded number of connections, and whatever certificate is the current one.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
    service::TowerToHyperService,
};
use rustls::{
    ServerConfig,
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::Semaphore,
};
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::certificates::CertificateError;

/// Connections at the same time: an API server holds a few.
const CONNECTIONS: usize = 256;
/// A client that does not finish its handshake in this time is dropped.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// A client that sends no head of a request for this long is dropped.
const HEAD: Duration = Duration::from_secs(30);
/// How long answers may take after a shutdown was asked for.
const GRACE: Duration = Duration::from_secs(5);
/// A pause after a connection could not be accepted: out of file handles, most likely.
const BREATH: Duration = Duration::from_millis(100);

/// The current certificate; it can be replaced while connections are served.
#[derive(Debug, Default)]
pub struct Rotating(Mutex<Option<Arc<CertifiedKey>>>);

impl Rotating {
    /// Shows this certificate from now on, to new connections.
    ///
    /// # Errors
    /// The texts are not a certificate and its key.
    pub fn show(&self, certificate: &str, key: &str) -> Result<(), CertificateError> {
        self.present(certified(certificate, key)?);
        Ok(())
    }

    /// Shows what was read before.
    pub(super) fn present(&self, certified: CertifiedKey) {
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *shown = Some(Arc::new(certified));
    }
}

/// A certificate with its key.
///
/// # Errors
/// The texts are not a certificate and its key.
pub(super) fn certified(certificate: &str, key: &str) -> Result<CertifiedKey, CertificateError> {
    let damaged = |what: &str| CertificateError::Damaged(what.to_owned());
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate.as_bytes()).collect();
    let chain = chain.map_err(|_| damaged("the certificate"))?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes());
    let key = key.map_err(|_| damaged("the key of the certificate"))?;
    let key = rustls::crypto::ring::sign::any_supported_type(&key)
        .map_err(|_| damaged("the key of the certificate"))?;
    let certified = CertifiedKey::new(chain, key);
    certified
        .keys_match()
        .map_err(|_| damaged("the pair of certificate and key"))?;
    Ok(certified)
}

impl ResolvesServerCert for Rotating {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Serves a router over TLS.
#[derive(Clone)]
pub struct Listener {
    router: Router,
    acceptor: TlsAcceptor,
}

impl Listener {
    /// Serves `router` with the certificate that `rotating` shows. TLS 1.3 only.
    ///
    /// # Errors
    /// TLS cannot be set up.
    pub fn new(router: Router, rotating: Arc<Rotating>) -> Result<Self, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_no_client_auth()
            .with_cert_resolver(rotating);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self {
            router,
            acceptor: TlsAcceptor::from(Arc::new(config)),
        })
    }

    /// Accepts connections until `shutdown`, then lets answers end.
    pub async fn serve(self, listener: TcpListener, shutdown: CancellationToken) {
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        let connections = TaskTracker::new();
        loop {
            let next = async {
                let place = places.clone().acquire_owned().await;
                (place, listener.accept().await)
            };
            let (place, accepted) = tokio::select! {
                () = shutdown.cancelled() => break,
                next = next => next,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection to the webhooks could not be accepted");
                    tokio::time::sleep(BREATH).await;
                    continue;
                }
            };
            let (this, shutdown) = (self.clone(), shutdown.clone());
            connections.spawn(async move {
                let _place = place;
                let _ = stream.set_nodelay(true);
                if let Err(error) = this.connection(stream, shutdown).await {
                    tracing::debug!(%error, "a connection to the webhooks ended early");
                }
            });
        }
        connections.close();
        let _ = tokio::time::timeout(GRACE, connections.wait()).await;
    }

    /// Serves one connection, until it ends or `shutdown`.
    ///
    /// # Errors
    /// It broke.
    pub async fn connection<S>(self, stream: S, shutdown: CancellationToken) -> io::Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let handshake = tokio::time::timeout(HANDSHAKE, self.acceptor.accept(stream)).await;
        let stream = handshake.map_err(|_| io::Error::other("the handshake took too long"))??;
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD);
        builder.http2().timer(TokioTimer::new());
        let service = TowerToHyperService::new(self.router);
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        tokio::pin!(connection);
        tokio::select! {
            ended = connection.as_mut() => ended.map_err(io::Error::other),
            () = shutdown.cancelled() => {
                connection.as_mut().graceful_shutdown();
                let _ = tokio::time::timeout(GRACE, connection).await;
                Ok(())
            }
        }
    }
}
