//! What the controllers say about objects, as data: condition types, reasons and events of each
//! kind, with what they mean.

use remuda_plan::{
    machines::{
        condition::{MachineCondition, MachineReason},
        remediation, surface,
    },
    status::{
        condition::{ConditionType, Reason},
        event::EventReason,
    },
};

use crate::{cluster, machine_health_check, machine_pool};

/// A name and the lines that say what it means.
pub type Entry = (&'static str, &'static [&'static str]);

/// What is said about one kind.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The kind.
    pub kind: &'static str,
    /// Types of its conditions.
    pub conditions: &'static [Entry],
    /// Their reasons, each list with whose they are.
    pub reasons: &'static [(&'static str, &'static [Entry])],
    /// Reasons of its events.
    pub events: &'static [Entry],
}

/// Every kind that has conditions of ours.
pub const KINDS: &[Kind] = &[
    Kind {
        kind: "TerraformMachinePool",
        conditions: ConditionType::DOCUMENTED,
        reasons: &[("all", Reason::DOCUMENTED)],
        events: EventReason::DOCUMENTED,
    },
    Kind {
        kind: "TerraformMachinePoolMachine",
        conditions: surface::Type::DOCUMENTED,
        reasons: &[("all", surface::Reason::DOCUMENTED)],
        events: &[],
    },
    Kind {
        kind: "Machine",
        conditions: MachineCondition::DOCUMENTED,
        reasons: &[
            ("all", MachineReason::DOCUMENTED),
            ("health checks", remediation::Reason::DOCUMENTED),
        ],
        events: &[],
    },
    Kind {
        kind: "MachinePool",
        conditions: machine_pool::conditions::ConditionType::DOCUMENTED,
        reasons: &[("all", machine_pool::conditions::Reason::DOCUMENTED)],
        events: machine_pool::conditions::EventReason::DOCUMENTED,
    },
    Kind {
        kind: "MachineHealthCheck",
        conditions: machine_health_check::conditions::ConditionType::DOCUMENTED,
        reasons: &[("all", machine_health_check::conditions::Reason::DOCUMENTED)],
        events: machine_health_check::conditions::EventReason::DOCUMENTED,
    },
    Kind {
        kind: "Cluster",
        conditions: &[(
            "WorkersAvailable",
            &[" Its machine pools have the replicas they want."],
        )],
        reasons: &[("`WorkersAvailable`", cluster::workers::Reason::DOCUMENTED)],
        events: &[],
    },
];
