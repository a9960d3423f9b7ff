//! Approved certificate requests for Kubernetes' own signers are signed by the server's authority.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::handlers::Writing;
use crate::instance::Instance;
use crate::object::{at, child_mut, text};
use crate::registry::set_condition;
use crate::server::{Requested, requested};
use crate::store::{Change, Event, Key};

/// The shelf of certificate requests.
pub(super) const SHELF: &str = "certificatesigningrequests.certificates.k8s.io";
const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
const KUBELET_CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const KUBELET_SERVING: &str = "kubernetes.io/kubelet-serving";
/// The signers that this server is.
const SIGNERS: [&str; 3] = [CLIENT, KUBELET_CLIENT, KUBELET_SERVING];
/// How long a certificate is valid unless less is asked for: Kubernetes' own bound.
const LONGEST_SECONDS: u64 = 365 * 24 * 3600;
/// The shortest that can be asked for: Kubernetes' own bound.
const SHORTEST_SECONDS: u64 = 600;

/// Looks at a change of a request.
pub(super) async fn note(instance: &Instance, shelf: &str, event: &Event) {
    if shelf == SHELF && event.change != Change::Deleted {
        settle(instance, &event.name).await;
    }
}

fn has_condition(request: &Value, kind: &str) -> bool {
    let list = at(request, &["status", "conditions"]).and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .any(|condition| text(condition, &["type"]) == kind)
}

/// Signs a request that is approved and waits.
pub(super) async fn settle(instance: &Instance, name: &str) {
    let key = Key {
        shelf: SHELF.into(),
        namespace: String::new(),
        name: name.to_owned(),
    };
    let Some(request) = instance.get(&key).map(|record| record.value()) else {
        return;
    };
    let waits = has_condition(&request, "Approved")
        && !has_condition(&request, "Denied")
        && !has_condition(&request, "Failed")
        && text(&request, &["status", "certificate"]).is_empty();
    if !waits || !SIGNERS.contains(&text(&request, &["spec", "signerName"])) {
        return;
    }
    let outcome = sign(instance, &request);
    let now = instance.stamp();
    let Some(served) = instance.registry().by_shelf(SHELF) else {
        return;
    };
    let writing = Writing::own(instance, served, "status");
    let written = writing
        .update(&key, |live| {
            let mut new = live.clone();
            let status = child_mut(&mut new, "status");
            match &outcome {
                Ok(certificate) => {
                    status.insert("certificate".into(), STANDARD.encode(certificate).into());
                }
                Err(why) => {
                    let failed = json!({
                        "type": "Failed", "status": "True", "reason": "SignerValidationFailure",
                        "message": why, "lastTransitionTime": now, "lastUpdateTime": now,
                    });
                    set_condition(
                        status.entry("conditions").or_insert_with(|| json!([])),
                        failed,
                    );
                }
            }
            Ok(new)
        })
        .await;
    if let Err(failure) = written.map_err(|failure| failure.message) {
        tracing::debug!(error = %failure, "a signed certificate could not be stored");
    }
}

fn sign(instance: &Instance, request: &Value) -> Result<String, String> {
    let spec = |field: &str| at(request, &["spec", field]);
    let pem = STANDARD
        .decode(text(request, &["spec", "request"]))
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or("spec.request is not PEM in base64")?;
    let usages = spec("usages").and_then(Value::as_array);
    let usages: Vec<&str> = usages
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let seconds = spec("expirationSeconds")
        .and_then(Value::as_u64)
        .unwrap_or(LONGEST_SECONDS);
    let seconds = seconds.clamp(SHORTEST_SECONDS, LONGEST_SECONDS);
    let asked = requested(text(request, &["spec", "request"]));
    let asked = asked.ok_or("spec.request is not a certificate request")?;
    fits(text(request, &["spec", "signerName"]), &asked, &usages)?;
    let clients = instance.authority().clients(instance.name());
    clients
        .and_then(|clients| clients.sign(&pem, &usages, instance.now(), seconds))
        .map_err(|error| error.to_string())
}

/// Whether a signer signs what is asked for: each stands for one kind of certificate.
fn fits(signer: &str, asked: &Requested, usages: &[&str]) -> Result<(), String> {
    let only = |allowed: &[&str]| usages.iter().all(|usage| allowed.contains(usage));
    let client = ["key encipherment", "digital signature", "client auth"];
    let server = ["key encipherment", "digital signature", "server auth"];
    let needed = if signer == KUBELET_SERVING {
        "server auth"
    } else {
        "client auth"
    };
    let refuse = |why: &str| Err(why.to_owned());
    if !usages.contains(&needed) {
        return refuse(&format!("usages must include {needed:?}"));
    }
    if !only(if signer == KUBELET_SERVING {
        &server
    } else {
        &client
    }) {
        return refuse(
            "usages other than key encipherment, digital signature and client or \
                       server auth do not fit this signer",
        );
    }
    if signer == CLIENT {
        return Ok(());
    }
    if asked.organizations != ["system:nodes"] {
        return refuse("the organization must be exactly \"system:nodes\"");
    }
    if !asked.common_name.starts_with("system:node:") {
        return refuse("the common name must start with \"system:node:\"");
    }
    if asked.other_names > 0 {
        return refuse("mail addresses and URIs do not fit this signer");
    }
    let named = asked.dns_names + asked.addresses > 0;
    match signer {
        KUBELET_CLIENT if named => refuse("DNS names and addresses do not fit this signer"),
        KUBELET_SERVING if !named => refuse("a DNS name or an address is required"),
        _ => Ok(()),
    }
}
