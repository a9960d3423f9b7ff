//! Puts the manifests into an API by server-side apply, saying what each one came to.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client,
    api::{DynamicObject, Patch, PatchParams},
    core::{ApiResource, GroupVersionKind},
    runtime::wait::{await_condition, conditions},
};
use serde_json::Value;

use crate::up::progress::Progress;

const FIELD_MANAGER: &str = "remuda-install";
/// How long a CustomResourceDefinition may take to be served.
const ESTABLISH: Duration = Duration::from_secs(30);

/// Applies the manifests in their order. A dry run asks the server and changes nothing.
///
/// # Errors
/// What was refused, all of it: one object does not keep the others from coming.
pub(crate) async fn apply(
    client: &Client,
    manifests: &[Value],
    dry_run: bool,
    progress: &mut Progress,
) -> Result<()> {
    let mut params = PatchParams::apply(FIELD_MANAGER).force();
    params.dry_run = dry_run;
    let mut refused = Vec::new();
    for manifest in manifests {
        let place = Place::of(manifest)?;
        progress.begin(&place.said);
        match apply_one(client, &place, manifest, &params).await {
            Ok(outcome) if dry_run => progress.done(&format!("{outcome} (dry run)")),
            Ok(outcome) => progress.done(outcome),
            Err(error) => refused.push(format!("{}: {error:#}", place.said)),
        }
    }
    ensure!(
        refused.is_empty(),
        "{} of {} objects could not be applied:\n{}",
        refused.len(),
        manifests.len(),
        refused.join("\n")
    );
    Ok(())
}

/// Applies one object; what came of it.
async fn apply_one(
    client: &Client,
    place: &Place,
    manifest: &Value,
    params: &PatchParams,
) -> Result<&'static str> {
    let api = place.api(client);
    let before = api.get_opt(&place.name).await.context("reading it")?;
    let applied = api
        .patch(&place.name, params, &Patch::Apply(manifest))
        .await;
    let after = match applied {
        Ok(after) => after,
        // In a dry run the namespace was not made, either.
        Err(kube::Error::Api(status))
            if params.dry_run && is_missing_namespace(&status.message) =>
        {
            return Ok("created, with its namespace");
        }
        Err(error) => return Err(error).context("applying it"),
    };
    if place.kind == "CustomResourceDefinition" && !params.dry_run {
        established(client, &place.name).await?;
    }
    let version = |object: &DynamicObject| object.metadata.resource_version.clone();
    Ok(match before {
        None => "created",
        Some(before) if version(&before) == version(&after) => "unchanged",
        Some(_) => "configured",
    })
}

fn is_missing_namespace(message: &str) -> bool {
    message.starts_with("namespaces ") && message.ends_with("not found")
}

/// Waits until a kind is served.
async fn established(client: &Client, name: &str) -> Result<()> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let served = await_condition(api, name, conditions::is_crd_established());
    tokio::time::timeout(ESTABLISH, served)
        .await
        .with_context(|| format!("{name} is not served after {} s", ESTABLISH.as_secs()))??;
    Ok(())
}

/// Where an object belongs.
struct Place {
    resource: ApiResource,
    kind: String,
    namespace: Option<String>,
    name: String,
    /// `kind/name`, for people.
    said: String,
}

impl Place {
    fn of(manifest: &Value) -> Result<Self> {
        let text = |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str);
        let (Some(version), Some(kind), Some(name)) =
            (text("/apiVersion"), text("/kind"), text("/metadata/name"))
        else {
            bail!("a manifest without apiVersion, kind or metadata.name");
        };
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        Ok(Self {
            resource: ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind)),
            kind: kind.to_owned(),
            namespace: text("/metadata/namespace").map(str::to_owned),
            name: name.to_owned(),
            said: format!("{}/{name}", kind.to_lowercase()),
        })
    }

    fn api(&self, client: &Client) -> Api<DynamicObject> {
        match &self.namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &self.resource),
            None => Api::all_with(client.clone(), &self.resource),
        }
    }
}
