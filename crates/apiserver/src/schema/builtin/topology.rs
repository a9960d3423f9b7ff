//! How the lists and maps of built-in types merge: facts of Kubernetes' API that `k8s-openapi`'s
//! schemas leave out.
//!
//! Two behaviours live side by side. Server-side apply reads `x-kubernetes-list-type`, strategic
//! merge patch reads `x-kubernetes-patch-strategy` and `x-kubernetes-patch-merge-key`; for some
//! fields they differ (a node's taints are replaced by both, a definition's conditions are merged by
//! the first only).

use serde_json::{Value, json};

use crate::schema::structural::{ListType, PatchStrategy};

/// Lists of objects with an identity: type, field, keys.
const MAPS: &[(&str, &str, &[&str])] = &[
    ("meta.v1.ObjectMeta", "ownerReferences", &["uid"]),
    ("core.v1.Container", "env", &["name"]),
    ("core.v1.Container", "ports", &["containerPort", "protocol"]),
    ("core.v1.Container", "volumeDevices", &["devicePath"]),
    ("core.v1.Container", "volumeMounts", &["mountPath"]),
    ("core.v1.EphemeralContainer", "env", &["name"]),
    (
        "core.v1.EphemeralContainer",
        "ports",
        &["containerPort", "protocol"],
    ),
    (
        "core.v1.EphemeralContainer",
        "volumeDevices",
        &["devicePath"],
    ),
    ("core.v1.EphemeralContainer", "volumeMounts", &["mountPath"]),
    (
        "core.v1.ContainerStatus",
        "allocatedResourcesStatus",
        &["name"],
    ),
    ("core.v1.ContainerStatus", "volumeMounts", &["mountPath"]),
    ("core.v1.NamespaceStatus", "conditions", &["type"]),
    ("core.v1.NodeStatus", "addresses", &["type"]),
    ("core.v1.NodeStatus", "conditions", &["type"]),
    (
        "core.v1.PersistentVolumeClaimStatus",
        "conditions",
        &["type"],
    ),
    ("core.v1.PodSpec", "containers", &["name"]),
    ("core.v1.PodSpec", "ephemeralContainers", &["name"]),
    ("core.v1.PodSpec", "hostAliases", &["ip"]),
    ("core.v1.PodSpec", "imagePullSecrets", &["name"]),
    ("core.v1.PodSpec", "initContainers", &["name"]),
    ("core.v1.PodSpec", "resourceClaims", &["name"]),
    ("core.v1.PodSpec", "schedulingGates", &["name"]),
    (
        "core.v1.PodSpec",
        "topologySpreadConstraints",
        &["topologyKey", "whenUnsatisfiable"],
    ),
    ("core.v1.PodSpec", "volumes", &["name"]),
    ("core.v1.PodStatus", "conditions", &["type"]),
    ("core.v1.PodStatus", "hostIPs", &["ip"]),
    ("core.v1.PodStatus", "podIPs", &["ip"]),
    ("core.v1.PodStatus", "resourceClaimStatuses", &["name"]),
    (
        "core.v1.ReplicationControllerStatus",
        "conditions",
        &["type"],
    ),
    ("core.v1.ResourceRequirements", "claims", &["name"]),
    ("core.v1.ResourceStatus", "resources", &["resourceID"]),
    ("core.v1.ServiceAccount", "secrets", &["name"]),
    ("core.v1.ServiceSpec", "ports", &["port", "protocol"]),
    ("core.v1.ServiceStatus", "conditions", &["type"]),
    (
        "admissionregistration.v1.MutatingWebhook",
        "matchConditions",
        &["name"],
    ),
    (
        "admissionregistration.v1.MutatingWebhookConfiguration",
        "webhooks",
        &["name"],
    ),
    (
        "admissionregistration.v1.ValidatingWebhook",
        "matchConditions",
        &["name"],
    ),
    (
        "admissionregistration.v1.ValidatingWebhookConfiguration",
        "webhooks",
        &["name"],
    ),
    ("apps.v1.DaemonSetStatus", "conditions", &["type"]),
    ("apps.v1.DeploymentStatus", "conditions", &["type"]),
    ("apps.v1.ReplicaSetStatus", "conditions", &["type"]),
    ("apps.v1.StatefulSetStatus", "conditions", &["type"]),
    (
        "autoscaling.v2.HorizontalPodAutoscalerStatus",
        "conditions",
        &["type"],
    ),
    (
        "certificates.v1.CertificateSigningRequestStatus",
        "conditions",
        &["type"],
    ),
    (
        "policy.v1.PodDisruptionBudgetStatus",
        "conditions",
        &["type"],
    ),
    ("storage.v1.CSINodeSpec", "drivers", &["name"]),
    (
        "apiextensions.v1.CustomResourceDefinitionStatus",
        "conditions",
        &["type"],
    ),
    (
        "apiextensions.v1.JSONSchemaProps",
        "x-kubernetes-validations",
        &["rule"],
    ),
    (
        "apiregistration.v1.APIServiceStatus",
        "conditions",
        &["type"],
    ),
];

/// Lists of scalars that are sets: type, field.
const SETS: &[(&str, &str)] = &[
    ("meta.v1.ObjectMeta", "finalizers"),
    ("core.v1.NodeSpec", "podCIDRs"),
    ("discovery.v1.Endpoint", "addresses"),
    ("batch.v1.PodFailurePolicyOnExitCodesRequirement", "values"),
    ("batch.v1.UncountedTerminatedPods", "failed"),
    ("batch.v1.UncountedTerminatedPods", "succeeded"),
    ("storage.v1.CSIDriverSpec", "volumeLifecycleModes"),
];

/// Maps that are replaced as a whole: type, field.
const ATOMIC_FIELDS: &[(&str, &str)] = &[
    ("core.v1.PodSpec", "nodeSelector"),
    ("core.v1.ReplicationControllerSpec", "selector"),
    ("core.v1.ServiceSpec", "selector"),
    ("node.v1.Scheduling", "nodeSelector"),
];

/// Objects that are replaced as a whole, wherever they stand.
const ATOMIC_TYPES: &[&str] = &[
    "meta.v1.LabelSelector",
    "meta.v1.OwnerReference",
    "core.v1.ConfigMapKeySelector",
    "core.v1.EndpointAddress",
    "core.v1.EndpointPort",
    "core.v1.LocalObjectReference",
    "core.v1.NodeConfigSource",
    "core.v1.NodeSelector",
    "core.v1.NodeSelectorTerm",
    "core.v1.ObjectFieldSelector",
    "core.v1.ObjectReference",
    "core.v1.ResourceFieldSelector",
    "core.v1.ScopeSelector",
    "core.v1.SecretKeySelector",
    "core.v1.SecretReference",
    "core.v1.TopologySelectorTerm",
    "core.v1.TypedLocalObjectReference",
    "autoscaling.v1.CrossVersionObjectReference",
    "discovery.v1.EndpointPort",
    "networking.v1.IngressClassParametersReference",
    "networking.v1.ServiceBackendPort",
    "rbac.v1.AggregationRule",
    "rbac.v1.RoleRef",
    "rbac.v1.Subject",
];

/// Lists that strategic merge patches merge although apply treats them differently: type, field,
/// key (`None` unites scalars).
const PATCH_ONLY: &[(&str, &str, Option<&str>)] =
    &[("batch.v1.JobStatus", "conditions", Some("type"))];

/// Atomic for strategic merge patches although apply merges them: type, field.
const PATCH_REPLACES: &[(&str, &str)] = &[
    ("core.v1.ContainerStatus", "allocatedResourcesStatus"),
    ("core.v1.ResourceRequirements", "claims"),
    ("core.v1.ResourceStatus", "resources"),
    (
        "certificates.v1.CertificateSigningRequestStatus",
        "conditions",
    ),
    (
        "apiextensions.v1.CustomResourceDefinitionStatus",
        "conditions",
    ),
    (
        "apiextensions.v1.JSONSchemaProps",
        "x-kubernetes-validations",
    ),
];

/// Fields whose objects drop the keys that a patch doesn't name: type, field.
const RETAIN_KEYS: &[(&str, &str)] = &[
    ("core.v1.PodSpec", "volumes"),
    ("core.v1.PodSpec", "resourceClaims"),
    ("core.v1.PodStatus", "resourceClaimStatuses"),
];

/// Types whose objects drop the keys that a patch doesn't name.
const RETAIN_KEYS_TYPES: &[&str] = &["apps.v1.DeploymentStrategy"];

/// Whether a full type name is the one that a row means by its last words.
fn is(full: &str, short: &str) -> bool {
    full.strip_suffix(short)
        .is_some_and(|prefix| prefix.ends_with('.'))
}

/// Adds merge behaviour, and the defaults that list keys need, to a published type.
pub(super) fn annotate(type_name: &str, schema: &mut Value) {
    if ATOMIC_TYPES.iter().any(|short| is(type_name, short)) {
        schema["x-kubernetes-map-type"] = json!("atomic");
    }
    if RETAIN_KEYS_TYPES.iter().any(|short| is(type_name, short)) {
        schema["x-kubernetes-patch-strategy"] = json!("retainKeys");
    }
    // A port's protocol is part of its identity, also when it is left out.
    if is(type_name, "core.v1.ContainerPort") || is(type_name, "core.v1.ServicePort") {
        schema["properties"]["protocol"]["default"] = json!("TCP");
    }
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    for (name, field) in properties.iter_mut() {
        annotate_field(type_name, name, field);
    }
}

fn annotate_field(type_name: &str, name: &str, field: &mut Value) {
    let here = |short: &str, of: &str| of == name && is(type_name, short);
    if let Some((_, _, keys)) = MAPS.iter().find(|(short, of, _)| here(short, of)) {
        field["x-kubernetes-list-type"] = json!("map");
        field["x-kubernetes-list-map-keys"] = json!(keys);
        if !PATCH_REPLACES.iter().any(|(short, of)| here(short, of)) {
            field["x-kubernetes-patch-strategy"] = json!("merge");
            field["x-kubernetes-patch-merge-key"] = json!(keys.first());
        }
    } else if SETS.iter().any(|(short, of)| here(short, of)) {
        field["x-kubernetes-list-type"] = json!("set");
        field["x-kubernetes-patch-strategy"] = json!("merge");
    } else if field.get("type").and_then(Value::as_str) == Some("array") {
        field["x-kubernetes-list-type"] = json!("atomic");
    }
    if ATOMIC_FIELDS.iter().any(|(short, of)| here(short, of)) {
        field["x-kubernetes-map-type"] = json!("atomic");
    }
    if let Some((_, _, key)) = PATCH_ONLY.iter().find(|(short, of, _)| here(short, of)) {
        field["x-kubernetes-patch-strategy"] = json!("merge");
        if let Some(key) = key {
            field["x-kubernetes-patch-merge-key"] = json!(key);
        }
    }
    if RETAIN_KEYS.iter().any(|(short, of)| here(short, of)) {
        let merges = field.get("x-kubernetes-patch-merge-key").is_some();
        let strategy = if merges {
            "merge,retainKeys"
        } else {
            "retainKeys"
        };
        field["x-kubernetes-patch-strategy"] = json!(strategy);
    }
}

/// The list type that a schema declares.
pub(super) fn list_type(schema: &Value) -> Option<ListType> {
    let name = schema
        .get("x-kubernetes-list-type")
        .and_then(Value::as_str)?;
    Some(match name {
        "set" => ListType::Set,
        "map" => {
            let keys = schema
                .get("x-kubernetes-list-map-keys")
                .and_then(Value::as_array);
            let keys = keys.into_iter().flatten().filter_map(Value::as_str);
            ListType::Map(keys.map(str::to_owned).collect())
        }
        _ => ListType::Atomic,
    })
}

/// The patch strategy that a schema declares.
pub(super) fn patch_strategy(schema: &Value) -> PatchStrategy {
    let strategy = schema
        .get("x-kubernetes-patch-strategy")
        .and_then(Value::as_str);
    let key = schema
        .get("x-kubernetes-patch-merge-key")
        .and_then(Value::as_str);
    match (strategy, key) {
        (Some("merge"), Some(key)) => PatchStrategy::MergeByKey(key.to_owned()),
        (Some("merge"), None) => PatchStrategy::MergeScalars,
        (Some("merge,retainKeys"), Some(key)) => {
            PatchStrategy::MergeByKeyRetainKeys(key.to_owned())
        }
        (Some("retainKeys"), _) => PatchStrategy::RetainKeys,
        _ => PatchStrategy::Replace,
    }
}
