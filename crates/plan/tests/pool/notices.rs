//! Failures that the cloud tells beside its answers.

use remuda_plan::{
    aws::observed::{Activity, Refresh},
    status::{
        condition::{ConditionStatus, ConditionType, Reason},
        event::EventReason,
    },
};

use super::{lab::Lab, world::Edit as _};

/// How often a reason was told.
fn told(lab: &Lab, reason: EventReason) -> usize {
    lab.events.iter().filter(|told| **told == reason).count()
}

/// Makes the pool look at everything: a rotation is applied.
fn rotate(lab: &mut Lab, payload: &str) {
    lab.edit(|world| world.bootstrap(payload.as_bytes()));
    lab.settle();
}

/// Proves: AWS-110.
#[test]
fn failed_launches_are_told_once_after_ten_minutes_and_change_no_health() {
    let mut lab = Lab::ready();
    lab.cloud.group.as_mut().expect("a group").instances.pop();
    lab.run_for(120);
    let health = lab.condition(ConditionType::InfrastructureHealthy);
    assert_eq!(
        health,
        Some((ConditionStatus::False, Reason::InstanceUnhealthy))
    );
    lab.cloud.failed_activities = vec![Activity {
        id: "activity-1".to_owned(),
        status_message: "We currently do not have sufficient m6i.large capacity".to_owned(),
    }];
    rotate(&mut lab, "#cloud-config\n# one\n");
    assert_eq!(
        told(&lab, EventReason::InstanceLaunchFailed),
        0,
        "the next try may succeed"
    );
    lab.run_for(600);
    rotate(&mut lab, "#cloud-config\n# two\n");
    rotate(&mut lab, "#cloud-config\n# three\n");
    assert_eq!(told(&lab, EventReason::InstanceLaunchFailed), 1);
    assert_eq!(lab.condition(ConditionType::InfrastructureHealthy), health);
}

/// Proves: AWS-110.
#[test]
fn a_failed_refresh_is_told_once_and_changes_no_output() {
    let mut lab = Lab::ready();
    let before = lab.world.pool.status.instances.clone();
    lab.cloud.refreshes.insert(
        0,
        Refresh {
            id: "refresh-9".to_owned(),
            status: "Failed".to_owned(),
            status_reason: Some("instances did not become healthy".to_owned()),
            percentage_complete: Some(33),
        },
    );
    rotate(&mut lab, "#cloud-config\n# one\n");
    rotate(&mut lab, "#cloud-config\n# two\n");
    assert_eq!(told(&lab, EventReason::RollFailed), 1);
    assert_eq!(lab.world.pool.status.instances, before);
    let ready = lab.condition(ConditionType::Ready);
    assert_eq!(ready, Some((ConditionStatus::True, Reason::Ready)));
}
