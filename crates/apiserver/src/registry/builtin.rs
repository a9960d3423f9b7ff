//! The built-in kinds as a table.

use std::sync::{Arc, LazyLock};

use super::kind::{Behaviour, Kind, ScalePaths, Version};
use crate::schema::builtin;
use crate::table::builtin_columns;

/// One row: everything that tells a built-in kind from another.
struct Row {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    short_names: &'static [&'static str],
    categories: &'static [&'static str],
    namespaced: bool,
    status: bool,
    /// Whether `spec.replicas` is served as a scale.
    scale: bool,
    behaviour: Behaviour,
    selectable: &'static [&'static str],
}

const PLAIN: Row = Row {
    group: "",
    version: "v1",
    kind: "",
    plural: "",
    short_names: &[],
    categories: &[],
    namespaced: true,
    status: false,
    scale: false,
    behaviour: Behaviour::Plain,
    selectable: &[],
};

const EVENT_FIELDS: &[&str] = &[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
];

const EVENTS_GROUP_FIELDS: &[&str] = &[
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
    "reason",
    "reportingController",
    "type",
];

const POD_FIELDS: &[&str] = &[
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
];

const RBAC: Row = Row {
    group: "rbac.authorization.k8s.io",
    ..PLAIN
};
const ADMISSION: Row = Row {
    group: "admissionregistration.k8s.io",
    namespaced: false,
    behaviour: Behaviour::WebhookConfiguration,
    ..PLAIN
};

const ROWS: &[Row] = &[
    Row {
        kind: "ConfigMap",
        plural: "configmaps",
        short_names: &["cm"],
        behaviour: Behaviour::ConfigMap,
        ..PLAIN
    },
    Row {
        kind: "Event",
        plural: "events",
        short_names: &["ev"],
        behaviour: Behaviour::Event,
        selectable: EVENT_FIELDS,
        ..PLAIN
    },
    Row {
        kind: "Namespace",
        plural: "namespaces",
        short_names: &["ns"],
        namespaced: false,
        status: true,
        behaviour: Behaviour::Namespace,
        selectable: &["status.phase"],
        ..PLAIN
    },
    Row {
        kind: "Node",
        plural: "nodes",
        short_names: &["no"],
        namespaced: false,
        status: true,
        behaviour: Behaviour::Node,
        selectable: &["spec.unschedulable"],
        ..PLAIN
    },
    Row {
        kind: "Pod",
        plural: "pods",
        short_names: &["po"],
        categories: &["all"],
        status: true,
        behaviour: Behaviour::Pod,
        selectable: POD_FIELDS,
        ..PLAIN
    },
    Row {
        kind: "Secret",
        plural: "secrets",
        behaviour: Behaviour::Secret,
        selectable: &["type"],
        ..PLAIN
    },
    // Stored, never routed: clients look here for the addresses of a cluster.
    Row {
        kind: "Service",
        plural: "services",
        short_names: &["svc"],
        categories: &["all"],
        status: true,
        ..PLAIN
    },
    Row {
        kind: "ServiceAccount",
        plural: "serviceaccounts",
        short_names: &["sa"],
        behaviour: Behaviour::ServiceAccount,
        ..PLAIN
    },
    Row {
        kind: "PersistentVolume",
        plural: "persistentvolumes",
        short_names: &["pv"],
        namespaced: false,
        status: true,
        ..PLAIN
    },
    Row {
        kind: "PersistentVolumeClaim",
        plural: "persistentvolumeclaims",
        short_names: &["pvc"],
        status: true,
        ..PLAIN
    },
    Row {
        group: "events.k8s.io",
        kind: "Event",
        plural: "events",
        short_names: &["ev"],
        behaviour: Behaviour::Event,
        selectable: EVENTS_GROUP_FIELDS,
        ..PLAIN
    },
    Row {
        group: "apiextensions.k8s.io",
        kind: "CustomResourceDefinition",
        plural: "customresourcedefinitions",
        short_names: &["crd", "crds"],
        categories: &["api-extensions"],
        namespaced: false,
        status: true,
        behaviour: Behaviour::CustomResourceDefinition,
        ..PLAIN
    },
    Row {
        group: "apps",
        kind: "DaemonSet",
        plural: "daemonsets",
        short_names: &["ds"],
        categories: &["all"],
        status: true,
        ..PLAIN
    },
    // Stored: what keeps their pods is outside, as in Kubernetes.
    Row {
        group: "apps",
        kind: "Deployment",
        plural: "deployments",
        short_names: &["deploy"],
        categories: &["all"],
        status: true,
        scale: true,
        ..PLAIN
    },
    Row {
        group: "apps",
        kind: "ReplicaSet",
        plural: "replicasets",
        short_names: &["rs"],
        categories: &["all"],
        status: true,
        scale: true,
        ..PLAIN
    },
    Row {
        group: "certificates.k8s.io",
        kind: "CertificateSigningRequest",
        plural: "certificatesigningrequests",
        short_names: &["csr"],
        namespaced: false,
        status: true,
        behaviour: Behaviour::CertificateSigningRequest,
        selectable: &["spec.signerName"],
        ..PLAIN
    },
    Row {
        group: "coordination.k8s.io",
        kind: "Lease",
        plural: "leases",
        behaviour: Behaviour::Lease,
        ..PLAIN
    },
    Row {
        group: "policy",
        kind: "PodDisruptionBudget",
        plural: "poddisruptionbudgets",
        short_names: &["pdb"],
        status: true,
        behaviour: Behaviour::PodDisruptionBudget,
        ..PLAIN
    },
    Row {
        kind: "ClusterRole",
        plural: "clusterroles",
        namespaced: false,
        ..RBAC
    },
    Row {
        kind: "ClusterRoleBinding",
        plural: "clusterrolebindings",
        namespaced: false,
        ..RBAC
    },
    Row {
        kind: "Role",
        plural: "roles",
        ..RBAC
    },
    Row {
        kind: "RoleBinding",
        plural: "rolebindings",
        ..RBAC
    },
    Row {
        group: "storage.k8s.io",
        kind: "VolumeAttachment",
        plural: "volumeattachments",
        namespaced: false,
        status: true,
        ..PLAIN
    },
    Row {
        kind: "MutatingWebhookConfiguration",
        plural: "mutatingwebhookconfigurations",
        categories: &["api-extensions"],
        ..ADMISSION
    },
    Row {
        kind: "ValidatingWebhookConfiguration",
        plural: "validatingwebhookconfigurations",
        categories: &["api-extensions"],
        ..ADMISSION
    },
];

/// The built-in kinds, made once a process.
pub(super) fn kinds() -> Vec<Arc<Kind>> {
    static KINDS: LazyLock<Vec<Arc<Kind>>> =
        LazyLock::new(|| ROWS.iter().map(|row| Arc::new(kind(row))).collect());
    KINDS.clone()
}

fn kind(row: &Row) -> Kind {
    let texts = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    // Both groups of events show the same objects.
    let shared = row.behaviour == Behaviour::Event;
    let group = if shared { "" } else { row.group };
    Kind {
        group: row.group.into(),
        kind: row.kind.into(),
        list_kind: format!("{}List", row.kind),
        plural: row.plural.into(),
        singular: row.kind.to_ascii_lowercase(),
        short_names: texts(row.short_names),
        categories: texts(row.categories),
        namespaced: row.namespaced,
        behaviour: row.behaviour,
        shelf: crate::status_error::qualified(group, row.plural).into(),
        stored_as: crate::object::join_api_version(group, row.version),
        versions: vec![Version {
            name: row.version.into(),
            served: true,
            storage: true,
            deprecation: None,
            schema: builtin::schema(row.group, row.version, row.kind).map(Arc::new),
            since: 0,
            published: None,
            status: row.status,
            scale: row.scale.then(|| ScalePaths {
                replicas: texts(&["spec", "replicas"]),
                status_replicas: texts(&["status", "replicas"]),
                selector: None,
            }),
            columns: builtin_columns(row.group, row.kind).into(),
            selectable: texts(row.selectable),
        }],
        conversion: None,
        ending: false,
    }
}
