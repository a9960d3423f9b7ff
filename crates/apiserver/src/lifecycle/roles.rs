//! ClusterRoles that gather the rules of others are kept up to date.

use serde_json::Value;

use crate::access::{CLUSTER_ROLES, aggregation};
use crate::handlers::Writing;
use crate::instance::Instance;
use crate::object::name;
use crate::store::{Event, Key};

/// Looks at a change of a ClusterRole.
pub(super) async fn note(instance: &Instance, shelf: &str, _: &Event) {
    if shelf == CLUSTER_ROLES {
        settle(instance).await;
    }
}

/// Writes the rules of every role that gathers and does not have what it should. Roles that
/// gather from those follow when that change is looked at.
pub(super) async fn settle(instance: &Instance) {
    let all = all(instance);
    for role in &all {
        if aggregation::gathered(role, all.iter()).is_none() {
            continue;
        }
        let Some(served) = instance.registry().by_shelf(CLUSTER_ROLES) else {
            return;
        };
        let key = Key {
            shelf: CLUSTER_ROLES.into(),
            namespace: String::new(),
            name: name(role).to_owned(),
        };
        let writing = Writing::own(instance, served, "");
        let written = writing
            .update(&key, |live| {
                let mut new = live.clone();
                if let Some(rules) = aggregation::gathered(live, all.iter()) {
                    new["rules"] = rules;
                }
                Ok(new)
            })
            .await;
        if let Err(failure) = written.map_err(|failure| failure.message) {
            tracing::debug!(error = %failure, "gathered rules could not be written");
        }
    }
}

fn all(instance: &Instance) -> Vec<Value> {
    let snapshot = instance.space().list(CLUSTER_ROLES, None);
    let records = snapshot.records.iter();
    records.map(|(_, record)| record.value()).collect()
}
