//! The simulated clouds of `remuda up` and `remuda sim`, and the backends that talk to them.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use jiff::Timestamp;
use remuda_aws::AwsBackend;
use remuda_azure::{AzureBackend, Clock};
use remuda_cloud::{measured::CallMeter, sweep::SweepTiming};
use remuda_sim::{
    Sim, SimBuilder, SimClock, Simulated,
    aws::{self, Aws, AwsSim},
    azure::{self, Azure, AzureSim},
};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};

use crate::{cli::CloudArgs, reach};

/// How fast a simulated cloud is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Pace {
    /// Its processes (booting, scaling) take as long as at the real one, and its clock runs so many
    /// times faster.
    Times(f64),
    /// Its processes take no time, and its clock runs as everybody's: what is measured is the work,
    /// and everything that happens every so many seconds happens as often as at the real one.
    AtOnce,
}

impl Pace {
    /// How many times faster than everybody's clock the cloud's runs.
    fn speed(self) -> f64 {
        match self {
            Self::Times(speed) => speed,
            Self::AtOnce => 1.0,
        }
    }

    fn clock(self) -> SimClock {
        let now = Timestamp::now();
        match self {
            Self::Times(speed) => SimClock::starting_at(now).with_speed(speed),
            Self::AtOnce => SimClock::immediate(now),
        }
    }
}

impl std::fmt::Display for Pace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Times(speed) => write!(f, "{speed} times real speed"),
            Self::AtOnce => f.write_str("nothing takes time"),
        }
    }
}

/// Name of a simulated cloud's file in a data directory: `aws.json`.
pub(crate) fn file<C: Simulated>() -> String {
    format!("{}.json", C::NAME.to_lowercase())
}

/// A simulated cloud at this pace from now on.
pub(crate) fn simulated<C: Paced>(pace: Pace) -> SimBuilder<C> {
    Sim::builder()
        .clock(pace.clock())
        .timing(<C as Paced>::timing(pace))
        .seed(fastrand::u64(..))
}

/// How long a cloud's processes take where it runs faster than its clients.
pub(crate) trait Paced: Simulated {
    /// At that pace.
    fn timing(pace: Pace) -> Self::Timing;
}

impl Paced for Aws {
    fn timing(pace: Pace) -> aws::Timing {
        match pace {
            Pace::Times(_) => aws::Timing::realistic(),
            Pace::AtOnce => aws::Timing::immediate(),
        }
    }
}

impl Paced for Azure {
    /// Clients wait in real time, and what they wait for passes in the cloud's.
    fn timing(pace: Pace) -> azure::Timing {
        let mut timing = match pace {
            Pace::Times(_) => azure::Timing::realistic(),
            Pace::AtOnce => azure::Timing::immediate(),
        };
        let wait = Duration::from_secs(timing.retry_after).div_f64(pace.speed().max(1.0));
        timing.retry_after = match pace {
            Pace::Times(_) => wait.as_secs().max(1),
            Pace::AtOnce => 1,
        };
        timing
    }
}

/// Its wire protocols, and the hands on its world under `/_sim` (docs/reference/simulator.md).
pub(crate) fn doors<C: Simulated>(sim: &Sim<C>) -> axum::Router {
    sim.router().nest("/_sim", sim.control_router())
}

/// A backend whose AWS is in this process, or AWS itself where there is none. Reads may be as old as
/// on AWS in the cloud's own time: a cloud that runs ten times faster is read ten times more often.
pub(crate) fn aws_backend(
    sim: Option<&AwsSim>,
    (pace, clouds): (Pace, CloudArgs),
    meter: Option<Arc<dyn CallMeter>>,
) -> AwsBackend {
    let Some(sim) = sim else {
        return AwsBackend::new(remuda_aws::Options {
            meter,
            ..reach::aws(clouds)
        });
    };
    let options = remuda_aws::Options {
        in_flight: clouds.cloud_concurrency.into(),
        sweep: SweepTiming::default().at_speed(pace.speed()),
        ceilings: Vec::new(),
        meter,
        ..remuda_aws::Options::default()
    };
    AwsBackend::new(options.in_process(sim.router()))
}

/// The same for Azure.
pub(crate) fn azure_backend(
    sim: Option<&AzureSim>,
    (pace, clouds): (Pace, CloudArgs),
    meter: Option<Arc<dyn CallMeter>>,
) -> AzureBackend {
    let Some(sim) = sim else {
        return AzureBackend::new(remuda_azure::Options {
            meter,
            ..reach::azure(clouds)
        });
    };
    let clock = sim.clock();
    let options = remuda_azure::Options {
        in_flight: clouds.cloud_concurrency.into(),
        sweep: SweepTiming::default().at_speed(pace.speed()),
        ceilings: Vec::new(),
        meter,
        // Assertions are checked against the cloud's clock.
        clock: Clock::new(move || clock.now()),
        ..remuda_azure::Options::default()
    };
    AzureBackend::new(options.in_process(sim.router()))
}

/// Serves a cloud on a loopback socket, for people's own tools: on the port it had last time, else
/// on a free one. Returns where.
///
/// # Errors
/// No port can be had.
pub(crate) async fn serve<C: Simulated>(
    sim: &Sim<C>,
    last: Option<u16>,
) -> std::io::Result<SocketAddr> {
    let free = super::state::loopback(0);
    let listener = match TcpListener::bind(super::state::loopback(last.unwrap_or(0))).await {
        Ok(listener) => listener,
        Err(_) => TcpListener::bind(free).await?,
    };
    let address = listener.local_addr()?;
    let router = doors(sim);
    tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router).await {
            tracing::warn!(%error, cloud = C::NAME, "the simulated cloud no longer listens");
        }
    });
    Ok(address)
}

/// Resolves on Ctrl-C or SIGTERM.
pub(crate) async fn interrupted() {
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        let _ = tokio::signal::ctrl_c().await;
        return;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}
