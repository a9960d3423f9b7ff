//! `remuda doctor`.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use kube::Client;

use super::plan::context;
use crate::{
    cli::{CoreMode, DoctorArgs, TextFormat},
    config,
    doctor::{
        self, draw,
        finding::Level,
        patient::{Patient, Scope},
    },
    manager, output,
};

/// Says how everything stands; 1 when something is broken.
pub(crate) async fn run(args: DoctorArgs) -> Result<ExitCode> {
    let mut found = config::find_api(&args.connection).await?;
    found.config.auth_info.impersonate.clone_from(&args.as_user);
    let client =
        Client::try_from(found.config.clone()).context("connecting to the Kubernetes API")?;
    // What cannot be told is checked as if everything were the manager's.
    let core = match args.core {
        CoreMode::On => true,
        CoreMode::Off => false,
        CoreMode::Auto => !manager::core_is_upstreams(&client).await.unwrap_or(false),
    };
    let scope = Scope {
        namespace: args.namespace.clone().unwrap_or_default(),
        system_namespace: args.system_namespace.clone(),
        who: args
            .as_user
            .unwrap_or_else(|| "whoever runs this".to_owned()),
        core,
    };
    let patient = Patient::new(client, context(Some(&found), args.clouds)?, scope);
    let report = doctor::examine(&patient, &args.only).await;
    match args.output {
        TextFormat::Text => output::text(&draw::text(&report))?,
        TextFormat::Json => output::json(&draw::json(&report))?,
    }
    Ok(if report.count(Level::Fail) > 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}
