//! The admission webhooks, as `remuda up` and `remuda manager` serve them.

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

/// What is served, and under which names.
pub(crate) struct Settings {
    /// Where API servers find the webhooks.
    pub(crate) endpoint: Endpoint,
    /// Where certificates come from.
    pub(crate) certificates: Certificates,
    /// Whose kinds are judged; `None` leaves the configurations to whoever installed them.
    pub(crate) scope: Option<Scope>,
    /// Which features are on.
    pub(crate) gates: Gates,
}

/// Serves the webhooks until `shutdown`. They have a certificate, and API servers know of them,
/// after the first pass of the keeper that is returned, beside what answers in this process.
pub(crate) fn serve(
    client: &Client,
    listener: TcpListener,
    settings: Settings,
    shutdown: &CancellationToken,
) -> Result<(Keeper, Admission)> {
    let rotating = Arc::<Rotating>::default();
    let admission = Admission::new(client.clone(), settings.gates);
    let webhooks =
        Listener::new(admission.router(), rotating.clone()).context("TLS of the webhooks")?;
    tokio::spawn(webhooks.serve(listener, shutdown.clone()));
    let keeper = Keeper {
        objects: LiveObjects::new(client.clone()),
        clock: Arc::new(SystemClock),
        certificates: settings.certificates,
        endpoint: settings.endpoint,
        scope: settings.scope,
        rotating,
    };
    Ok((keeper, admission))
}
