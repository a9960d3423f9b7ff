//! A MachineDrainRule as plain data: which Machines and Pods it is for.

use serde::Deserialize;

use super::{drain::Labels, pod::Pod};
use crate::pool::{
    objects::{LabelSelector, Metadata},
    selector::selects,
};

/// A MachineDrainRule.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct DrainRule {
    /// Metadata.
    pub metadata: Metadata,
    /// Spec.
    pub spec: DrainRuleSpec,
}

/// `spec`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DrainRuleSpec {
    /// What happens.
    pub drain: Drain,
    /// To Pods of which Machines; absent: of all in the namespace.
    pub machines: Option<Vec<MachinesOf>>,
    /// To which Pods; absent: to all.
    pub pods: Option<Vec<PodsOf>>,
}

/// `spec.drain`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Drain {
    /// What happens to the Pods.
    pub behavior: Behavior,
    /// Their turn.
    pub order: Option<i32>,
}

/// `spec.drain.behavior`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum Behavior {
    /// They are evicted.
    #[default]
    Drain,
    /// They stay.
    Skip,
    /// They end by themselves.
    WaitCompleted,
}

/// One entry of `spec.machines`; both selectors must match.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachinesOf {
    /// Labels of the Machine.
    pub selector: Option<LabelSelector>,
    /// Labels of its Cluster.
    pub cluster_selector: Option<LabelSelector>,
}

/// One entry of `spec.pods`; both selectors must match.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodsOf {
    /// Labels of the Pod.
    pub selector: Option<LabelSelector>,
    /// Labels of its namespace.
    pub namespace_selector: Option<LabelSelector>,
}

impl DrainRule {
    /// # Errors
    /// A selector is invalid: the rule's name, and what is wrong.
    pub(super) fn check(&self) -> Result<(), String> {
        let machines = self.spec.machines.iter().flatten();
        let machines = machines.flat_map(|of| [&of.selector, &of.cluster_selector]);
        let pods = self.spec.pods.iter().flatten();
        let pods = pods.flat_map(|of| [&of.selector, &of.namespace_selector]);
        let wrong = machines.chain(pods).flatten().find_map(problem);
        wrong.map_or(Ok(()), |what| {
            let name = &self.metadata.name;
            Err(format!(
                "MachineDrainRule {name} has an invalid selector: {what}"
            ))
        })
    }

    pub(super) fn is_for_machine(&self, machine: &Labels, cluster: &Labels) -> bool {
        let Some(entries) = &self.spec.machines else {
            return true;
        };
        entries.iter().any(|of| {
            meets(of.selector.as_ref(), machine) && meets(of.cluster_selector.as_ref(), cluster)
        })
    }

    /// # Errors
    /// The rule asks for the namespace's labels and nobody knows them.
    pub(super) fn is_for_pod(&self, pod: &Pod, namespace: Option<&Labels>) -> Result<bool, String> {
        let Some(entries) = &self.spec.pods else {
            return Ok(true);
        };
        for of in entries {
            if !meets(of.selector.as_ref(), &pod.labels) {
                continue;
            }
            let Some(selector) = &of.namespace_selector else {
                return Ok(true);
            };
            let Some(labels) = namespace else {
                return Err(format!(
                    "the namespace of Pod {} could not be read",
                    pod.name
                ));
            };
            if selects(selector, labels) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the rule asks for labels of namespaces.
    pub fn asks_for_namespaces(&self) -> bool {
        let pods = self.spec.pods.iter().flatten();
        pods.into_iter().any(|of| of.namespace_selector.is_some())
    }
}

/// What makes a selector invalid.
fn problem(selector: &LabelSelector) -> Option<String> {
    selector.match_expressions.iter().find_map(|requirement| {
        let (key, operator) = (&requirement.key, requirement.operator.as_str());
        match (operator, requirement.values.is_empty()) {
            _ if key.is_empty() => Some("a requirement without a key".to_owned()),
            ("In" | "NotIn", false) | ("Exists" | "DoesNotExist", true) => None,
            ("In" | "NotIn", true) => Some(format!("{key}: {operator} needs values")),
            ("Exists" | "DoesNotExist", false) => {
                Some(format!("{key}: {operator} takes no values"))
            }
            _ => Some(format!("{key}: {operator:?} is no operator")),
        }
    })
}

/// An absent selector asks for nothing.
fn meets(selector: Option<&LabelSelector>, labels: &Labels) -> bool {
    selector.is_none_or(|selector| selects(selector, labels))
}
