//! The dashboard of `remuda up`: on loopback, with a link that signs its owner in once.
//!
//! It reaches the API over its listener and with nobody's rights but those of the token that a
//! person brings; the link brings the administrator's, since whoever reads the terminal has it
//! anyway.

use std::{net::SocketAddr, sync::Arc};

use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use kube::{
    Client,
    config::{AuthInfo, KubeConfigOptions, Kubeconfig},
};
use remuda_dashboard::{CallFigures, Dashboard, History, Options};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use super::{call_ledger::CallLedger, state::loopback};
use crate::cli::UpArgs;

/// A dashboard at work. Dropping it stops it.
pub(crate) struct Shown {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// The link that signs in once.
    pub(crate) link: String,
    _tasks: [AbortOnDropHandle<()>; 2],
}

/// What it is made of.
pub(crate) struct Parts<'a> {
    /// The administrator's kubeconfig.
    pub(crate) kubeconfig: &'a str,
    /// The API with the rights of the process, to see how pools grow and shrink.
    pub(crate) client: Client,
    /// What counts cloud calls.
    pub(crate) calls: Arc<CallLedger>,
    /// Where it listened last time.
    pub(crate) last: Option<u16>,
}

/// Starts it, unless it is not wanted.
///
/// # Errors
/// The address cannot be had, or other machines can reach it.
pub(crate) async fn show(args: &UpArgs, parts: Parts<'_>) -> Result<Option<Shown>> {
    if args.no_dashboard || args.exit_when_ready {
        return Ok(None);
    }
    let listener = listen(args.dashboard_addr, parts.last).await?;
    let address = listener.local_addr()?;
    let (kubernetes, token) = without_credentials(parts.kubeconfig).await?;
    let history = Arc::new(History::default());
    let dashboard = Dashboard::new(Options {
        kubernetes,
        clock: Arc::new(Timestamp::now),
        history: history.clone(),
        calls: Some(parts.calls as Arc<dyn CallFigures>),
        hosts: ["127.0.0.1", "localhost", "[::1]"]
            .map(str::to_owned)
            .to_vec(),
        secure: false,
        cookie: format!("remuda-{}", address.port()),
    })?;
    let path = dashboard
        .sign_in_link(&token)?
        .context("the kubeconfig's token is no token")?;
    let router = dashboard.router();
    let serve = tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router).await {
            tracing::warn!(%error, "the dashboard no longer listens");
        }
    });
    let client = parts.client;
    let follow = tokio::spawn(async move {
        history.follow(client, Arc::new(Timestamp::now)).await;
    });
    Ok(Some(Shown {
        address,
        link: format!("http://{address}{path}"),
        _tasks: [serve, follow].map(AbortOnDropHandle::new),
    }))
}

/// Listens where it was asked to, else where it did last time, else on a free port.
async fn listen(asked: SocketAddr, last: Option<u16>) -> Result<TcpListener> {
    ensure!(
        asked.ip().is_loopback(),
        "--dashboard-addr {asked} can be reached from other machines, and tokens would pass in the \
         clear: use 127.0.0.1 or [::1], and a tunnel (ssh -L) from elsewhere"
    );
    if asked.port() == 0
        && let Some(last) = last
        && let Ok(listener) = TcpListener::bind(SocketAddr::new(asked.ip(), last)).await
    {
        return Ok(listener);
    }
    TcpListener::bind(asked)
        .await
        .with_context(|| format!("the dashboard cannot listen on {asked}"))
}

/// A client for the API of a kubeconfig that sends no credentials, and the token left out.
async fn without_credentials(kubeconfig: &str) -> Result<(Client, String)> {
    let plain: Value = serde_saphyr::from_str(kubeconfig).context("reading the kubeconfig")?;
    let token = plain.pointer("/users/0/user/token").and_then(Value::as_str);
    let token = token.context("the kubeconfig holds no token")?.to_owned();
    let parsed = Kubeconfig::from_yaml(kubeconfig).context("reading the kubeconfig")?;
    let mut config =
        kube::Config::from_custom_kubeconfig(parsed, &KubeConfigOptions::default()).await?;
    config.auth_info = AuthInfo::default();
    Ok((Client::try_from(config)?, token))
}

/// The address that a dashboard takes when it is not told another.
pub(crate) fn anywhere() -> SocketAddr {
    loopback(0)
}
