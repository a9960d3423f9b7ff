//! Objects for tables of tests.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Known, Scene};

/// The time it is in tests.
pub(crate) fn now() -> Timestamp {
    "2026-10-01T08:00:00Z".parse().unwrap()
}

/// A time some seconds ago.
pub(crate) fn before(seconds: i64) -> String {
    let at = now() - SignedDuration::from_secs(seconds);
    format!("{at:.0}")
}

/// Nothing is there, and that is known.
pub(crate) fn scene() -> Scene {
    Scene {
        infra: Known::All(Vec::new()),
        machines: Known::NotServed,
        instances: Known::NotServed,
        events: Known::All(Vec::new()),
        now: now(),
    }
}

/// A MachinePool that wants, has and shows this many machines.
pub(crate) fn pool(name: &str, wanted: usize, ready: usize) -> Value {
    json!({
        "metadata": {
            "name": name, "namespace": "team-a", "uid": format!("{name}-uid"),
            "creationTimestamp": before(7_200),
        },
        "spec": {
            "clusterName": "demo", "replicas": wanted,
            "providerIDList": ids(wanted),
            "template": { "spec": {
                "version": "v1.34.1",
                "infrastructureRef": { "kind": "TerraformMachinePool", "name": name },
            } },
        },
        "status": {
            "phase": "Running", "replicas": wanted, "readyReplicas": ready,
            "upToDateReplicas": wanted,
            "nodeRefs": (0..ready).map(|n| json!({ "name": format!("node-{n}") })).collect::<Vec<_>>(),
            "conditions": [],
        },
    })
}

fn zone(number: usize) -> &'static str {
    ["us-east-1a", "us-east-1b", "us-east-1c"][number % 3]
}

/// The provider ID of a member.
pub(crate) fn id(number: usize) -> String {
    format!("aws:///{}/i-{number:017x}", zone(number))
}

fn ids(count: usize) -> Vec<String> {
    (0..count).map(id).collect()
}

/// A TerraformMachinePool with this many running members.
pub(crate) fn infra(name: &str, members: usize) -> Value {
    let instances: Vec<Value> = (0..members).map(|number| {
        json!({
            "providerID": id(number), "instanceID": format!("i-{number:017x}"),
            "failureDomain": zone(number), "state": "running",
            "addresses": [{ "type": "InternalIP", "address": format!("10.0.{}.{}", number / 250, number % 250) }],
        })
    }).collect();
    json!({
        "metadata": { "name": name, "namespace": "team-a", "uid": format!("{name}-infra-uid") },
        "spec": {
            "providerIDList": ids(members),
            "source": { "image": "ghcr.io/captf-io/aws-machinepool:v0.1.0" },
        },
        "status": { "replicas": members, "instances": instances, "conditions": [] },
    })
}

/// A Machine of a pool, for the member of this number.
pub(crate) fn machine(pool: &str, number: usize) -> Value {
    json!({
        "metadata": {
            "name": format!("{pool}-{number}"), "namespace": "team-a",
            "uid": format!("machine-{number}"), "creationTimestamp": before(3_600),
            "labels": { "cluster.x-k8s.io/pool-name": pool },
            "ownerReferences": [{ "kind": "MachinePool", "name": pool, "uid": format!("{pool}-uid") }],
        },
        "spec": { "clusterName": "demo", "providerID": id(number), "failureDomain": zone(number) },
        "status": {
            "phase": "Running", "nodeRef": { "name": format!("node-{number}") },
            "conditions": [
                { "type": "Ready", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": before(3_000) },
                { "type": "NodeHealthy", "status": "True", "reason": "NodeHealthy", "message": "", "lastTransitionTime": before(3_000) },
            ],
        },
    })
}

/// Sets a condition that turned some seconds ago.
pub(crate) fn set(
    object: &mut Value,
    kind: &str,
    status: &str,
    reason: &str,
    message: &str,
    ago: i64,
) {
    let conditions = object["status"]["conditions"].as_array_mut().unwrap();
    conditions.retain(|condition| condition["type"] != kind);
    conditions.push(json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": before(ago),
    }));
}
