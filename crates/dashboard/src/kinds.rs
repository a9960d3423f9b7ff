//! The kinds that are read, by their address in the API.

use kube::core::{ApiResource, GroupVersionKind};

/// A kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    MachinePool,
    TerraformMachinePool,
    TerraformMachinePoolMachine,
    Machine,
    Event,
}

impl Kind {
    /// Group, version and kind.
    fn parts(self) -> (&'static str, &'static str, &'static str) {
        const CORE: &str = "cluster.x-k8s.io";
        const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
        match self {
            Self::MachinePool => (CORE, "v1beta2", "MachinePool"),
            Self::Machine => (CORE, "v1beta2", "Machine"),
            Self::TerraformMachinePool => (INFRASTRUCTURE, "v1alpha1", "TerraformMachinePool"),
            Self::TerraformMachinePoolMachine => {
                (INFRASTRUCTURE, "v1alpha1", "TerraformMachinePoolMachine")
            }
            Self::Event => ("events.k8s.io", "v1", "Event"),
        }
    }

    /// As the client addresses it.
    pub(crate) fn resource(self) -> ApiResource {
        let (group, version, kind) = self.parts();
        ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
    }
}
