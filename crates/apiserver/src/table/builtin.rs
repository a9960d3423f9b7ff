//! The columns of built-in kinds, as kubectl users know them.

use serde_json::{Value, json};

use super::builtin_cells as cells;
use super::columns::Column;

/// The columns of a built-in kind; name and age for kinds without their own.
#[expect(
    clippy::too_many_lines,
    reason = "one row a kind reads better than a function a kind"
)]
pub fn builtin_columns(group: &str, kind: &str) -> Vec<Column> {
    let text = |name: &str, function| Column::function(name, "string", 0, function);
    let wide = |name: &str, function| Column::function(name, "string", 1, function);
    let count = |name: &str, function| Column::function(name, "integer", 0, function);
    let mut out = vec![Column::name()];
    match (group, kind) {
        ("", "Namespace") => {
            out.push(text("Status", |o, _| cells::at(o, "/status/phase")));
        }
        ("", "Secret") => {
            out.push(text("Type", |o, _| cells::at(o, "/type")));
            out.push(text("Data", |o, _| cells::length(o, &["/data"])));
        }
        ("", "ConfigMap") => {
            out.push(text("Data", |o, _| {
                cells::length(o, &["/data", "/binaryData"])
            }));
        }
        ("", "ServiceAccount") => {
            out.push(text("Secrets", |o, _| cells::length(o, &["/secrets"])));
        }
        ("" | "events.k8s.io", "Event") => return event_columns(),
        ("", "Node") => {
            out.push(text("Status", |o, _| cells::node_status(o)));
            out.push(text("Roles", |o, _| cells::node_roles(o)));
            out.push(Column::age());
            out.push(text("Version", |o, _| {
                cells::at(o, "/status/nodeInfo/kubeletVersion")
            }));
            out.push(wide("Internal-IP", |o, _| {
                cells::node_address(o, "InternalIP")
            }));
            out.push(wide("External-IP", |o, _| {
                cells::node_address(o, "ExternalIP")
            }));
            out.push(wide("OS-Image", |o, _| {
                cells::known(o, "/status/nodeInfo/osImage")
            }));
            out.push(wide("Kernel-Version", |o, _| {
                cells::known(o, "/status/nodeInfo/kernelVersion")
            }));
            out.push(wide("Container-Runtime", |o, _| {
                cells::known(o, "/status/nodeInfo/containerRuntimeVersion")
            }));
            return out;
        }
        ("", "Pod") => {
            out.push(text("Ready", |o, _| cells::pod_ready(o)));
            out.push(text("Status", |o, _| cells::pod_status(o)));
            out.push(text("Restarts", cells::pod_restarts));
            out.push(Column::age());
            out.push(wide("IP", |o, _| cells::or_none(o, "/status/podIP")));
            out.push(wide("Node", |o, _| cells::or_none(o, "/spec/nodeName")));
            out.push(wide("Nominated Node", |o, _| {
                cells::or_none(o, "/status/nominatedNodeName")
            }));
            out.push(wide("Readiness Gates", |o, _| cells::readiness_gates(o)));
            return out;
        }
        ("", "Service") => {
            out.push(text("Type", |o, _| cells::at(o, "/spec/type")));
            out.push(text("Cluster-IP", |o, _| {
                cells::or_none(o, "/spec/clusterIP")
            }));
            out.push(text("External-IP", |o, _| cells::external_ip(o)));
            out.push(text("Port(s)", |o, _| cells::service_ports(o)));
            out.push(Column::age());
            out.push(wide("Selector", |o, _| cells::labels(o, "/spec/selector")));
            return out;
        }
        ("coordination.k8s.io", "Lease") => {
            out.push(text("Holder", |o, _| cells::at(o, "/spec/holderIdentity")));
        }
        ("policy", "PodDisruptionBudget") => {
            out.push(text("Min Available", |o, _| {
                cells::or_na(o, "/spec/minAvailable")
            }));
            out.push(text("Max Unavailable", |o, _| {
                cells::or_na(o, "/spec/maxUnavailable")
            }));
            out.push(count("Allowed Disruptions", |o, _| {
                cells::number(o, "/status/disruptionsAllowed")
            }));
        }
        ("certificates.k8s.io", "CertificateSigningRequest") => {
            out.push(Column::age());
            out.push(text("SignerName", |o, _| cells::at(o, "/spec/signerName")));
            out.push(text("Requestor", |o, _| cells::at(o, "/spec/username")));
            out.push(text("RequestedDuration", |o, _| {
                cells::requested_duration(o)
            }));
            out.push(text("Condition", |o, _| cells::csr_condition(o)));
            return out;
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            out.push(text("Created At", |o, _| {
                cells::at(o, "/metadata/creationTimestamp")
            }));
            return out;
        }
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => {
            out.push(text("Created At", |o, _| {
                cells::at(o, "/metadata/creationTimestamp")
            }));
            return out;
        }
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => {
            out.push(text("Role", |o, _| cells::role_ref(o)));
            out.push(Column::age());
            out.push(wide("Users", |o, _| cells::subjects(o, "User")));
            out.push(wide("Groups", |o, _| cells::subjects(o, "Group")));
            out.push(wide("ServiceAccounts", |o, _| {
                cells::subjects(o, "ServiceAccount")
            }));
            return out;
        }
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => {
            out.push(count("Webhooks", |o, _| cells::length(o, &["/webhooks"])));
        }
        ("apps", "Deployment") => {
            out.push(text("Ready", |o, _| {
                cells::fraction(o, "/status/readyReplicas", "/spec/replicas")
            }));
            out.push(text("Up-to-date", |o, _| {
                cells::number(o, "/status/updatedReplicas")
            }));
            out.push(text("Available", |o, _| {
                cells::number(o, "/status/availableReplicas")
            }));
        }
        ("apps", "StatefulSet") => {
            out.push(text("Ready", |o, _| {
                cells::fraction(o, "/status/readyReplicas", "/spec/replicas")
            }));
        }
        ("apps", "ReplicaSet") => {
            out.push(count("Desired", |o, _| cells::number(o, "/spec/replicas")));
            out.push(count("Current", |o, _| {
                cells::number(o, "/status/replicas")
            }));
            out.push(count("Ready", |o, _| {
                cells::number(o, "/status/readyReplicas")
            }));
        }
        ("apps", "DaemonSet") => {
            out.push(count("Desired", |o, _| {
                cells::number(o, "/status/desiredNumberScheduled")
            }));
            out.push(count("Current", |o, _| {
                cells::number(o, "/status/currentNumberScheduled")
            }));
            out.push(count("Ready", |o, _| {
                cells::number(o, "/status/numberReady")
            }));
            out.push(count("Up-to-date", |o, _| {
                cells::number(o, "/status/updatedNumberScheduled")
            }));
            out.push(count("Available", |o, _| {
                cells::number(o, "/status/numberAvailable")
            }));
            out.push(text("Node Selector", |o, _| {
                cells::labels(o, "/spec/template/spec/nodeSelector")
            }));
        }
        _ => {}
    }
    out.push(Column::age());
    out
}

fn event_columns() -> Vec<Column> {
    let text = |name: &str, function| Column::function(name, "string", 0, function);
    let wide = |name: &str, function| Column::function(name, "string", 1, function);
    vec![
        text("Last Seen", cells::last_seen),
        text("Type", |o, _| cells::at(o, "/type")),
        text("Reason", |o, _| cells::at(o, "/reason")),
        text("Object", |o, _| cells::event_object(o)),
        wide("Subobject", |o, _| {
            cells::first(o, &["/involvedObject/fieldPath", "/regarding/fieldPath"])
        }),
        wide("Source", |o, _| cells::event_source(o)),
        text("Message", |o, _| {
            let message = cells::first(o, &["/message", "/note"]);
            json!(message.as_str().unwrap_or_default().trim())
        }),
        wide("First Seen", cells::first_seen),
        wide("Count", |o, _| cells::event_count(o)),
        Column::function("Name", "string", 1, |o, _| {
            o.pointer("/metadata/name").cloned().unwrap_or(Value::Null)
        }),
    ]
}
