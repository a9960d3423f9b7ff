//! `remuda agent`: on each machine of a pool.

use std::{process::ExitCode, time::Duration};

use anyhow::{Context, Result};
use kube::{Api, Client};
use remuda_azure::Guest;
use remuda_controllers::agent::Agent;
use tokio_util::sync::CancellationToken;

use crate::cli::AgentArgs;

/// Runs until it is told to end.
pub(crate) async fn run(args: AgentArgs) -> Result<ExitCode> {
    let client = Client::try_default()
        .await
        .context("reaching the Kubernetes API: the agent runs in a pod, or with a kubeconfig")?;
    let guest = Guest::at(&args.metadata_endpoint);
    let shutdown = CancellationToken::new();
    let agent = Agent {
        guest: &guest,
        nodes: Api::all(client),
        node: &args.node_name,
    };
    let pause = Duration::from_secs(1);
    tokio::select! {
        () = agent.run(pause, &shutdown) => {}
        ended = ended() => ended?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The pod is stopped, or somebody pressed Ctrl-C.
async fn ended() -> Result<()> {
    let mut stopped = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
        .context("listening for SIGTERM")?;
    tokio::select! {
        pressed = tokio::signal::ctrl_c() => pressed.context("listening for Ctrl-C"),
        _ = stopped.recv() => Ok(()),
    }
}
