//! Which Pods a drain evicts when.

use std::collections::BTreeMap;

use remuda_plan::machines::{
    drain::{Caution, DrainPlan, Found, Labels, Scene, Treatment, fates, plan},
    drain_rule::DrainRule,
    pod::{Pod, PodName},
    progress::{Eviction, progress},
};
use serde_json::{Value, json};

use crate::{at, labels};

/// A Pod of namespace `web`, controlled by a ReplicaSet.
fn pod(name: &str, change: impl FnOnce(&mut Value)) -> Pod {
    let mut object = json!({
        "metadata": {
            "namespace": "web", "name": name, "uid": format!("uid-{name}"),
            "ownerReferences": [{ "kind": "ReplicaSet", "name": "web", "controller": true }],
        },
        "status": { "phase": "Running" },
    });
    change(&mut object);
    Pod::read(&object)
}

fn daemon(name: &str) -> Pod {
    pod(name, |pod| {
        pod["metadata"]["ownerReferences"] =
            json!([{ "kind": "DaemonSet", "name": "agent", "controller": true }]);
    })
}

fn rule(name: &str, spec: Value) -> DrainRule {
    serde_json::from_value(json!({ "metadata": { "name": name }, "spec": spec })).unwrap()
}

/// A scene that knows the DaemonSet `web/agent`.
struct Stage {
    pods: Vec<Pod>,
    rules: Vec<DrainRule>,
    daemon_sets: BTreeMap<(String, String), Found>,
    namespaces: BTreeMap<String, Labels>,
    machine: Labels,
    cluster: Labels,
    unreachable: bool,
}

impl Stage {
    fn new(pods: Vec<Pod>) -> Self {
        let agent = ("web".to_owned(), "agent".to_owned());
        Self {
            pods,
            rules: Vec::new(),
            daemon_sets: BTreeMap::from([(agent, Found::Yes)]),
            namespaces: BTreeMap::new(),
            machine: labels(&[("role", "worker")]),
            cluster: labels(&[("env", "test")]),
            unreachable: false,
        }
    }

    fn rules(mut self, rules: Vec<DrainRule>) -> Self {
        self.rules = rules;
        self
    }

    fn scene(&self) -> Scene<'_> {
        Scene {
            pods: &self.pods,
            daemon_sets: &self.daemon_sets,
            namespaces: &self.namespaces,
            rules: &self.rules,
            machine: &self.machine,
            cluster: &self.cluster,
            unreachable: self.unreachable,
            now: at(100),
        }
    }

    fn plan(&self) -> DrainPlan {
        plan(&self.scene()).unwrap()
    }
}

fn names(list: &[PodName]) -> Vec<&str> {
    list.iter().map(|pod| pod.name.as_str()).collect()
}

fn evicted(plan: &DrainPlan) -> Vec<&str> {
    plan.evict
        .iter()
        .map(|(pod, _)| pod.name.as_str())
        .collect()
}

/// Proves: CAPI-60.
#[test]
fn daemons_and_static_pods_stay_and_finished_ones_go_like_others() {
    let stage = Stage::new(vec![
        pod("app", |_| {}),
        daemon("agent-1"),
        pod("static", |pod| {
            pod["metadata"]["annotations"] = json!({ "kubernetes.io/config.mirror": "hash" });
        }),
        pod("job", |pod| pod["status"]["phase"] = json!("Succeeded")),
    ]);
    let plan = stage.plan();
    assert_eq!(evicted(&plan), ["app", "job"]);
    assert_eq!(names(&plan.skipped), ["agent-1", "static"]);
    assert!(!plan.is_done());
    let gone = Stage::new(vec![daemon("agent-1")]);
    assert!(gone.plan().is_done(), "what stays does not hold the drain");
}

/// Proves: CAPI-64.
#[test]
fn rules_give_orders_and_a_later_order_waits_for_the_earlier() {
    let labeled = |name: &str, app: &str| {
        let app = app.to_owned();
        pod(name, |pod| {
            pod["metadata"]["labels"] = json!({ "app": app });
        })
    };
    let rules = || {
        vec![
            rule("b", json!({ "drain": { "behavior": "Drain", "order": 5 } })),
            rule(
                "a",
                json!({
                    "drain": { "behavior": "Skip" },
                    "pods": [{ "selector": { "matchLabels": { "app": "x" } } }],
                }),
            ),
            rule(
                "aa",
                json!({
                    "drain": { "behavior": "Drain", "order": -1 },
                    "pods": [{ "selector": { "matchLabels": { "app": "first" } } }],
                }),
            ),
        ]
    };
    let pods = vec![
        labeled("p1", "x"),
        labeled("p2", "y"),
        labeled("p3", "first"),
    ];
    let stage = Stage::new(pods).rules(rules());
    let orders: Vec<Treatment> = fates(&stage.scene())
        .unwrap()
        .iter()
        .map(|fate| fate.treatment)
        .collect();
    assert_eq!(
        orders,
        [
            Treatment::Skip,
            Treatment::Drain { order: 5 },
            Treatment::Drain { order: -1 }
        ]
    );
    let plan = stage.plan();
    assert_eq!(
        (evicted(&plan), names(&plan.later)),
        (vec!["p3"], vec!["p2"])
    );

    // One that is being ended still holds back those after it.
    let ending = pod("p3", |pod| {
        pod["metadata"]["labels"] = json!({ "app": "first" });
        pod["metadata"]["deletionTimestamp"] = json!("2026-10-01T08:10:00Z");
    });
    let plan = Stage::new(vec![ending, labeled("p2", "y")])
        .rules(rules())
        .plan();
    assert!(evicted(&plan).is_empty(), "{plan:?}");
    assert_eq!(
        (names(&plan.terminating), names(&plan.later)),
        (vec!["p3"], vec!["p2"])
    );
    let plan = Stage::new(vec![labeled("p2", "y")]).rules(rules()).plan();
    assert_eq!(evicted(&plan), ["p2"]);
}

#[test]
fn a_rule_is_for_its_machines_clusters_and_namespaces() {
    let skip = |machines: Value, pods: Value| {
        let mut spec = json!({ "drain": { "behavior": "Skip" } });
        if !machines.is_null() {
            spec["machines"] = machines;
        }
        if !pods.is_null() {
            spec["pods"] = pods;
        }
        rule("r", spec)
    };
    let selector = |key: &str, value: &str| json!({ "matchLabels": { key: value } });
    let is_skipped = |rule: DrainRule| {
        let mut stage = Stage::new(vec![pod("app", |_| {})]).rules(vec![rule]);
        stage.namespaces = BTreeMap::from([("web".to_owned(), labels(&[("team", "a")]))]);
        stage.plan().evict.is_empty()
    };
    let of = |machine: &str, cluster: &str| json!([{ "selector": selector("role", machine), "clusterSelector": selector("env", cluster) }]);
    assert!(is_skipped(skip(of("worker", "test"), Value::Null)));
    assert!(!is_skipped(skip(of("other", "test"), Value::Null)));
    assert!(!is_skipped(skip(of("worker", "live"), Value::Null)));
    let within = |team: &str| json!([{ "namespaceSelector": selector("team", team) }]);
    assert!(is_skipped(skip(Value::Null, within("a"))));
    assert!(!is_skipped(skip(Value::Null, within("b"))));
}

/// Proves: CAPI-65.
#[test]
fn one_failed_look_up_and_nothing_is_evicted() {
    let mut stage = Stage::new(vec![pod("app", |_| {}), daemon("agent-1")]);
    let agent = ("web".to_owned(), "agent".to_owned());
    stage
        .daemon_sets
        .insert(agent.clone(), Found::Unknown("503".to_owned()));
    let error = plan(&stage.scene()).unwrap_err();
    assert!(
        error.contains("web/agent-1") && error.contains("503"),
        "{error}"
    );
    // A DaemonSet that is proven absent is another thing: its Pod goes, with a word.
    stage.daemon_sets.insert(agent, Found::No);
    let scene = stage.scene();
    let fates = fates(&scene).unwrap();
    assert_eq!(fates[0].cautions, [Caution::DaemonSetMissing]);
    assert_eq!(evicted(&stage.plan()), ["agent-1", "app"]);
}

#[test]
fn an_invalid_rule_of_the_namespace_stops_every_drain() {
    let broken = rule(
        "broken",
        json!({
            "drain": { "behavior": "Skip" },
            "machines": [{ "selector": { "matchExpressions": [{ "key": "a", "operator": "Near" }] } }],
        }),
    );
    let stage = Stage::new(vec![pod("app", |_| {})]).rules(vec![broken]);
    let error = plan(&stage.scene()).unwrap_err();
    assert!(
        error.contains("broken") && error.contains("Near"),
        "{error}"
    );
}

/// Proves: CAPI-66.
#[test]
fn a_pod_that_ends_by_itself_is_waited_for_and_not_evicted() {
    let waiting = |phase: &str| {
        let phase = phase.to_owned();
        pod("batch", |pod| {
            pod["metadata"]["labels"] = json!({ "cluster.x-k8s.io/drain": "Wait-Completed" });
            pod["status"]["phase"] = json!(phase);
        })
    };
    let running = Stage::new(vec![waiting("Running")]).plan();
    assert_eq!(names(&running.awaited), ["batch"]);
    assert!(running.evict.is_empty() && !running.is_done());
    let told = progress(&running, &[], at(0));
    assert!(
        !told.done && told.message.contains("web/batch"),
        "{}",
        told.message
    );
    for phase in ["Succeeded", "Failed"] {
        let ended = Stage::new(vec![waiting(phase)]).plan();
        assert!(ended.is_done() && ended.evict.is_empty(), "{ended:?}");
    }
}

#[test]
fn the_label_skips_in_any_case_and_an_unknown_word_does_nothing() {
    let labeled = |word: &str| {
        let word = word.to_owned();
        Stage::new(vec![pod("p", |pod| {
            pod["metadata"]["labels"] = json!({ "cluster.x-k8s.io/drain": word });
        })])
        .plan()
    };
    assert!(labeled("SKIP").is_done());
    assert_eq!(evicted(&labeled("later")), ["p"]);
}

/// Proves: CAPI-63.
#[test]
fn a_silent_nodes_pods_get_a_second_and_overdue_ones_are_ignored() {
    let deleted = |name: &str, seconds: i64| {
        let stamp = at(seconds).to_string();
        pod(name, |pod| {
            pod["metadata"]["deletionTimestamp"] = json!(stamp);
        })
    };
    let pods = || vec![pod("app", |_| {}), deleted("late", 98), deleted("soon", 99)];
    let mut stage = Stage::new(pods());
    stage.unreachable = true;
    let plan = stage.plan();
    assert_eq!(plan.grace_seconds, Some(1));
    assert_eq!(evicted(&plan), ["app"]);
    assert_eq!(names(&plan.terminating), ["soon"]);
    assert_eq!(names(&plan.skipped), ["late"]);
    let reachable = Stage::new(pods()).plan();
    assert_eq!(reachable.grace_seconds, None);
    assert_eq!(names(&reachable.terminating), ["late", "soon"]);
}

#[test]
fn a_message_stays_the_same_while_nothing_changes_and_names_three() {
    let pods: Vec<Pod> = (1..=5).map(|n| pod(&format!("app-{n}"), |_| {})).collect();
    let plan = Stage::new(pods).plan();
    let blocked = |pod: &PodName| (pod.clone(), Eviction::Blocked("the budget".to_owned()));
    let mut evictions: Vec<_> = plan.evict.iter().map(|(pod, _)| blocked(pod)).collect();
    let first = progress(&plan, &evictions, at(0));
    evictions.reverse();
    assert_eq!(
        progress(&plan, &evictions, at(0)).message.lines().next(),
        first.message.lines().next()
    );
    assert_eq!(
        first.message,
        "Draining since 2026-10-01T08:00:00Z\n* 5 Pods not evicted: web/app-1, web/app-2, \
         web/app-3 and 2 more: the budget"
    );
    assert!(first.failed.is_empty(), "a budget is no error");
    assert!(!first.goes_by_itself);
    let accepted = |pod: &PodName| (pod.clone(), Eviction::Accepted);
    let ending: Vec<_> = plan.evict.iter().map(|(pod, _)| accepted(pod)).collect();
    assert!(progress(&plan, &ending, at(0)).goes_by_itself);
    let gone: Vec<_> = plan
        .evict
        .iter()
        .map(|(pod, _)| (pod.clone(), Eviction::Gone))
        .collect();
    assert!(progress(&plan, &gone, at(0)).done);
}

#[test]
fn pods_that_lose_something_are_marked_and_go() {
    let bare = pod("bare", |pod| {
        pod["metadata"]["ownerReferences"] = json!([]);
        pod["spec"] = json!({ "volumes": [{ "name": "cache", "emptyDir": {} }] });
    });
    let stage = Stage::new(vec![bare]);
    let scene = stage.scene();
    let fates = fates(&scene).unwrap();
    assert_eq!(fates[0].treatment, Treatment::Drain { order: 0 });
    assert_eq!(
        fates[0].cautions,
        [Caution::ScratchData, Caution::NoController]
    );
}
