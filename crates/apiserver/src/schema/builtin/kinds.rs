//! The built-in kinds that have a schema.

use k8s_openapi::api;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration;

use super::BuiltinKind;

const fn kind<T: schemars::JsonSchema>(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
) -> BuiltinKind {
    BuiltinKind {
        group,
        version,
        kind,
        generate: schemars::SchemaGenerator::subschema_for::<T>,
    }
}

/// Every built-in kind with a schema.
pub static KINDS: &[BuiltinKind] = &[
    kind::<api::core::v1::Namespace>("", "v1", "Namespace"),
    kind::<api::core::v1::Secret>("", "v1", "Secret"),
    kind::<api::core::v1::ConfigMap>("", "v1", "ConfigMap"),
    kind::<api::core::v1::Event>("", "v1", "Event"),
    kind::<api::core::v1::Node>("", "v1", "Node"),
    kind::<api::core::v1::Pod>("", "v1", "Pod"),
    kind::<api::core::v1::PodTemplate>("", "v1", "PodTemplate"),
    kind::<api::core::v1::ReplicationController>("", "v1", "ReplicationController"),
    kind::<api::core::v1::ServiceAccount>("", "v1", "ServiceAccount"),
    kind::<api::core::v1::Service>("", "v1", "Service"),
    kind::<api::core::v1::Endpoints>("", "v1", "Endpoints"),
    kind::<api::core::v1::LimitRange>("", "v1", "LimitRange"),
    kind::<api::core::v1::ResourceQuota>("", "v1", "ResourceQuota"),
    kind::<api::core::v1::PersistentVolume>("", "v1", "PersistentVolume"),
    kind::<api::core::v1::PersistentVolumeClaim>("", "v1", "PersistentVolumeClaim"),
    kind::<api::core::v1::Binding>("", "v1", "Binding"),
    kind::<api::apps::v1::ControllerRevision>("apps", "v1", "ControllerRevision"),
    kind::<api::apps::v1::DaemonSet>("apps", "v1", "DaemonSet"),
    kind::<api::apps::v1::Deployment>("apps", "v1", "Deployment"),
    kind::<api::apps::v1::ReplicaSet>("apps", "v1", "ReplicaSet"),
    kind::<api::apps::v1::StatefulSet>("apps", "v1", "StatefulSet"),
    kind::<api::autoscaling::v1::Scale>("autoscaling", "v1", "Scale"),
    kind::<api::autoscaling::v1::HorizontalPodAutoscaler>(
        "autoscaling",
        "v1",
        "HorizontalPodAutoscaler",
    ),
    kind::<api::autoscaling::v2::HorizontalPodAutoscaler>(
        "autoscaling",
        "v2",
        "HorizontalPodAutoscaler",
    ),
    kind::<api::batch::v1::Job>("batch", "v1", "Job"),
    kind::<api::batch::v1::CronJob>("batch", "v1", "CronJob"),
    kind::<api::coordination::v1::Lease>("coordination.k8s.io", "v1", "Lease"),
    kind::<api::discovery::v1::EndpointSlice>("discovery.k8s.io", "v1", "EndpointSlice"),
    kind::<api::events::v1::Event>("events.k8s.io", "v1", "Event"),
    kind::<api::networking::v1::NetworkPolicy>("networking.k8s.io", "v1", "NetworkPolicy"),
    kind::<api::networking::v1::Ingress>("networking.k8s.io", "v1", "Ingress"),
    kind::<api::networking::v1::IngressClass>("networking.k8s.io", "v1", "IngressClass"),
    kind::<api::policy::v1::PodDisruptionBudget>("policy", "v1", "PodDisruptionBudget"),
    kind::<api::policy::v1::Eviction>("policy", "v1", "Eviction"),
    kind::<api::certificates::v1::CertificateSigningRequest>(
        "certificates.k8s.io",
        "v1",
        "CertificateSigningRequest",
    ),
    kind::<api::rbac::v1::Role>("rbac.authorization.k8s.io", "v1", "Role"),
    kind::<api::rbac::v1::RoleBinding>("rbac.authorization.k8s.io", "v1", "RoleBinding"),
    kind::<api::rbac::v1::ClusterRole>("rbac.authorization.k8s.io", "v1", "ClusterRole"),
    kind::<api::rbac::v1::ClusterRoleBinding>(
        "rbac.authorization.k8s.io",
        "v1",
        "ClusterRoleBinding",
    ),
    kind::<api::admissionregistration::v1::MutatingWebhookConfiguration>(
        "admissionregistration.k8s.io",
        "v1",
        "MutatingWebhookConfiguration",
    ),
    kind::<api::admissionregistration::v1::ValidatingWebhookConfiguration>(
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingWebhookConfiguration",
    ),
    kind::<api::authentication::v1::TokenRequest>("authentication.k8s.io", "v1", "TokenRequest"),
    kind::<api::authentication::v1::TokenReview>("authentication.k8s.io", "v1", "TokenReview"),
    kind::<api::authentication::v1::SelfSubjectReview>(
        "authentication.k8s.io",
        "v1",
        "SelfSubjectReview",
    ),
    kind::<api::authorization::v1::SubjectAccessReview>(
        "authorization.k8s.io",
        "v1",
        "SubjectAccessReview",
    ),
    kind::<api::authorization::v1::SelfSubjectAccessReview>(
        "authorization.k8s.io",
        "v1",
        "SelfSubjectAccessReview",
    ),
    kind::<api::authorization::v1::LocalSubjectAccessReview>(
        "authorization.k8s.io",
        "v1",
        "LocalSubjectAccessReview",
    ),
    kind::<api::authorization::v1::SelfSubjectRulesReview>(
        "authorization.k8s.io",
        "v1",
        "SelfSubjectRulesReview",
    ),
    kind::<api::scheduling::v1::PriorityClass>("scheduling.k8s.io", "v1", "PriorityClass"),
    kind::<api::storage::v1::StorageClass>("storage.k8s.io", "v1", "StorageClass"),
    kind::<api::storage::v1::CSINode>("storage.k8s.io", "v1", "CSINode"),
    kind::<api::storage::v1::CSIDriver>("storage.k8s.io", "v1", "CSIDriver"),
    kind::<api::storage::v1::VolumeAttachment>("storage.k8s.io", "v1", "VolumeAttachment"),
    kind::<apiextensions::v1::CustomResourceDefinition>(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
    ),
    kind::<apiregistration::v1::APIService>("apiregistration.k8s.io", "v1", "APIService"),
];
