//! What must hold at every step, whatever happens.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use kube::core::{ApiResource, GroupVersionKind};
use remuda_controllers::{kinds::Kind, objects::LiveObjects};
use serde_json::Value;

use crate::{demo::NAMESPACE, expect::condition, tripwire::CloudWrite};

/// What the pool's Machines allow a drain to take. After it an instance may end undrained.
pub(super) const DRAIN_TIMEOUT_SECONDS: i64 = 600;

/// What was seen that must not be. Clones share the list.
#[derive(Debug, Clone, Default)]
pub(super) struct Violations(Arc<Mutex<Vec<String>>>);

impl Violations {
    pub(super) fn add(&self, now: Timestamp, what: &str) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(format!("{now} {what}"));
    }

    pub(super) fn all(&self) -> Vec<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Looks at every call that ends an instance, before the cloud carries it out: its Node is cordoned
/// and empty, or nobody can drain it, or its time was up.
pub(super) struct NoUndrainedEnd {
    pub(super) management: LiveObjects,
    pub(super) workload: LiveObjects,
    pub(super) violations: Violations,
}

impl NoUndrainedEnd {
    pub(super) async fn look(&self, write: &CloudWrite, now: Timestamp) {
        let Some(instance) = write.ends_instance() else {
            return;
        };
        if let Err(why) = self.is_drained(&instance, now).await {
            let what = format!("instance {instance} is ended undrained: {why}");
            self.violations.add(now, &what);
        }
    }

    async fn is_drained(&self, instance: &str, now: Timestamp) -> Result<(), String> {
        let nodes = all(&self.workload, Kind::Node, "").await;
        let Some(node) = nodes.iter().find(|node| is_instance(node, instance)) else {
            return Ok(());
        };
        let ready = condition(node, "Ready").map(|(status, _)| status);
        if ready.as_deref() == Some("Unknown") || self.time_is_up(instance, now).await {
            return Ok(());
        }
        let name = node["metadata"]["name"].as_str().unwrap_or_default();
        if node["spec"]["unschedulable"] != true {
            return Err(format!("Node {name} is not cordoned"));
        }
        let pods = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Pod"));
        let pods = self
            .workload
            .list_of(&pods, None, "")
            .await
            .unwrap_or_else(|error| panic!("{error}"));
        let left: Vec<&str> = pods
            .iter()
            .filter(|pod| pod["spec"]["nodeName"] == name && must_leave(pod))
            .filter_map(|pod| pod["metadata"]["name"].as_str())
            .collect();
        if left.is_empty() {
            Ok(())
        } else {
            Err(format!("Node {name} still runs {}", left.join(", ")))
        }
    }

    /// The Machine's drain has taken as long as it may.
    async fn time_is_up(&self, instance: &str, now: Timestamp) -> bool {
        let machines = all(&self.management, Kind::Machine, NAMESPACE).await;
        let began = machines
            .iter()
            .find(|machine| is_instance(machine, instance))
            .and_then(|machine| machine.pointer("/status/deletion/nodeDrainStartTime"))
            .and_then(Value::as_str)
            .and_then(|text| text.parse::<Timestamp>().ok());
        began.is_some_and(|began| now >= began + SignedDuration::from_secs(DRAIN_TIMEOUT_SECONDS))
    }
}

/// Objects of a kind, of all namespaces where none is named.
pub(super) async fn all(objects: &LiveObjects, kind: Kind, namespace: &str) -> Vec<Value> {
    let namespace = (!namespace.is_empty()).then_some(namespace);
    objects
        .list_of(&kind.resource(), namespace, "")
        .await
        .unwrap_or_else(|error| panic!("{error}"))
}

fn is_instance(object: &Value, instance: &str) -> bool {
    object["spec"]["providerID"]
        .as_str()
        .is_some_and(|id| id.ends_with(&format!("/{instance}")))
}

/// Pods that a drain takes away: those of DaemonSets stay, and those that end no longer count.
fn must_leave(pod: &Value) -> bool {
    let owners = pod["metadata"]["ownerReferences"].as_array();
    let is_daemon = owners.is_some_and(|owners| owners.iter().any(|it| it["kind"] == "DaemonSet"));
    let phase = pod["status"]["phase"].as_str().unwrap_or_default();
    !is_daemon
        && !matches!(phase, "Succeeded" | "Failed")
        && pod["metadata"]["deletionTimestamp"].is_null()
}
