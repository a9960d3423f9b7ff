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

/// A simulated cloud, as far as serving and keeping it goes.
pub(crate) trait Cloud: Clone + Send + Sync + 'static {
    /// `AWS`.
    const NAME: &'static str;
    /// Name of its file in a data directory.
    const FILE: &'static str;

    /// A new one with its demo world, `speed` times faster than real time from now on.
    fn demo(speed: f64) -> Self;

    /// The one that was saved.
    ///
    /// # Errors
    /// The bytes are no saved world of it.
    fn restore(speed: f64, saved: &[u8]) -> Result<Self, RestoreError>;

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

    fn demo(speed: f64) -> Self {
        aws(speed).demo()
    }

    fn restore(speed: f64, saved: &[u8]) -> Result<Self, RestoreError> {
        aws(speed).restore(saved)
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

    fn demo(speed: f64) -> Self {
        azure(speed).demo()
    }

    fn restore(speed: f64, saved: &[u8]) -> Result<Self, RestoreError> {
        azure(speed).restore(saved)
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

fn aws(speed: f64) -> AwsSimBuilder {
    AwsSim::builder()
        .clock(clock(speed))
        .seed(fastrand::u64(..))
}

fn azure(speed: f64) -> AzureSimBuilder {
    let mut timing = Timing::realistic();
    // Clients wait in real time, and what they wait for passes in the cloud's.
    let wait = Duration::from_secs(timing.retry_after);
    timing.retry_after = scaled(wait, speed).as_secs().max(1);
    AzureSim::builder()
        .clock(clock(speed))
        .timing(timing)
        .seed(fastrand::u64(..))
}

fn clock(speed: f64) -> SimClock {
    SimClock::starting_at(Timestamp::now()).with_speed(speed)
}

/// A backend whose AWS is in this process, or AWS itself where there is none. Reads may be as old as
/// on AWS in the cloud's own time: a cloud that runs ten times faster is read ten times more often.
pub(crate) fn aws_backend(
    sim: Option<&AwsSim>,
    speed: f64,
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
        steady: scaled(real.steady, speed),
        converging: scaled(real.converging, speed),
        cycle_spacing: scaled(real.cycle_spacing, speed),
        supplement_spacing: scaled(real.supplement_spacing, speed),
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
    speed: f64,
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
        steady: scaled(real.steady, speed),
        converging: scaled(real.converging, speed),
        cycle_spacing: scaled(real.cycle_spacing, speed),
        supplement_spacing: scaled(real.supplement_spacing, speed),
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

fn scaled(span: Duration, speed: f64) -> Duration {
    span.div_f64(speed.max(1.0))
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
