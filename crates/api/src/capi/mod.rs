//! Kinds of Cluster API's core group as far as Remuda reads or writes them, in full shape.
//!
//! Invariant: an object read and written again through these types keeps every field the v1beta2
//! definition knows.

mod cluster;
mod deprecated;
mod gate;
mod health_check;
mod machine;
mod machine_address;
mod machine_drain_rule;
mod machine_health_check;
mod machine_pool;
mod machine_template;
mod reference;
mod status;
mod taint;
mod template;
mod topology;

pub use cluster::{
    ApiEndpoint, Cluster, ClusterControlPlaneStatus, ClusterInitialization, ClusterNetwork,
    ClusterPhase, ClusterSpec, ClusterStatus, ClusterUpgradeStep, ClusterWorkersStatus,
    NetworkRanges,
};
pub use deprecated::{
    DeprecatedClusterStatus, DeprecatedClusterV1Beta1, DeprecatedCondition,
    DeprecatedMachineHealthCheckStatus, DeprecatedMachineHealthCheckV1Beta1,
    DeprecatedMachinePoolStatus, DeprecatedMachinePoolV1Beta1, DeprecatedMachineStatus,
    DeprecatedMachineV1Beta1,
};
pub use gate::{ConditionGate, ConditionPolarity};
pub use health_check::{
    ControlPlaneHealthCheck, ControlPlaneRemediation, HealthChecks, MachineDeploymentHealthCheck,
    MachineDeploymentRemediation, MachineHealthCheckRemediation, RemediationTrigger,
    UnhealthyMachineCondition, UnhealthyNodeCondition,
};
pub use machine::{
    Bootstrap, Machine, MachineDeletion, MachineDeletionStatus, MachineInitialization,
    MachineNodeReference, MachinePhase, MachineSpec, MachineStatus,
};
pub use machine_address::{MachineAddress, MachineAddressType};
pub use machine_drain_rule::{
    DrainBehavior, MachineDrainRule, MachineDrainRuleDrain, MachineDrainRuleMachines,
    MachineDrainRulePods, MachineDrainRuleSpec,
};
pub use machine_health_check::{
    MachineHealthCheck, MachineHealthCheckSpec, MachineHealthCheckStatus,
};
pub use machine_pool::{
    MachinePool, MachinePoolInitialization, MachinePoolPhase, MachinePoolSpec, MachinePoolStatus,
};
pub use machine_template::MachineTemplateSpec;
pub use reference::{ContractReference, TemplateReference};
pub use status::{FailureDomain, InfrastructureInitialization, StatusVersion};
pub use taint::{MachineTaint, TaintEffect, TaintPropagation};
pub use template::TemplateMetadata;
pub use topology::{
    ClassReference, ControlPlaneRollout, ControlPlaneTopology, DeletionOrder,
    MachineDeploymentDeletion, MachineDeploymentRollout, MachineDeploymentRolloutStrategy,
    MachineDeploymentTopology, MachinePoolTopology, RollingUpdate, RolloutStrategyType, Topology,
    TopologyVariable, VariableOverrides, WorkersTopology,
};
