//! `remuda get`: pools, machines or nodes as a tree.

use std::{
    io::{IsTerminal, stdout},
    process::ExitCode,
};

use anyhow::{Context, Result};
use kube::Client;
use serde_json::json;

use crate::{
    cli::{GetArgs, GetFormat, Noun},
    config,
    output::{self, lines},
    view::{self, Drawing, PoolView},
};

/// Shows what there is; says so when there is nothing.
pub(crate) async fn run(args: GetArgs) -> Result<ExitCode> {
    let found = config::find_api(&args.connection).await?;
    let namespace = match (&args.scope.namespace, args.scope.all_namespaces) {
        (_, true) => None,
        (Some(given), false) => Some(given.clone()),
        (None, false) => Some(found.config.default_namespace.clone()),
    };
    let client = Client::try_from(found.config).context("connecting to the Kubernetes API")?;
    let pools = view::gather(&client, namespace.as_deref(), &args.names).await?;
    show(&pools, &args)?;
    if pools.is_empty() {
        let place = namespace.map_or_else(String::new, |name| format!(" in namespace {name}"));
        say(&format!(
            "No machine pools found{place}. -A looks in every namespace."
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn show(pools: &[PoolView], args: &GetArgs) -> Result<()> {
    let items = json!({ "items": pools });
    match args.output {
        GetFormat::Json => output::json(&items),
        GetFormat::Yaml => output::yaml(&items),
        GetFormat::Name => output::text(&names(pools, args.what)),
        GetFormat::Table | GetFormat::Wide => output::text(&view::draw(
            pools,
            Drawing {
                what: args.what,
                wide: args.output == GetFormat::Wide,
                colour: stdout().is_terminal() && config::colour_is_welcome(),
            },
        )),
    }
}

/// One name a line, as `kubectl -o name` writes them.
fn names(pools: &[PoolView], what: Noun) -> String {
    let machines = || pools.iter().flat_map(|pool| &pool.machines);
    let names: Vec<String> = match what {
        Noun::Pools => pools
            .iter()
            .map(|pool| format!("machinepool/{}", pool.name))
            .collect(),
        Noun::Machines => machines()
            .map(|machine| match &machine.machine {
                Some(object) => format!("machine/{}", object.name),
                None => machine.id.clone(),
            })
            .collect(),
        Noun::Nodes => machines()
            .filter_map(|machine| machine.node.as_ref())
            .map(|node| format!("node/{}", node.name))
            .collect(),
    };
    lines(names)
}

#[allow(
    clippy::print_stderr,
    reason = "a remark for people, beside the output for programs"
)]
fn say(text: &str) {
    eprintln!("{text}");
}
