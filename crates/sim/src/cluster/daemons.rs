//! DaemonSets: one pod on every node that takes it.

use serde_json::{Value, json};

use super::{
    Action,
    state::{Kind, State, is_active, is_deleting, is_ready, namespace, node_of},
    workloads::{generation, pod, report},
};

/// Taints that every daemon stands: it runs on nodes in trouble, and on cordoned ones.
const STANDS: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];

pub(super) fn decide(state: &State, actions: &mut Vec<Action>) {
    for daemons in state.all(Kind::DaemonSet).filter(|one| !is_deleting(one)) {
        keep(state, daemons, actions);
    }
}

fn keep(state: &State, daemons: &Value, actions: &mut Vec<Action>) {
    let template = template(daemons);
    let pods: Vec<&Value> = state.controlled(Kind::Pod, daemons).collect();
    let (mut wanted, mut ready) = (0, 0);
    for node in state.nodes() {
        if !node.is_selected(&template["spec"]) || node.is_deleting {
            continue;
        }
        // One that is being stopped still has the node's place.
        let mut here = pods.iter().filter(|pod| *node_of(pod) == *node.name);
        if let Some(pod) = here.next() {
            wanted += 1;
            ready += i64::from(is_active(pod) && is_ready(pod));
            continue;
        }
        if !node.repels(&template["spec"], &["NoSchedule", "NoExecute"]) {
            wanted += 1;
            let mut body = template.clone();
            body["spec"]["nodeName"] = (*node.name).into();
            actions.push(Action::create(Kind::Pod, namespace(daemons), body));
        }
    }
    let current = i64::try_from(pods.len()).unwrap_or(i64::MAX);
    let mut status = json!({
        "desiredNumberScheduled": wanted, "currentNumberScheduled": current,
        "updatedNumberScheduled": current, "numberReady": ready, "numberAvailable": ready,
        "numberMisscheduled": 0,
    });
    status["observedGeneration"] = generation(daemons);
    report(Kind::DaemonSet, daemons, status, actions);
}

/// A daemon's pod, without its node.
fn template(daemons: &Value) -> Value {
    let mut pod = pod(daemons, "DaemonSet");
    let own = pod["spec"]["tolerations"].as_array().cloned();
    let mut tolerations = own.unwrap_or_default();
    for (key, effect) in STANDS {
        tolerations.push(json!({ "key": key, "operator": "Exists", "effect": effect }));
    }
    pod["spec"]["tolerations"] = tolerations.into();
    pod
}
