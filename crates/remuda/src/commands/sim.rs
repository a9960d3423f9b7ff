//! `remuda sim`: a simulated cloud alone.

use std::{net::SocketAddr, process::ExitCode};

use anyhow::{Context, Result, ensure};
use remuda_sim::aws::{DEMO_ACCESS_KEY_ID, DEMO_SECRET_ACCESS_KEY};
use tokio::net::TcpListener;

use crate::{
    cli::{SimArgs, SimCloud},
    output,
    up::clouds,
};

/// Serves until Ctrl-C.
pub(crate) async fn run(args: SimArgs) -> Result<ExitCode> {
    ensure!(
        args.listen.ip().is_loopback(),
        "--listen {}: a simulated cloud serves loopback only, for example 127.0.0.1:4566",
        args.listen
    );
    let SimCloud::Aws = args.cloud;
    let sim = clouds::aws(args.speed).demo();
    let listener = TcpListener::bind(args.listen).await.with_context(|| {
        format!(
            "listening on {} (another --listen may be free)",
            args.listen
        )
    })?;
    output::text(&welcome(listener.local_addr()?))?;
    axum::serve(listener, clouds::doors(&sim))
        .with_graceful_shutdown(clouds::interrupted())
        .await?;
    Ok(ExitCode::SUCCESS)
}

fn welcome(address: SocketAddr) -> String {
    let (id, secret) = (DEMO_ACCESS_KEY_ID, DEMO_SECRET_ACCESS_KEY);
    format!(
        "Simulated AWS (Auto Scaling, EC2, S3, STS) at http://{address}\n\n  \
         export AWS_ENDPOINT_URL=http://{address} AWS_REGION=us-east-1\n  \
         export AWS_ACCESS_KEY_ID={id} AWS_SECRET_ACCESS_KEY={secret}\n  \
         aws ec2 describe-subnets\n  \
         curl http://{address}/_sim/world\n\nCtrl-C ends it; nothing is kept.\n"
    )
}
