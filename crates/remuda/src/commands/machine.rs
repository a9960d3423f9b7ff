//! `remuda machine`: one machine of a pool, deleted or looked at.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams},
};
use remuda_api::{
    capi::{Machine, MachinePool},
    keys::annotation,
};
use serde_json::json;

use crate::{
    cli::{Connection, MachineCommand, MachineDeleteArgs, MachineEventsArgs},
    config,
    machine::{self, Asked, Removal},
    output,
};

const FIELD_MANAGER: &str = "remuda";

/// Runs what was typed behind `remuda machine`.
pub(crate) async fn run(command: MachineCommand) -> Result<ExitCode> {
    match command {
        MachineCommand::Delete(args) => delete(args).await,
        MachineCommand::Events(args) => events(args).await,
    }
}

async fn connect(connection: &Connection, namespace: Option<String>) -> Result<(Client, String)> {
    let found = config::find_api(connection).await?;
    let namespace = namespace.unwrap_or_else(|| found.config.default_namespace.clone());
    let client = Client::try_from(found.config).context("connecting to the Kubernetes API")?;
    Ok((client, namespace))
}

async fn delete(args: MachineDeleteArgs) -> Result<ExitCode> {
    let (client, namespace) = connect(&args.connection, args.namespace.clone()).await?;
    let removal = machine::gather(&client, &namespace, &args.name).await?;
    let asked = Asked {
        shrink: args.shrink,
        force: args.force,
    };
    if args.shrink {
        check_shrink(&removal)?;
    }
    output::text(&machine::draw(&removal, asked))?;
    if args.dry_run {
        output::text("Nothing was changed (--dry-run).\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    let machines: Api<Machine> = Api::namespaced(client.clone(), &namespace);
    if args.force {
        let excluded = json!({
            annotation::EXCLUDE_NODE_DRAINING: "",
            annotation::EXCLUDE_WAIT_FOR_NODE_VOLUME_DETACH: "",
        });
        annotate(&machines, &args.name, excluded).await?;
    }
    if args.shrink {
        let first = json!({ annotation::DELETE_MACHINE: "remuda machine delete" });
        annotate(&machines, &args.name, first).await?;
        let pool = shrink(&client, &removal).await?;
        output::text(&format!("MachinePool {pool} was made one smaller.\n"))?;
    } else {
        machines
            .delete(&args.name, &DeleteParams::background())
            .await
            .context("deleting the Machine")?;
        output::text(&format!("Machine {} is being deleted.\n", args.name))?;
    }
    output::text(&format!(
        "Watch it: kubectl get machine {} -n {namespace} -w\n",
        args.name
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses what would not end this machine.
fn check_shrink(removal: &Removal) -> Result<()> {
    let Some(pool) = &removal.pool else {
        bail!("{} belongs to no pool that could shrink", removal.name);
    };
    if let Some(by) = &pool.managed_by {
        bail!(
            "{by} decides how many replicas MachinePool {} has: ask it for one less",
            pool.name
        );
    }
    if pool.replicas == 0 {
        bail!("MachinePool {} wants 0 replicas already", pool.name);
    }
    if removal.is_deleting {
        bail!("{} is being deleted already", removal.name);
    }
    Ok(())
}

async fn annotate(
    machines: &Api<Machine>,
    name: &str,
    annotations: serde_json::Value,
) -> Result<()> {
    let patch = json!({ "metadata": { "annotations": annotations } });
    let params = PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    machines
        .patch(name, &params, &Patch::Merge(patch))
        .await
        .context("annotating the Machine")?;
    Ok(())
}

/// Lowers the count through the scale subresource, if it still is what was shown.
async fn shrink(client: &Client, removal: &Removal) -> Result<String> {
    let Some(pool) = &removal.pool else {
        bail!("{} belongs to no pool that could shrink", removal.name);
    };
    let pools: Api<MachinePool> = Api::namespaced(client.clone(), &removal.namespace);
    let scale = pools
        .get_scale(&pool.name)
        .await
        .context("reading the scale")?;
    let current = scale.spec.and_then(|spec| spec.replicas).unwrap_or(1);
    if current != pool.replicas {
        bail!(
            "MachinePool {} has changed to {current} replicas meanwhile; nothing was lowered",
            pool.name
        );
    }
    let patch = json!({
        "metadata": { "resourceVersion": scale.metadata.resource_version },
        "spec": { "replicas": current - 1 },
    });
    let params = PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    pools
        .patch_scale(&pool.name, &params, &Patch::Merge(patch))
        .await
        .context("lowering the scale")?;
    Ok(pool.name.clone())
}

async fn events(args: MachineEventsArgs) -> Result<ExitCode> {
    let (client, namespace) = connect(&args.connection, args.namespace).await?;
    let (events, missing) = machine::gather_events(&client, &namespace, &args.name).await?;
    if events.is_empty() {
        say(&format!(
            "No events of {} in namespace {namespace}; they are kept for an hour.",
            args.name
        ));
    } else {
        output::text(&machine::draw_events(&events, Timestamp::now()))?;
    }
    if let Some(missing) = missing {
        say(&missing);
    }
    Ok(ExitCode::SUCCESS)
}

#[allow(
    clippy::print_stderr,
    reason = "a remark for people, beside the output for programs"
)]
fn say(text: &str) {
    eprintln!("{text}");
}
