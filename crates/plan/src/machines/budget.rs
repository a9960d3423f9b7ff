//! A PodDisruptionBudget of a workload cluster: whether it lets a Pod be evicted now. The API
//! server decides; this says beforehand what it would say, for people who ask.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::pod::{Pod, PodName};
use crate::pool::{
    objects::{LabelSelector, Metadata},
    selector::selects,
};

/// A PodDisruptionBudget.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Metadata.
    pub metadata: Metadata,
    /// Spec.
    pub spec: BudgetSpec,
    /// Status.
    pub status: BudgetStatus,
}

/// `spec`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct BudgetSpec {
    /// Its Pods; absent: none, empty: all of the namespace.
    pub selector: Option<LabelSelector>,
}

/// `status`, which the disruption controller keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BudgetStatus {
    /// Pods that may go now.
    pub disruptions_allowed: i64,
    /// Pods that are healthy.
    pub current_healthy: i64,
    /// Pods that must stay healthy.
    pub desired_healthy: i64,
}

/// What keeps a Pod from being evicted now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocked {
    /// Its budget has nothing to give.
    Spent {
        /// The budget.
        budget: PodName,
        /// Its figures.
        status: BudgetStatus,
    },
    /// The API server refuses Pods with several budgets, always.
    Several(Vec<PodName>),
}

impl Budget {
    fn is_of(&self, pod: &Pod) -> bool {
        self.metadata.namespace == pod.name.namespace
            && self
                .spec
                .selector
                .as_ref()
                .is_some_and(|selector| selects(selector, &pod.labels))
    }

    fn name(&self) -> PodName {
        PodName {
            namespace: self.metadata.namespace.clone(),
            name: self.metadata.name.clone(),
        }
    }
}

/// What keeps Pods from being evicted one after the other, in this order: each takes one from its
/// budget. Pods that nothing keeps are not in the answer.
pub fn blocked<'a>(
    pods: impl IntoIterator<Item = &'a Pod>,
    budgets: &[Budget],
) -> BTreeMap<PodName, Blocked> {
    let mut taken: BTreeMap<PodName, i64> = BTreeMap::new();
    let mut blocked = BTreeMap::new();
    for pod in pods {
        if pod.finished || pod.deleted_at.is_some() {
            continue;
        }
        let own: Vec<&Budget> = budgets.iter().filter(|budget| budget.is_of(pod)).collect();
        let budget = match own.as_slice() {
            [] => continue,
            [budget] => *budget,
            several => {
                let names = several.iter().map(|budget| budget.name()).collect();
                blocked.insert(pod.name.clone(), Blocked::Several(names));
                continue;
            }
        };
        let spent = taken.entry(budget.name()).or_default();
        if *spent < budget.status.disruptions_allowed {
            *spent += 1;
            continue;
        }
        let why = Blocked::Spent {
            budget: budget.name(),
            status: budget.status,
        };
        blocked.insert(pod.name.clone(), why);
    }
    blocked
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, app: &str) -> Pod {
        Pod {
            name: PodName {
                namespace: "default".into(),
                name: name.into(),
            },
            labels: [("app".to_owned(), app.to_owned())].into(),
            ..Pod::default()
        }
    }

    fn budget(name: &str, app: &str, allowed: i64) -> Budget {
        serde_json::from_value(json!({
            "metadata": { "name": name, "namespace": "default" },
            "spec": { "selector": { "matchLabels": { "app": app } } },
            "status": { "disruptionsAllowed": allowed, "currentHealthy": 6, "desiredHealthy": 5 },
        }))
        .unwrap()
    }

    #[test]
    fn each_pod_takes_one_from_its_budget() {
        let pods = [pod("a", "web"), pod("b", "web"), pod("c", "other")];
        let kept = blocked(&pods, &[budget("web", "web", 1)]);
        assert_eq!(kept.len(), 1);
        let Some(Blocked::Spent { budget, status }) = kept.get(&pods[1].name) else {
            panic!("{kept:?}")
        };
        assert_eq!(budget.to_string(), "default/web");
        assert_eq!((status.current_healthy, status.desired_healthy), (6, 5));
    }

    #[test]
    fn two_budgets_block_for_ever_and_a_pod_that_goes_takes_nothing() {
        let budgets = [budget("one", "web", 9), budget("two", "web", 9)];
        let kept = blocked(&[pod("a", "web")], &budgets);
        assert!(matches!(kept.values().next(), Some(Blocked::Several(names)) if names.len() == 2));
        let mut going = pod("a", "web");
        going.deleted_at = Some("2026-10-01T08:00:00Z".parse().unwrap());
        assert!(blocked(&[going], &budgets[..1]).is_empty());
    }

    #[test]
    fn a_budget_without_a_selector_has_no_pods() {
        let mut none = budget("none", "web", 0);
        none.spec.selector = None;
        assert!(blocked(&[pod("a", "web")], &[none]).is_empty());
    }
}
