//! The simulated clouds of `remuda up` and `remuda sim`, and the backend that talks to them.

use std::{net::SocketAddr, time::Duration};

use jiff::Timestamp;
use remuda_aws::{AwsBackend, Options, SweepTiming};
use remuda_sim::{
    SimClock,
    aws::{AwsSim, AwsSimBuilder},
};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};

/// What a simulated AWS is made of that runs `speed` times faster than real time from now on.
pub(crate) fn aws(speed: f64) -> AwsSimBuilder {
    let clock = SimClock::starting_at(Timestamp::now()).with_speed(speed);
    AwsSim::builder().clock(clock).seed(fastrand::u64(..))
}

/// A backend whose AWS is in this process. Reads may be as old as on AWS in the cloud's own time:
/// a cloud that runs ten times faster is read ten times more often.
pub(crate) fn backend(sim: &AwsSim, speed: f64) -> AwsBackend {
    let real = SweepTiming::default();
    let scaled = |span: Duration| span.div_f64(speed.max(1.0));
    let sweep = SweepTiming {
        steady: scaled(real.steady),
        converging: scaled(real.converging),
        cycle_spacing: scaled(real.cycle_spacing),
        supplement_spacing: scaled(real.supplement_spacing),
        gather: real.gather,
    };
    let options = Options {
        sweep,
        ceilings: Vec::new(),
        ..Options::default()
    };
    AwsBackend::new(options.in_process(sim.router()))
}

/// The cloud's wire protocols, and the hands on its world under `/_sim` (docs/reference/simulator.md).
pub(crate) fn doors(sim: &AwsSim) -> axum::Router {
    sim.router().nest("/_sim", sim.control_router())
}

/// Serves the cloud's wire protocols on a loopback socket, for people's own tools. Returns where.
pub(crate) async fn serve(sim: &AwsSim, address: SocketAddr) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    let router = doors(sim);
    tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router).await {
            tracing::warn!(%error, "the simulated AWS no longer listens");
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
