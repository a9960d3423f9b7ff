//! The scheduler: which node an unbound pod goes to.
//!
//! A node takes a pod if it is Ready, not cordoned, has the labels the pod asks for, no taint that
//! the pod cannot stand, and room for one more. Among those: the node with the fewest pods of the
//! same owner, then the fewest pods, then the first by name.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    Action,
    client::text,
    node::Node,
    state::{Kind, State, is_active, list, name, namespace, node_of},
};

/// Pods on one node at most: the kubelet's own bound.
const MOST: usize = 110;

/// Pods of a node: all, and by owner.
#[derive(Default)]
struct Load<'a> {
    all: usize,
    by_owner: BTreeMap<&'a str, usize>,
}

pub(super) fn decide(state: &State, actions: &mut Vec<Action>) {
    let waiting: Vec<&Value> = state
        .all(Kind::Pod)
        .filter(|pod| node_of(pod).is_empty() && is_active(pod))
        .filter(|pod| list(pod, "/spec/schedulingGates").is_empty())
        .collect();
    if waiting.is_empty() {
        return;
    }
    let mut loads: BTreeMap<&str, Load<'_>> = BTreeMap::new();
    for pod in state.all(Kind::Pod).filter(|pod| !node_of(pod).is_empty()) {
        add(loads.entry(node_of(pod)).or_default(), pod);
    }
    let open: Vec<&Node> = state
        .nodes()
        .filter(|node| node.is_ready() && !node.is_deleting && !node.is_cordoned)
        .collect();
    for pod in waiting {
        let Some(node) = best(pod, &open, &loads) else {
            continue;
        };
        add(loads.entry(node).or_default(), pod);
        actions.push(binding(pod, node));
    }
}

fn add<'a>(load: &mut Load<'a>, pod: &'a Value) {
    load.all += 1;
    *load.by_owner.entry(owner(pod)).or_default() += 1;
}

fn owner(pod: &Value) -> &str {
    text(pod, "/metadata/ownerReferences/0/uid")
}

fn best<'a>(pod: &Value, open: &[&'a Node], loads: &BTreeMap<&str, Load<'_>>) -> Option<&'a str> {
    let spec = pod.get("spec")?;
    let load = |node: &Node| {
        let load = loads.get(&*node.name);
        let own = load.and_then(|load| load.by_owner.get(owner(pod)).copied());
        (own.unwrap_or(0), load.map_or(0, |load| load.all))
    };
    open.iter()
        .filter(|node| node.is_selected(spec))
        .filter(|node| !node.repels(spec, &["NoSchedule", "NoExecute"]))
        .filter(|node| load(node).1 < MOST)
        .min_by_key(|node| (load(node), &*node.name))
        .map(|node| &*node.name)
}

fn binding(pod: &Value, node: &str) -> Action {
    let mut action = Action::create(
        Kind::Pod,
        namespace(pod),
        json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": { "name": name(pod) },
            "target": { "kind": "Node", "name": node },
        }),
    );
    action.path = format!("{}/binding", Kind::Pod.path_of(pod));
    action
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::client::Seen;

    fn node(name: &str, spec: Value) -> Value {
        json!({
            "metadata": { "name": name, "resourceVersion": "1", "labels": { "disk": name } },
            "spec": spec, "status": { "conditions": [{ "type": "Ready", "status": "True" }] },
        })
    }

    fn targets(nodes: Vec<Value>, pods: Vec<Value>) -> Vec<String> {
        let mut state = State::default();
        state.take(Kind::Node, Seen::All(nodes));
        state.take(Kind::Pod, Seen::All(pods));
        let mut actions = Vec::new();
        decide(&state, &mut actions);
        let target = |action: &Action| text(&action.body, "/target/name").to_owned();
        actions.iter().map(target).collect()
    }

    fn pod(name: &str, spec: Value) -> Value {
        json!({ "metadata": { "name": name, "namespace": "n" }, "spec": spec })
    }

    #[test]
    fn pods_spread_over_nodes_that_take_them() {
        let taint = json!({ "taints": [{ "key": "k", "effect": "NoSchedule" }] });
        let mut gone = node("e", json!({}));
        gone["status"]["conditions"][0]["status"] = "False".into();
        let nodes = vec![
            node("a", json!({})),
            node("b", json!({})),
            node("c", json!({ "unschedulable": true })),
            node("d", taint),
            gone,
        ];
        let pods = (0..4).map(|n| pod(&format!("p{n}"), json!({}))).collect();
        assert_eq!(targets(nodes.clone(), pods), ["a", "b", "a", "b"]);
        let asks = [
            (json!({ "nodeSelector": { "disk": "b" } }), vec!["b"]),
            (json!({ "nodeSelector": { "disk": "c" } }), vec![]),
            (json!({ "nodeSelector": { "disk": "d" } }), vec![]),
            (
                json!({ "nodeSelector": { "disk": "d" },
                    "tolerations": [{ "key": "k", "operator": "Exists" }] }),
                vec!["d"],
            ),
            (json!({ "schedulingGates": [{ "name": "g" }] }), vec![]),
        ];
        for (spec, wanted) in asks {
            let got = targets(nodes.clone(), vec![pod("p", spec.clone())]);
            assert_eq!(got, wanted, "{spec}");
        }
    }
}
