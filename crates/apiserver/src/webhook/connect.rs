//! One TLS connection to a webhook.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::ServiceResolver;
use super::endpoint::Service;

/// Opens connections to one endpoint.
#[derive(Clone)]
pub(super) struct Connector {
    pub(super) tls: Arc<ClientConfig>,
    pub(super) service: Option<Service>,
    pub(super) instance: String,
    pub(super) resolver: Arc<dyn ServiceResolver>,
}

/// A connection under TLS.
pub(super) struct Secured(TokioIo<TlsStream<TcpStream>>);

impl Connector {
    async fn connect(self, uri: Uri) -> io::Result<Secured> {
        let host = uri.host().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let stream = match &self.service {
            Some(service) => self.to_service(service).await?,
            None => dial(bare, uri.port_u16().unwrap_or(443)).await?,
        };
        stream.set_nodelay(true)?;
        let name = ServerName::try_from(bare.to_owned())
            .map_err(|_| io::Error::other(format!("{bare:?} is not the name of a host")))?;
        let secured = TlsConnector::from(self.tls).connect(name, stream).await?;
        Ok(Secured(TokioIo::new(secured)))
    }

    async fn to_service(&self, service: &Service) -> io::Result<TcpStream> {
        let Service {
            namespace,
            name,
            port,
        } = service;
        let found = self
            .resolver
            .resolve(&self.instance, namespace, name, *port);
        let address =
            found.ok_or_else(|| io::Error::other(format!("service {name:?} not found")))?;
        TcpStream::connect(address)
            .await
            .map_err(|error| dial_error(&address.to_string(), &error))
    }
}

async fn dial(host: &str, port: u16) -> io::Result<TcpStream> {
    let addresses: Vec<_> = tokio::net::lookup_host((host, port))
        .await
        .map_err(|_| io::Error::other(format!("dial tcp: lookup {host}: no such host")))?
        .collect();
    let mut last = io::Error::other(format!("dial tcp: lookup {host}: no such host"));
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = dial_error(&address.to_string(), &error),
        }
    }
    Err(last)
}

fn dial_error(address: &str, error: &io::Error) -> io::Error {
    let why = match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        io::ErrorKind::HostUnreachable => "no route to host".to_owned(),
        io::ErrorKind::NetworkUnreachable => "network is unreachable".to_owned(),
        _ => error.to_string(),
    };
    io::Error::other(format!("dial tcp {address}: connect: {why}"))
}

impl tower::Service<Uri> for Connector {
    type Response = Secured;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Secured>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(self.clone().connect(uri))
    }
}

impl Connection for Secured {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for Secured {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl Write for Secured {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
