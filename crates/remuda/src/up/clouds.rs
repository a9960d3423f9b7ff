//! The simulated clouds of `remuda up` and `remuda sim`, and the backends that talk to them.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use jiff::Timestamp;
use remuda_aws::AwsBackend;
use remuda_azure::{AzureBackend, Clock};
use remuda_cloud::measured::CallMeter;
use remuda_sim::{
    RestoreError, SimClock,
    aws::{AwsSim, AwsSimBuilder},
    azure::{AzureSim, AzureSimBuilder, Timing},
};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::watch,
};

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
    /// A span of the cloud's time in everybody's.
    fn scaled(self, span: Duration) -> Duration {
        match self {
            Self::Times(speed) => span.div_f64(speed.max(1.0)),
            Self::AtOnce => span,
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

/// A simulated cloud, as far as serving and keeping it goes.
pub(crate) trait Cloud: Clone + Send + Sync + 'static {
    /// `AWS`.
    const NAME: &'static str;
    /// Name of its file in a data directory.
    const FILE: &'static str;

    /// A new one with its demo world, at this pace from now on.
    fn demo(pace: Pace) -> Self;

    /// The one that was saved.
    ///
    /// # Errors
    /// The bytes are no saved world of it.
    fn restore(pace: Pace, saved: &[u8]) -> Result<Self, RestoreError>;

    /// Its world as bytes; they hold secrets.
    fn save(&self) -> Vec<u8>;

    /// A number that moves with each change.
    fn changes(&self) -> watch::Receiver<u64>;

    /// Its wire protocols, and the hands on its world under `/_sim`
    /// (docs/reference/simulator.md).
    fn doors(&self) -> axum::Router;
}

impl Cloud for AwsSim {
    const NAME: &'static str = "AWS";
    const FILE: &'static str = "aws.json";

    fn demo(pace: Pace) -> Self {
        aws(pace).demo()
    }

    fn restore(pace: Pace, saved: &[u8]) -> Result<Self, RestoreError> {
        aws(pace).restore(saved)
    }

    fn save(&self) -> Vec<u8> {
        Self::save(self)
    }

    fn changes(&self) -> watch::Receiver<u64> {
        Self::changes(self)
    }

    fn doors(&self) -> axum::Router {
        self.router().nest("/_sim", self.control_router())
    }
}

impl Cloud for AzureSim {
    const NAME: &'static str = "Azure";
    const FILE: &'static str = "azure.json";

    fn demo(pace: Pace) -> Self {
        azure(pace).demo()
    }

    fn restore(pace: Pace, saved: &[u8]) -> Result<Self, RestoreError> {
        azure(pace).restore(saved)
    }

    fn save(&self) -> Vec<u8> {
        Self::save(self)
    }

    fn changes(&self) -> watch::Receiver<u64> {
        Self::changes(self)
    }

    fn doors(&self) -> axum::Router {
        self.router().nest("/_sim", self.control_router())
    }
}

fn aws(pace: Pace) -> AwsSimBuilder {
    AwsSim::builder()
        .clock(pace.clock())
        .seed(fastrand::u64(..))
}

fn azure(pace: Pace) -> AzureSimBuilder {
    let mut timing = match pace {
        Pace::Times(_) => Timing::realistic(),
        Pace::AtOnce => Timing::immediate(),
    };
    // Clients wait in real time, and what they wait for passes in the cloud's.
    let wait = Duration::from_secs(timing.retry_after);
    timing.retry_after = match pace {
        Pace::Times(_) => pace.scaled(wait).as_secs().max(1),
        Pace::AtOnce => 1,
    };
    AzureSim::builder()
        .clock(pace.clock())
        .timing(timing)
        .seed(fastrand::u64(..))
}

/// A backend whose AWS is in this process, or AWS itself where there is none. Reads may be as old as
/// on AWS in the cloud's own time: a cloud that runs ten times faster is read ten times more often.
pub(crate) fn aws_backend(
    sim: Option<&AwsSim>,
    pace: Pace,
    meter: Option<Arc<dyn CallMeter>>,
) -> AwsBackend {
    let Some(sim) = sim else {
        return AwsBackend::new(remuda_aws::Options {
            meter,
            ..remuda_aws::Options::default()
        });
    };
    let real = remuda_aws::SweepTiming::default();
    let sweep = remuda_aws::SweepTiming {
        steady: pace.scaled(real.steady),
        converging: pace.scaled(real.converging),
        cycle_spacing: pace.scaled(real.cycle_spacing),
        supplement_spacing: pace.scaled(real.supplement_spacing),
        gather: real.gather,
    };
    let options = remuda_aws::Options {
        sweep,
        ceilings: Vec::new(),
        meter,
        ..remuda_aws::Options::default()
    };
    AwsBackend::new(options.in_process(sim.router()))
}

/// The same for Azure.
pub(crate) fn azure_backend(
    sim: Option<&AzureSim>,
    pace: Pace,
    meter: Option<Arc<dyn CallMeter>>,
) -> AzureBackend {
    let Some(sim) = sim else {
        return AzureBackend::new(remuda_azure::Options {
            meter,
            ..remuda_azure::Options::default()
        });
    };
    let real = remuda_azure::SweepTiming::default();
    let sweep = remuda_azure::SweepTiming {
        steady: pace.scaled(real.steady),
        converging: pace.scaled(real.converging),
        cycle_spacing: pace.scaled(real.cycle_spacing),
        supplement_spacing: pace.scaled(real.supplement_spacing),
        gather: real.gather,
    };
    let clock = sim.clock();
    let options = remuda_azure::Options {
        sweep,
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
pub(crate) async fn serve<C: Cloud>(sim: &C, last: Option<u16>) -> std::io::Result<SocketAddr> {
    let free = super::state::loopback(0);
    let listener = match TcpListener::bind(super::state::loopback(last.unwrap_or(0))).await {
        Ok(listener) => listener,
        Err(_) => TcpListener::bind(free).await?,
    };
    let address = listener.local_addr()?;
    let router = sim.doors();
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
