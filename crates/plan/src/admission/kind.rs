//! The kinds, and which requests about them are asked.

use super::request::Operation;

/// A kind with defaults or rules of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `Cluster`.
    Cluster,
    /// `ClusterClass`.
    ClusterClass,
    /// `Machine`.
    Machine,
    /// `MachineDrainRule`.
    MachineDrainRule,
    /// `MachineHealthCheck`.
    MachineHealthCheck,
    /// `MachinePool`.
    MachinePool,
    /// `TerraformClusterIdentity`.
    TerraformClusterIdentity,
    /// `TerraformMachinePool`.
    TerraformMachinePool,
    /// `TerraformMachinePoolMachine`.
    TerraformMachinePoolMachine,
    /// `TerraformMachinePoolTemplate`.
    TerraformMachinePoolTemplate,
}

use Operation::{Create, Delete, Update};

impl Kind {
    /// All of them, in the order of their names.
    pub const ALL: [Self; 10] = [
        Self::Cluster,
        Self::ClusterClass,
        Self::Machine,
        Self::MachineDrainRule,
        Self::MachineHealthCheck,
        Self::MachinePool,
        Self::TerraformClusterIdentity,
        Self::TerraformMachinePool,
        Self::TerraformMachinePoolMachine,
        Self::TerraformMachinePoolTemplate,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cluster => "Cluster",
            Self::ClusterClass => "ClusterClass",
            Self::Machine => "Machine",
            Self::MachineDrainRule => "MachineDrainRule",
            Self::MachineHealthCheck => "MachineHealthCheck",
            Self::MachinePool => "MachinePool",
            Self::TerraformClusterIdentity => "TerraformClusterIdentity",
            Self::TerraformMachinePool => "TerraformMachinePool",
            Self::TerraformMachinePoolMachine => "TerraformMachinePoolMachine",
            Self::TerraformMachinePoolTemplate => "TerraformMachinePoolTemplate",
        }
    }

    /// Whether it belongs to the core, which upstream's manager may own.
    pub fn is_core(self) -> bool {
        !matches!(
            self,
            Self::TerraformClusterIdentity
                | Self::TerraformMachinePool
                | Self::TerraformMachinePoolMachine
                | Self::TerraformMachinePoolTemplate
        )
    }

    /// Its API group.
    pub fn group(self) -> &'static str {
        if self.is_core() {
            "cluster.x-k8s.io"
        } else {
            "infrastructure.cluster.x-k8s.io"
        }
    }

    /// The version that the rules are written for.
    pub fn version(self) -> &'static str {
        if self.is_core() {
            "v1beta2"
        } else {
            "v1alpha1"
        }
    }

    /// Its name in the singular, as webhooks are named.
    pub fn singular(self) -> String {
        self.name().to_ascii_lowercase()
    }

    /// Its name in paths of the API.
    pub fn plural(self) -> String {
        match self {
            Self::ClusterClass => "clusterclasses".to_owned(),
            Self::TerraformClusterIdentity => "terraformclusteridentities".to_owned(),
            _ => format!("{}s", self.singular()),
        }
    }

    /// Requests whose object may be completed.
    pub fn completed_on(self) -> &'static [Operation] {
        match self {
            Self::Machine | Self::MachineHealthCheck | Self::MachinePool => &[Create, Update],
            _ => &[],
        }
    }

    /// Requests that may be refused.
    pub fn judged_on(self) -> &'static [Operation] {
        match self {
            Self::Machine | Self::TerraformClusterIdentity => &[Create, Update, Delete],
            Self::TerraformMachinePoolMachine => &[Update, Delete],
            _ => &[Create, Update],
        }
    }
}
