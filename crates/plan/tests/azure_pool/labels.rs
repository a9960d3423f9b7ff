//! Node labels.

use super::{
    bootstrap::assigned,
    cloud::applied,
    demo::{SET, demo},
};

const MIXED: [(&str, &str); 5] = [
    ("team", "payments"),
    ("node.kubernetes.io/pool", "workers"),
    ("topology.kubernetes.io/zone", "westeurope-1"),
    ("node-role.kubernetes.io/worker", ""),
    ("example.k8s.io/tier", "gold"),
];

/// Proves: AZURE-41.
#[test]
fn what_a_kubelet_may_not_set_on_itself_is_left_out() {
    let demo = demo().labels(MIXED);
    assert_eq!(
        assigned(&demo, "captf_node_labels"),
        "node.kubernetes.io/pool=workers,team=payments,topology.kubernetes.io/zone=westeurope-1"
    );
    let dropped = ["example.k8s.io/tier", "node-role.kubernetes.io/worker"];
    assert_eq!(demo.good().dropped_node_labels, dropped);
    for key in dropped {
        assert!(!demo.message().contains(key), "{key}");
    }
    let (cloud, demo) = applied(demo);
    let outputs = cloud.outputs(&demo);
    assert_eq!(
        outputs.extra["dropped_node_labels"],
        serde_json::json!(dropped)
    );
}

/// Proves: AZURE-42.
#[test]
fn the_boot_hook_writes_for_kubelet_and_rke2() {
    let message = demo().labels(MIXED).message();
    assert!(message.contains("# captf-node-labels begin"));
    assert!(message.contains("/etc/rancher/rke2/config.yaml.d/50-captf-node-labels.yaml"));
}

/// Proves: AZURE-50.
#[test]
fn a_malformed_label_or_format_is_refused() {
    let demo = demo().labels([("bad key!", "x")]);
    assert_eq!(demo.refused(), ["E-LABELS"]);
    assert!(demo.refusals()[0].message.contains("bad key!"));
    let shell = super::demo::demo().with(|inputs| inputs.bootstrap_format = "shell".to_owned());
    assert_eq!(shell.refused(), ["E-FORMAT"]);
    let text = shell.refusals()[0].message.clone();
    assert!(
        text.contains("cloud-config") && text.contains("ignition"),
        "{text}"
    );
}

#[test]
fn changed_labels_are_one_patch_of_custom_data() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.labels([("team", "payments")]);
    assert_eq!(cloud.settle(&mut demo), [format!("PATCH {SET}")]);
    let patch = cloud.patches().pop().expect("a patch");
    assert_eq!(patch.custom_data, Some(demo.good().set.custom_data));
}
