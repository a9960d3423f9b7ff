//! `remuda plan`: what a change will do, from a live pool or from files laid over what is live.

use std::{
    collections::BTreeSet,
    io::Read,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use anyhow::{Context, Result, bail};
use kube::{Api, Client, ResourceExt, api::ListParams};
use remuda_api::captf::TerraformMachinePool;
use remuda_aws::AwsBackend;
use remuda_azure::{AzureBackend, Endpoints};
use remuda_cloud::PoolBackend;
use remuda_controllers::{
    Context as ControllerContext, Preview, PreviewSource, clock::SystemClock, preview,
    terraform_machine_pool::PoolKey, workload::KubeconfigClusters,
};
use remuda_plan::pool::world::Manager;
use serde_json::{Value, json};

use crate::{
    cli::{CloudArgs, PlanArgs, PlanFormat},
    config::{self, Found},
    output, preview_view, reach,
    up::state::UpState,
};

/// Prints the plans; with --exit-code, 2 says that something would change.
pub(crate) async fn run(args: PlanArgs) -> Result<ExitCode> {
    let manifests = read_all(&args.filename)?;
    let found = match config::find_api(&args.connection).await {
        Ok(found) => Some(found),
        Err(error) if manifests.is_empty() => return Err(error),
        Err(_) => None,
    };
    let namespace = args.scope.namespace.clone().unwrap_or_else(|| {
        found.as_ref().map_or_else(
            || "default".into(),
            |found| found.config.default_namespace.clone(),
        )
    });
    let context = context(found.as_ref(), args.clouds)?;
    let live = found.is_some().then(|| context.objects.clone());
    let wanted = match &found {
        Some(found) => {
            let client = Client::try_from(found.config.clone())?;
            wanted(&args, &manifests, &namespace, &client).await?
        }
        None => pools_of(&manifests, &namespace),
    };
    let source = PreviewSource::manifests(manifests, &namespace, live);
    let mut previews = Vec::new();
    for key in &wanted {
        previews.push(preview(key, &source, &context).await?);
    }
    show(&previews, args.output)?;
    let changes = previews.iter().any(preview_view::changes_something);
    let failed = previews.iter().any(preview_view::is_problem);
    Ok(match (failed, changes && args.exit_code) {
        (true, _) => ExitCode::FAILURE,
        (false, true) => ExitCode::from(2),
        (false, false) => ExitCode::SUCCESS,
    })
}

fn show(previews: &[Preview], format: PlanFormat) -> Result<()> {
    let document =
        || json!({ "pools": previews.iter().map(preview_view::json).collect::<Vec<_>>() });
    match format {
        PlanFormat::Json => output::json(&document()),
        PlanFormat::Yaml => output::yaml(&document()),
        PlanFormat::Text => {
            let texts: Vec<String> = previews.iter().map(preview_view::text).collect();
            output::text(&texts.join("\n"))
        }
    }
}

/// What previews read: the API when there is one, and the clouds (the simulated ones of a
/// `remuda up`, else the real).
pub(super) fn context(found: Option<&Found>, clouds: CloudArgs) -> Result<ControllerContext> {
    let config = found.map_or_else(
        || kube::Config::new(http::Uri::from_static("https://no-api.remuda.invalid")),
        |found| found.config.clone(),
    );
    let client = Client::try_from(config).context("connecting to the Kubernetes API")?;
    let simulated = found
        .and_then(|found| found.data_dir.as_deref())
        .map(UpState::read)
        .unwrap_or_default();
    let aws = AwsBackend::new(remuda_aws::Options {
        endpoint_url: simulated.aws_endpoint(),
        ..reach::aws(clouds)
    });
    let mut azure = reach::azure(clouds);
    if let Some(url) = simulated.azure_endpoint() {
        azure.endpoints = Endpoints::all_at(&url);
    }
    let azure = AzureBackend::new(azure);
    let backends: [Arc<dyn PoolBackend>; 2] = [Arc::new(aws), Arc::new(azure)];
    Ok(ControllerContext::new(
        client.clone(),
        backends,
        Arc::new(SystemClock),
        Arc::new(KubeconfigClusters::new(client)),
        Manager {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Manager::default()
        },
    ))
}

/// The pools to plan: those named, those the files are about, or all of the namespace.
async fn wanted(
    args: &PlanArgs,
    manifests: &[Value],
    namespace: &str,
    client: &Client,
) -> Result<BTreeSet<PoolKey>> {
    if !args.pools.is_empty() {
        return Ok(args.pools.iter().map(|name| key(namespace, name)).collect());
    }
    let about = pools_of(manifests, namespace);
    if !about.is_empty() {
        return Ok(about);
    }
    let pools: Api<TerraformMachinePool> = if args.scope.all_namespaces {
        Api::all(client.clone())
    } else {
        Api::namespaced(client.clone(), namespace)
    };
    let all = pools
        .list(&ListParams::default())
        .await
        .context("listing TerraformMachinePools")?;
    let all: BTreeSet<PoolKey> = all
        .iter()
        .map(|pool| key(&pool.namespace().unwrap_or_default(), &pool.name_any()))
        .collect();
    if all.is_empty() {
        bail!(
            "no TerraformMachinePool in namespace {namespace}: name one, or give --namespace or -A"
        );
    }
    Ok(all)
}

/// Pools that manifests are about: the pools themselves, and those of MachinePools.
fn pools_of(manifests: &[Value], default_namespace: &str) -> BTreeSet<PoolKey> {
    let text = |manifest: &Value, pointer: &str| {
        manifest
            .pointer(pointer)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let mut keys = BTreeSet::new();
    for manifest in manifests {
        let namespace =
            text(manifest, "/metadata/namespace").unwrap_or_else(|| default_namespace.into());
        let infra = "/spec/template/spec/infrastructureRef";
        let name = match text(manifest, "/kind").as_deref() {
            Some("TerraformMachinePool") => text(manifest, "/metadata/name"),
            Some("MachinePool")
                if text(manifest, &format!("{infra}/kind")).as_deref()
                    == Some("TerraformMachinePool") =>
            {
                text(manifest, &format!("{infra}/name"))
            }
            _ => None,
        };
        keys.extend(name.map(|name| key(&namespace, &name)));
    }
    keys
}

fn key(namespace: &str, name: &str) -> PoolKey {
    PoolKey {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

/// Objects of all files; lists are opened.
fn read_all(files: &[PathBuf]) -> Result<Vec<Value>> {
    let mut objects = Vec::new();
    for file in files {
        let text = read(file)?;
        let documents: Vec<Value> = serde_saphyr::from_multiple(&text)
            .with_context(|| format!("{} is not YAML or JSON", file.display()))?;
        for document in documents.into_iter().filter(|document| !document.is_null()) {
            match document.get("items").and_then(Value::as_array) {
                Some(items) => objects.extend(items.iter().cloned()),
                None => objects.push(document),
            }
        }
    }
    Ok(objects)
}

fn read(file: &Path) -> Result<String> {
    if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .context("reading standard input")?;
        return Ok(text);
    }
    std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))
}
