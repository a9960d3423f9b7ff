//! What a Machine says of itself.

use jiff::SignedDuration;
use remuda_plan::machines::{
    condition::{Finding, MachineCondition as C, MachineReason as R, Status},
    conditions::{
        ConditionFacts, Conditions, NodeState, ReadinessGate, Referenced, UpToDate, conditions,
    },
    node::NodeView,
    phase::{PhaseFacts, phase},
    view::ConditionView,
};
use serde_json::{Value, json};

use crate::at;

fn node(change: impl FnOnce(&mut Value)) -> NodeState {
    let condition = |kind: &str, status: &str| json!({ "type": kind, "status": status, "message": "kubelet says" });
    let mut object = json!({
        "metadata": { "name": "node-1" },
        "status": { "conditions": [
            condition("Ready", "True"),
            condition("MemoryPressure", "False"),
            condition("DiskPressure", "False"),
            condition("PIDPressure", "False"),
        ] },
    });
    change(&mut object);
    NodeState::Seen(Box::new(NodeView::read(&object)))
}

fn stored(kind: &str, status: &str, seconds: i64) -> ConditionView {
    ConditionView {
        kind: kind.to_owned(),
        status: status.to_owned(),
        reason: "Stored".to_owned(),
        message: "as stored".to_owned(),
        last_transition_time: Some(at(seconds)),
    }
}

/// A healthy Machine of a pool, looked at at 1000.
fn facts(live: &[ConditionView]) -> ConditionFacts<'_> {
    ConditionFacts {
        deleting: None,
        deleted_at: None,
        drain_since: None,
        bootstrap: Referenced::NotNamed,
        infrastructure: Referenced::There {
            kind: "TerraformMachinePoolMachine".to_owned(),
            done: true,
            ready: None,
            deleting: false,
        },
        node: node(|_| {}),
        node_name: Some("node-1"),
        provider_id: Some("aws:///us-east-1a/i-1"),
        up_to_date: UpToDate::Pool(Some(true)),
        live,
        gates: &[],
        min_ready_seconds: 0,
        now: at(1000),
    }
}

fn found(conditions: &Conditions, kind: C) -> (Status, &str, &str) {
    let finding = conditions.findings.iter().find(|one| one.kind == kind);
    let finding = finding.unwrap_or_else(|| panic!("no {kind:?}"));
    (finding.status, &finding.reason, &finding.message)
}

#[test]
fn a_healthy_machine_says_so() {
    let said = conditions(&facts(&[]));
    for (kind, status, reason) in [
        (C::Ready, Status::True, "Ready"),
        (C::Available, Status::True, "Available"),
        (C::BootstrapConfigReady, Status::True, "DataSecretProvided"),
        (C::InfrastructureReady, Status::True, "Ready"),
        (C::NodeReady, Status::True, "NodeReady"),
        (C::NodeHealthy, Status::True, "NodeHealthy"),
        (C::UpToDate, Status::True, "UpToDate"),
        (C::Deleting, Status::False, "NotDeleting"),
        (C::Updating, Status::False, "NotUpdating"),
        (C::Paused, Status::False, "NotPaused"),
    ] {
        let (is, why, _) = found(&said, kind);
        assert_eq!((is, why), (status, reason), "{kind:?}");
    }
    assert_eq!(said.recheck, None);
}

/// Proves: CAPI-75.
#[test]
fn available_comes_when_it_is_due_and_says_when() {
    let live = [stored("Ready", "True", 970)];
    let mut facts = facts(&live);
    facts.min_ready_seconds = 60;
    let said = conditions(&facts);
    let (status, reason, _) = found(&said, C::Available);
    assert_eq!(
        (status, reason),
        (Status::False, "WaitingForMinReadySeconds")
    );
    assert_eq!(said.recheck, Some(SignedDuration::from_secs(30)));
    facts.now = at(1030);
    let said = conditions(&facts);
    assert_eq!(found(&said, C::Available).0, Status::True);
    assert_eq!(said.recheck, None);
    // Ready just now: the whole time is ahead.
    let not_yet = [stored("Ready", "False", 0)];
    facts.live = &not_yet;
    assert_eq!(
        conditions(&facts).recheck,
        Some(SignedDuration::from_secs(60))
    );
    // Ready since a time that is still to come: a clock was wrong, the wait begins now.
    let ahead = [stored("Ready", "True", 90_000)];
    facts.live = &ahead;
    assert_eq!(
        conditions(&facts).recheck,
        Some(SignedDuration::from_secs(60))
    );
}

/// Proves: CAPI-76.
#[test]
fn a_silent_cluster_is_told_after_five_minutes_and_not_before() {
    let live = [
        stored("NodeReady", "True", 0),
        stored("NodeHealthy", "True", 0),
    ];
    let mut facts = facts(&live);
    facts.node = NodeState::Down {
        since: at(1000 - 240),
    };
    let said = conditions(&facts);
    assert_eq!(
        found(&said, C::NodeHealthy),
        (Status::True, "Stored", "as stored")
    );
    assert_eq!(found(&said, C::NodeReady).0, Status::True);
    assert_eq!(said.recheck, Some(SignedDuration::from_secs(60)));
    facts.node = NodeState::Down {
        since: at(1000 - 300),
    };
    let said = conditions(&facts);
    let (status, reason, _) = found(&said, C::NodeHealthy);
    assert_eq!((status, reason), (Status::Unknown, "ConnectionDown"));
    assert_eq!(found(&said, C::Ready).0, Status::Unknown);
}

#[test]
fn a_failed_look_keeps_what_was_known() {
    let live = [
        stored("NodeReady", "False", 0),
        stored("NodeHealthy", "False", 0),
    ];
    let mut facts = facts(&live);
    facts.node = NodeState::Unreadable("500".to_owned());
    assert_eq!(found(&conditions(&facts), C::NodeReady).0, Status::False);
    facts.live = &[];
    let said = conditions(&facts);
    assert_eq!(
        found(&said, C::NodeReady),
        (Status::Unknown, "InspectionFailed", "500")
    );
}

#[test]
fn pressure_and_silence_of_the_kubelet_show() {
    let mut facts = facts(&[]);
    facts.node = node(|node| node["status"]["conditions"][2]["status"] = json!("True"));
    let said = conditions(&facts);
    let (status, reason, message) = found(&said, C::NodeHealthy);
    assert_eq!((status, reason), (Status::False, "NodeNotHealthy"));
    assert!(message.contains("DiskPressure"), "{message}");
    assert_eq!(found(&said, C::NodeReady).0, Status::True);
    let (status, reason, message) = found(&said, C::Ready);
    assert_eq!((status, reason), (Status::False, "NotReady"));
    assert!(
        message.contains("NodeHealthy") && message.contains("DiskPressure"),
        "{message}"
    );
    facts.node = node(|node| node["status"]["conditions"][0]["status"] = json!("Unknown"));
    let said = conditions(&facts);
    assert_eq!(found(&said, C::NodeReady).1, "NodeReadyUnknown");
    assert_eq!(found(&said, C::Ready).0, Status::Unknown);
}

#[test]
fn a_node_is_awaited_lost_or_doubted() {
    let mut facts = facts(&[]);
    facts.node = NodeState::Absent;
    let (status, reason, _) = {
        let said = conditions(&facts);
        let (status, reason, message) = found(&said, C::NodeHealthy);
        (status, reason.to_owned(), message.to_owned())
    };
    assert_eq!((status, reason.as_str()), (Status::False, "NodeDeleted"));
    facts.node_name = None;
    let said = conditions(&facts);
    let (status, reason, message) = found(&said, C::NodeHealthy);
    assert_eq!((status, reason), (Status::Unknown, "NodeDoesNotExist"));
    assert!(message.contains("i-1"), "{message}");
    facts.node = NodeState::Several(vec!["a".to_owned(), "b".to_owned()]);
    let said = conditions(&facts);
    let (_, reason, message) = found(&said, C::NodeReady);
    assert_eq!(reason, "InspectionFailed");
    assert!(message.ends_with("a, b"), "{message}");
}

#[test]
fn readiness_gates_and_health_checks_count() {
    let gate = |kind: &str, polarity: Option<&str>| ReadinessGate {
        condition_type: kind.to_owned(),
        polarity: polarity.map(str::to_owned),
    };
    let gates = [gate("Warm", None), gate("Burning", Some("Negative"))];
    let ready = |live: &[ConditionView]| {
        let mut facts = facts(live);
        facts.gates = &gates;
        let said = conditions(&facts);
        let (status, _, message) = found(&said, C::Ready);
        (status, message.to_owned())
    };
    let good = [stored("Warm", "True", 0), stored("Burning", "False", 0)];
    assert_eq!(ready(&good).0, Status::True);
    let hot = [stored("Warm", "True", 0), stored("Burning", "True", 0)];
    assert_eq!(ready(&hot).0, Status::False);
    let (status, message) = ready(&good[..1]);
    assert_eq!(status, Status::Unknown);
    assert!(message.contains("Burning"), "{message}");
    let sick = [
        good[0].clone(),
        good[1].clone(),
        stored("HealthCheckSucceeded", "False", 0),
    ];
    assert_eq!(ready(&sick).0, Status::False);
}

#[test]
fn a_deletion_shows_its_stage_and_when_it_takes_long() {
    let mut facts = facts(&[]);
    facts.deleting = Some(Finding::yes(C::Deleting, R::DrainingNode, "every detail"));
    facts.deleted_at = Some(at(900));
    facts.drain_since = Some(at(900));
    let ready = |facts: &ConditionFacts<'_>| {
        let said = conditions(facts);
        assert_eq!(found(&said, C::UpToDate).1, "NotUpToDate");
        let (status, _, message) = found(&said, C::Ready);
        assert_eq!(status, Status::False);
        message.to_owned()
    };
    let early = ready(&facts);
    assert!(
        early.contains("stage: DrainingNode") && !early.contains("minutes"),
        "{early}"
    );
    facts.now = at(900 + 301);
    assert!(ready(&facts).contains("5 minutes"));
    facts.now = at(900 + 901);
    assert!(ready(&facts).contains("15 minutes"));
}

#[test]
fn infrastructure_is_mirrored_missing_or_unknown() {
    let mut facts = facts(&[]);
    let mut of = |infrastructure: Referenced| {
        facts.infrastructure = infrastructure;
        let said = conditions(&facts);
        let (status, reason, message) = found(&said, C::InfrastructureReady);
        (status, reason.to_owned(), message.to_owned())
    };
    let there = |done, ready| Referenced::There {
        kind: "Kind".to_owned(),
        done,
        ready,
        deleting: false,
    };
    let mirrored = of(there(true, Some(stored("Ready", "False", 0))));
    assert_eq!(
        mirrored,
        (Status::False, "Stored".to_owned(), "as stored".to_owned())
    );
    assert_eq!(of(there(false, None)).1, "NotReady");
    let missing = |was_there| Referenced::Missing {
        what: "Kind x".to_owned(),
        was_there,
    };
    assert_eq!(of(missing(true)).1, "ObjectDeleted");
    assert_eq!(of(missing(false)).1, "ObjectDoesNotExist");
    assert_eq!(of(Referenced::Unknown("503".to_owned())).0, Status::Unknown);
}

#[test]
fn later_rules_of_the_phase_win() {
    let mut facts = PhaseFacts::default();
    assert_eq!(phase(facts), "Pending");
    facts.bootstrap_created = true;
    assert_eq!(phase(facts), "Provisioning");
    facts.has_provider_id = true;
    assert_eq!(phase(facts), "Provisioned");
    facts.has_node = true;
    assert_eq!(
        phase(facts),
        "Provisioned",
        "the infrastructure flag counts"
    );
    facts.provisioned = true;
    assert_eq!(phase(facts), "Running");
    facts.updating = true;
    assert_eq!(phase(facts), "Updating");
    facts.deleting = true;
    assert_eq!(phase(facts), "Deleting");
}
