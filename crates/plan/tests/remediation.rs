//! Who is unhealthy, when something follows, and what the owner does about it.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests fail loudly, as tests do"
)]

use jiff::{SignedDuration, Timestamp};
use remuda_plan::machines::{
    remediation::{
        Reason,
        check::{HealthCheck, Report, check, is_checked},
        health::{
            Bad, Checks, ClusterFacts, Health, NODE_STARTUP_TIMEOUT, NodeState, Target, judge,
        },
        limit::Limit,
        owner::{Replacements, replacements},
    },
    view::{ConditionView, HEALTH_CHECK_SUCCEEDED, MachineView, OWNER_REMEDIATED},
};
use serde_json::{Value, json};

fn now() -> Timestamp {
    "2026-10-01T12:00:00Z".parse().unwrap()
}

fn ago(minutes: i64) -> Timestamp {
    now() - SignedDuration::from_mins(minutes)
}

fn machine(name: &str, change: impl FnOnce(&mut Value)) -> MachineView {
    let mut machine = json!({
        "metadata": { "name": name, "creationTimestamp": ago(60).to_string() },
        "status": { "nodeRef": { "name": name }, "conditions": [] },
    });
    change(&mut machine);
    serde_json::from_value(machine).unwrap()
}

fn condition(kind: &str, status: &str, since: Timestamp) -> Value {
    json!({ "type": kind, "status": status, "reason": "Why", "lastTransitionTime": since.to_string() })
}

fn node(ready: &str, minutes: i64) -> NodeState {
    let ready: ConditionView =
        serde_json::from_value(condition("Ready", ready, ago(minutes))).unwrap();
    NodeState::There(vec![ready])
}

fn healthy(name: &str) -> Target {
    Target {
        machine: machine(name, |_| {}),
        node: node("True", 30),
    }
}

fn unhealthy(name: &str) -> Target {
    Target {
        machine: machine(name, |_| {}),
        node: node("Unknown", 6),
    }
}

fn cluster() -> ClusterFacts {
    ClusterFacts {
        control_plane_initialized: Some(ago(600)),
        infrastructure_ready: Some(ago(600)),
    }
}

fn checks() -> Checks {
    let bad = |status: &str| Bad {
        kind: "Ready".to_owned(),
        status: status.to_owned(),
        timeout: SignedDuration::from_mins(5),
    };
    Checks {
        node_startup_timeout: NODE_STARTUP_TIMEOUT,
        machine: Vec::new(),
        node: vec![bad("False"), bad("Unknown")],
    }
}

fn run(limit: Limit, targets: &[Target]) -> Report {
    let settings = HealthCheck {
        checks: checks(),
        limit,
        external: false,
    };
    check(targets, &settings, &cluster(), now())
}

fn five(bad: usize) -> Vec<Target> {
    (0..5)
        .map(|number| {
            let name = format!("m{number}");
            if number < bad {
                unhealthy(&name)
            } else {
                healthy(&name)
            }
        })
        .collect()
}

/// Machines that a condition is written on as False.
fn marked(report: &Report, condition: &str) -> usize {
    let marks = report.marks.iter();
    marks
        .filter(|mark| mark.condition == condition && !mark.holds)
        .count()
}

/// Proves: CAPI-83.
#[test]
fn a_percentage_is_rounded_down_and_stops_remediation_beyond_it() {
    let limit = || Limit::parse(None, Some(&json!("40%")));
    let allowed = run(limit(), &five(2));
    assert_eq!(
        (allowed.expected, allowed.healthy, allowed.allowed),
        (5, 3, 0)
    );
    assert_eq!(allowed.restricted, None);
    assert_eq!(marked(&allowed, OWNER_REMEDIATED), 2);

    let restricted = run(limit(), &five(3));
    assert_eq!(restricted.allowed, 0);
    assert!(restricted.restricted.is_some());
    assert_eq!(marked(&restricted, HEALTH_CHECK_SUCCEEDED), 3);
    assert_eq!(marked(&restricted, OWNER_REMEDIATED), 0);
}

#[test]
fn a_percentage_of_few_is_none() {
    let two = [unhealthy("a"), healthy("b")];
    let report = run(Limit::parse(None, Some(&json!("49%"))), &two);
    assert!(report.restricted.is_some(), "49 % of 2 is 0");
    let report = run(Limit::parse(None, Some(&json!("50%"))), &two);
    assert_eq!(report.restricted, None);
}

/// Proves: CAPI-84.
#[test]
fn a_range_allows_remediation_only_within_it() {
    let range = || Limit::parse(Some("[2-3]"), Some(&json!(0)));
    for (bad, remediated) in [(1, 0), (2, 2), (3, 3), (4, 0)] {
        let report = run(range(), &five(bad));
        assert_eq!(
            marked(&report, OWNER_REMEDIATED),
            remediated,
            "{bad} unhealthy"
        );
        assert_eq!(marked(&report, HEALTH_CHECK_SUCCEEDED), bad);
    }
    assert_eq!(run(range(), &five(2)).allowed, 1);
}

#[test]
fn a_limit_that_cannot_be_read_stops_remediation_and_says_so() {
    for limit in [
        Limit::parse(None, Some(&json!("many"))),
        Limit::parse(None, Some(&json!(-1))),
        Limit::parse(Some("2-3"), None),
    ] {
        let report = run(limit, &five(1));
        assert_eq!(marked(&report, OWNER_REMEDIATED), 0);
        assert!(report.restricted.unwrap().contains("cannot be read"));
    }
    assert_eq!(Limit::parse(None, None), Limit::Percent(100));
}

#[test]
fn machines_that_start_count_against_the_limit() {
    let mut targets = five(1);
    targets[4] = Target {
        machine: machine("m4", |machine| machine["status"] = json!({})),
        node: NodeState::NotYet,
    };
    targets[4].machine.metadata.creation_timestamp = Some(ago(1));
    let report = run(Limit::AtMost(1), &targets);
    assert_eq!(report.healthy, 3);
    assert!(report.restricted.unwrap().starts_with("2 of 5 Machines"));
    assert_eq!(
        marked(&run(Limit::AtMost(2), &targets), OWNER_REMEDIATED),
        1
    );
}

/// A Machine without a Node, created 11 minutes ago, whose infrastructure has been ready for so
/// many minutes.
fn starting(ready: i64) -> Target {
    let machine = machine("a", |machine| {
        machine["metadata"]["creationTimestamp"] = json!(ago(11).to_string());
        machine["status"] =
            json!({ "conditions": [condition("InfrastructureReady", "True", ago(ready))] });
    });
    Target {
        machine,
        node: NodeState::NotYet,
    }
}

/// Proves: CAPI-85.
#[test]
fn the_startup_clock_starts_when_the_infrastructure_is_ready() {
    let judged = |target: &Target| judge(target, &checks(), &cluster(), now());
    let due = now() + SignedDuration::from_mins(5);
    assert_eq!(judged(&starting(5)), Health::Pending(Some(due)));
    let Health::Unhealthy(reason, message) = judged(&starting(10)) else {
        panic!("ten minutes have passed");
    };
    assert_eq!(reason, Reason::NodeStartupTimeout);
    assert!(message.contains("10m"), "{message}");

    // The Cluster's own times count, too.
    let late = ClusterFacts {
        infrastructure_ready: Some(ago(2)),
        ..cluster()
    };
    let due = now() + SignedDuration::from_mins(8);
    assert_eq!(
        judge(&starting(10), &checks(), &late, now()),
        Health::Pending(Some(due))
    );
    let off = Checks {
        node_startup_timeout: SignedDuration::ZERO,
        ..checks()
    };
    assert_eq!(
        judge(&starting(10), &off, &cluster(), now()),
        Health::Pending(None)
    );
}

#[test]
fn a_pending_timeout_is_looked_at_a_second_after_it() {
    let report = run(Limit::AtMost(5), &[starting(5)]);
    assert_eq!(report.recheck, Some(SignedDuration::from_secs(301)));
    assert!(report.marks.is_empty(), "neither healthy nor unhealthy");
}

/// Proves: CAPI-86.
#[test]
fn a_person_may_ask_for_remediation_at_once_or_opt_out() {
    let asked = Target {
        machine: machine("a", |machine| {
            machine["metadata"]["annotations"] =
                json!({ "cluster.x-k8s.io/remediate-machine": "" });
        }),
        node: NodeState::Unknown,
    };
    let early = ClusterFacts::default();
    let Health::Unhealthy(reason, _) = judge(&asked, &checks(), &early, now()) else {
        panic!("it does not wait for the control plane");
    };
    assert_eq!(reason, Reason::HasRemediateAnnotation);
    // Without the annotation nothing is judged yet.
    assert_eq!(
        judge(&unhealthy("a"), &checks(), &early, now()),
        Health::Pending(None)
    );

    let skipped = machine("a", |machine| {
        machine["metadata"]["annotations"] = json!({
            "cluster.x-k8s.io/skip-remediation": "",
            "cluster.x-k8s.io/remediate-machine": "",
        });
    });
    assert!(!is_checked(&skipped));
    assert!(is_checked(&asked.machine));
}

/// Proves: CAPI-87.
#[test]
fn a_node_deleted_by_hand_is_unhealthy_at_once() {
    let gone = Target {
        machine: machine("a", |machine| {
            machine["metadata"]["creationTimestamp"] = json!(now().to_string());
        }),
        node: NodeState::Gone,
    };
    let Health::Unhealthy(reason, _) = judge(&gone, &checks(), &cluster(), now()) else {
        panic!("no timeout is waited for");
    };
    assert_eq!(reason, Reason::NodeDeleted);
}

#[test]
fn a_workload_cluster_that_cannot_be_asked_makes_nobody_unhealthy() {
    for node_ref in [json!({ "name": "a" }), Value::Null] {
        let target = Target {
            machine: machine("a", |machine| machine["status"]["nodeRef"] = node_ref),
            node: NodeState::Unknown,
        };
        assert_eq!(
            judge(&target, &checks(), &cluster(), now()),
            Health::Pending(None)
        );
    }
}

#[test]
fn what_concerns_the_machine_comes_before_what_concerns_its_node() {
    let target = Target {
        machine: machine("a", |machine| {
            machine["status"]["conditions"] = json!([condition("DiskFine", "False", ago(3))]);
        }),
        node: node("Unknown", 6),
    };
    let both = Checks {
        machine: vec![Bad {
            kind: "DiskFine".to_owned(),
            status: "False".to_owned(),
            timeout: SignedDuration::from_mins(2),
        }],
        ..checks()
    };
    let Health::Unhealthy(reason, message) = judge(&target, &both, &cluster(), now()) else {
        panic!("two conditions are bad");
    };
    assert_eq!(reason, Reason::UnhealthyMachine);
    assert!(
        message.contains("DiskFine") && message.contains("Ready"),
        "{message}"
    );
}

#[test]
fn the_owners_word_is_not_overwritten() {
    let mut target = unhealthy("a");
    target.machine = machine("a", |machine| {
        machine["status"]["conditions"] = json!([{
            "type": OWNER_REMEDIATED, "status": "False", "reason": "RemediationDeferred",
        }]);
    });
    let report = run(Limit::AtMost(5), &[target]);
    assert_eq!(marked(&report, OWNER_REMEDIATED), 0);
    assert_eq!(marked(&report, HEALTH_CHECK_SUCCEEDED), 1);
}

#[test]
fn with_a_template_the_request_takes_the_place_of_the_owner() {
    let settings = HealthCheck {
        checks: checks(),
        limit: Limit::AtMost(5),
        external: true,
    };
    let report = check(&five(2), &settings, &cluster(), now());
    assert_eq!(report.requests, ["m0", "m1"]);
    assert_eq!(report.recovered, ["m2", "m3", "m4"]);
    assert_eq!(marked(&report, OWNER_REMEDIATED), 0);
}

/// An unhealthy Machine whose owner was asked so many minutes after noon the day before.
fn asked(name: &str, age: i64, reason: &str) -> MachineView {
    machine(name, |machine| {
        machine["metadata"]["creationTimestamp"] = json!(ago(age).to_string());
        machine["status"]["conditions"] = json!([
            condition(HEALTH_CHECK_SUCCEEDED, "False", ago(1)),
            { "type": OWNER_REMEDIATED, "status": "False", "reason": reason },
        ]);
    })
}

#[test]
fn one_goes_at_a_time_and_the_newest_goes_first() {
    let old = asked("old", 60, "WaitingForRemediation");
    let new = asked("new", 5, "WaitingForRemediation");
    let result = replacements(&[&old, &new], 1);
    assert_eq!(result.deletes, ["new"]);
    let reasons: Vec<_> = result
        .marks
        .iter()
        .map(|mark| (mark.machine.as_str(), mark.reason))
        .collect();
    assert_eq!(
        reasons,
        [
            ("new", Reason::MachineDeleting),
            ("old", Reason::RemediationDeferred)
        ]
    );
    assert!(result.marks[1].message.contains("new"));

    // While it is on its way nobody follows.
    let mut going = asked("new", 5, "MachineDeleting");
    going.metadata.deletion_timestamp = Some(now());
    let result = replacements(&[&old, &going], 1);
    assert!(result.deletes.is_empty(), "{result:?}");
    assert_eq!(result.marks[0].reason, Reason::RemediationDeferred);
    // Once it is gone the next one does.
    assert_eq!(replacements(&[&old], 1).deletes, ["old"]);
}

#[test]
fn whom_a_person_asks_for_goes_before_newer_ones() {
    let new = asked("new", 5, "RemediationDeferred");
    let mut old = asked("old", 60, "RemediationDeferred");
    let annotation = "cluster.x-k8s.io/remediate-machine".to_owned();
    old.metadata.annotations.insert(annotation, String::new());
    assert_eq!(replacements(&[&new, &old], 1).deletes, ["old"]);
}

#[test]
fn a_deletion_that_was_announced_and_did_not_follow_follows() {
    let announced = asked("a", 5, "MachineDeleting");
    let other = asked("b", 4, "WaitingForRemediation");
    let result = replacements(&[&announced, &other], 1);
    assert_eq!(result.deletes, ["a"]);
}

#[test]
fn a_machine_that_is_well_again_is_left() {
    let mut well = asked("a", 5, "RemediationDeferred");
    well.status.conditions[0].status = "True".to_owned();
    let result = replacements(&[&well], 1);
    assert_eq!(result.recovered, ["a"]);
    assert!(result.deletes.is_empty() && result.marks.is_empty());
}

#[test]
fn a_machine_that_goes_anyway_is_not_remediated() {
    let mut going = asked("a", 5, "WaitingForRemediation");
    going.metadata.deletion_timestamp = Some(now());
    assert_eq!(replacements(&[&going], 1), Replacements::default());
}
