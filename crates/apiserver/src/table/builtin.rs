//! The columns of built-in kinds, as kubectl users know them.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::columns::Column;
use super::{builtin_cells as cells, pod_cells, volume_cells as volumes};

type Cell = fn(&Value, Timestamp) -> Value;

fn text(name: &str, cell: Cell) -> Column {
    Column::function(name, "string", 0, cell)
}

fn wide(name: &str, cell: Cell) -> Column {
    Column::function(name, "string", 1, cell)
}

fn count(name: &str, cell: Cell) -> Column {
    Column::function(name, "integer", 0, cell)
}

fn created_at() -> Column {
    Column::function("Created At", "date", 0, |o, _| {
        cells::at(o, "/metadata/creationTimestamp")
    })
}

/// The columns of a built-in kind; name and age for kinds without their own.
pub fn builtin_columns(group: &str, kind: &str) -> Vec<Column> {
    let own = match (group, kind) {
        ("" | "events.k8s.io", "Event") => return event_columns(),
        ("", "Node") => node_columns(),
        ("", "Pod") => pod_columns(),
        ("", "Service") => service_columns(),
        ("", "PersistentVolume") => volume_columns(),
        ("", "PersistentVolumeClaim") => claim_columns(),
        ("storage.k8s.io", "VolumeAttachment") => attachment_columns(),
        ("", _) => core_columns(kind),
        ("apps", _) => workload_columns(kind),
        ("rbac.authorization.k8s.io", _) => rbac_columns(kind),
        ("certificates.k8s.io", _) => certificate_columns(),
        ("apiextensions.k8s.io", _) => vec![created_at()],
        _ => other_columns(group, kind),
    };
    let mut out = vec![Column::name()];
    out.extend(own);
    out
}

/// The columns of the `scale` subresource.
pub fn scale_columns() -> Vec<Column> {
    vec![
        Column::name(),
        count("Desired", |o, _| cells::number(o, "/spec/replicas")),
        count("Available", |o, _| cells::number(o, "/status/replicas")),
        Column::age(),
    ]
}

fn core_columns(kind: &str) -> Vec<Column> {
    let mut out = match kind {
        "Namespace" => vec![text("Status", |o, _| cells::at(o, "/status/phase"))],
        "Secret" => vec![
            text("Type", |o, _| cells::at(o, "/type")),
            text("Data", |o, _| cells::length(o, &["/data"])),
        ],
        "ConfigMap" => {
            vec![text("Data", |o, _| {
                cells::length(o, &["/data", "/binaryData"])
            })]
        }
        "ServiceAccount" => {
            vec![text("Secrets", |o, _| cells::length(o, &["/secrets"]))]
        }
        _ => Vec::new(),
    };
    out.push(Column::age());
    out
}

fn node_columns() -> Vec<Column> {
    vec![
        text("Status", |o, _| cells::node_status(o)),
        text("Roles", |o, _| cells::node_roles(o)),
        Column::age(),
        text("Version", |o, _| {
            cells::at(o, "/status/nodeInfo/kubeletVersion")
        }),
        wide("Internal-IP", |o, _| cells::node_address(o, "InternalIP")),
        wide("External-IP", |o, _| cells::node_address(o, "ExternalIP")),
        wide("OS-Image", |o, _| {
            cells::known(o, "/status/nodeInfo/osImage")
        }),
        wide("Kernel-Version", |o, _| {
            cells::known(o, "/status/nodeInfo/kernelVersion")
        }),
        wide("Container-Runtime", |o, _| {
            cells::known(o, "/status/nodeInfo/containerRuntimeVersion")
        }),
    ]
}

fn pod_columns() -> Vec<Column> {
    vec![
        text("Ready", |o, _| pod_cells::ready(o)),
        text("Status", |o, _| pod_cells::status(o)),
        text("Restarts", pod_cells::restarts),
        Column::age(),
        wide("IP", |o, _| cells::or_none(o, "/status/podIP")),
        wide("Node", |o, _| cells::or_none(o, "/spec/nodeName")),
        wide("Nominated Node", |o, _| {
            cells::or_none(o, "/status/nominatedNodeName")
        }),
        wide("Readiness Gates", |o, _| pod_cells::readiness_gates(o)),
    ]
}

/// The class and mode of a volume or a claim, around its age.
fn volume_mode() -> Column {
    wide("VolumeMode", |o, _| {
        volumes::or_unset(o, "/spec/volumeMode")
    })
}

fn attributes_class() -> Column {
    text("VolumeAttributesClass", |o, _| {
        volumes::or_unset(o, "/spec/volumeAttributesClassName")
    })
}

fn volume_columns() -> Vec<Column> {
    vec![
        text("Capacity", |o, _| cells::at(o, "/spec/capacity/storage")),
        text("Access Modes", |o, _| volumes::access_modes(o)),
        text("Reclaim Policy", |o, _| {
            cells::at(o, "/spec/persistentVolumeReclaimPolicy")
        }),
        text("Status", |o, _| volumes::phase(o)),
        text("Claim", |o, _| volumes::claim(o)),
        text("StorageClass", |o, _| volumes::class(o)),
        attributes_class(),
        text("Reason", |o, _| cells::at(o, "/status/reason")),
        Column::age(),
        volume_mode(),
    ]
}

fn claim_columns() -> Vec<Column> {
    vec![
        text("Status", |o, _| volumes::phase(o)),
        text("Volume", |o, _| cells::at(o, "/spec/volumeName")),
        text("Capacity", |o, _| volumes::claimed_capacity(o)),
        text("Access Modes", |o, _| volumes::claimed_modes(o)),
        text("StorageClass", |o, _| volumes::class(o)),
        attributes_class(),
        Column::age(),
        volume_mode(),
    ]
}

fn attachment_columns() -> Vec<Column> {
    vec![
        text("Attacher", |o, _| cells::at(o, "/spec/attacher")),
        text("PV", |o, _| {
            cells::at(o, "/spec/source/persistentVolumeName")
        }),
        text("Node", |o, _| cells::at(o, "/spec/nodeName")),
        text("Attached", |o, _| volumes::attached(o)),
        Column::age(),
    ]
}

fn service_columns() -> Vec<Column> {
    vec![
        text("Type", |o, _| cells::at(o, "/spec/type")),
        text("Cluster-IP", |o, _| cells::or_none(o, "/spec/clusterIP")),
        text("External-IP", |o, _| cells::external_ip(o)),
        text("Port(s)", |o, _| cells::service_ports(o)),
        Column::age(),
        wide("Selector", |o, _| cells::labels(o, "/spec/selector")),
    ]
}

fn workload_columns(kind: &str) -> Vec<Column> {
    let ready = || {
        text("Ready", |o, _| {
            cells::fraction(o, "/status/readyReplicas", "/spec/replicas")
        })
    };
    let mut out = match kind {
        "Deployment" => vec![
            ready(),
            text("Up-to-date", |o, _| {
                cells::number(o, "/status/updatedReplicas")
            }),
            text("Available", |o, _| {
                cells::number(o, "/status/availableReplicas")
            }),
        ],
        "StatefulSet" => vec![ready()],
        "ReplicaSet" => vec![
            count("Desired", |o, _| cells::number(o, "/spec/replicas")),
            count("Current", |o, _| cells::number(o, "/status/replicas")),
            count("Ready", |o, _| cells::number(o, "/status/readyReplicas")),
        ],
        "DaemonSet" => vec![
            count("Desired", |o, _| {
                cells::number(o, "/status/desiredNumberScheduled")
            }),
            count("Current", |o, _| {
                cells::number(o, "/status/currentNumberScheduled")
            }),
            count("Ready", |o, _| cells::number(o, "/status/numberReady")),
            count("Up-to-date", |o, _| {
                cells::number(o, "/status/updatedNumberScheduled")
            }),
            count("Available", |o, _| {
                cells::number(o, "/status/numberAvailable")
            }),
            text("Node Selector", |o, _| {
                cells::labels(o, "/spec/template/spec/nodeSelector")
            }),
        ],
        _ => return vec![Column::age()],
    };
    out.push(Column::age());
    out.push(wide("Containers", |o, _| cells::containers(o, "/name")));
    out.push(wide("Images", |o, _| cells::containers(o, "/image")));
    if kind != "StatefulSet" {
        out.push(wide("Selector", |o, _| cells::selector(o)));
    }
    out
}

fn rbac_columns(kind: &str) -> Vec<Column> {
    if matches!(kind, "Role" | "ClusterRole") {
        return vec![created_at()];
    }
    vec![
        text("Role", |o, _| cells::role_ref(o)),
        Column::age(),
        wide("Users", |o, _| cells::subjects(o, "User")),
        wide("Groups", |o, _| cells::subjects(o, "Group")),
        wide("ServiceAccounts", |o, _| {
            cells::subjects(o, "ServiceAccount")
        }),
    ]
}

fn certificate_columns() -> Vec<Column> {
    vec![
        Column::age(),
        text("SignerName", |o, _| cells::at(o, "/spec/signerName")),
        text("Requestor", |o, _| cells::at(o, "/spec/username")),
        text("RequestedDuration", |o, _| cells::requested_duration(o)),
        text("Condition", |o, _| cells::csr_condition(o)),
    ]
}

fn other_columns(group: &str, kind: &str) -> Vec<Column> {
    let mut out = match (group, kind) {
        ("coordination.k8s.io", "Lease") => {
            vec![text("Holder", |o, _| cells::at(o, "/spec/holderIdentity"))]
        }
        ("policy", "PodDisruptionBudget") => vec![
            text("Min Available", |o, _| {
                cells::or_na(o, "/spec/minAvailable")
            }),
            text("Max Unavailable", |o, _| {
                cells::or_na(o, "/spec/maxUnavailable")
            }),
            count("Allowed Disruptions", |o, _| {
                cells::number(o, "/status/disruptionsAllowed")
            }),
        ],
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => vec![count("Webhooks", |o, _| cells::length(o, &["/webhooks"]))],
        _ => Vec::new(),
    };
    out.push(Column::age());
    out
}

fn event_columns() -> Vec<Column> {
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
        Column::name().only_wide(),
    ]
}
