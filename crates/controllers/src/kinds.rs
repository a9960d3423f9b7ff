//! The kinds that controllers read and write, by their place in the API.

use kube::core::{ApiResource, GroupVersionKind};

/// A kind of object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `TerraformMachinePool`.
    TerraformMachinePool,
    /// `TerraformCluster`.
    TerraformCluster,
    /// `TerraformClusterIdentity`, cluster-scoped.
    TerraformClusterIdentity,
    /// `TerraformMachinePoolMachine`.
    TerraformMachinePoolMachine,
    /// `MachinePool`.
    MachinePool,
    /// `Machine`.
    Machine,
    /// `MachineDrainRule`.
    MachineDrainRule,
    /// `MachineHealthCheck`.
    MachineHealthCheck,
    /// `Cluster`.
    Cluster,
    /// `ConfigMap`.
    ConfigMap,
    /// `Secret`.
    Secret,
    /// `Namespace`, cluster-scoped.
    Namespace,
    /// `Event` of `events.k8s.io`.
    Event,
    /// `Node`, cluster-scoped, of a workload cluster.
    Node,
    /// `CustomResourceDefinition`, cluster-scoped.
    CustomResourceDefinition,
}

impl Kind {
    /// Group, version and kind.
    pub fn gvk(self) -> GroupVersionKind {
        let (group, version, kind, _) = self.parts();
        GroupVersionKind::gvk(group, version, kind)
    }

    /// The API resource.
    pub fn resource(self) -> ApiResource {
        ApiResource::from_gvk_with_plural(&self.gvk(), self.parts().3)
    }

    /// Whether objects live in a namespace.
    pub fn is_namespaced(self) -> bool {
        !matches!(
            self,
            Self::TerraformClusterIdentity
                | Self::Namespace
                | Self::Node
                | Self::CustomResourceDefinition
        )
    }

    /// The kind of a manifest, if it is one of these.
    pub fn from_manifest(api_version: &str, kind: &str) -> Option<Self> {
        [
            Self::TerraformMachinePool,
            Self::TerraformCluster,
            Self::TerraformClusterIdentity,
            Self::TerraformMachinePoolMachine,
            Self::MachinePool,
            Self::Machine,
            Self::MachineDrainRule,
            Self::MachineHealthCheck,
            Self::Cluster,
            Self::ConfigMap,
            Self::Secret,
            Self::Namespace,
            Self::Event,
            Self::CustomResourceDefinition,
        ]
        .into_iter()
        .find(|known| {
            let resource = known.resource();
            resource.api_version == api_version && resource.kind == kind
        })
    }

    fn parts(self) -> (&'static str, &'static str, &'static str, &'static str) {
        const INFRA: &str = "infrastructure.cluster.x-k8s.io";
        const CAPI: &str = "cluster.x-k8s.io";
        match self {
            Self::TerraformMachinePool => (
                INFRA,
                "v1alpha1",
                "TerraformMachinePool",
                "terraformmachinepools",
            ),
            Self::TerraformCluster => (INFRA, "v1alpha1", "TerraformCluster", "terraformclusters"),
            Self::TerraformClusterIdentity => (
                INFRA,
                "v1alpha1",
                "TerraformClusterIdentity",
                "terraformclusteridentities",
            ),
            Self::TerraformMachinePoolMachine => (
                INFRA,
                "v1alpha1",
                "TerraformMachinePoolMachine",
                "terraformmachinepoolmachines",
            ),
            Self::MachinePool => (CAPI, "v1beta2", "MachinePool", "machinepools"),
            Self::Machine => (CAPI, "v1beta2", "Machine", "machines"),
            Self::MachineDrainRule => (CAPI, "v1beta2", "MachineDrainRule", "machinedrainrules"),
            Self::MachineHealthCheck => {
                (CAPI, "v1beta2", "MachineHealthCheck", "machinehealthchecks")
            }
            Self::Cluster => (CAPI, "v1beta2", "Cluster", "clusters"),
            Self::ConfigMap => ("", "v1", "ConfigMap", "configmaps"),
            Self::Secret => ("", "v1", "Secret", "secrets"),
            Self::Namespace => ("", "v1", "Namespace", "namespaces"),
            Self::Event => ("events.k8s.io", "v1", "Event", "events"),
            Self::Node => ("", "v1", "Node", "nodes"),
            Self::CustomResourceDefinition => (
                "apiextensions.k8s.io",
                "v1",
                "CustomResourceDefinition",
                "customresourcedefinitions",
            ),
        }
    }
}
