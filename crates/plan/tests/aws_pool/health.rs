//! The health table.

use remuda_plan::{
    aws::{observed::Group, outputs::verdict},
    pool::{
        health::Health,
        members::{Member, MemberState},
    },
};

use super::{
    cloud::{applied, member},
    demo::{GROUP, demo},
};

fn group(desired_capacity: i64) -> Group {
    let (cloud, _) = applied(demo());
    Group {
        desired_capacity,
        ..cloud.group().clone()
    }
}

fn members(states: &[(&str, &str)]) -> Vec<Member> {
    states
        .iter()
        .map(|(id, state)| member(id, "us-east-1a", state))
        .collect()
}

fn judged(desired: i64, states: &[(&str, &str)]) -> Health {
    verdict(GROUP, Some(&group(desired)), &members(states))
}

fn health(state: MemberState, healthy: bool, message: &str, reasons: &[&str]) -> Health {
    Health {
        state,
        healthy,
        message: Some(message.to_owned()),
        reasons: reasons.iter().map(|reason| (*reason).to_owned()).collect(),
    }
}

#[test]
fn a_missing_group_is_terminated_even_while_members_run() {
    let expected = health(
        MemberState::Terminated,
        false,
        "Auto Scaling group captf-team-a-demo-pool-0-43c6d828 not found",
        &["GroupNotFound"],
    );
    assert_eq!(verdict(GROUP, None, &[]), expected);
    assert_eq!(
        verdict(GROUP, None, &members(&[("i-1", "running")])),
        expected
    );
}

/// Proves: AWS-4, AWS-93.
#[test]
fn a_group_scaled_to_zero_is_healthy_and_still_lists_who_is_left() {
    let expected = health(
        MemberState::Running,
        true,
        "the group is scaled to zero",
        &[],
    );
    for left in [
        &[][..],
        &[("i-1", "running"), ("i-2", "running")][..],
        &[("i-1", "stopped")][..],
    ] {
        assert_eq!(judged(0, left), expected);
    }
    let (mut cloud, demo) = applied(demo().with(|inputs| inputs.replicas = 0));
    let outputs = cloud.outputs(&demo);
    assert_eq!(outputs.health, expected);
    assert!(outputs.provider_id_list.is_empty());
    assert_eq!(outputs.replicas, Some(0));
    assert_eq!(cloud.group().desired_capacity, 0);
    cloud.extra_members = members(&[("i-1", "running"), ("i-2", "running")]);
    let outputs = cloud.outputs(&demo);
    assert_eq!(outputs.health, expected);
    assert_eq!(outputs.provider_id_list.len(), 2);
}

/// Proves: AWS-81.
#[test]
fn a_group_without_members_is_pending() {
    assert_eq!(
        judged(3, &[]),
        health(
            MemberState::Pending,
            false,
            "waiting for the first of 3 instances",
            &["NoMembers"]
        )
    );
}

/// Proves: AWS-77.
#[test]
fn a_full_group_of_running_members_is_healthy() {
    assert_eq!(
        judged(
            3,
            &[("i-1", "running"), ("i-2", "running"), ("i-3", "running")]
        ),
        health(MemberState::Running, true, "3 of 3 instances running", &[])
    );
}

/// Proves: AWS-78.
#[test]
fn a_stopped_member_makes_the_pool_stopped_and_stays_listed() {
    let three = [("i-1", "running"), ("i-2", "stopped"), ("i-3", "running")];
    assert_eq!(
        judged(3, &three),
        health(
            MemberState::Stopped,
            false,
            "3 of 3 instances, not all running: InstanceStopped:i-2",
            &["InstanceStopped:i-2"]
        )
    );
    let (mut cloud, demo) = applied(demo());
    cloud.group_mut().instances.clear();
    cloud.extra_members = members(&three);
    assert_eq!(cloud.outputs(&demo).provider_id_list.len(), 3);
}

/// Proves: AWS-82.
#[test]
fn stopped_wins_over_pending_and_both_are_told_sorted() {
    assert_eq!(
        judged(
            3,
            &[("i-1", "stopped"), ("i-2", "pending"), ("i-3", "running")]
        ),
        health(
            MemberState::Stopped,
            false,
            "3 of 3 instances, not all running: InstancePending:i-2, InstanceStopped:i-1",
            &["InstancePending:i-2", "InstanceStopped:i-1"]
        )
    );
}

/// Proves: AWS-79.
#[test]
fn a_member_short_is_scaling() {
    assert_eq!(
        judged(3, &[("i-1", "running"), ("i-2", "running")]),
        health(
            MemberState::Running,
            false,
            "2 of 3 instances running",
            &["ScalingInProgress"]
        )
    );
}

/// Proves: AWS-83.
#[test]
fn a_roll_in_progress_is_scaling() {
    let six: Vec<(String, &str)> = (1..=6).map(|i| (format!("i-{i}"), "running")).collect();
    let six: Vec<(&str, &str)> = six
        .iter()
        .map(|(id, state)| (id.as_str(), *state))
        .collect();
    assert_eq!(
        judged(3, &six),
        health(
            MemberState::Running,
            false,
            "6 of 3 instances running",
            &["ScalingInProgress"]
        )
    );
}

#[test]
fn pending_members_never_make_the_pool_pending() {
    let all = [("i-1", "pending"), ("i-2", "pending"), ("i-3", "pending")];
    let reasons = [
        "InstancePending:i-1",
        "InstancePending:i-2",
        "InstancePending:i-3",
    ];
    assert_eq!(
        judged(3, &all),
        health(
            MemberState::Running,
            false,
            "0 of 3 instances running",
            &reasons
        )
    );
    assert_eq!(
        judged(3, &all[..1]),
        health(
            MemberState::Running,
            false,
            "0 of 3 instances running",
            &["InstancePending:i-1", "ScalingInProgress"]
        )
    );
}

#[test]
fn stopping_counts_as_stopped_and_an_unheard_of_state_as_unknown() {
    let both = judged(2, &[("i-1", "stopping"), ("i-2", "odd")]);
    assert_eq!(both.state, MemberState::Stopped);
    assert_eq!(both.reasons, ["InstanceStopped:i-1", "UnknownState:i-2"]);
    assert_eq!(judged(1, &[("i-2", "odd")]).state, MemberState::Unknown);
}
