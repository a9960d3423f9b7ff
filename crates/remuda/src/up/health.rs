//! Health checks and metrics of `remuda up`: the manager's own, on loopback unless told otherwise.

use std::{net::SocketAddr, sync::Arc};

use anyhow::Result;
use remuda_cloud::measured::{CallMeter, Meters};
use remuda_controllers::metrics::Metrics;
use remuda_plan::driver::Driver;
use tokio_util::sync::CancellationToken;

use super::call_ledger::CallLedger;
use crate::{
    cli::Address,
    telemetry::health::{self, Health},
};

/// Answers where it was asked to, else where it did last time, else on a free port; returns where.
///
/// # Errors
/// The address cannot be had.
pub(super) async fn serve(
    asked: Address,
    last: Option<u16>,
    metrics: &Arc<Metrics>,
    shutdown: &CancellationToken,
) -> Result<Option<SocketAddr>> {
    let Some(asked) = asked else {
        return Ok(None);
    };
    let again = last.filter(|_| asked.port() == 0);
    let again = again.map(|port| SocketAddr::new(asked.ip(), port));
    let listener = match again {
        Some(again) => match health::listen(again).await {
            Ok(listener) => listener,
            Err(_) => health::listen(asked).await?,
        },
        None => health::listen(asked).await?,
    };
    let address = listener.local_addr()?;
    let health = Health::default();
    // The webhooks were installed before.
    health.set_ready();
    health::serve(listener, health, metrics.clone(), shutdown);
    Ok(Some(address))
}

/// Counts the calls to a cloud twice: for the dashboard, and for scrapes.
pub(super) fn meter(
    calls: &Arc<CallLedger>,
    metrics: &Arc<Metrics>,
    cloud: Driver,
) -> Arc<dyn CallMeter> {
    let name = match cloud {
        Driver::Aws => "AWS",
        Driver::Azure => "Azure",
    };
    Arc::new(Meters(vec![calls.meter(name), metrics.meter(cloud)]))
}
