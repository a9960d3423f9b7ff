//! `remuda install`.

use std::process::ExitCode;

use anyhow::Result;
use kube::Client;
use serde_json::json;

use crate::{
    cli::{CoreMode, InstallArgs, InstallFormat},
    config,
    install::{self, Package},
    manager, output,
    up::progress::Progress,
};

/// Prints what is to be installed, or applies it.
pub(crate) async fn run(args: InstallArgs) -> Result<ExitCode> {
    if args.apply {
        apply(&args).await?;
        return Ok(ExitCode::SUCCESS);
    }
    match args.output {
        InstallFormat::Yaml => output::text(&package(&args, args.core).yaml()?)?,
        InstallFormat::Json => output::json(&json!({
            "apiVersion": "v1",
            "kind": "List",
            "items": install::values(&package(&args, args.core).yaml()?)?,
        }))?,
        InstallFormat::Clusterctl => output::text(&Package::for_clusterctl().yaml()?)?,
        InstallFormat::ClusterctlMetadata => output::text(&install::metadata())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Here the cluster can be asked whose the core's kinds are: upstream's are left alone.
async fn apply(args: &InstallArgs) -> Result<()> {
    let found = config::find_api(&args.connection).await?;
    let client = Client::try_from(found.config)?;
    let core = match args.core {
        CoreMode::Auto if manager::core_is_upstreams(&client).await? => CoreMode::Off,
        asked => asked,
    };
    let manifests = install::values(&package(args, core).yaml()?)?;
    let mut progress = Progress::new();
    let applied = install::apply(&client, &manifests, args.dry_run, &mut progress).await;
    progress.finish();
    applied
}

fn package(args: &InstallArgs, core: CoreMode) -> Package {
    Package {
        namespace: args.namespace.clone(),
        image: args.image.clone(),
        replicas: args.replicas.to_string(),
        core,
        cert_manager: args.cert_manager,
        watched: args.watch_namespace.clone().unwrap_or_default(),
        watch_filter: args.watch_filter.clone().unwrap_or_default(),
        feature_gates: args.features.gates.to_string(),
        shards: args.shards,
        provider: false,
    }
}
