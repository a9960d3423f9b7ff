//! Drift: counts and names of what a plan would change (captf document 6.1, DRF-1 to DRF-5).
//!
//! A plan made from unchanged inputs is drift by definition; what is not managed never reaches it.

use std::collections::BTreeMap;

use super::action::{ChangeKind, Plan};
use crate::{limits, status::wire::DriftSummary};

/// Sums a plan up; `None`: nothing differs. An object counts once, by the gravest of its changes.
pub fn summary(plan: &Plan) -> Option<DriftSummary> {
    let mut objects: BTreeMap<&str, u8> = BTreeMap::new();
    for step in &plan.steps {
        let grade = match step.kind {
            ChangeKind::Bookkeeping => continue,
            ChangeKind::Update => 1,
            ChangeKind::Delete => 2,
            ChangeKind::Create => 3,
            ChangeKind::Replace => 4,
        };
        let known = objects.entry(step.object.as_str()).or_insert(grade);
        *known = grade.max(*known);
    }
    if objects.is_empty() {
        return None;
    }
    let count = |grade: u8| {
        let found = objects.values().filter(|known| **known == grade).count();
        i32::try_from(found).unwrap_or(i32::MAX)
    };
    Some(DriftSummary {
        create: count(3),
        update: count(1),
        replace: count(4),
        delete: count(2),
        resources: objects
            .keys()
            .take(limits::DRIFT_RESOURCES)
            .map(|name| name.chars().take(limits::DRIFT_RESOURCE_CHARS).collect())
            .collect(),
    })
}
