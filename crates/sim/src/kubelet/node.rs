//! The Node a kubelet registers, as JSON.

use serde_json::{Map, Value, json};

use super::{
    host::{IdentifiedBy, Machine},
    workload::Registered,
};

/// The taint a node carries until a cloud controller manager has looked at it.
pub(super) const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// The Node as it is registered: not ready, and not initialised.
pub(super) fn node(machine: &Machine, known: &Registered, now: &str) -> Value {
    let mut spec = json!({
        "taints": [{ "key": UNINITIALIZED, "value": "true", "effect": "NoSchedule" }],
    });
    let mut labels: Map<String, Value> = known
        .labels
        .iter()
        .map(|(key, value)| (key.clone(), Value::String(value.clone())))
        .collect();
    let own = [
        ("kubernetes.io/hostname", machine.hostname.as_str()),
        ("kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", architecture(machine)),
    ];
    for (key, value) in own {
        labels.insert(key.to_owned(), value.into());
    }
    if machine.identified_by == IdentifiedBy::Kubelet {
        spec["providerID"] = machine.provider_id.as_str().into();
        labels.extend(place_labels(machine));
    }
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": { "name": known.node, "labels": labels },
        "spec": spec,
        "status": status(machine, false, now),
    })
}

/// The labels a cloud controller manager knows: size, region and zone.
pub(super) fn place_labels(machine: &Machine) -> Map<String, Value> {
    [
        ("node.kubernetes.io/instance-type", &machine.instance_type),
        ("topology.kubernetes.io/region", &machine.region),
        ("topology.kubernetes.io/zone", &machine.zone),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value.as_str().into()))
    .collect()
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
            "kernelVersion": machine.kernel,
            "containerRuntimeVersion": "containerd://2.1.4",
            "machineID": id(machine, ""),
            "systemUUID": id(machine, "5e"),
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

/// Four GiB a vCPU, as general purpose types have.
fn capacity(machine: &Machine) -> Value {
    let vcpus = machine.vcpus;
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
    let hex = &machine.hardware_id;
    format!("{prefix:0<12}{hex:0>20}")
        .chars()
        .take(32)
        .collect()
}
