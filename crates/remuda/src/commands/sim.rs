//! `remuda sim`: a simulated cloud alone.

use std::{net::SocketAddr, process::ExitCode};

use anyhow::{Context, Result, ensure};
use remuda_sim::{
    aws::{Aws, DEMO_ACCESS_KEY_ID, DEMO_SECRET_ACCESS_KEY},
    azure::{
        Azure, DEMO_CLIENT_ID, DEMO_CLIENT_SECRET, DEMO_GROUP, DEMO_SUBSCRIPTION, DEMO_TENANT,
    },
};
use tokio::net::TcpListener;

use crate::{
    cli::{SimArgs, SimCloud},
    output,
    up::clouds::{self, Pace, Paced},
};

/// Serves until Ctrl-C.
pub(crate) async fn run(args: SimArgs) -> Result<ExitCode> {
    ensure!(
        args.listen.ip().is_loopback(),
        "--listen {}: a simulated cloud serves loopback only, for example 127.0.0.1:4566",
        args.listen
    );
    let (doors, welcome): (_, fn(SocketAddr) -> String) = match args.cloud {
        SimCloud::Aws => (demo::<Aws>(args.speed), welcome_to_aws),
        SimCloud::Azure => (demo::<Azure>(args.speed), welcome_to_azure),
    };
    let listener = TcpListener::bind(args.listen).await.with_context(|| {
        format!(
            "listening on {} (another --listen may be free)",
            args.listen
        )
    })?;
    output::text(&welcome(listener.local_addr()?))?;
    axum::serve(listener, doors)
        .with_graceful_shutdown(clouds::interrupted())
        .await?;
    Ok(ExitCode::SUCCESS)
}

fn demo<C: Paced>(speed: f64) -> axum::Router {
    clouds::doors(&clouds::simulated::<C>(Pace::Times(speed)).demo())
}

fn welcome_to_aws(address: SocketAddr) -> String {
    let (id, secret) = (DEMO_ACCESS_KEY_ID, DEMO_SECRET_ACCESS_KEY);
    format!(
        "Simulated AWS (Auto Scaling, EC2, S3, STS) at http://{address}\n\n  \
         export AWS_ENDPOINT_URL=http://{address} AWS_REGION=us-east-1\n  \
         export AWS_ACCESS_KEY_ID={id} AWS_SECRET_ACCESS_KEY={secret}\n  \
         aws ec2 describe-subnets\n  \
         curl http://{address}/_sim/world\n\nCtrl-C ends it; nothing is kept.\n"
    )
}

fn welcome_to_azure(address: SocketAddr) -> String {
    let group = format!("/subscriptions/{DEMO_SUBSCRIPTION}/resourceGroups/{DEMO_GROUP}");
    format!(
        "Simulated Azure (Resource Manager, login) at http://{address}\n\n  \
         TOKEN=$(curl -s http://{address}/{DEMO_TENANT}/oauth2/v2.0/token \\\n    \
         -d grant_type=client_credentials -d client_id={DEMO_CLIENT_ID} \\\n    \
         -d client_secret={DEMO_CLIENT_SECRET} \\\n    \
         -d scope=https://management.azure.com/.default | jq -r .access_token)\n  \
         curl -H \"Authorization: Bearer $TOKEN\" \\\n    \
         \"http://{address}{group}?api-version=2020-06-01\"\n  \
         curl http://{address}/_sim/world\n\nCtrl-C ends it; nothing is kept.\n"
    )
}
