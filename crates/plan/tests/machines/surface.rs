//! What the object of a member says.

use remuda_plan::{
    machines::{group::Leaving, objects::InfraMachineStatus},
    pool::members::MemberState,
};
use serde_json::{Value, json};

use super::fleet::{Fleet, called};

/// The pool writes what it decided.
fn settle(fleet: &mut Fleet) {
    for write in fleet.decide().writes {
        let Some(status) = write.status else { continue };
        let infra = fleet
            .objects
            .infra
            .iter_mut()
            .find(|infra| infra.metadata.name == write.name)
            .unwrap();
        infra.status = status;
    }
}

fn says(status: &InfraMachineStatus, kind: &str) -> (String, String) {
    let condition = status.conditions.iter().find(|it| it.kind == kind).unwrap();
    (condition.status.clone(), condition.reason.clone())
}

#[test]
fn an_object_is_provisioned_as_soon_as_its_instance_runs_and_stays_so() {
    let mut fleet = Fleet::of(&["a"]);
    fleet.member("a").member.state = MemberState::Pending;
    settle(&mut fleet);
    let status = fleet.infra("a").status.clone();
    assert_eq!(status.initialization, None);
    assert_eq!(status.ready, None);
    assert_eq!(
        says(&status, "Ready"),
        ("False".into(), "NotProvisioned".into())
    );
    fleet.member("a").member.state = MemberState::Running;
    settle(&mut fleet);
    let status = fleet.infra("a").status.clone();
    assert!(status.initialization.unwrap().provisioned);
    assert_eq!(status.ready, Some(true));
    assert_eq!(
        says(&status, "Ready"),
        ("True".into(), "Provisioned".into())
    );
    fleet.member("a").member.state = MemberState::Stopped;
    settle(&mut fleet);
    let status = fleet.infra("a").status.clone();
    assert!(status.initialization.unwrap().provisioned);
    assert_eq!(
        says(&status, "Ready"),
        ("False".into(), "InstanceStopped".into())
    );
    assert_eq!(status.instance_state.as_deref(), Some("stopped"));
}

/// Proves: CAPI-16.
#[test]
fn whatever_happens_no_failure_reason_or_message_is_written() {
    for state in [
        MemberState::Pending,
        MemberState::Degraded,
        MemberState::Stopped,
        MemberState::Terminated,
        MemberState::Unknown,
    ] {
        let mut fleet = Fleet::of(&["a", "b"]);
        fleet.member("a").member.state = state;
        fleet.member("a").outdated = true;
        fleet.leave("b", Leaving::Ending);
        settle(&mut fleet);
        for infra in &fleet.objects.infra {
            let written = json!(infra.status);
            assert_eq!(written["failureReason"], Value::Null);
            assert_eq!(written["failureMessage"], Value::Null);
        }
    }
}

#[test]
fn an_object_that_says_all_of_it_is_not_written_again() {
    let mut fleet = Fleet::of(&["a", "b"]);
    fleet.leave(
        "b",
        Leaving::Held {
            because: "spot".into(),
            until: None,
        },
    );
    settle(&mut fleet);
    fleet.now += jiff::SignedDuration::from_mins(5);
    let writes = fleet.decide().writes;
    assert!(writes.is_empty(), "{writes:?}");
}

#[test]
fn the_model_is_told_when_it_is_known() {
    let mut fleet = Fleet::of(&["a", "b"]);
    fleet.member("a").outdated = true;
    fleet.member("b").revision = None;
    settle(&mut fleet);
    let status = fleet.infra("a").status.clone();
    assert_eq!(status.up_to_date, Some(false));
    assert_eq!(status.revision.as_deref(), Some("lt-1"));
    assert_eq!(
        says(&status, "UpToDate"),
        ("False".into(), "NotUpToDate".into())
    );
    assert_eq!(fleet.infra("b").status.up_to_date, None);
}

#[test]
fn labels_and_owner_that_somebody_took_away_come_back() {
    let mut fleet = Fleet::of(&["a"]);
    settle(&mut fleet);
    let metadata = &mut fleet.infra("a").metadata;
    metadata.labels.clear();
    metadata.owner_references.clear();
    metadata.finalizers = vec!["other".to_owned()];
    let writes = fleet.decide().writes;
    assert_eq!(writes.len(), 1);
    assert_eq!(writes[0].name, called("a"));
    let patch = &writes[0].body.as_ref().unwrap()["metadata"];
    assert_eq!(patch["labels"]["cluster.x-k8s.io/pool-name"], "demo-pool-0");
    assert_eq!(patch["ownerReferences"][0]["uid"], "pool-uid");
    assert_eq!(patch["finalizers"][0], "other");
    assert_eq!(patch["finalizers"].as_array().unwrap().len(), 2);
}
