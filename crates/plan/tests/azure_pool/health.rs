//! The health verdict in Azure's words.

use remuda_plan::{
    azure::outputs::member_state,
    pool::{health::Health, members::MemberState},
};

use super::{
    cloud::{Cloud, applied},
    demo::{Demo, SET, demo},
};

/// A settled pool whose instances have these power states.
fn pool(powers: &[Option<&str>]) -> (Cloud, Demo) {
    let (mut cloud, demo) = applied(demo());
    let held = cloud.sets.get_mut(SET).expect("the set");
    for (instance, power) in held.instances.values_mut().zip(powers) {
        instance.power = power.map(str::to_owned);
    }
    (cloud, demo)
}

fn health(powers: &[Option<&str>]) -> Health {
    let (cloud, demo) = pool(powers);
    cloud.outputs(&demo).health
}

fn host(id: u32) -> String {
    format!("{SET}{id:06}")
}

/// Proves: AZURE-5.
#[test]
fn all_running_is_healthy_without_a_message() {
    assert_eq!(
        health(&[Some("running"); 3]),
        Health {
            state: MemberState::Running,
            healthy: true,
            message: None,
            reasons: Vec::new(),
        }
    );
}

/// Proves: AZURE-69.
#[test]
fn stopped_and_deallocated_members_stay_and_make_the_pool_stopped() {
    let (cloud, demo) = pool(&[Some("running"), Some("deallocated"), Some("stopped")]);
    let outputs = cloud.outputs(&demo);
    assert_eq!(outputs.provider_id_list.len(), 3);
    let states: Vec<MemberState> = outputs.instances.iter().map(|m| m.state).collect();
    assert_eq!(
        states,
        [
            MemberState::Running,
            MemberState::Stopped,
            MemberState::Stopped
        ]
    );
    assert_eq!(outputs.health.state, MemberState::Stopped);
    assert_eq!(
        outputs.health.reasons,
        [
            format!("PowerState/deallocated:{}", host(1)),
            format!("PowerState/stopped:{}", host(2)),
        ]
    );
    assert_eq!(
        outputs.health.message.as_deref(),
        Some("2 of 3 instances not running")
    );
}

/// Proves: AZURE-70.
#[test]
fn starting_members_leave_the_pool_running_and_not_healthy() {
    let health = health(&[Some("running"), Some("starting"), None]);
    assert_eq!(health.state, MemberState::Running);
    assert!(!health.healthy);
    assert_eq!(
        health.reasons,
        [
            format!("PowerState/starting:{}", host(1)),
            format!("PowerState/unknown:{}", host(2)),
        ]
    );
    assert_eq!(
        health.message.as_deref(),
        Some("3 of 3 instances, 2 starting")
    );
}

/// Proves: AZURE-71.
#[test]
fn stopped_is_worse_than_unknown() {
    let (cloud, demo) = pool(&[Some("running"), Some("hibernated"), Some("stopped")]);
    let outputs = cloud.outputs(&demo);
    assert_eq!(outputs.instances[1].state, MemberState::Unknown);
    assert_eq!(outputs.instances[1].reason.as_deref(), Some("UnknownState"));
    assert_eq!(outputs.health.state, MemberState::Stopped);
}

/// Proves: AZURE-72.
#[test]
fn fewer_members_than_wanted_is_scaling() {
    let (mut cloud, demo) = applied(demo());
    cloud
        .sets
        .get_mut(SET)
        .expect("the set")
        .instances
        .remove(&2);
    let health = cloud.outputs(&demo).health;
    assert_eq!(health.state, MemberState::Running);
    assert!(!health.healthy);
    assert_eq!(health.reasons, ["ScalingInProgress"]);
    assert_eq!(
        health.message.as_deref(),
        Some("2 of 3 instances, 0 starting")
    );
}

/// Proves: AZURE-75.
#[test]
fn a_set_without_instances_is_pending() {
    let (mut cloud, demo) = applied(demo());
    cloud.sets.get_mut(SET).expect("the set").instances.clear();
    let health = cloud.outputs(&demo).health;
    assert_eq!(health.state, MemberState::Pending);
    assert_eq!(health.reasons, ["NoMembers"]);
    let expected = format!("Azure scale set {SET} has no members yet");
    assert_eq!(health.message, Some(expected));
}

/// Proves: AZURE-80.
#[test]
fn a_capacity_of_zero_is_healthy_even_while_members_go() {
    let (mut cloud, demo) = applied(demo());
    cloud.sets.get_mut(SET).expect("the set").set.capacity = 0;
    let outputs = cloud.outputs(&demo);
    assert_eq!(outputs.provider_id_list.len(), 3);
    assert_eq!(outputs.health.state, MemberState::Running);
    assert!(outputs.health.healthy && outputs.health.reasons.is_empty());
    assert_eq!(outputs.replicas, Some(0));
}

/// Proves: AZURE-25.
#[test]
fn while_autoscale_works_the_pool_is_running_and_not_healthy() {
    let (mut cloud, demo) = applied(demo());
    let demo = demo.replicas(5);
    let held = cloud.sets.get_mut(SET).expect("the set");
    held.set.capacity = 5;
    let scaling = cloud.outputs(&demo).health;
    assert_eq!(scaling.reasons, ["ScalingInProgress"]);
    assert_eq!(
        (scaling.state, scaling.healthy),
        (MemberState::Running, false)
    );
    let held = cloud.sets.get_mut(SET).expect("the set");
    held.fill(5);
    for id in [3, 4] {
        held.instances.get_mut(&id).expect("an instance").power = Some("starting".to_owned());
    }
    let starting = cloud.outputs(&demo).health;
    assert_eq!(
        starting.reasons,
        [
            format!("PowerState/starting:{}", host(3)),
            format!("PowerState/starting:{}", host(4)),
        ]
    );
    let held = cloud.sets.get_mut(SET).expect("the set");
    held.instances
        .values_mut()
        .for_each(|it| it.power = Some("running".to_owned()));
    let outputs = cloud.outputs(&demo);
    assert!(outputs.health.healthy);
    assert_eq!(
        (outputs.replicas, outputs.provider_id_list.len()),
        (Some(5), 5)
    );
}

#[test]
fn every_power_state() {
    use MemberState::{Pending, Running, Stopped, Unknown};
    let rows: [(Option<&str>, MemberState, Option<&str>); 9] = [
        (Some("running"), Running, None),
        (Some("Running"), Running, None),
        (Some("starting"), Pending, Some("PowerState/starting")),
        (None, Pending, Some("PowerState/unknown")),
        (Some("stopping"), Stopped, Some("PowerState/stopping")),
        (Some("stopped"), Stopped, Some("PowerState/stopped")),
        (
            Some("deallocating"),
            Stopped,
            Some("PowerState/deallocating"),
        ),
        (Some("hibernated"), Unknown, Some("UnknownState")),
        (Some("unknown"), Unknown, Some("UnknownState")),
    ];
    for (power, state, reason) in rows {
        assert_eq!(member_state(power), (state, reason.map(str::to_owned)));
    }
}
