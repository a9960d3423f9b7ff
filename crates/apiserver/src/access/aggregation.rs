//! ClusterRoles that gather the rules of others, chosen by label.

use serde_json::Value;

use super::rules::Rule;
use crate::object::{at, name};
use crate::request::selector::LabelSelector;

/// The label by which a role's rules go into one of the built-in roles.
pub(super) fn label(role: &str) -> String {
    format!("rbac.authorization.k8s.io/aggregate-to-{role}")
}

/// The rules that a role should have; `None` when it gathers none or has them already.
pub(crate) fn gathered<'a>(role: &Value, all: impl Iterator<Item = &'a Value>) -> Option<Value> {
    let selectors = at(role, &["aggregationRule", "clusterRoleSelectors"])?.as_array()?;
    let selectors: Vec<LabelSelector> = selectors.iter().map(LabelSelector::from_object).collect();
    let mut chosen: Vec<&Value> = all
        .filter(|other| name(other) != name(role))
        .filter(|other| {
            let label = |key: &str| at(other, &["metadata", "labels", key]).and_then(Value::as_str);
            selectors.iter().any(|selector| selector.matches(label))
        })
        .collect();
    chosen.sort_by_key(|other| name(other));
    let mut rules: Vec<Rule> = Vec::new();
    for rule in chosen.into_iter().flat_map(Rule::of_role) {
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    (rules != Rule::of_role(role)).then(|| rules.iter().map(Rule::value).collect())
}
