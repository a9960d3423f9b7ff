//! The tables: field number, JSON name and shape of every message that is read.

/// How one field is read.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    Text,
    Texts,
    Bool,
    /// A flag that is unset when false.
    Set,
    Int,
    /// A number that is unset when zero.
    NonZero,
    Bytes,
    TextMap,
    BytesMap,
    Time,
    IntOrString,
    One(&'static Message),
    Many(&'static Message),
}

/// Field number, JSON name, shape.
pub(super) type Message = [(u64, &'static str, Shape)];

const OWNER: &Message = &[
    (1, "kind", Shape::Text),
    (3, "name", Shape::Text),
    (4, "uid", Shape::Text),
    (5, "apiVersion", Shape::Text),
    (6, "controller", Shape::Bool),
    (7, "blockOwnerDeletion", Shape::Bool),
];

const META: &Message = &[
    (1, "name", Shape::Text),
    (2, "generateName", Shape::Text),
    (3, "namespace", Shape::Text),
    (5, "uid", Shape::Text),
    (6, "resourceVersion", Shape::Text),
    (11, "labels", Shape::TextMap),
    (12, "annotations", Shape::TextMap),
    (13, "ownerReferences", Shape::Many(OWNER)),
    (14, "finalizers", Shape::Texts),
];

const NAMESPACE: &Message = &[
    (1, "metadata", Shape::One(META)),
    (2, "spec", Shape::One(&[(1, "finalizers", Shape::Texts)])),
];

const CONFIG_MAP: &Message = &[
    (1, "metadata", Shape::One(META)),
    (2, "data", Shape::TextMap),
    (3, "binaryData", Shape::BytesMap),
    (4, "immutable", Shape::Bool),
];

const SECRET: &Message = &[
    (1, "metadata", Shape::One(META)),
    (2, "data", Shape::BytesMap),
    (3, "type", Shape::Text),
    (4, "stringData", Shape::TextMap),
    (5, "immutable", Shape::Bool),
];

const SERVICE_ACCOUNT: &Message = &[
    (1, "metadata", Shape::One(META)),
    (
        3,
        "imagePullSecrets",
        Shape::Many(&[(1, "name", Shape::Text)]),
    ),
    (4, "automountServiceAccountToken", Shape::Bool),
];

const RESOURCE_ATTRIBUTES: &Message = &[
    (1, "namespace", Shape::Text),
    (2, "verb", Shape::Text),
    (3, "group", Shape::Text),
    (4, "version", Shape::Text),
    (5, "resource", Shape::Text),
    (6, "subresource", Shape::Text),
    (7, "name", Shape::Text),
];

const ACCESS_REVIEW_SPEC: &Message = &[
    (1, "resourceAttributes", Shape::One(RESOURCE_ATTRIBUTES)),
    (
        2,
        "nonResourceAttributes",
        Shape::One(&[(1, "path", Shape::Text), (2, "verb", Shape::Text)]),
    ),
];

const ACCESS_REVIEW: &Message = &[
    (1, "metadata", Shape::One(META)),
    (2, "spec", Shape::One(ACCESS_REVIEW_SPEC)),
];

const REVIEW: &Message = &[(1, "metadata", Shape::One(META))];

const PRECONDITIONS: &Message = &[(1, "uid", Shape::Text), (2, "resourceVersion", Shape::Text)];

const DELETE_OPTIONS: &Message = &[
    (1, "gracePeriodSeconds", Shape::Int),
    (2, "preconditions", Shape::One(PRECONDITIONS)),
    (3, "orphanDependents", Shape::Bool),
    (4, "propagationPolicy", Shape::Text),
    (5, "dryRun", Shape::Texts),
];

const EVICTION: &Message = &[
    (1, "metadata", Shape::One(META)),
    (2, "deleteOptions", Shape::One(DELETE_OPTIONS)),
];

const RULE: &Message = &[
    (1, "verbs", Shape::Texts),
    (2, "apiGroups", Shape::Texts),
    (3, "resources", Shape::Texts),
    (4, "resourceNames", Shape::Texts),
    (5, "nonResourceURLs", Shape::Texts),
];

const ROLE: &Message = &[
    (1, "metadata", Shape::One(META)),
    (2, "rules", Shape::Many(RULE)),
];

const SUBJECT: &Message = &[
    (1, "kind", Shape::Text),
    (2, "apiGroup", Shape::Text),
    (3, "name", Shape::Text),
    (4, "namespace", Shape::Text),
];

const ROLE_REF: &Message = &[
    (1, "apiGroup", Shape::Text),
    (2, "kind", Shape::Text),
    (3, "name", Shape::Text),
];

const BINDING: &Message = &[
    (1, "metadata", Shape::One(META)),
    (2, "subjects", Shape::Many(SUBJECT)),
    (3, "roleRef", Shape::One(ROLE_REF)),
];

const EXPRESSION: &Message = &[
    (1, "key", Shape::Text),
    (2, "operator", Shape::Text),
    (3, "values", Shape::Texts),
];

const AGGREGATION: &Message = &[(1, "clusterRoleSelectors", Shape::Many(SELECTOR))];

const CLUSTER_ROLE: &Message = &[
    (1, "metadata", Shape::One(META)),
    (2, "rules", Shape::Many(RULE)),
    (3, "aggregationRule", Shape::One(AGGREGATION)),
];

const BOUND: &Message = &[
    (1, "kind", Shape::Text),
    (2, "apiVersion", Shape::Text),
    (3, "name", Shape::Text),
    (4, "uid", Shape::Text),
];

const TOKEN_REQUEST: &Message = &[
    (1, "metadata", Shape::One(META)),
    (
        2,
        "spec",
        Shape::One(&[
            (1, "audiences", Shape::Texts),
            (3, "boundObjectRef", Shape::One(BOUND)),
            (4, "expirationSeconds", Shape::Int),
        ]),
    ),
];

const SELECTOR: &Message = &[
    (1, "matchLabels", Shape::TextMap),
    (2, "matchExpressions", Shape::Many(EXPRESSION)),
];

const BUDGET_SPEC: &Message = &[
    (1, "minAvailable", Shape::IntOrString),
    (2, "selector", Shape::One(SELECTOR)),
    (3, "maxUnavailable", Shape::IntOrString),
    (4, "unhealthyPodEvictionPolicy", Shape::Text),
];

const BUDGET: &Message = &[
    (1, "metadata", Shape::One(META)),
    (2, "spec", Shape::One(BUDGET_SPEC)),
];

const SIGNING_SPEC: &Message = &[
    (1, "request", Shape::Bytes),
    (2, "username", Shape::Text),
    (3, "uid", Shape::Text),
    (4, "groups", Shape::Texts),
    (5, "usages", Shape::Texts),
    (7, "signerName", Shape::Text),
    (8, "expirationSeconds", Shape::Int),
];

const SIGNING_CONDITION: &Message = &[
    (1, "type", Shape::Text),
    (2, "reason", Shape::Text),
    (3, "message", Shape::Text),
    (4, "lastUpdateTime", Shape::Time),
    (5, "lastTransitionTime", Shape::Time),
    (6, "status", Shape::Text),
];

const SIGNING_STATUS: &Message = &[
    (1, "conditions", Shape::Many(SIGNING_CONDITION)),
    (2, "certificate", Shape::Bytes),
];

const SIGNING_REQUEST: &Message = &[
    (1, "metadata", Shape::One(META)),
    (2, "spec", Shape::One(SIGNING_SPEC)),
    (3, "status", Shape::One(SIGNING_STATUS)),
];

const RULES_REVIEW: &Message = &[
    (1, "metadata", Shape::One(META)),
    (2, "spec", Shape::One(&[(1, "namespace", Shape::Text)])),
];

const SERVICE_PORT: &Message = &[
    (1, "name", Shape::Text),
    (2, "protocol", Shape::Text),
    (3, "port", Shape::Int),
    (4, "targetPort", Shape::IntOrString),
    (5, "nodePort", Shape::NonZero),
    (6, "appProtocol", Shape::Text),
];

const SERVICE_SPEC: &Message = &[
    (1, "ports", Shape::Many(SERVICE_PORT)),
    (2, "selector", Shape::TextMap),
    (3, "clusterIP", Shape::Text),
    (4, "type", Shape::Text),
    (5, "externalIPs", Shape::Texts),
    (7, "sessionAffinity", Shape::Text),
    (9, "loadBalancerSourceRanges", Shape::Texts),
    (10, "externalName", Shape::Text),
    (11, "externalTrafficPolicy", Shape::Text),
    (12, "healthCheckNodePort", Shape::NonZero),
    (13, "publishNotReadyAddresses", Shape::Set),
    (17, "ipFamilyPolicy", Shape::Text),
    (18, "clusterIPs", Shape::Texts),
    (19, "ipFamilies", Shape::Texts),
    (21, "loadBalancerClass", Shape::Text),
    (22, "internalTrafficPolicy", Shape::Text),
];

const SERVICE: &Message = &[
    (1, "metadata", Shape::One(META)),
    (2, "spec", Shape::One(SERVICE_SPEC)),
];

/// The table of a kind.
pub(super) fn of(kind: &str) -> Option<&'static Message> {
    let message = match kind {
        "Namespace" => NAMESPACE,
        "ConfigMap" => CONFIG_MAP,
        "Secret" => SECRET,
        "Service" => SERVICE,
        "ServiceAccount" => SERVICE_ACCOUNT,
        "SelfSubjectAccessReview" => ACCESS_REVIEW,
        "SelfSubjectReview" => REVIEW,
        "Eviction" => EVICTION,
        "DeleteOptions" => DELETE_OPTIONS,
        "Role" => ROLE,
        "ClusterRole" => CLUSTER_ROLE,
        "TokenRequest" => TOKEN_REQUEST,
        "RoleBinding" | "ClusterRoleBinding" => BINDING,
        "PodDisruptionBudget" => BUDGET,
        "CertificateSigningRequest" => SIGNING_REQUEST,
        "SelfSubjectRulesReview" => RULES_REVIEW,
        _ => return None,
    };
    Some(message)
}
