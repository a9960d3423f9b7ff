//! Drift checks and remediation.

use remuda_plan::{
    pool::{
        action::{Action, ChangeKind, Effect, Outlook, Plan, Step},
        drift::summary,
        objects::{DriftAction, DriftPolicy},
        record::Record,
    },
    status::{
        condition::{ConditionStatus, ConditionType, Reason},
        event::EventReason,
        wire::{DriftSummary, Operation},
    },
};

use super::{
    lab::Lab,
    schedule::{PLAIN, failure},
    world::{Edit as _, world},
};
use ConditionStatus::{False, True};

fn with_policy(action: DriftAction) -> Lab {
    Lab::ready_with(world().pool(|pool| {
        pool.spec.drift = Some(DriftPolicy {
            interval_seconds: Some(300),
            action: Some(action),
        });
    }))
}

fn lose_a_tag(lab: &mut Lab) {
    let group = lab.cloud.group.as_mut().expect("a group");
    assert!(group.tags.remove("captf.io/managed-by").is_some());
}

fn has_the_tag(lab: &Lab) -> bool {
    let group = lab.cloud.group.as_ref().expect("a group");
    group.tags.contains_key("captf.io/managed-by")
}

fn told(lab: &Lab, reason: EventReason) -> usize {
    lab.events.iter().filter(|event| **event == reason).count()
}

fn found(lab: &Lab) -> DriftSummary {
    let run = lab.world.pool.status.last_run.clone().expect("a run");
    run.drift.expect("a finding")
}

/// Proves: CAPTF-65.
#[test]
fn a_removed_tag_is_reported_and_left() {
    let mut lab = with_policy(DriftAction::Report);
    lose_a_tag(&mut lab);
    let calls = lab.cloud.calls.len();
    lab.run_for(700);
    assert_eq!(
        lab.condition(ConditionType::DriftDetected),
        Some((True, Reason::DriftReported))
    );
    let found = found(&lab);
    assert_eq!(
        (found.create, found.update, found.replace, found.delete),
        (0, 1, 0, 0)
    );
    assert_eq!(found.resources.len(), 1);
    assert!(found.resources[0].starts_with("autoscaling_group/"));
    assert!(!has_the_tag(&lab));
    assert_eq!(lab.cloud.calls.len(), calls, "nothing is changed");
    assert!(lab.operations(Operation::Drift) >= 2);
    assert_eq!(told(&lab, EventReason::DriftDetected), 1, "once a finding");
}

/// Proves: CAPTF-26.
#[test]
fn reported_drift_leaves_ready_alone() {
    let mut lab = with_policy(DriftAction::Report);
    let ready = |lab: &Lab| {
        let condition = lab.world.pool.status.condition(ConditionType::Ready);
        condition.map(|it| (it.status, it.reason, it.message.clone()))
    };
    let before = ready(&lab);
    lose_a_tag(&mut lab);
    lab.run_for(400);
    assert_eq!(
        lab.condition(ConditionType::DriftDetected),
        Some((True, Reason::DriftReported))
    );
    assert_eq!(ready(&lab), before);
}

/// Proves: CAPTF-66.
#[test]
fn remediation_restores_the_tag() {
    let mut lab = with_policy(DriftAction::Remediate);
    lose_a_tag(&mut lab);
    lab.run_for(400);
    assert!(has_the_tag(&lab));
    assert_eq!(
        lab.condition(ConditionType::DriftDetected),
        Some((False, Reason::NoDrift))
    );
    assert_eq!(lab.operations(Operation::Apply), 1);
    assert_eq!(told(&lab, EventReason::DriftRemediationStarted), 1);
    assert_eq!(told(&lab, EventReason::DriftResolved), 1);
}

#[test]
fn failing_remediation_stops_at_the_limit_until_the_next_check() {
    let mut lab = with_policy(DriftAction::Remediate);
    lab.edit(|world| {
        world.pool(|pool| {
            if let Some(drift) = &mut pool.spec.drift {
                drift.interval_seconds = Some(3600);
            }
        })
    });
    lose_a_tag(&mut lab);
    lab.writes_fail = Some(failure(PLAIN));
    lab.run_for(7000);
    assert_eq!(lab.operations(Operation::Apply), 3);
    assert_eq!(
        lab.condition(ConditionType::DriftDetected),
        Some((True, Reason::DriftPending))
    );
    // The next check finds it again and the tries begin anew.
    lab.writes_fail = None;
    lab.run_for(2000);
    assert!(has_the_tag(&lab));
    assert_eq!(
        lab.condition(ConditionType::DriftDetected),
        Some((False, Reason::NoDrift))
    );
}

/// Proves: CAPTF-67.
#[test]
fn a_changed_capacity_is_drift_of_a_fixed_pool_only() {
    let scale = |lab: &mut Lab| {
        lab.cloud.group.as_mut().expect("a group").desired_capacity = 5;
        lab.cloud.tick();
        lab.run_for(700);
    };
    let mut fixed = with_policy(DriftAction::Report);
    scale(&mut fixed);
    assert_eq!(
        fixed.condition(ConditionType::DriftDetected),
        Some((True, Reason::DriftReported))
    );
    let mut autoscaled = Lab::ready_with(world().bounds("2", "10").pool(|pool| {
        pool.spec.drift = Some(DriftPolicy {
            interval_seconds: Some(300),
            action: None,
        });
    }));
    scale(&mut autoscaled);
    assert!(autoscaled.operations(Operation::Drift) >= 1);
    assert_eq!(
        autoscaled.condition(ConditionType::DriftDetected),
        Some((False, Reason::NoDrift))
    );
}

#[test]
fn a_rotation_is_applied_and_no_drift() {
    let mut lab = with_policy(DriftAction::Report);
    lab.edit(|world| world.bootstrap(b"#cloud-config\n# rotated"));
    lab.run_for(700);
    assert_eq!(lab.operations(Operation::Apply), 1);
    assert_eq!(
        lab.condition(ConditionType::DriftDetected),
        Some((False, Reason::NoDrift))
    );
}

#[test]
fn objects_count_once_by_their_gravest_change() {
    let step = |object: &str, kind: ChangeKind| Step {
        action: Action::Remember(Box::new(Record::new("x"))),
        because: String::new(),
        effect: Effect::None,
        object: object.to_owned(),
        kind,
        changes: Vec::new(),
    };
    let plan = |steps| Plan {
        steps,
        outlook: Outlook::Settled,
    };
    assert_eq!(
        summary(&plan(vec![step("a", ChangeKind::Bookkeeping)])),
        None
    );
    let found = summary(&plan(vec![
        step("group", ChangeKind::Update),
        step("group", ChangeKind::Update),
        step("template", ChangeKind::Update),
        step("template", ChangeKind::Create),
        step("object", ChangeKind::Delete),
        step("record", ChangeKind::Bookkeeping),
    ]))
    .expect("a finding");
    assert_eq!(
        (found.create, found.update, found.replace, found.delete),
        (1, 1, 0, 1)
    );
    assert_eq!(found.resources, ["group", "object", "template"]);
    let many = (0..30).map(|n| step(&format!("{n:02}"), ChangeKind::Update));
    let found = summary(&plan(many.collect())).expect("a finding");
    assert_eq!((found.update, found.resources.len()), (30, 20));
}
