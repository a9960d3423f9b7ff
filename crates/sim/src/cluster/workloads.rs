//! Deployments and ReplicaSets: as many pods as were asked for.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    Action,
    client::text,
    state::{Kind, State, is_active, is_deleting, is_ready, name, namespace, node_of, number, uid},
};

/// Label that tells the ReplicaSets of a Deployment apart.
const HASH: &str = "pod-template-hash";

pub(super) fn decide(state: &State, actions: &mut Vec<Action>) {
    for deployment in state.all(Kind::Deployment).filter(|one| !is_deleting(one)) {
        roll(state, deployment, actions);
    }
    for set in state.all(Kind::ReplicaSet).filter(|one| !is_deleting(one)) {
        keep(state, set, actions);
    }
}

/// One ReplicaSet a template: the newest gets all replicas, older ones none.
fn roll(state: &State, deployment: &Value, actions: &mut Vec<Action>) {
    let Some(template) = deployment.pointer("/spec/template") else {
        return;
    };
    let own = format!("{}-{}", name(deployment), hash(template));
    let wanted = number(deployment, "/spec/replicas").unwrap_or(1);
    let mut found = false;
    let mut counts = Counts::default();
    for set in state.controlled(Kind::ReplicaSet, deployment) {
        let current = name(set) == own;
        found |= current;
        counts.add(set);
        let replicas = if current { wanted } else { 0 };
        if number(set, "/spec/replicas") != Some(replicas) {
            let body = json!({ "spec": { "replicas": replicas } });
            actions.push(Action::patch(Kind::ReplicaSet, set, "", body));
        }
    }
    if !found {
        let set = replica_set(deployment, &own, wanted);
        actions.push(Action::create(Kind::ReplicaSet, namespace(deployment), set));
    }
    let available = if counts.ready >= wanted {
        "True"
    } else {
        "False"
    };
    let mut status = counts.status(deployment);
    status["updatedReplicas"] = counts.all.into();
    status["unavailableReplicas"] = (wanted - counts.ready).max(0).into();
    status["conditions"] = json!([{ "type": "Available", "status": available }]);
    report(Kind::Deployment, deployment, status, actions);
}

fn replica_set(deployment: &Value, own: &str, replicas: i64) -> Value {
    let hash = own.rsplit('-').next().unwrap_or_default();
    let mut template = deployment
        .pointer("/spec/template")
        .cloned()
        .unwrap_or_default();
    let mut selector = deployment
        .pointer("/spec/selector")
        .cloned()
        .unwrap_or_default();
    template["metadata"]["labels"][HASH] = hash.into();
    selector["matchLabels"][HASH] = hash.into();
    json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {
            "name": own, "labels": template["metadata"]["labels"],
            "ownerReferences": [owned_by("Deployment", deployment)],
        },
        "spec": { "replicas": replicas, "selector": selector, "template": template },
    })
}

/// Makes or deletes pods until there are as many as wanted.
fn keep(state: &State, set: &Value, actions: &mut Vec<Action>) {
    let mut pods: Vec<&Value> = state
        .controlled(Kind::Pod, set)
        .filter(|pod| is_active(pod))
        .collect();
    let wanted = usize::try_from(number(set, "/spec/replicas").unwrap_or(1)).unwrap_or(0);
    for _ in pods.len()..wanted {
        let body = pod(set, "ReplicaSet");
        actions.push(Action::create(Kind::Pod, namespace(set), body));
    }
    // Who has no node goes first, then who is not ready, then the youngest.
    pods.sort_by_key(|pod| {
        let worth = (!node_of(pod).is_empty(), is_ready(pod));
        (
            worth,
            std::cmp::Reverse(text(pod, "/metadata/creationTimestamp")),
            name(pod),
        )
    });
    let surplus = pods.len().saturating_sub(wanted);
    for pod in pods.iter().take(surplus) {
        actions.push(Action::delete(Kind::Pod, pod, json!({})));
    }
    let ready = pods.iter().filter(|pod| is_ready(pod)).count();
    let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let mut status = json!({
        "replicas": count(pods.len()), "fullyLabeledReplicas": count(pods.len()),
        "readyReplicas": count(ready), "availableReplicas": count(ready),
    });
    status["observedGeneration"] = generation(set);
    report(Kind::ReplicaSet, set, status, actions);
}

/// A pod of a workload's template.
pub(super) fn pod(owner: &Value, kind: &str) -> Value {
    let template = owner.pointer("/spec/template").cloned().unwrap_or_default();
    let mut metadata = template
        .get("metadata")
        .cloned()
        .unwrap_or_else(|| json!({}));
    metadata["generateName"] = format!("{}-", name(owner)).into();
    metadata["ownerReferences"] = json!([owned_by(kind, owner)]);
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": metadata,
        "spec": template.get("spec").cloned().unwrap_or_default(),
    })
}

fn owned_by(kind: &str, owner: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": kind, "name": name(owner), "uid": uid(owner),
        "controller": true, "blockOwnerDeletion": true,
    })
}

pub(super) fn generation(object: &Value) -> Value {
    object
        .pointer("/metadata/generation")
        .cloned()
        .unwrap_or_default()
}

/// Writes a status, unless it says so already.
pub(super) fn report(kind: Kind, object: &Value, status: Value, actions: &mut Vec<Action>) {
    let known = object.get("status");
    let fields = status.as_object().into_iter().flatten();
    let mut changed = fields.filter(|(field, value)| {
        let known = known.and_then(|known| known.get(field));
        known.map_or(**value != 0, |known| known != *value)
    });
    if changed.next().is_some() {
        let body = json!({ "status": status });
        actions.push(Action::patch(kind, object, "/status", body));
    }
}

/// Pods of a Deployment, added up from its ReplicaSets' status.
#[derive(Default)]
struct Counts {
    all: i64,
    ready: i64,
}

impl Counts {
    fn add(&mut self, set: &Value) {
        self.all += number(set, "/status/replicas").unwrap_or(0);
        self.ready += number(set, "/status/readyReplicas").unwrap_or(0);
    }

    fn status(&self, deployment: &Value) -> Value {
        json!({
            "observedGeneration": generation(deployment), "replicas": self.all,
            "readyReplicas": self.ready, "availableReplicas": self.ready,
        })
    }
}

/// A short name for a template: FNV-1a of its fields in order.
fn hash(template: &Value) -> String {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let sorted = sorted(template).to_string();
    let hash = sorted.bytes().fold(OFFSET, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(PRIME)
    });
    format!("{:08x}", hash >> 32)
}

/// The value with the fields of its maps in order.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let ordered: BTreeMap<&String, Value> = map
                .iter()
                .map(|(key, value)| (key, sorted(value)))
                .collect();
            ordered
                .into_iter()
                .map(|(key, value)| (key.clone(), value))
                .collect::<serde_json::Map<_, _>>()
                .into()
        }
        Value::Array(list) => list.iter().map(sorted).collect::<Vec<_>>().into(),
        other => other.clone(),
    }
}
