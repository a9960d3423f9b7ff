//! The dashboard of `remuda up`: on loopback, with a link that signs its owner in once.
//!
//! It reaches the API over its listener and with nobody's rights but those of the token that a
//! person brings; the link brings the administrator's, since whoever reads the terminal has it
//! anyway.

use std::{net::SocketAddr, sync::Arc};

use anyhow::{Context, Result};
use kube::{
    Client,
    config::{KubeConfigOptions, Kubeconfig},
};
use remuda_dashboard::CallFigures;
use serde_json::Value;
use tokio::net::TcpListener;

use super::{call_ledger::CallLedger, state::loopback};
use crate::{
    cli::UpArgs,
    dashboard::{self, Parts},
};

/// A dashboard at work. Dropping it stops it.
pub(crate) struct Shown {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// The link that signs in once.
    pub(crate) link: String,
    _dashboard: dashboard::Shown,
}

/// What it is made of.
pub(crate) struct Place<'a> {
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
pub(crate) async fn show(args: &UpArgs, parts: Place<'_>) -> Result<Option<Shown>> {
    if args.no_dashboard || args.exit_when_ready {
        return Ok(None);
    }
    let listener = listen(args.dashboard_addr, parts.last).await?;
    let address = listener.local_addr()?;
    let (kubernetes, token) = without_credentials(parts.kubeconfig).await?;
    let shown = dashboard::serve(Parts {
        listener,
        kubernetes,
        client: parts.client,
        calls: Some(parts.calls as Arc<dyn CallFigures>),
    })?;
    let path = shown
        .dashboard
        .sign_in_link(&token)?
        .context("the kubeconfig's token is no token")?;
    Ok(Some(Shown {
        address,
        link: format!("http://{address}{path}"),
        _dashboard: shown,
    }))
}

/// Listens where it was asked to, else where it did last time, else on a free port.
async fn listen(asked: SocketAddr, last: Option<u16>) -> Result<TcpListener> {
    dashboard::only_here(asked)?;
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
    let config =
        kube::Config::from_custom_kubeconfig(parsed, &KubeConfigOptions::default()).await?;
    Ok((dashboard::bare(config)?, token))
}

/// The address that a dashboard takes when it is not told another.
pub(crate) fn anywhere() -> SocketAddr {
    loopback(0)
}
