//! `/healthz`: the process answers. `/readyz`: its webhooks can be called.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::{Context, Result};
use axum::{Router, extract::State, http::StatusCode, routing::get};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// How this process stands.
#[derive(Debug, Clone, Default)]
pub(crate) struct Health {
    ready: Arc<AtomicBool>,
}

impl Health {
    /// It can be called from now on.
    pub(crate) fn set_ready(&self) {
        self.ready.store(true, Ordering::Relaxed);
    }
}

/// Answers until `shutdown`; no address: not at all.
pub(crate) async fn serve(
    address: Option<SocketAddr>,
    health: Health,
    shutdown: &CancellationToken,
) -> Result<()> {
    let Some(address) = address else {
        return Ok(());
    };
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("listening for health checks on {address}"))?;
    let (shutdown, stopping) = (shutdown.clone(), shutdown.clone());
    let router = Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(ready))
        .with_state((health, stopping));
    tokio::spawn(async move {
        let served =
            axum::serve(listener, router).with_graceful_shutdown(shutdown.cancelled_owned());
        if let Err(error) = served.await {
            tracing::warn!(%error, "health checks are no longer answered");
        }
    });
    Ok(())
}

async fn ready(
    State((health, stopping)): State<(Health, CancellationToken)>,
) -> (StatusCode, &'static str) {
    if stopping.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "stopping");
    }
    if health.ready.load(Ordering::Relaxed) {
        (StatusCode::OK, "ok")
    } else {
        (
            StatusCode::SERVICE_UNAVAILABLE,
            "the webhooks have no certificate yet",
        )
    }
}
