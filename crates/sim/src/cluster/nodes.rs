//! Nodes in trouble: their taints, and what becomes of their pods.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::{
    Action, Decision,
    client::text,
    node::Node,
    state::{Kind, Memory, State, is_active, is_ready, list, node_of, number, tolerates},
};

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";
/// How long a node must be missing before its pods are deleted: Kubernetes' pod collector's wait.
const MISSING: Duration = Duration::from_secs(40);

pub(super) fn decide(
    state: &mut State,
    memory: &mut Memory,
    now: Duration,
    decision: &mut Decision,
) {
    for name in state.take_changed() {
        let Some(node) = state.node(&name) else {
            memory.down.remove(&name);
            continue;
        };
        taint(node, &mut decision.actions);
        unready_pods(state, memory, node, &mut decision.actions);
    }
    evict(state, memory, now, decision);
    collect(state, memory, now, decision);
}

/// Gives a node the taints that go with its condition and its cordon, and takes away others of that
/// kind.
fn taint(node: &Node, actions: &mut Vec<Action>) {
    let wanted: Vec<(&str, &str)> = match node.ready.as_deref() {
        // Nobody has looked at it yet.
        None => return,
        Some("True") => Vec::new(),
        Some("False") => vec![(NOT_READY, "NoSchedule"), (NOT_READY, "NoExecute")],
        Some(_) => vec![(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")],
    };
    let cordon = node.is_cordoned.then_some((UNSCHEDULABLE, "NoSchedule"));
    let wanted: Vec<(&str, &str)> = wanted.into_iter().chain(cordon).collect();
    let of = |taint: &Value| {
        (
            text(taint, "/key").to_owned(),
            text(taint, "/effect").to_owned(),
        )
    };
    let taints = &node.taints;
    let is_ours =
        |taint: &&Value| [NOT_READY, UNREACHABLE, UNSCHEDULABLE].contains(&text(taint, "/key"));
    let ours: Vec<(String, String)> = taints.iter().filter(is_ours).map(of).collect();
    let same = ours.len() == wanted.len()
        && wanted
            .iter()
            .all(|(key, effect)| ours.iter().any(|(k, e)| k == key && e == effect));
    if same {
        return;
    }
    let mut all: Vec<Value> = taints
        .iter()
        .filter(|taint| !is_ours(taint))
        .cloned()
        .collect();
    all.extend(
        wanted
            .iter()
            .map(|(key, effect)| json!({ "key": key, "effect": effect })),
    );
    let body = json!({
        "metadata": { "resourceVersion": node.revision.to_string() },
        "spec": { "taints": all },
    });
    actions.push(Action {
        kind: Kind::Node,
        method: Method::PATCH,
        path: Kind::Node.path_at("", &node.name),
        body,
    });
}

/// The pods of a node that turned unready are no longer ready either; once, since its kubelet may
/// know better.
fn unready_pods(state: &State, memory: &mut Memory, node: &Node, actions: &mut Vec<Action>) {
    let down = matches!(node.ready.as_deref(), Some("False" | "Unknown"));
    if !down {
        memory.down.remove(&node.name);
        return;
    }
    if !memory.down.insert(node.name.clone()) {
        return;
    }
    for pod in state
        .all(Kind::Pod)
        .filter(|pod| *node_of(pod) == *node.name)
    {
        if !is_ready(pod) {
            continue;
        }
        let conditions: Vec<Value> = list(pod, "/status/conditions")
            .iter()
            .map(|condition| {
                let mut condition = condition.clone();
                if text(&condition, "/type") == "Ready" {
                    condition["status"] = "False".into();
                }
                condition
            })
            .collect();
        let body = json!({ "status": { "conditions": conditions } });
        actions.push(Action::patch(Kind::Pod, pod, "/status", body));
    }
}

/// Deletes pods that cannot stand a taint of their node, or not for longer.
fn evict(state: &State, memory: &mut Memory, now: Duration, decision: &mut Decision) {
    memory.tainted.retain(|node, _| {
        state
            .node(node)
            .is_some_and(|node| executed(node).next().is_some())
    });
    for pod in state.all(Kind::Pod).filter(|pod| is_active(pod)) {
        let Some(node) = state.node(node_of(pod)) else {
            continue;
        };
        let Some(patience) = executed(node)
            .filter_map(|taint| patience(pod, taint))
            .min()
        else {
            continue;
        };
        let since = *memory.tainted.entry(node.name.to_string()).or_insert(now);
        let left = (since + patience).checked_sub(now);
        if let Some(left) = left.filter(|left| !left.is_zero()) {
            decision.due_in(left);
        } else {
            let delete = Action::delete(Kind::Pod, pod, json!({}));
            decision.actions.push(delete);
        }
    }
}

fn executed(node: &Node) -> impl Iterator<Item = &Value> {
    let taints = node.taints.iter();
    taints.filter(|taint| text(taint, "/effect") == "NoExecute")
}

/// How long a pod stands a taint; `None`: for ever.
fn patience(pod: &Value, taint: &Value) -> Option<Duration> {
    let tolerations = list(pod, "/spec/tolerations").iter();
    let mut standing = tolerations
        .filter(|toleration| tolerates(toleration, taint))
        .peekable();
    if standing.peek().is_none() {
        return Some(Duration::ZERO);
    }
    let seconds = standing.filter_map(|toleration| number(toleration, "/tolerationSeconds"));
    let least = seconds.min()?;
    Some(Duration::from_secs(u64::try_from(least).unwrap_or(0)))
}

/// Deletes pods whose node is gone for good: no kubelet is left to confirm their end.
fn collect(state: &State, memory: &mut Memory, now: Duration, decision: &mut Decision) {
    let lost: Vec<&Value> = state
        .all(Kind::Pod)
        .filter(|pod| !node_of(pod).is_empty() && state.node(node_of(pod)).is_none())
        .collect();
    memory
        .missing
        .retain(|node, _| lost.iter().any(|pod| node_of(pod) == node));
    for pod in lost {
        let since = *memory.missing.entry(node_of(pod).to_owned()).or_insert(now);
        let left = (since + MISSING).checked_sub(now);
        if let Some(left) = left.filter(|left| !left.is_zero()) {
            decision.due_in(left);
        } else {
            let body = json!({ "gracePeriodSeconds": 0 });
            decision.actions.push(Action::delete(Kind::Pod, pod, body));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::client::Seen;

    fn node(name: &str, revision: u32, ready: &str) -> Value {
        json!({
            "metadata": { "name": name, "resourceVersion": revision.to_string() },
            "status": { "conditions": [{ "type": "Ready", "status": ready }] },
        })
    }

    #[test]
    fn only_nodes_that_changed_are_looked_at_until_a_request_fails() {
        let mut state = State::default();
        let all = vec![
            node("a", 1, "False"),
            node("b", 2, "True"),
            node("c", 3, "Unknown"),
        ];
        state.take(Kind::Node, Seen::All(all));
        let mut memory = Memory::default();
        let mut paths = |state: &mut State| -> Vec<String> {
            let mut decision = Decision::default();
            decide(state, &mut memory, Duration::ZERO, &mut decision);
            let actions = decision.actions.iter();
            actions.map(|action| action.path.clone()).collect()
        };
        let (a, b, c) = ("/api/v1/nodes/a", "/api/v1/nodes/b", "/api/v1/nodes/c");
        assert_eq!(paths(&mut state), [a, c]);
        assert!(paths(&mut state).is_empty(), "nothing has changed");
        state.note(Kind::Node, node("b", 4, "False"));
        assert_eq!(paths(&mut state), [b]);
        state.look_at_all();
        assert_eq!(paths(&mut state), [a, b, c]);
    }
}
