//! One connection: its TLS, its bounds, its requests.
//!
//! TLS 1.3 only. A client may show a certificate; whose it is depends on the instance that a
//! request names, so it is judged then, not in the handshake.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Body;
use http::Request;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, SignatureScheme};
use rustls_pki_types::{CertificateDer, UnixTime};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::credentials::Credentials;
use super::serving::{ServeError, answer};
use super::{ApiServer, Authority};

/// A client that does not finish its handshake in this time is dropped.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// A client that sends no head of a request for this long is dropped; idle HTTP/1.1 connections,
/// too.
const HEAD: Duration = Duration::from_secs(30);
/// A client whose machine is gone is noticed after this time, and the answer to a ping.
const PING_EVERY: Duration = Duration::from_secs(30);
const PING_ANSWER: Duration = Duration::from_secs(20);
/// Largest head of a request: a token and a long selector fit many times.
const HEAD_BYTES: u32 = 64 * 1024;
/// Streams of one HTTP/2 connection: a client holds one a watch, so the usual 200 are too few.
const STREAMS: u32 = 1_024;
/// How long requests may finish after a shutdown was asked for.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// TLS as this server speaks it.
pub(super) fn acceptor(authority: &Authority) -> Result<TlsAcceptor, ServeError> {
    let (chain, key) = authority.server_certificate()?;
    let tls = |error: rustls::Error| ServeError::Tls(error.to_string());
    let provider = rustls::crypto::ring::default_provider();
    let verifier = AnyClient(provider.signature_verification_algorithms);
    let mut config = rustls::ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(tls)?
        .with_client_cert_verifier(Arc::new(verifier))
        .with_single_cert(chain, key)
        .map_err(tls)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Lets every certificate through whose key the client holds.
#[derive(Debug)]
struct AnyClient(WebPkiSupportedAlgorithms);

impl ClientCertVerifier for AnyClient {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("TLS 1.2 is not spoken here".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

/// Serves a connection until it ends or the server does.
pub(super) async fn serve(
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
    let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let credentials = Arc::new(Credentials::new(chain.to_vec()));
    let asked = Arc::new(AtomicBool::new(false));
    let seen = asked.clone();
    let service = tower::service_fn(move |request: Request<hyper::body::Incoming>| {
        seen.store(true, Ordering::Relaxed);
        let (server, credentials) = (server.clone(), credentials.clone());
        async move {
            let request = request.map(Body::new);
            Ok::<_, std::convert::Infallible>(answer(&server, &credentials, request).await)
        }
    });
    let builder = builder();
    let service = TowerToHyperService::new(service);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => ended.map_err(|error| error.to_string()),
        () = silence(&asked) => Err("no request came".to_owned()),
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(GRACE / 2, connection).await;
            Ok(())
        }
    }
}

fn builder() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_BYTES as usize);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(HEAD_BYTES)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_ANSWER);
    builder
}

/// Returns when a connection has brought no request at all for too long.
async fn silence(asked: &AtomicBool) {
    tokio::time::sleep(HEAD).await;
    if asked.load(Ordering::Relaxed) {
        std::future::pending::<()>().await;
    }
}
