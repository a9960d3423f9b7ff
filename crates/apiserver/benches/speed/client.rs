//! A client that costs little: HTTP/2 over TLS, the same for both servers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::client::ConfigExt;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// A few connections to one server.
#[derive(Clone)]
pub(crate) struct Target {
    connections: Arc<Vec<SendRequest<Full<Bytes>>>>,
    next: Arc<AtomicUsize>,
    authority: String,
    token: Option<String>,
}

impl Target {
    /// Connects as the kubeconfig says.
    pub(crate) async fn connect(kubeconfig: &str, connections: usize) -> Self {
        let kubeconfig = Kubeconfig::from_yaml(kubeconfig).expect("a kubeconfig");
        let options = KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
        let config = config.expect("a whole kubeconfig");
        let token = config.auth_info.token.as_ref().map(|token| {
            use secrecy::ExposeSecret as _;
            token.expose_secret().to_owned()
        });
        let mut tls = config.rustls_client_config().expect("its certificates");
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let tls = TlsConnector::from(Arc::new(tls));
        let authority = config.cluster_url.authority().expect("a URL").to_string();
        let mut made = Vec::new();
        for _ in 0..connections {
            made.push(open(&tls, &authority).await);
        }
        Self {
            connections: Arc::new(made),
            next: Arc::default(),
            authority,
            token,
        }
    }

    /// Sends one request; the answer's body is still to come.
    pub(crate) async fn send(&self, method: Method, path: &str, body: Bytes) -> Response<Incoming> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.connections.len();
        let uri = format!("https://{}{path}", self.authority);
        let mut request = Request::builder().method(method).uri(uri);
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.header("content-type", "application/json");
        let request = request.body(Full::new(body)).expect("a request");
        let mut connection = self.connections[turn].clone();
        connection.ready().await.expect("an open connection");
        connection.send_request(request).await.expect("an answer")
    }

    /// Sends one request and reads the whole answer, which must be a success.
    pub(crate) async fn call(&self, method: Method, path: &str, body: Bytes) -> Bytes {
        let answer = self.send(method, path, body).await;
        let status = answer.status();
        let body = answer.into_body().collect().await.expect("a whole answer");
        let body = body.to_bytes();
        assert!(
            status.is_success(),
            "{path}: {status}: {}",
            String::from_utf8_lossy(&body)
        );
        body
    }
}

async fn open(tls: &TlsConnector, authority: &str) -> SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(authority)
        .await
        .expect("the server listens");
    stream.set_nodelay(true).expect("a TCP socket");
    let host = authority
        .rsplit_once(':')
        .map_or(authority, |(host, _)| host);
    let name = rustls_pki_types::ServerName::try_from(host.to_owned()).expect("a host");
    let stream = tls.connect(name, stream).await.expect("a handshake");
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(4 * 1024 * 1024)
        .initial_connection_window_size(64 * 1024 * 1024)
        .handshake(TokioIo::new(stream))
        .await
        .expect("HTTP/2");
    tokio::spawn(async move {
        // It ends when the server does.
        let _ = connection.await;
    });
    sender
}
