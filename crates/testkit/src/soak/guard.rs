//! What must hold at every step, whatever happens.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use kube::core::{ApiResource, GroupVersionKind};
use remuda_controllers::{kinds::Kind, objects::LiveObjects};
use serde_json::Value;

use super::cloud::{Place, Taking};
use crate::{demo::NAMESPACE, expect::condition, tripwire::Write};

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

/// Looks at every write of the manager before it is carried out.
pub(super) struct Guard {
    pub(super) management: LiveObjects,
    pub(super) workload: LiveObjects,
    pub(super) place: Place,
    pub(super) violations: Violations,
}

impl Guard {
    pub(super) async fn look(&self, write: &Write, now: Timestamp) {
        if let Some(machine) = deleted_machine(write)
            && let Err(why) = self.is_spared(machine).await
        {
            let what = format!("Machine {machine} is deleted for being outdated: {why}");
            self.violations.add(now, &what);
        }
        let Some(taking) = self.place.taking(write) else {
            return;
        };
        match taking {
            Taking::Named(ids) => {
                for id in ids {
                    self.ends(&id, now).await;
                }
            }
            Taking::Choice { left, of } => {
                let what = format!(
                    "{} leaves the cloud {left} of {of} instances, and the choice",
                    write.name
                );
                self.violations.add(now, &what);
            }
        }
    }

    async fn ends(&self, instance: &str, now: Timestamp) {
        if let Err(why) = self.is_drained(instance, now).await {
            let what = format!("instance {instance} is ended undrained: {why}");
            self.violations.add(now, &what);
        }
    }

    /// Its Node is cordoned and empty, or nobody can drain it, or its time was up.
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

    /// A roll takes a Machine that serves only where as many as are wanted serve without it: the
    /// pool's strategy allows none to be missing. Whom a person, a health check or the cloud takes,
    /// and who is one too many, is another matter.
    async fn is_spared(&self, name: &str) -> Result<(), String> {
        let machines = all(&self.management, Kind::Machine, NAMESPACE).await;
        let infra = all(
            &self.management,
            Kind::TerraformMachinePoolMachine,
            NAMESPACE,
        )
        .await;
        let named = |object: &&Value| object["metadata"]["name"] == name;
        let (Some(machine), Some(infra)) = (machines.iter().find(named), infra.iter().find(named))
        else {
            return Ok(());
        };
        let is_mere_roll = infra["status"]["upToDate"] == false
            && infra["metadata"]["deletionTimestamp"].is_null()
            && infra["status"]["instanceState"] == "running"
            && condition(infra, "Leaving").is_none()
            && serves(machine)
            && condition(machine, "OwnerRemediated").is_none();
        let pool = self.place.cloud.pool();
        let pool = all(&self.management, Kind::MachinePool, NAMESPACE)
            .await
            .into_iter()
            .find(|it| it["metadata"]["name"] == pool);
        let wanted = pool.and_then(|pool| pool["spec"]["replicas"].as_u64());
        let wanted = wanted
            .and_then(|count| usize::try_from(count).ok())
            .unwrap_or(0);
        let staying = machines.iter().filter(|it| is_staying(it)).count();
        let left = machines
            .iter()
            .filter(|it| !named(it) && serves(it))
            .count();
        if is_mere_roll && staying <= wanted + 1 && left < wanted {
            return Err(format!("{left} others serve, {wanted} are wanted"));
        }
        Ok(())
    }
}

fn deleted_machine(write: &Write) -> Option<&str> {
    let path = write.name.strip_prefix("DELETE ")?;
    let (kind, name) = path.rsplit_once('/')?;
    kind.ends_with("/machines").then_some(name)
}

fn is_staying(machine: &Value) -> bool {
    machine["metadata"]["deletionTimestamp"].is_null()
}

fn serves(machine: &Value) -> bool {
    is_staying(machine) && condition(machine, "Ready").is_some_and(|(status, _)| status == "True")
}

/// Objects of a kind, of all namespaces where none is named.
pub(super) async fn all(objects: &LiveObjects, kind: Kind, namespace: &str) -> Vec<Value> {
    let namespace = (!namespace.is_empty()).then_some(namespace);
    objects
        .list_of(&kind.resource(), namespace, "")
        .await
        .unwrap_or_else(|error| panic!("{error}"))
}

/// `instance` is how its provider id ends; clouds do not tell the case of letters apart.
fn is_instance(object: &Value, instance: &str) -> bool {
    object["spec"]["providerID"]
        .as_str()
        .is_some_and(|id| id.to_lowercase().ends_with(&instance.to_lowercase()))
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
