//! Which permissions an identity needs: derived from the calls that can be made.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::calls::Call;

/// One permission, with what for and which calls need it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Grant {
    /// In the cloud's words.
    pub action: &'static str,
    /// What for, for people.
    pub reasons: BTreeSet<&'static str>,
    /// Calls that are refused without it.
    pub calls: BTreeSet<&'static str>,
}

/// What an identity needs to make all of these calls, sorted by action.
pub fn grants(calls: &[&'static Call]) -> Vec<Grant> {
    let mut found: BTreeMap<&str, Grant> = BTreeMap::new();
    for (call, need) in calls
        .iter()
        .flat_map(|call| call.needs.iter().map(move |need| (call, need)))
    {
        let grant = found.entry(need.action).or_insert_with(|| Grant {
            action: need.action,
            reasons: BTreeSet::new(),
            calls: BTreeSet::new(),
        });
        grant.reasons.insert(need.why);
        grant.calls.insert(call.name);
    }
    found.into_values().collect()
}
