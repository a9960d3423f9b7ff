//! Which labels a selector selects.

use std::collections::BTreeMap;

use super::objects::{LabelSelector, SelectorRequirement};

/// Whether a selector selects these labels. An unknown operator selects nothing: an invalid
/// selector is a denial.
pub fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    selector
        .match_labels
        .iter()
        .all(|(key, value)| labels.get(key) == Some(value))
        && selector
            .match_expressions
            .iter()
            .all(|requirement| meets(requirement, labels))
}

fn meets(requirement: &SelectorRequirement, labels: &BTreeMap<String, String>) -> bool {
    let value = labels.get(&requirement.key);
    let listed = || value.is_some_and(|value| requirement.values.contains(value));
    match (requirement.operator.as_str(), requirement.values.is_empty()) {
        ("In", false) => listed(),
        ("NotIn", false) => !listed(),
        ("Exists", true) => value.is_some(),
        ("DoesNotExist", true) => value.is_none(),
        _ => false,
    }
}
