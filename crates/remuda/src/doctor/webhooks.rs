//! The admission webhooks are installed, and can be called.

use kube::{
    Api,
    api::{DynamicObject, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use remuda_controllers::{
    admission::{Endpoint, Scope, configurations},
    kinds::Kind,
};
use serde_json::{Value, json};

use super::{finding::Finding, patient::Patient};

/// What API servers say of a webhook that they could not call.
const UNREACHABLE: &str = "failed calling webhook";

/// Looks at the configurations, then has the API server call the webhooks about an object that is
/// not stored.
pub(super) async fn run(patient: &Patient) -> Vec<Finding> {
    let endpoint = Endpoint::Host(String::new());
    let mut findings = Vec::new();
    for ours in configurations(&endpoint, Scope::ALL, None) {
        findings.push(configuration(&ours, patient).await);
    }
    if findings
        .iter()
        .all(|finding| finding.level == super::finding::Level::Ok)
    {
        findings.push(call(patient).await);
    }
    findings
}

async fn configuration(ours: &Value, patient: &Patient) -> Finding {
    let text = |pointer: &str| {
        ours.pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (kind, name) = (text("/kind"), text("/metadata/name"));
    let gvk = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind);
    let resource = ApiResource::from_gvk(&gvk);
    let live = patient.context.objects.get_of(&resource, None, name).await;
    match live {
        Ok(Some(live)) => match untrusted(&live) {
            None => Finding::ok(name, "is installed"),
            Some(webhook) => Finding::fail(
                name,
                format!("{webhook} has no caBundle, so API servers do not trust it"),
                "see the manager's log: it writes the bundle when it has a certificate",
            ),
        },
        Ok(None) => Finding::warn(
            name,
            "is not installed: what cannot work is not refused",
            "start the manager with --webhooks=true, or leave it so on purpose",
        ),
        Err(error) => Finding::warn(
            name,
            format!("could not be read: {error}"),
            "run with the right to get webhook configurations",
        ),
    }
}

/// The first webhook without a bundle to trust it by.
fn untrusted(live: &Value) -> Option<&str> {
    let webhooks = live["webhooks"].as_array()?;
    let mut bare = webhooks.iter().filter(|webhook| {
        let bundle = webhook
            .pointer("/clientConfig/caBundle")
            .and_then(Value::as_str);
        bundle.unwrap_or_default().is_empty()
    });
    bare.next()?["name"].as_str()
}

async fn call(patient: &Patient) -> Finding {
    let subject = "calls of the webhooks";
    let kind = Kind::MachinePool.resource();
    let namespace = if patient.namespace.is_empty() {
        "default"
    } else {
        &patient.namespace
    };
    let api: Api<DynamicObject> = Api::namespaced_with(patient.client.clone(), namespace, &kind);
    let probe: DynamicObject = match serde_json::from_value(probe()) {
        Ok(probe) => probe,
        Err(error) => return Finding::warn(subject, error.to_string(), "report this as a fault"),
    };
    let dry = PostParams {
        dry_run: true,
        field_manager: None,
    };
    match api.create(&dry, &probe).await {
        Ok(_) => Finding::ok(subject, "they answer"),
        Err(kube::Error::Api(status)) if status.message.contains(UNREACHABLE) => Finding::fail(
            subject,
            status.message.clone(),
            "see whether the manager runs and its webhook Service or --webhook-host leads to it",
        ),
        // Who says no was asked.
        Err(kube::Error::Api(status)) if status.message.contains("admission webhook") => {
            Finding::ok(subject, "they answer")
        }
        Err(error) => Finding::warn(
            subject,
            format!("could not be tried: {error}"),
            "run with the right to create machinepools (nothing is stored)",
        ),
    }
}

/// A MachinePool that is never stored.
fn probe() -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachinePool",
        "metadata": { "name": "remuda-doctor-probe" },
        "spec": {
            "clusterName": "remuda-doctor-probe",
            "template": { "spec": {
                "clusterName": "remuda-doctor-probe",
                "bootstrap": { "dataSecretName": "remuda-doctor-probe" },
                "infrastructureRef": {
                    "apiGroup": "infrastructure.cluster.x-k8s.io",
                    "kind": "TerraformMachinePool",
                    "name": "remuda-doctor-probe",
                },
            } },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_webhook_without_a_bundle_is_found() {
        let trusted = json!({ "name": "a", "clientConfig": { "caBundle": "Q0E=" } });
        let bare = json!({ "name": "b", "clientConfig": { "url": "https://127.0.0.1" } });
        assert_eq!(untrusted(&json!({ "webhooks": [trusted] })), None);
        assert_eq!(
            untrusted(&json!({ "webhooks": [trusted, bare] })),
            Some("b")
        );
    }
}
