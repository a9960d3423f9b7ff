//! Kinds of other providers: their objects hold anything, and tests play their controllers.

use kube::core::{ApiResource, GroupVersionKind};
use remuda_controllers::objects::Target;
use serde_json::{Value, json};

use crate::{
    demo::{Demo, NAMESPACE},
    world::{TEST, World},
};

/// A definition whose objects hold anything, served in `versions`.
pub fn foreign_crd(group: &str, kind: &str, versions: &[&str], labels: &Value) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let versions: Vec<Value> = versions
        .iter()
        .enumerate()
        .map(|(number, version)| {
            json!({
                "name": version, "served": true, "storage": number == 0,
                "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": {
                    "type": "object",
                    "properties": { "spec": open, "status": open },
                } },
            })
        })
        .collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{group}"), "labels": labels },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": { "kind": kind, "plural": plural, "singular": kind.to_lowercase() },
            "versions": versions,
        },
    })
}

/// The resource of such a kind.
pub fn foreign_resource(group: &str, version: &str, kind: &str) -> ApiResource {
    let plural = format!("{}s", kind.to_lowercase());
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), &plural)
}

impl Demo {
    /// The MachinePool on the infrastructure object `theirs` of another kind.
    #[must_use]
    pub fn on_foreign(self, group: &str, kind: &str) -> Self {
        self.machine_pool(|pool| {
            pool["spec"]["template"]["spec"]["infrastructureRef"] =
                json!({ "apiGroup": group, "kind": kind, "name": "theirs" });
        })
    }
}

impl World {
    /// Creates an object of any resource in the DEMO namespace.
    pub async fn create_of(&self, resource: &ApiResource, name: &str, labels: Value, spec: Value) {
        let body = json!({
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": { "name": name, "namespace": NAMESPACE, "labels": labels },
            "spec": spec,
        });
        self.objects
            .create(resource, Some(NAMESPACE), &body, TEST)
            .await
            .unwrap_or_else(|error| panic!("{error}"));
    }

    /// Merge-patches the status of an object of any resource in the DEMO namespace.
    pub async fn report_of(&self, resource: &ApiResource, name: &str, status: Value) {
        let patch = json!({ "status": status });
        self.patch_of(resource, name, Some("status"), &patch).await;
    }

    /// Merge-patches an object of any resource in the DEMO namespace.
    pub async fn patch_of(
        &self,
        resource: &ApiResource,
        name: &str,
        subresource: Option<&'static str>,
        patch: &Value,
    ) {
        let target = Target {
            resource,
            namespace: Some(NAMESPACE),
            name,
            subresource,
        };
        self.objects
            .merge_patch(&target, patch, TEST)
            .await
            .unwrap_or_else(|error| panic!("{error}"));
    }
}
