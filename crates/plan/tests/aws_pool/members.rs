//! Members and outputs.

use remuda_plan::{
    aws::{
        observed::{Group, Handle, Observed},
        outputs::{member_state, outputs, provider_id},
    },
    error::{CloudFailure, FailureClass},
    pool::{
        members::{Address, Member, MemberState},
        read::Read,
    },
};
use serde_json::json;

use super::{
    cloud::{Cloud, applied, member},
    demo::{Demo, GROUP, demo},
};

/// A settled pool whose members are the given ones.
fn pool(members: Vec<Member>) -> (Cloud, Demo) {
    let (mut cloud, demo) = applied(demo());
    cloud.group_mut().instances.clear();
    cloud.extra_members = members;
    (cloud, demo)
}

fn at(mut member: Member, address: &str) -> Member {
    member.addresses[0].address = address.to_owned();
    member
}

/// Proves: AWS-91.
#[test]
fn the_provider_id_is_the_arn_and_the_groups_name_is_known_before_it_exists() {
    let (cloud, demo) = applied(demo());
    assert_eq!(
        cloud.outputs(&demo).provider_id,
        Some(cloud.group().arn.clone())
    );
    assert!(cloud.group().arn.starts_with("arn:aws:autoscaling:"));
    let before = Cloud::new().outputs(&super::demo::demo());
    assert_eq!(before.extra["autoscaling_group_name"], json!(GROUP));
    assert_eq!(before.provider_id, None);
    assert_eq!(
        provider_id("us-east-1a", "i-0aaa0000000000001"),
        "aws:///us-east-1a/i-0aaa0000000000001"
    );
}

/// Proves: AWS-76.
#[test]
fn members_are_published_in_byte_order_with_address_zone_and_state() {
    let zone = "us-east-1a";
    let (cloud, demo) = pool(vec![
        at(member("i-0ccc0000000000003", zone, "pending"), "10.0.1.13"),
        at(member("i-0aaa0000000000001", zone, "running"), "10.0.1.11"),
        at(member("i-0bbb0000000000002", zone, "running"), "10.0.1.12"),
    ]);
    let outputs = cloud.outputs(&demo);
    assert_eq!(
        outputs.provider_id_list,
        [
            "aws:///us-east-1a/i-0aaa0000000000001",
            "aws:///us-east-1a/i-0bbb0000000000002",
            "aws:///us-east-1a/i-0ccc0000000000003",
        ]
    );
    let entries: Vec<(&str, &str, Option<&str>, MemberState)> = outputs
        .instances
        .iter()
        .map(|m| {
            (
                m.instance_id.as_str(),
                m.addresses[0].address.as_str(),
                m.failure_domain.as_deref(),
                m.state,
            )
        })
        .collect();
    assert_eq!(
        entries,
        [
            (
                "i-0aaa0000000000001",
                "10.0.1.11",
                Some(zone),
                MemberState::Running
            ),
            (
                "i-0bbb0000000000002",
                "10.0.1.12",
                Some(zone),
                MemberState::Running
            ),
            (
                "i-0ccc0000000000003",
                "10.0.1.13",
                Some(zone),
                MemberState::Pending
            ),
        ]
    );
    assert!(
        outputs
            .instances
            .iter()
            .all(|m| m.addresses[0].kind == "InternalIP")
    );
    assert_eq!(outputs.health.state, MemberState::Running);
    assert!(!outputs.health.healthy);
    assert_eq!(
        outputs.health.message.as_deref(),
        Some("2 of 3 instances running")
    );
    assert_eq!(
        outputs.health.reasons,
        ["InstancePending:i-0ccc0000000000003"]
    );
    assert_eq!(outputs.replicas, Some(3));
}

#[test]
fn a_member_seen_twice_is_listed_once() {
    let twin = member("i-1", "us-east-1a", "running");
    let (cloud, demo) = pool(vec![twin.clone(), twin]);
    assert_eq!(cloud.outputs(&demo).provider_id_list.len(), 1);
}

#[test]
fn ec2_states_become_the_contracts() {
    let rows = [
        (
            "pending",
            Some((MemberState::Pending, Some("InstancePending"))),
        ),
        ("running", Some((MemberState::Running, None))),
        (
            "stopping",
            Some((MemberState::Stopped, Some("InstanceStopped"))),
        ),
        (
            "stopped",
            Some((MemberState::Stopped, Some("InstanceStopped"))),
        ),
        ("shutting-down", None),
        ("terminated", None),
        (
            "hibernating",
            Some((MemberState::Unknown, Some("UnknownState"))),
        ),
    ];
    for (state, expected) in rows {
        assert_eq!(member_state(state), expected, "{state}");
    }
}

#[test]
fn a_member_without_an_address_takes_nothing_from_the_others() {
    let mut bare = member("i-1", "us-east-1a", "running");
    bare.addresses.clear();
    let (cloud, demo) = pool(vec![bare, member("i-2", "us-east-1a", "running")]);
    let addresses: Vec<Vec<Address>> = cloud
        .outputs(&demo)
        .instances
        .into_iter()
        .map(|member| member.addresses)
        .collect();
    assert!(addresses[0].is_empty());
    assert_eq!(addresses[1].len(), 1);
}

#[test]
fn a_failed_read_gives_no_outputs_so_that_the_last_ones_stay() {
    let (cloud, demo) = applied(demo());
    let failure = CloudFailure {
        class: FailureClass::Throttled,
        call: "ec2:DescribeInstances".to_owned(),
        code: "RequestLimitExceeded".to_owned(),
        message: "Request limit exceeded.".to_owned(),
        retry_after_seconds: None,
    };
    let handle = handle();
    let good = cloud.observe(&handle);
    let of = |observed: &Observed| outputs(&handle, observed, &[], Some(3), &demo.context());
    assert!(of(&good).is_ok());
    let members = Observed {
        instances: Read::Unknown(failure.clone()),
        ..good.clone()
    };
    assert_eq!(of(&members), Err(failure.clone()));
    let group = Observed {
        group: Read::Unknown(failure.clone()),
        ..good
    };
    assert_eq!(of(&group), Err(failure));
}

fn handle() -> Handle {
    Handle {
        region: "us-east-1".to_owned(),
        group_name: GROUP.to_owned(),
        template_prefix: format!("{GROUP}-"),
        payload: None,
        old_payload: None,
        image: None,
        hook: false,
        explained: None,
    }
}

/// Proves: AWS-49, CAPTF-86.
#[test]
fn a_group_deleted_by_hand_reads_terminated_and_comes_back_under_its_name() {
    let (mut cloud, mut demo) = applied(demo().autoscaled(1, 5));
    let template = cloud.outputs(&demo).extra["launch_template_id"].clone();
    cloud.group = None;
    cloud.policy = None;
    cloud.extra_members = vec![
        member("i-1", "us-east-1a", "running"),
        member("i-2", "us-east-1b", "running"),
    ];
    let outputs = cloud.outputs(&demo);
    assert_eq!(outputs.health.state, MemberState::Terminated);
    assert_eq!(outputs.health.reasons, ["GroupNotFound"]);
    assert_eq!(outputs.provider_id, None);
    assert_eq!(outputs.replicas, Some(3));
    assert_eq!(outputs.provider_id_list.len(), 2);
    assert_eq!(outputs.extra["launch_template_id"], template);

    demo.inputs.replicas = 4;
    let calls = cloud.settle(&mut demo);
    assert_eq!(
        calls,
        [
            "CreateAutoScalingGroup",
            "SuspendProcesses",
            "PutScalingPolicy"
        ]
    );
    assert_eq!(cloud.group().name, GROUP);
    assert_eq!(cloud.group().desired_capacity, 4);
}

#[test]
fn the_last_seen_capacity_outlives_the_group() {
    let (mut cloud, mut demo) = applied(demo().autoscaled(1, 5));
    cloud.group_mut().desired_capacity = 5;
    cloud.settle(&mut demo);
    cloud.group = None;
    assert_eq!(cloud.outputs(&demo).replicas, Some(5));
    demo.record = None;
    assert_eq!(
        cloud.outputs(&demo).replicas,
        Some(3),
        "the input, where nothing was ever seen"
    );
}

#[test]
fn a_refresh_without_template_reads_still_knows_the_groups_template() {
    let (cloud, demo) = applied(demo());
    let handle = handle();
    let mut observed = cloud.observe(&handle);
    observed.templates = Read::NotAsked;
    let of = |observed: &Observed| {
        outputs(&handle, observed, &[], None, &demo.context()).expect("every read succeeded")
    };
    assert_eq!(
        of(&observed).extra["launch_template_id"],
        json!(cloud.template().1.id)
    );
    observed.group = Read::Known(None::<Group>);
    assert!(
        !of(&observed).extra.contains_key("launch_template_id"),
        "unknown: the last one stays"
    );
}
