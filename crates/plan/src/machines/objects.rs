//! The objects that stand for members, as plain data in the shape of their JSON.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::view::MachineView;
use crate::pool::{
    keys,
    members::Address,
    objects::{ContractRef, Initialization, Metadata},
};

/// What Kubernetes holds of a pool's Machines.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MachineObjects {
    /// One for each member that was seen.
    pub infra: Vec<InfraMachine>,
    /// One for each of these, made by the MachinePool controller.
    pub machines: Vec<Machine>,
}

impl MachineObjects {
    /// The Machine that stands for an object.
    pub fn machine_of(&self, infra: &InfraMachine) -> Option<&Machine> {
        self.machines
            .iter()
            .find(|machine| machine.points_at(&infra.metadata.name))
    }
}

/// A `TerraformMachinePoolMachine`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InfraMachine {
    /// Metadata.
    pub metadata: Metadata,
    /// Spec.
    pub spec: InfraMachineSpec,
    /// The status as last written.
    pub status: InfraMachineStatus,
}

impl InfraMachine {
    /// It is being deleted: its instance is to end.
    pub fn is_deleting(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// `clusterctl move` deletes it from its old home: its instance lives on.
    pub fn is_moving(&self) -> bool {
        self.metadata
            .annotations
            .contains_key(keys::DELETE_FOR_MOVE)
    }
}

/// `TerraformMachinePoolMachine.spec`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InfraMachineSpec {
    /// Which instance it stands for.
    #[serde(rename = "providerID", skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
}

/// `TerraformMachinePoolMachine.status` as written. Unset fields are left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InfraMachineStatus {
    /// Addresses of the instance.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<Address>,
    /// Sorted by type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<MemberCondition>,
    /// Zone of the instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_domain: Option<String>,
    /// Latched: the instance ran once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initialization: Option<Initialization>,
    /// `running`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_state: Option<String>,
    /// Spot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interruptible: Option<bool>,
    /// What core of the baseline reads; equals `initialization.provisioned`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// Model the instance was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Made as a new one would be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up_to_date: Option<bool>,
}

/// One condition of a `TerraformMachinePoolMachine`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberCondition {
    /// Type.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Reason.
    pub reason: String,
    /// For people.
    #[serde(default)]
    pub message: String,
    /// Generation it speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Moves only when `status` changes.
    pub last_transition_time: Timestamp,
}

/// A Cluster API `Machine`, as far as a pool reads it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// Metadata.
    pub metadata: Metadata,
    /// Spec.
    pub spec: MachineSpec,
    /// Status.
    pub status: MachineStatus,
}

/// `Machine.spec`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineSpec {
    /// The object that stands for its instance.
    pub infrastructure_ref: ContractRef,
}

/// `Machine.status`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineStatus {
    /// Conditions.
    pub conditions: Vec<MachineCondition>,
}

/// One condition of a `Machine`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineCondition {
    /// Type.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Reason.
    pub reason: String,
}

impl From<&MachineView> for Machine {
    fn from(view: &MachineView) -> Self {
        let conditions = view.status.conditions.iter();
        let conditions = conditions.map(|condition| MachineCondition {
            kind: condition.kind.clone(),
            status: condition.status.clone(),
            reason: condition.reason.clone(),
        });
        Self {
            metadata: view.metadata.clone(),
            spec: MachineSpec {
                infrastructure_ref: view.spec.infrastructure_ref.clone(),
            },
            status: MachineStatus {
                conditions: conditions.collect(),
            },
        }
    }
}

/// Reasons of a Machine's `Deleting` from its infrastructure on: the drain lies behind it.
const AFTER_DRAIN: [&str; 4] = [
    "WaitingForInfrastructureDeletion",
    "WaitingForBootstrapDeletion",
    "DeletingNode",
    "DeletionCompleted",
];

impl Machine {
    /// It stands for the object of this name.
    pub fn points_at(&self, infra: &str) -> bool {
        let reference = &self.spec.infrastructure_ref;
        reference.kind == keys::MEMBER_KIND && reference.name == infra
    }

    /// It stands for an object of our kind.
    pub fn is_ours(&self) -> bool {
        self.spec.infrastructure_ref.kind == keys::MEMBER_KIND
    }

    /// It is being deleted.
    pub fn is_deleting(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// A condition of it.
    pub fn condition(&self, kind: &str) -> Option<&MachineCondition> {
        self.status
            .conditions
            .iter()
            .find(|condition| condition.kind == kind)
    }

    fn is(&self, kind: &str, status: &str) -> bool {
        self.condition(kind)
            .is_some_and(|condition| condition.status == status)
    }

    /// It counts: available, or ready where nobody says whether it is available.
    pub fn is_available(&self) -> bool {
        match self.condition("Available") {
            Some(condition) => condition.status == "True",
            None => self.is("Ready", "True"),
        }
    }

    /// A person or an autoscaler wants it to go first.
    pub fn is_marked(&self) -> bool {
        self.metadata.annotations.contains_key(keys::DELETE_MACHINE)
    }

    /// A health check found it bad, or its Node is.
    pub fn is_unhealthy(&self) -> bool {
        self.is("HealthCheckSucceeded", "False") || self.is("NodeHealthy", "False")
    }

    /// A health check gave it up and waits for whoever owns it.
    pub fn waits_for_remediation(&self) -> bool {
        self.condition("OwnerRemediated").is_some_and(|condition| {
            condition.status == "False" && condition.reason == "WaitingForRemediation"
        })
    }

    /// Its Node is drained and its hooks are gone, so its instance may end. An object that somebody
    /// deletes by hand says nothing of that; its Machine does.
    pub fn is_drained(&self) -> bool {
        if !self.is_deleting() {
            return false;
        }
        // Older controllers report no such condition.
        self.condition("Deleting")
            .is_none_or(|deleting| AFTER_DRAIN.contains(&deleting.reason.as_str()))
    }
}
