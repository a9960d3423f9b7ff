//! The parts of a MachineHealthCheck that its controller reads, in their JSON shape.

use jiff::SignedDuration;
use remuda_plan::{
    machines::remediation::{
        check::HealthCheck as Settings,
        health::{Bad, Checks, NODE_STARTUP_TIMEOUT},
        limit::Limit,
    },
    pool::objects::{LabelSelector, Metadata},
};
use serde::Deserialize;
use serde_json::Value;

/// A `MachineHealthCheck`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct HealthCheck {
    pub metadata: Metadata,
    pub spec: Spec,
}

/// `spec`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Spec {
    pub cluster_name: String,
    pub selector: LabelSelector,
    pub checks: ChecksSpec,
    pub remediation: RemediationSpec,
}

/// `spec.checks`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ChecksSpec {
    pub node_startup_timeout_seconds: Option<i64>,
    pub unhealthy_machine_conditions: Vec<Unhealthy>,
    pub unhealthy_node_conditions: Vec<Unhealthy>,
}

/// One entry of `unhealthyNodeConditions` or `unhealthyMachineConditions`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Unhealthy {
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
    pub timeout_seconds: i64,
}

/// `spec.remediation`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RemediationSpec {
    pub trigger_if: TriggerIf,
    pub template_ref: Option<TemplateRef>,
}

/// `spec.remediation.triggerIf`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TriggerIf {
    pub unhealthy_less_than_or_equal_to: Option<Value>,
    pub unhealthy_in_range: Option<String>,
}

/// `spec.remediation.templateRef`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TemplateRef {
    pub api_version: String,
    pub kind: String,
    pub name: String,
}

impl Spec {
    /// What is decided on.
    pub(crate) fn settings(&self) -> Settings {
        let bad = |list: &[Unhealthy]| {
            list.iter()
                .map(|condition| Bad {
                    kind: condition.kind.clone(),
                    status: condition.status.clone(),
                    timeout: SignedDuration::from_secs(condition.timeout_seconds),
                })
                .collect()
        };
        let trigger = &self.remediation.trigger_if;
        Settings {
            checks: Checks {
                node_startup_timeout: self
                    .checks
                    .node_startup_timeout_seconds
                    .map_or(NODE_STARTUP_TIMEOUT, SignedDuration::from_secs),
                machine: bad(&self.checks.unhealthy_machine_conditions),
                node: bad(&self.checks.unhealthy_node_conditions),
            },
            limit: Limit::parse(
                trigger.unhealthy_in_range.as_deref(),
                trigger.unhealthy_less_than_or_equal_to.as_ref(),
            ),
            external: self.remediation.template_ref.is_some(),
        }
    }
}
