//! The admission webhooks of `remuda up`: the manager's own, on loopback.

use std::sync::Arc;

use anyhow::{Context, Result};
use kube::Client;
use remuda_controllers::{
    admission::{Admission, Certificates, Endpoint, Keeper, Listener, Rotating, Scope},
    clock::SystemClock,
    objects::LiveObjects,
};
use remuda_plan::admission::Gates;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{install::SYSTEM_NAMESPACE, state::loopback};

/// The Secret with the webhooks' certificates.
const SECRET: &str = "remuda-webhook-certificates";

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
    let rotating = Arc::<Rotating>::default();
    let router = Admission::new(client.clone(), gates).router();
    let webhooks = Listener::new(router, rotating.clone()).context("TLS of the webhooks")?;
    let keeper = Keeper {
        objects: LiveObjects::new(client.clone()),
        clock: Arc::new(SystemClock),
        certificates: Certificates::Own {
            namespace: SYSTEM_NAMESPACE.to_owned(),
            secret: SECRET.to_owned(),
        },
        endpoint: Endpoint::Host(loopback(port).to_string()),
        scope: Some(Scope::ALL),
        rotating,
    };
    tokio::spawn(webhooks.serve(listener, shutdown.clone()));
    keeper
        .pass()
        .await
        .context("installing the admission webhooks")?;
    tokio::spawn(keeper.run(shutdown.clone()));
    Ok(port)
}
