//! The MachineHealthCheck controller of standalone mode (cluster-api document, section 6.5).
//!
//! Owns: the MachineHealthCheck's status, owner reference and cluster-name label; on Machines the
//! conditions `HealthCheckSucceeded` and `ExternallyRemediated`, and the first word of
//! `OwnerRemediated`; and requests for external remediation. It deletes no Machine: its owner does.
//!
//! | file | what |
//! | --- | --- |
//! | `objects` | the MachineHealthCheck as it is read |
//! | `gather` | reads |
//! | `conditions` | condition types, reasons, events |
//! | `external` | requests for external remediation |
//! | `publish` | conditions of Machines, status |
//! | `watch` | what wakes a check |

pub(crate) mod conditions;
mod external;
mod gather;
mod objects;
mod publish;
mod watch;

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use kube::{api::DynamicObject, runtime::reflector::Store};
use remuda_api::keys::label;
use remuda_plan::{
    machines::{remediation::check::check, view::named},
    status::publication::Requeue,
};
use serde_json::{Value, json};
use tokio::time::Instant;

use self::gather::{Gathered, gather};
pub(crate) use self::watch::routes;
use crate::{
    context::{Context, FIELD_MANAGER},
    kinds::Kind,
    objects::{ApiError, Target},
    watching::ObjectKey,
};

/// One check is made no more often than this (cluster-api document 6.5).
const BETWEEN: Duration = Duration::from_secs(15);
/// Nodes are read again without any event: not each of their conditions wakes a check. Ours.
const NODE_PERIOD: Duration = Duration::from_mins(1);

/// What this controller needs besides the context.
pub(crate) struct Workplace {
    /// All checks, as far as they are kept.
    checks: Store<DynamicObject>,
    /// When each check was made last.
    last: Mutex<HashMap<ObjectKey, Instant>>,
}

impl Workplace {
    /// Knows no pass yet.
    pub(crate) fn new(checks: Store<DynamicObject>) -> Self {
        Self {
            checks,
            last: Mutex::default(),
        }
    }

    /// Other checks of the same Machines, in words: the last writer would win.
    fn overlap(&self, key: &ObjectKey, targets: &[String]) -> String {
        let mut others: Vec<String> = Vec::new();
        for check in self.checks.state() {
            let other = ObjectKey::of(&check);
            if other == *key || other.namespace != key.namespace {
                continue;
            }
            let theirs = check.data.pointer("/status/targets");
            let theirs = theirs.and_then(Value::as_array).into_iter().flatten();
            let shared: Vec<&str> = theirs
                .filter_map(Value::as_str)
                .filter(|target| targets.iter().any(|own| own == target))
                .collect();
            if !shared.is_empty() {
                others.push(format!("{} checks {}, too", other.name, named(shared)));
            }
        }
        others.sort_unstable();
        others.join("; ")
    }

    /// How long a check has to wait; `None`: it is its turn, from now on.
    fn wait(&self, key: &ObjectKey) -> Option<Duration> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let due = last.get(key).map(|last| *last + BETWEEN);
        if let Some(due) = due.filter(|due| *due > now) {
            return Some(due - now);
        }
        last.insert(key.clone(), now);
        None
    }

    fn forget(&self, key: &ObjectKey) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.remove(key);
    }
}

/// One pass over one MachineHealthCheck.
///
/// # Errors
/// A read or a write failed; a Cluster that does not exist is an error.
pub(crate) async fn reconcile(
    key: &ObjectKey,
    work: &Workplace,
    ctx: &Context,
) -> Result<Requeue, ApiError> {
    if let Some(wait) = work.wait(key) {
        return Ok(Requeue::After(wait));
    }
    let Some(gathered) = gather(key, ctx).await? else {
        work.forget(key);
        return Ok(Requeue::OnChange);
    };
    let metadata = &gathered.check.metadata;
    if !ctx.is_ours(metadata) || metadata.deletion_timestamp.is_some() {
        return Ok(Requeue::OnChange);
    }
    if gathered.paused {
        publish::paused(&gathered, ctx).await?;
        return Ok(Requeue::OnChange);
    }
    adopt(&gathered, ctx).await?;
    let targets: Vec<_> = gathered.targets.iter().map(|t| t.target.clone()).collect();
    let report = check(&targets, &gathered.settings, &gathered.cluster, ctx.now());
    publish::events(&gathered, &report, ctx).await;
    let marked = publish::machines(&gathered, &report, ctx).await;
    let requested = external::settle(&gathered, &report, ctx).await;
    let complete = marked.is_ok() && requested.is_ok();
    let overlap = work.overlap(key, &report.targets);
    publish::status(&gathered, &report, &overlap, complete, ctx).await?;
    marked.and(requested)?;
    let recheck = report
        .recheck
        .and_then(|left| Duration::try_from(left).ok())
        .unwrap_or(NODE_PERIOD);
    Ok(Requeue::After(recheck.clamp(BETWEEN, NODE_PERIOD)))
}

/// The Cluster becomes an owner of the check, and its label is there.
async fn adopt(gathered: &Gathered, ctx: &Context) -> Result<(), ApiError> {
    let (metadata, cluster) = (&gathered.check.metadata, &gathered.cluster_metadata);
    let labeled = metadata.labels.get(label::CLUSTER_NAME) == Some(&cluster.name);
    let owned = metadata
        .owner_references
        .iter()
        .any(|owner| owner.uid == cluster.uid);
    if labeled && owned {
        return Ok(());
    }
    let kept = metadata
        .owner_references
        .iter()
        .filter(|owner| owner.kind != "Cluster" || owner.name != cluster.name);
    let mut owners: Vec<_> = kept.map(|owner| json!(owner)).collect();
    owners.push(json!({
        "apiVersion": Kind::Cluster.resource().api_version,
        "kind": "Cluster",
        "name": cluster.name,
        "uid": cluster.uid,
    }));
    let patch = json!({
        "metadata": {
            "resourceVersion": metadata.resource_version,
            "labels": { label::CLUSTER_NAME: cluster.name },
            "ownerReferences": owners,
        },
    });
    let resource = Kind::MachineHealthCheck.resource();
    let target = Target {
        resource: &resource,
        namespace: Some(&metadata.namespace),
        name: &metadata.name,
        subresource: None,
    };
    ctx.objects
        .merge_patch(&target, &patch, FIELD_MANAGER)
        .await?;
    Ok(())
}
