//! The admission webhooks of `remuda up`: the manager's own, on loopback.

use anyhow::{Context, Result};
use kube::Client;
use remuda_controllers::admission::{CERTIFICATES, Certificates, Endpoint, Scope};
use remuda_plan::admission::Gates;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{install::SYSTEM_NAMESPACE, state::loopback};
use crate::webhooks::{self, Settings};

/// Serves the webhooks and installs their configurations; returns the port. `last` is the one that
/// stored configurations name.
pub(crate) async fn serve(
    client: &Client,
    last: Option<u16>,
    gates: Gates,
    shutdown: &CancellationToken,
) -> Result<u16> {
    let listener = match TcpListener::bind(loopback(last.unwrap_or_default())).await {
        Ok(listener) => listener,
        Err(_) => TcpListener::bind(loopback(0))
            .await
            .context("listening for admission reviews")?,
    };
    let port = listener.local_addr()?.port();
    let settings = Settings {
        endpoint: Endpoint::Host(loopback(port).to_string()),
        certificates: Certificates::Own {
            namespace: SYSTEM_NAMESPACE.to_owned(),
            secret: CERTIFICATES.to_owned(),
        },
        scope: Some(Scope::ALL),
        gates,
    };
    let keeper = webhooks::serve(client, listener, settings, shutdown)?;
    keeper
        .pass()
        .await
        .context("installing the admission webhooks")?;
    tokio::spawn(keeper.run(shutdown.clone()));
    Ok(port)
}
