//! Node labels: syntax and filter.

use remuda_plan::pool::labels::{filter, is_valid};

use super::demo::{demo, strings};

/// Proves: AWS-53.
#[test]
fn labels_a_kubelet_may_not_set_are_dropped_and_reported() {
    let desired = demo()
        .labels([
            ("cluster.x-k8s.io/cluster-name", "demo"),
            ("node-role.kubernetes.io/worker", ""),
            ("node.kubernetes.io/pool", "general"),
            ("team", "platform"),
            ("topology.kubernetes.io/zone", "us-east-1a"),
            ("example.k8s.io/blocked", "yes"),
        ])
        .good();
    let user_data = &desired.template.user_data;
    let expected = "node_labels='cluster.x-k8s.io/cluster-name=demo,node.kubernetes.io/pool=general,\
                    team=platform,topology.kubernetes.io/zone=us-east-1a'";
    assert!(
        user_data.lines().any(|line| line == expected),
        "{user_data}"
    );
    let dropped = ["example.k8s.io/blocked", "node-role.kubernetes.io/worker"];
    assert_eq!(desired.dropped_node_labels, dropped);
    for key in dropped {
        assert!(!user_data.contains(key), "{key}");
    }
}

#[test]
fn the_filter_follows_the_table_key_by_key() {
    let kept = [
        "kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "failure-domain.beta.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "node.kubernetes.io/instance-type",
        "kubelet.kubernetes.io/x",
        "sub.kubelet.kubernetes.io/x",
        "sub.node.kubernetes.io/x",
        "cluster.x-k8s.io/x",
        "notkubernetes.io/x",
        "example.com/x",
        "plain",
    ];
    let dropped = [
        "kubernetes.io/x",
        "k8s.io/x",
        "a.k8s.io/x",
        "topology.kubernetes.io/x",
        "node-restriction.kubernetes.io/x",
        "xnode.kubernetes.io/x",
    ];
    for key in kept {
        assert!(filter(&strings([(key, "v")])).dropped.is_empty(), "{key}");
    }
    for key in dropped {
        assert!(filter(&strings([(key, "v")])).kept.is_empty(), "{key}");
    }
}

#[test]
fn label_syntax_is_a_safety_boundary() {
    let long = "a".repeat(63);
    let longer = "a".repeat(64);
    let prefix = format!(
        "{}.com",
        [
            "a".repeat(60),
            "b".repeat(60),
            "c".repeat(60),
            "d".repeat(60)
        ]
        .join(".")
    );
    let good = [
        ("team", ""),
        ("team", "platform"),
        ("A.b_c-D", "1"),
        (long.as_str(), long.as_str()),
        ("example.com/x", "y"),
        (&format!("{prefix}/x"), "y"),
    ];
    let bad = [
        ("", ""),
        ("/x", ""),
        ("x/", ""),
        ("a/b/c", ""),
        ("-x", ""),
        ("x-", ""),
        ("team", "-"),
        ("team", "a b"),
        ("team", "a,b"),
        ("team", "a\n"),
        ("team\n", "a"),
        ("team", "platform'; reboot; '"),
        ("team", "$(reboot)"),
        ("Example.com/x", ""),
        ("exa_mple.com/x", ""),
        ("example..com/x", ""),
        (longer.as_str(), ""),
        ("x", longer.as_str()),
        (&format!("{prefix}{}/x", "e".repeat(10)), ""),
    ];
    for (key, value) in good {
        assert!(is_valid(key, value), "{key:?}={value:?}");
    }
    for (key, value) in bad {
        assert!(!is_valid(key, value), "{key:?}={value:?}");
    }
}

#[test]
fn each_bad_label_is_told_by_its_key() {
    let demo = demo().labels([("bad key!", "x"), ("good", "x"), ("worse", "y z")]);
    let messages: Vec<String> = demo.refusals().into_iter().map(|r| r.message).collect();
    assert_eq!(messages.len(), 2);
    assert!(messages[0].contains("bad key!") && messages[1].contains("worse"));
}
