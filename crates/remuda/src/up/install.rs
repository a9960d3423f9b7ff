//! Puts objects into the API by server-side apply: CustomResourceDefinitions and the demo.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use k8s_openapi::{
    api::core::v1::Namespace,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client,
    api::{DynamicObject, Patch, PatchParams},
    core::{ApiResource, GroupVersionKind},
    runtime::wait::{await_condition, conditions},
};
use serde_json::{Value, json};

const FIELD_MANAGER: &str = "remuda-up";

/// The namespace of Remuda's own objects. Its UID is the installation's id: it stays the same for
/// as long as the data directory does.
pub(crate) const SYSTEM_NAMESPACE: &str = "remuda-system";

/// How long a CustomResourceDefinition may take to be served.
const ESTABLISH: Duration = Duration::from_secs(10);

/// Installs every CustomResourceDefinition and waits until each is served.
pub(crate) async fn definitions(client: &Client) -> Result<usize> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let definitions = remuda_api::crds();
    for definition in &definitions {
        let name = definition.metadata.name.as_deref().unwrap_or_default();
        api.patch(name, &params, &Patch::Apply(definition))
            .await
            .with_context(|| format!("installing {name}"))?;
    }
    for definition in &definitions {
        let name = definition.metadata.name.as_deref().unwrap_or_default();
        let served = await_condition(api.clone(), name, conditions::is_crd_established());
        tokio::time::timeout(ESTABLISH, served)
            .await
            .with_context(|| format!("{name} is not served after {} s", ESTABLISH.as_secs()))??;
    }
    Ok(definitions.len())
}

/// Makes Remuda's namespace and returns the installation's id.
pub(crate) async fn installation(client: &Client) -> Result<String> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = namespaces
        .patch(
            SYSTEM_NAMESPACE,
            &PatchParams::apply(FIELD_MANAGER),
            &Patch::Apply(json!({
                "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": SYSTEM_NAMESPACE },
            })),
        )
        .await
        .context("making the namespace remuda-system")?;
    namespace
        .metadata
        .uid
        .context("the namespace remuda-system has no UID")
}

/// Applies manifests in order; what names no namespace goes into `namespace`. A status, if a
/// manifest has one, is applied after the object itself.
pub(crate) async fn manifests(client: &Client, namespace: &str, manifests: &[Value]) -> Result<()> {
    let params = PatchParams::apply(FIELD_MANAGER).force();
    for manifest in manifests {
        let (api, name) = place(client, namespace, manifest)?;
        api.patch(&name, &params, &Patch::Apply(manifest))
            .await
            .with_context(|| format!("applying {} {name}", manifest["kind"]))?;
        if manifest.get("status").is_some() {
            let mut only_status = manifest.clone();
            if let Some(object) = only_status.as_object_mut() {
                object.remove("spec");
            }
            api.patch_status(&name, &params, &Patch::Apply(&only_status))
                .await
                .with_context(|| format!("applying the status of {} {name}", manifest["kind"]))?;
        }
    }
    Ok(())
}

/// Which API an object belongs to, and its name.
fn place(
    client: &Client,
    namespace: &str,
    manifest: &Value,
) -> Result<(Api<DynamicObject>, String)> {
    let text = |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str);
    let (Some(api_version), Some(kind), Some(name)) =
        (text("/apiVersion"), text("/kind"), text("/metadata/name"))
    else {
        bail!("a manifest without apiVersion, kind or metadata.name");
    };
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let api = if matches!(kind, "Namespace" | "TerraformClusterIdentity") {
        Api::all_with(client.clone(), &resource)
    } else {
        let namespace = text("/metadata/namespace").unwrap_or(namespace);
        Api::namespaced_with(client.clone(), namespace, &resource)
    };
    Ok((api, name.to_owned()))
}
