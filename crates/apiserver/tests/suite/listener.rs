//! The listener's bounds: which TLS it speaks, how long it waits, how much it reads.

use std::sync::Arc;
use std::time::Duration;

use remuda_apiserver::{ApiServer, Serving};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

async fn serving() -> (ApiServer, Serving) {
    let server = ApiServer::builder().build().expect("a server");
    let address = "127.0.0.1:0".parse().expect("an address");
    let serving = server.serve(address).await.expect("a listener");
    (server, serving)
}

/// A connection that trusts the server, with these versions and protocols.
async fn connect(
    serving: &Serving,
    server: &ApiServer,
    versions: &[&'static rustls::SupportedProtocolVersion],
    protocols: &[&str],
) -> std::io::Result<TlsStream<TcpStream>> {
    let text = serving.kubeconfig(&server.management());
    let file = kube::config::Kubeconfig::from_yaml(&text).expect("a kubeconfig");
    let cluster = file
        .clusters
        .first()
        .and_then(|c| c.cluster.as_ref())
        .expect("a cluster");
    let authority = cluster
        .certificate_authority_data
        .as_deref()
        .expect("an authority");
    let pem = {
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD
            .decode(authority)
            .expect("base64")
    };
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(&pem).expect("PEM"))
        .expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols
        .iter()
        .map(|name| name.as_bytes().to_vec())
        .collect();
    let stream = TcpStream::connect(serving.address()).await?;
    let name = ServerName::try_from("127.0.0.1").expect("a name");
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
}

const TLS13: &[&rustls::SupportedProtocolVersion] = &[&rustls::version::TLS13];

#[tokio::test]
async fn tls_1_3_is_spoken_and_1_2_is_not() {
    let (server, serving) = serving().await;
    assert!(connect(&serving, &server, TLS13, &[]).await.is_ok());
    let old = connect(&serving, &server, &[&rustls::version::TLS12], &[]).await;
    assert!(old.unwrap_err().to_string().contains("ProtocolVersion"));
}

/// Whether the server closes within these seconds of virtual time. A paused clock would jump while
/// the last packet is on its way; so it is held, and moved by hand.
async fn closed_within(mut stream: impl tokio::io::AsyncRead + Unpin, seconds: u32) -> bool {
    let (_held, receiver) = std::sync::mpsc::channel::<()>();
    tokio::task::spawn_blocking(move || receiver.recv());
    let mut rest = Vec::new();
    // A cut connection and a closed one are the same here.
    let closed = stream.read_to_end(&mut rest);
    tokio::pin!(closed);
    for _ in 0..seconds {
        let moment = tokio::task::spawn_blocking(|| std::thread::sleep(Duration::from_millis(10)));
        tokio::select! {
            biased;
            _ = &mut closed => return true,
            _ = moment => tokio::time::advance(Duration::from_secs(1)).await,
        }
    }
    false
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stops_half_way_is_let_go() {
    let (server, serving) = serving().await;
    let protocols: [&[&str]; 3] = [&["http/1.1"], &["h2"], &[]];
    for protocol in protocols {
        for sent in ["", "GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow: "] {
            let mut stream = connect(&serving, &server, TLS13, protocol).await.unwrap();
            stream.write_all(sent.as_bytes()).await.unwrap();
            assert!(closed_within(stream, 90).await, "{protocol:?} {sent:?}");
        }
    }
    // One that never speaks TLS, too.
    let stream = TcpStream::connect(serving.address()).await.unwrap();
    assert!(closed_within(stream, 30).await);
}

#[tokio::test]
async fn a_head_without_end_is_refused() {
    let (server, serving) = serving().await;
    let mut stream = connect(&serving, &server, TLS13, &["http/1.1"])
        .await
        .unwrap();
    let long = format!(
        "GET /healthz HTTP/1.1\r\nhost: x\r\nx-long: {}\r\n\r\n",
        "a".repeat(100_000)
    );
    // The server may close before it has read all.
    let _ = stream.write_all(long.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer:?}");
    // The next client is served.
    let mut stream = connect(&serving, &server, TLS13, &["http/1.1"])
        .await
        .unwrap();
    let plain = b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    stream.write_all(plain).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200"));
}
