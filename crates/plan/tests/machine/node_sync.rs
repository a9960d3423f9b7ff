//! What a Machine gives its Node and takes back.

use remuda_plan::machines::{
    drain::Labels,
    node::NodeView,
    node_sync::{NodeChange, Propagation, SyncFacts, Taint, changes},
};
use serde_json::{Value, json};

use crate::labels;

fn node(change: impl FnOnce(&mut Value)) -> NodeView {
    let mut object = json!({
        "metadata": { "name": "node-1", "uid": "u", "resourceVersion": "7" },
        "spec": { "providerID": "aws:///us-east-1a/i-1" },
    });
    change(&mut object);
    NodeView::read(&object)
}

fn sync(
    node: &NodeView,
    labels: &Labels,
    annotations: &Labels,
    taints: &[Taint],
) -> Option<NodeChange> {
    changes(
        &SyncFacts {
            machine: "pool-1",
            namespace: "team-a",
            cluster: "demo",
            owner: Some(("MachinePool", "pool")),
            labels,
            annotations,
            taints,
            interruptible: false,
        },
        node,
    )
}

/// The Node as a change leaves it.
fn changed(node: &NodeView, change: &NodeChange) -> NodeView {
    let mut node = node.clone();
    for (key, value) in &change.labels {
        match value {
            Some(value) => drop(node.labels.insert(key.clone(), value.clone())),
            None => drop(node.labels.remove(key)),
        }
    }
    for (key, value) in &change.annotations {
        match value {
            Some(value) => drop(node.annotations.insert(key.clone(), value.clone())),
            None => drop(node.annotations.remove(key)),
        }
    }
    if let Some(taints) = &change.taints {
        node.taints.clone_from(taints);
    }
    node
}

fn taint(key: &str, propagation: Propagation) -> Taint {
    Taint {
        key: key.to_owned(),
        value: Some("yes".to_owned()),
        effect: "NoSchedule".to_owned(),
        propagation,
    }
}

/// Proves: CAPI-73.
#[test]
fn only_managed_labels_reach_the_node_and_only_they_leave_it() {
    let theirs = json!({ "node.cluster.x-k8s.io/theirs": "1", "zone": "a" });
    let bare = node(|node| node["metadata"]["labels"] = theirs);
    let machine = labels(&[
        ("node-role.kubernetes.io/web", ""),
        ("sub.node-role.kubernetes.io/web", ""),
        ("node-restriction.kubernetes.io/tier", "gold"),
        ("x.node.cluster.x-k8s.io/rack", "r1"),
        ("xnode.cluster.x-k8s.io/rack", "r1"),
        ("team", "a"),
        ("cluster.x-k8s.io/cluster-name", "demo"),
    ]);
    let none = Labels::new();
    let first = changed(&bare, &sync(&bare, &machine, &none, &[]).unwrap());
    let keys: Vec<&str> = first.labels.keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "node-restriction.kubernetes.io/tier",
            "node-role.kubernetes.io/web",
            "node.cluster.x-k8s.io/theirs",
            "x.node.cluster.x-k8s.io/rack",
            "zone",
        ]
    );
    assert_eq!(sync(&first, &machine, &none, &[]), None, "settled");
    let second = changed(&first, &sync(&first, &none, &none, &[]).unwrap());
    let keys: Vec<&str> = second.labels.keys().map(String::as_str).collect();
    assert_eq!(keys, ["node.cluster.x-k8s.io/theirs", "zone"]);
}

#[test]
fn annotations_have_a_domain_of_their_own_and_pointers_lead_back() {
    let bare = node(|_| {});
    let none = Labels::new();
    let machine = labels(&[
        ("node.cluster.x-k8s.io/note", "n"),
        ("node-role.kubernetes.io/web", "n"),
    ]);
    let first = changed(&bare, &sync(&bare, &none, &machine, &[]).unwrap());
    let at = |key: &str| first.annotations.get(key).map(String::as_str);
    assert_eq!(at("node.cluster.x-k8s.io/note"), Some("n"));
    assert_eq!(at("node-role.kubernetes.io/web"), None);
    for (key, value) in [
        ("cluster-name", "demo"),
        ("cluster-namespace", "team-a"),
        ("machine", "pool-1"),
        ("owner-kind", "MachinePool"),
        ("owner-name", "pool"),
        ("annotations-from-machine", "node.cluster.x-k8s.io/note"),
        ("taints-from-machine", ""),
    ] {
        assert_eq!(at(&format!("cluster.x-k8s.io/{key}")), Some(value), "{key}");
    }
}

/// Proves: CAPI-74.
#[test]
fn a_taint_for_the_beginning_is_put_on_once_and_a_lasting_one_is_kept() {
    let uninitialized = json!([
        { "key": "node.cluster.x-k8s.io/uninitialized", "effect": "NoSchedule" },
        { "key": "theirs", "effect": "NoExecute", "timeAdded": "2026-10-01T08:00:00Z" },
    ]);
    let fresh = node(|node| node["spec"]["taints"] = uninitialized);
    let taints = [
        taint("once", Propagation::OnInitialization),
        taint("always", Propagation::Always),
    ];
    let none = Labels::new();
    let keys = |node: &NodeView| -> Vec<String> {
        let keys = node
            .taints
            .iter()
            .map(|taint| taint["key"].as_str().unwrap().to_owned());
        keys.collect()
    };
    let mut live = changed(&fresh, &sync(&fresh, &none, &none, &taints).unwrap());
    assert_eq!(keys(&live), ["theirs", "once", "always"]);
    assert_eq!(sync(&live, &none, &none, &taints), None, "settled");
    assert!(
        live.taints[0].get("timeAdded").is_some(),
        "what others wrote stays whole"
    );

    live.taints.retain(|taint| taint["key"] == "theirs");
    let again = changed(&live, &sync(&live, &none, &none, &taints).unwrap());
    assert_eq!(keys(&again), ["theirs", "always"]);

    let dropped = changed(&again, &sync(&again, &none, &none, &[]).unwrap());
    assert_eq!(keys(&dropped), ["theirs"]);
}
