//! `/healthz`: the process answers. `/readyz`: its webhooks can be called. `/metrics`: what it
//! counted.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::{Context, Result};
use axum::{
    Router,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::IntoResponse,
    routing::get,
};
use remuda_controllers::metrics::{Exposition, Metrics};
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

/// Listens for health checks and scrapes.
///
/// # Errors
/// The address cannot be had.
pub(crate) async fn listen(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address)
        .await
        .with_context(|| format!("listening for health checks on {address}"))
}

/// Answers until `shutdown`.
pub(crate) fn serve(
    listener: TcpListener,
    health: Health,
    metrics: Arc<Metrics>,
    shutdown: &CancellationToken,
) {
    let (shutdown, stopping) = (shutdown.clone(), shutdown.clone());
    let router = Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(ready))
        .with_state((health, stopping))
        .route(
            "/metrics",
            get(async move |headers: HeaderMap| scrape(&headers, &metrics)),
        );
    tokio::spawn(async move {
        let served =
            axum::serve(listener, router).with_graceful_shutdown(shutdown.cancelled_owned());
        if let Err(error) = served.await {
            tracing::warn!(%error, "health checks are no longer answered");
        }
    });
}

fn scrape(headers: &HeaderMap, metrics: &Metrics) -> impl IntoResponse + use<> {
    let accept = headers.get(header::ACCEPT);
    let accept = accept.and_then(|value| value.to_str().ok());
    let exposition = Exposition::accepted(accept.unwrap_or_default());
    let kind = [(header::CONTENT_TYPE, exposition.content_type())];
    (kind, metrics.scrape(exposition))
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
