//! The dashboard, as `remuda up` and `remuda manager` serve it: on loopback, since tokens pass in the
//! clear, and with no rights but those of the token that a person brings.

use std::{net::SocketAddr, sync::Arc};

use anyhow::{Result, ensure};
use jiff::Timestamp;
use kube::{Client, config::AuthInfo};
use remuda_dashboard::{CallFigures, Dashboard, History, Options};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

/// What it is made of.
pub(crate) struct Parts {
    /// Where it listens.
    pub(crate) listener: TcpListener,
    /// The API without credentials.
    pub(crate) kubernetes: Client,
    /// The API with the rights of the process, to see how pools grow and shrink.
    pub(crate) client: Client,
    /// What counts cloud calls.
    pub(crate) calls: Option<Arc<dyn CallFigures>>,
}

/// A dashboard at work. Dropping it stops it.
pub(crate) struct Shown {
    /// It signs people in.
    pub(crate) dashboard: Dashboard,
    _tasks: [AbortOnDropHandle<()>; 2],
}

/// Serves it.
///
/// # Errors
/// The listener has no address, or a page is not well formed.
pub(crate) fn serve(parts: Parts) -> Result<Shown> {
    let address = parts.listener.local_addr()?;
    let history = Arc::new(History::default());
    let dashboard = Dashboard::new(Options {
        kubernetes: parts.kubernetes,
        clock: Arc::new(Timestamp::now),
        history: history.clone(),
        calls: parts.calls,
        hosts: ["127.0.0.1", "localhost", "[::1]"]
            .map(str::to_owned)
            .to_vec(),
        secure: false,
        cookie: format!("remuda-{}", address.port()),
    })?;
    let (listener, router) = (parts.listener, dashboard.router());
    let serve = tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router).await {
            tracing::warn!(%error, "the dashboard no longer listens");
        }
    });
    let client = parts.client;
    let follow = tokio::spawn(async move {
        history.follow(client, Arc::new(Timestamp::now)).await;
    });
    Ok(Shown {
        dashboard,
        _tasks: [serve, follow].map(AbortOnDropHandle::new),
    })
}

/// Refuses an address that other machines can reach.
pub(crate) fn only_here(address: SocketAddr) -> Result<()> {
    ensure!(
        address.ip().is_loopback(),
        "--dashboard-addr {address} can be reached from other machines, and tokens would pass in \
         the clear: use 127.0.0.1 or [::1], and a tunnel (kubectl port-forward, ssh -L) from \
         elsewhere"
    );
    Ok(())
}

/// A client that sends no credentials.
pub(crate) fn bare(mut config: kube::Config) -> Result<Client> {
    config.auth_info = AuthInfo::default();
    Ok(Client::try_from(config)?)
}
