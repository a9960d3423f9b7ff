//! Taints that Machines put on their Nodes (document 5.6).

use serde_json::Value;

use super::{
    gates::{Gate, Gates},
    problem::Problem,
};

/// Keys that Kubernetes and Cluster API keep for themselves.
const RESERVED: [&str; 3] = [
    "node.cluster.x-k8s.io/uninitialized",
    "node.cluster.x-k8s.io/outdated-revision",
    "node-role.kubernetes.io/master",
];
/// Domains of which every key is reserved, and what is not.
const RESERVED_DOMAINS: [(&str, &[&str]); 2] = [
    ("node.kubernetes.io", &["out-of-service"]),
    ("node.cloudprovider.kubernetes.io", &[]),
];
/// Reserved on workers.
const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";

/// What is wrong with the taints of a Machine or of a template of Machines.
pub(super) fn problems(
    path: &str,
    taints: &Value,
    is_control_plane: bool,
    gates: &Gates,
) -> Vec<Problem> {
    let Some(taints) = taints.as_array().filter(|taints| !taints.is_empty()) else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    if !gates.is_on(Gate::MachineTaintPropagation) {
        let remedy = Gate::MachineTaintPropagation.remedy();
        problems.push(Problem::forbidden(path, remedy));
    }
    for (number, taint) in taints.iter().enumerate() {
        let key = taint["key"].as_str().unwrap_or_default();
        if is_reserved(key) || (key == CONTROL_PLANE && !is_control_plane) {
            problems.push(Problem::invalid(
                format!("{path}[{number}].key"),
                &taint["key"],
                "is reserved for Kubernetes and Cluster API; choose a key of your own",
            ));
        }
    }
    problems
}

fn is_reserved(key: &str) -> bool {
    RESERVED.contains(&key)
        || key.split_once('/').is_some_and(|(domain, name)| {
            RESERVED_DOMAINS
                .iter()
                .any(|(reserved, free)| domain == *reserved && !free.contains(&name))
        })
}
