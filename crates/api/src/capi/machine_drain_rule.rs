//! `MachineDrainRule`: how a drain treats which Pods.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which Pods of which Machines a drain treats how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, CustomResource)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta2",
    kind = "MachineDrainRule",
    plural = "machinedrainrules",
    namespaced,
    category = "cluster-api",
    doc = "How the drain of a Machine's Node treats some of its Pods.",
    derive = "PartialEq",
    printcolumn(
        name = "Behavior",
        type_ = "string",
        description = "How the Pods are treated",
        json_path = ".spec.drain.behavior"
    ),
    printcolumn(
        name = "Order",
        type_ = "string",
        description = "When the Pods' turn is",
        json_path = ".spec.drain.order"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        description = "Time since creation",
        json_path = ".metadata.creationTimestamp"
    )
)]
pub struct MachineDrainRuleSpec {
    /// How the Pods are treated.
    pub drain: MachineDrainRuleDrain,
    /// Machines the rule is for, those of any entry; unset stands for all of the namespace.
    #[schemars(
        length(min = 1, max = 32),
        extend(
            "x-kubernetes-list-type" = "atomic",
            "x-kubernetes-validations" = [{
                "rule": "self.all(x, self.exists_one(y, x == y))",
                "message": "entries in machines must be unique",
            }]
        )
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machines: Option<Vec<MachineDrainRuleMachines>>,
    /// Pods the rule is for, those of any entry; unset stands for all.
    #[schemars(
        length(min = 1, max = 32),
        extend(
            "x-kubernetes-list-type" = "atomic",
            "x-kubernetes-validations" = [{
                "rule": "self.all(x, self.exists_one(y, x == y))",
                "message": "entries in pods must be unique",
            }]
        )
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<Vec<MachineDrainRulePods>>,
}

/// How Pods are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineDrainRuleDrain {
    /// What happens to the Pods.
    pub behavior: DrainBehavior,
    /// Lower goes first; unset stands for 0. Only with `Drain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<i32>,
}

/// What happens to a Pod when its Node is drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::crd::describe_by_field)]
pub enum DrainBehavior {
    /// It is evicted.
    Drain,
    /// It stays.
    Skip,
    /// It is left to end by itself, and the drain waits for that.
    WaitCompleted,
}

/// Machines by their labels and their Cluster's; both selectors must match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineDrainRuleMachines {
    /// Labels of the Machine's Cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_selector: Option<LabelSelector>,
    /// Labels of the Machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
}

/// Pods by their labels and their namespace's; both selectors must match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineDrainRulePods {
    /// Labels of the Pod's namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
    /// Labels of the Pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
}
