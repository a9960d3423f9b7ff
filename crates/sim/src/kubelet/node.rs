//! The Node a kubelet registers, as JSON.

use serde_json::{Map, Value, json};

use super::machine::Machine;
use crate::aws::vcpus;

/// The taint a node carries until a cloud controller manager has looked at it.
pub(super) const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// The Node as it is registered: not ready, and not initialised.
pub(super) fn node(machine: &Machine, labels: &[(String, String)], now: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": { "name": machine.hostname, "labels": all_labels(machine, labels) },
        "spec": {
            "providerID": machine.provider_id,
            "taints": [{ "key": UNINITIALIZED, "value": "true", "effect": "NoSchedule" }],
        },
        "status": status(machine, false, now),
    })
}

/// The status a kubelet posts.
pub(super) fn status(machine: &Machine, ready: bool, now: &str) -> Value {
    let capacity = capacity(machine);
    let version = machine
        .kubelet_version
        .clone()
        .unwrap_or_else(|| "v0.0.0".into());
    let mut addresses = Vec::new();
    if let Some(ip) = machine.private_ip {
        addresses.push(json!({ "type": "InternalIP", "address": ip.to_string() }));
        addresses.push(json!({ "type": "InternalDNS", "address": machine.hostname }));
        addresses.push(json!({ "type": "Hostname", "address": machine.hostname }));
    }
    json!({
        "addresses": addresses,
        "capacity": capacity,
        "allocatable": capacity,
        "conditions": conditions(ready, now),
        "nodeInfo": {
            "kubeletVersion": version,
            "kubeProxyVersion": version,
            "operatingSystem": "linux",
            "architecture": architecture(machine),
            "osImage": "Ubuntu 24.04 LTS (simulated)",
            "kernelVersion": "6.8.0-1030-aws",
            "containerRuntimeVersion": "containerd://2.1.4",
            "machineID": id(machine, ""),
            "systemUUID": id(machine, "ec2"),
            "bootID": id(machine, "b007"),
        },
    })
}

/// The Ready condition of a node whose machine is off.
pub(super) fn unknown_status(now: &str) -> Value {
    let condition = condition(
        "Ready",
        "Unknown",
        ("NodeStatusUnknown", "Kubelet stopped posting node status."),
        now,
    );
    json!({ "conditions": [condition] })
}

fn conditions(ready: bool, now: &str) -> Value {
    let pressures = [
        (
            "MemoryPressure",
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available",
        ),
        (
            "DiskPressure",
            "KubeletHasNoDiskPressure",
            "kubelet has no disk pressure",
        ),
        (
            "PIDPressure",
            "KubeletHasSufficientPID",
            "kubelet has sufficient PID available",
        ),
    ];
    let mut conditions: Vec<Value> = pressures
        .into_iter()
        .map(|(kind, reason, message)| condition(kind, "False", (reason, message), now))
        .collect();
    conditions.push(if ready {
        condition(
            "Ready",
            "True",
            ("KubeletReady", "kubelet is posting ready status"),
            now,
        )
    } else {
        let why = ("KubeletNotReady", "container runtime network not ready");
        condition("Ready", "False", why, now)
    });
    Value::Array(conditions)
}

fn condition(kind: &str, status: &str, why: (&str, &str), now: &str) -> Value {
    json!({
        "type": kind,
        "status": status,
        "reason": why.0,
        "message": why.1,
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    })
}

fn all_labels(machine: &Machine, labels: &[(String, String)]) -> Value {
    let mut all = Map::new();
    for (key, value) in labels {
        all.insert(key.clone(), Value::String(value.clone()));
    }
    let own = [
        ("kubernetes.io/hostname", machine.hostname.as_str()),
        ("kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", architecture(machine)),
        ("node.kubernetes.io/instance-type", &machine.instance_type),
        ("topology.kubernetes.io/region", &machine.region),
        ("topology.kubernetes.io/zone", &machine.zone),
    ];
    for (key, value) in own {
        all.insert(key.to_owned(), Value::String(value.to_owned()));
    }
    Value::Object(all)
}

/// Four GiB a vCPU, as general purpose types have.
fn capacity(machine: &Machine) -> Value {
    let vcpus = vcpus(&machine.instance_type);
    json!({
        "cpu": vcpus.to_string(),
        "memory": format!("{}Ki", u64::from(vcpus) * 4 * 1024 * 1024),
        "ephemeral-storage": "40Gi",
        "pods": "110",
    })
}

fn architecture(machine: &Machine) -> &'static str {
    if machine.architecture == "arm64" {
        "arm64"
    } else {
        "amd64"
    }
}

/// An id of 32 hex digits made from the instance's.
fn id(machine: &Machine, prefix: &str) -> String {
    let hex = machine.id.trim_start_matches("i-");
    format!("{prefix:0<12}{hex:0>20}")
        .chars()
        .take(32)
        .collect()
}
