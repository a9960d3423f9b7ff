//! Groups: creation, bounds, deletion, spread over zones, and how they keep their size.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use std::collections::BTreeMap;

use remuda_sim::aws::DEMO_ACCOUNT;
use support::{Client, SUBNETS, demo, immediate};

const A: &str = "subnet-0aaa0000000000001";

fn by_zone(client: &Client, group: &str) -> BTreeMap<String, usize> {
    let mut zones = BTreeMap::new();
    for instance in client.sim.world().live_instances(group) {
        *zones.entry(instance.zone).or_default() += 1;
    }
    zones
}

async fn update(client: &Client, params: &[(&str, &str)]) -> support::Answer {
    let mut all = vec![("AutoScalingGroupName", "pool")];
    all.extend_from_slice(params);
    client.asg("UpdateAutoScalingGroup", &all).await
}

async fn activities(client: &Client) -> support::Answer {
    client
        .asg(
            "DescribeScalingActivities",
            &[("AutoScalingGroupName", "pool")],
        )
        .await
        .ok()
}

#[tokio::test(start_paused = true)]
async fn a_new_group_fills_up_over_its_zones() {
    let client = demo();
    client.create_group("pool", "3").await;
    assert_eq!(
        client.live("pool"),
        0,
        "a group acts after the call returned"
    );
    client.pass(5).await;
    let group = client.group("pool");
    assert_eq!(group.members.len(), 3);
    assert!(
        group
            .members
            .iter()
            .all(|member| member.lifecycle == "Pending")
    );
    client.pass(10).await;
    assert_eq!(client.group("pool").in_service(), 3);
    assert_eq!(
        by_zone(&client, "pool").into_values().collect::<Vec<_>>(),
        [1, 1, 1]
    );
    assert_eq!(
        activities(&client).await.all("StatusCode"),
        ["Successful"; 3]
    );
}

#[tokio::test]
async fn bounds_move_the_desired_capacity() {
    let client = immediate();
    client.create_group("pool", "3").await;
    update(&client, &[("MinSize", "5"), ("MaxSize", "8")])
        .await
        .ok();
    assert_eq!(client.group("pool").desired, 5);
    assert_eq!(client.live("pool"), 5);
    update(&client, &[("MinSize", "0"), ("MaxSize", "2")])
        .await
        .ok();
    assert_eq!(client.group("pool").desired, 2);
    assert_eq!(client.live("pool"), 2);
    let refused = update(&client, &[("MinSize", "3"), ("MaxSize", "2")]).await;
    assert_eq!(refused.code(), "ValidationError");
    let refused = update(&client, &[("DesiredCapacity", "9")]).await;
    assert_eq!(
        refused.first("Message").unwrap(),
        "Desired capacity:9 must be between the specified min size:0 and max size:2"
    );
    assert_eq!(
        client.group("pool").min,
        0,
        "a refused update changes nothing"
    );
    let above = [("AutoScalingGroupName", "pool"), ("DesiredCapacity", "3")];
    assert_eq!(
        client.asg("SetDesiredCapacity", &above).await.code(),
        "ValidationError"
    );
}

#[tokio::test]
async fn creation_refuses_what_aws_refuses() {
    let client = immediate();
    client.create_template("lt-one").await.ok();
    let good = [("MinSize", "1"), ("MaxSize", "1")];
    client.create_group_of("pool", "lt-one", &good).await.ok();
    let again = client.create_group_of("pool", "lt-one", &good).await;
    assert_eq!(again.code(), "AlreadyExists");
    let refused = |answer: support::Answer, text: &str| {
        assert_eq!(answer.code(), "ValidationError");
        let message = answer.first("Message").unwrap();
        assert!(message.contains(text), "{message}");
    };
    refused(
        client.create_group_of("b", "lt-none", &good).await,
        "does not exist",
    );
    refused(
        client
            .create_group_of("b", "lt-one", &[("MinSize", "1")])
            .await,
        "maxSize",
    );
    refused(
        client
            .create_group_of("b", "lt-one", &[("MinSize", "2"), ("MaxSize", "1")])
            .await,
        "Max bound, 1, must be greater than or equal to min bound, 2",
    );
    let no_subnet = [
        ("AutoScalingGroupName", "b"),
        ("LaunchTemplate.LaunchTemplateName", "lt-one"),
        ("MinSize", "1"),
        ("MaxSize", "1"),
    ];
    refused(
        client.asg("CreateAutoScalingGroup", &no_subnet).await,
        "VPC Subnet",
    );
    let unknown_subnet = [&no_subnet[..], &[("VPCZoneIdentifier", "subnet-0")]].concat();
    refused(
        client.asg("CreateAutoScalingGroup", &unknown_subnet).await,
        "subnet-0",
    );
    let reserved = [good[0], good[1], ("Tags.member.1.Key", "aws:x")];
    refused(
        client.create_group_of("b", "lt-one", &reserved).await,
        "aws:",
    );
    assert!(client.sim.world().group("b").is_none());
}

#[tokio::test]
async fn a_template_that_names_missing_things_is_refused() {
    let client = immediate();
    let cases = [
        (
            "LaunchTemplateData.ImageId",
            "ami-00000000000000bad",
            "image id",
        ),
        ("LaunchTemplateData.KeyName", "nobody", "key pair"),
        (
            "LaunchTemplateData.IamInstanceProfile.Name",
            "later",
            "Invalid IAM Instance Profile",
        ),
        (
            "LaunchTemplateData.NetworkInterface.1.SecurityGroupId.1",
            "sg-0bad",
            "security group",
        ),
    ];
    for (number, (name, value, text)) in cases.into_iter().enumerate() {
        let template = format!("lt-{number}");
        client
            .create_template_with(&template, &[(name, value)])
            .await
            .ok();
        let sizes = [("MinSize", "1"), ("MaxSize", "1")];
        let answer = client.create_group_of("pool", &template, &sizes).await;
        assert_eq!(answer.code(), "ValidationError");
        assert!(
            answer.first("Message").unwrap().contains(text),
            "{answer:?}"
        );
    }
    // The profile appears: the same call goes through.
    client
        .sim
        .world()
        .add_instance_profile(DEMO_ACCOUNT, "us-east-1", "later");
    let sizes = [("MinSize", "1"), ("MaxSize", "1")];
    client.create_group_of("pool", "lt-2", &sizes).await.ok();
}

#[tokio::test(start_paused = true)]
async fn deletion_waits_for_the_instances() {
    let client = demo();
    client.create_group("pool", "2").await;
    client.pass(30).await;
    let name = [("AutoScalingGroupName", "pool")];
    assert_eq!(
        client.asg("DeleteAutoScalingGroup", &name).await.code(),
        "ResourceInUse"
    );
    let zero = [("MinSize", "0"), ("MaxSize", "0"), ("DesiredCapacity", "0")];
    update(&client, &zero).await.ok();
    client.pass(5).await;
    assert_eq!(
        client.asg("DeleteAutoScalingGroup", &name).await.code(),
        "ResourceInUse"
    );
    client.pass(30).await;
    client.asg("DeleteAutoScalingGroup", &name).await.ok();
    let status = client
        .asg("DescribeAutoScalingGroups", &[])
        .await
        .ok()
        .first("Status");
    assert_eq!(status.as_deref(), Some("Delete in progress"));
    client.pass(10).await;
    assert!(client.sim.world().group("pool").is_none());
    let again = client.asg("DeleteAutoScalingGroup", &name).await;
    assert!(again.first("Message").unwrap().contains("name not found"));
}

#[tokio::test(start_paused = true)]
async fn forced_deletion_takes_the_instances_along() {
    let client = demo();
    client.create_group("pool", "2").await;
    client.pass(30).await;
    let params = [("AutoScalingGroupName", "pool"), ("ForceDelete", "true")];
    client.asg("DeleteAutoScalingGroup", &params).await.ok();
    client.pass(60).await;
    assert!(client.sim.world().group("pool").is_none());
    assert_eq!(client.live("pool"), 0);
}

#[tokio::test(start_paused = true)]
async fn members_of_a_zone_that_leaves_are_replaced_first() {
    let client = demo();
    client.create_group("pool", "3").await;
    client
        .asg(
            "SuspendProcesses",
            &[
                ("AutoScalingGroupName", "pool"),
                ("ScalingProcesses.member.1", "AZRebalance"),
            ],
        )
        .await
        .ok();
    client.pass(30).await;
    update(&client, &[("VPCZoneIdentifier", A)]).await.ok();
    let mut least = usize::MAX;
    for _ in 0..60 {
        client.pass(5).await;
        least = least.min(client.group("pool").in_service());
    }
    assert_eq!(
        by_zone(&client, "pool"),
        BTreeMap::from([("us-east-1a".to_owned(), 3)])
    );
    assert!(
        least >= 3,
        "a replacement serves before its predecessor goes: {least}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_zone_that_comes_is_filled_by_rebalancing_unless_that_is_suspended() {
    for (suspended, expected) in [(true, vec![4]), (false, vec![2, 1, 1])] {
        let client = demo();
        client.create_template("lt-one").await.ok();
        let params = [("MinSize", "4"), ("MaxSize", "4"), ("VPCZoneIdentifier", A)];
        client
            .create_group_of("pool", "lt-one", &params[..2])
            .await
            .ok();
        update(&client, &params[2..]).await.ok();
        client.pass(30).await;
        if suspended {
            let all = [
                ("AutoScalingGroupName", "pool"),
                ("ScalingProcesses.member.1", "AZRebalance"),
            ];
            client.asg("SuspendProcesses", &all).await.ok();
        }
        update(&client, &[("VPCZoneIdentifier", SUBNETS)])
            .await
            .ok();
        client.pass(600).await;
        let spread: Vec<usize> = by_zone(&client, "pool").into_values().collect();
        assert_eq!(spread, expected, "AZRebalance suspended: {suspended}");
    }
}

#[tokio::test(start_paused = true)]
async fn ended_and_stopped_instances_are_replaced_when_noticed() {
    let client = demo();
    client.create_group("pool", "3").await;
    client.pass(30).await;
    let before = client.sim.world().live_instances("pool");
    client.sim.world().terminate_instance(&before[0].id);
    client.sim.world().stop_instance(&before[1].id);
    client.pass(25).await;
    let members = client.group("pool").members;
    assert!(
        !members.iter().any(|m| m.instance_id == before[0].id),
        "{members:?}"
    );
    client.pass(60).await;
    let after = client.sim.world().live_instances("pool");
    assert_eq!(after.len(), 3);
    assert!(after.iter().any(|instance| instance.id == before[2].id));
    assert!(!after.iter().any(|instance| instance.id == before[1].id));
}

#[tokio::test(start_paused = true)]
async fn suspended_processes_do_nothing() {
    let client = demo();
    client.create_group("pool", "2").await;
    client.pass(30).await;
    let process = |name: &'static str| {
        [
            ("AutoScalingGroupName", "pool"),
            ("ScalingProcesses.member.1", name),
        ]
    };
    client
        .asg("SuspendProcesses", &process("Launch"))
        .await
        .ok();
    update(&client, &[("MaxSize", "4"), ("DesiredCapacity", "4")])
        .await
        .ok();
    client.pass(60).await;
    assert_eq!(client.live("pool"), 2);
    client.asg("ResumeProcesses", &process("Launch")).await.ok();
    client
        .asg("SuspendProcesses", &process("Terminate"))
        .await
        .ok();
    client.pass(60).await;
    assert_eq!(client.live("pool"), 4);
    update(&client, &[("MinSize", "1"), ("DesiredCapacity", "1")])
        .await
        .ok();
    client.pass(60).await;
    assert_eq!(client.live("pool"), 4);
    let described = client.asg("DescribeAutoScalingGroups", &[]).await.ok();
    assert_eq!(described.all("ProcessName"), ["Terminate"]);
    client
        .asg("ResumeProcesses", &process("Terminate"))
        .await
        .ok();
    client.pass(60).await;
    assert_eq!(client.live("pool"), 1);
    assert_eq!(
        client.asg("SuspendProcesses", &process("Nap")).await.code(),
        "ValidationError"
    );
}

#[tokio::test]
async fn groups_come_in_pages() {
    let client = immediate();
    client.create_template("lt-one").await.ok();
    for number in 0..120 {
        let name = format!("group-{number:03}");
        let sizes = [("MinSize", "0"), ("MaxSize", "0")];
        client.create_group_of(&name, "lt-one", &sizes).await.ok();
    }
    let names: Vec<String> = (0..100)
        .map(|number| format!("group-{number:03}"))
        .collect();
    let fields: Vec<String> = (1..=100)
        .map(|number| format!("AutoScalingGroupNames.member.{number}"))
        .collect();
    let mut params: Vec<(&str, &str)> = fields
        .iter()
        .zip(&names)
        .map(|(field, name)| (field.as_str(), name.as_str()))
        .collect();
    let answer = client.asg("DescribeAutoScalingGroups", &params).await.ok();
    assert_eq!(answer.all("AutoScalingGroupName").len(), 50);
    let token = answer.first("NextToken").unwrap();
    params.push(("NextToken", &token));
    let rest = client.asg("DescribeAutoScalingGroups", &params).await.ok();
    assert_eq!(rest.all("AutoScalingGroupName").len(), 50);
    assert_eq!(rest.first("NextToken"), None);
    params.pop();
    params.push(("MaxRecords", "100"));
    let whole = client.asg("DescribeAutoScalingGroups", &params).await.ok();
    assert_eq!(whole.all("AutoScalingGroupName"), names);
    let too_many = [("MaxRecords", "101")];
    let refused = client.asg("DescribeAutoScalingGroups", &too_many).await;
    assert_eq!(refused.code(), "ValidationError");
    let none = [("AutoScalingGroupNames.member.1", "nobody")];
    let empty = client.asg("DescribeAutoScalingGroups", &none).await.ok();
    assert!(empty.all("AutoScalingGroupName").is_empty());
}

#[tokio::test]
async fn tags_are_set_changed_and_removed() {
    let client = immediate();
    client.create_group("pool", "0").await;
    let tag = |key: &'static str, value: &'static str| {
        [
            ("Tags.member.1.ResourceId", "pool"),
            ("Tags.member.1.ResourceType", "auto-scaling-group"),
            ("Tags.member.1.Key", key),
            ("Tags.member.1.Value", value),
            ("Tags.member.1.PropagateAtLaunch", "false"),
        ]
    };
    client
        .asg("CreateOrUpdateTags", &tag("captf.io/template", ""))
        .await
        .ok();
    client
        .asg("CreateOrUpdateTags", &tag("team", "platform"))
        .await
        .ok();
    client
        .asg("CreateOrUpdateTags", &tag("team", "data"))
        .await
        .ok();
    let tags = client.group("pool").tags;
    assert_eq!(tags["captf.io/template"], (String::new(), false));
    assert_eq!(tags["team"], ("data".to_owned(), false));
    let by_tag = [
        ("Filters.member.1.Name", "tag:team"),
        ("Filters.member.1.Values.member.1", "data"),
    ];
    let found = client.asg("DescribeAutoScalingGroups", &by_tag).await.ok();
    assert_eq!(found.first("AutoScalingGroupName").as_deref(), Some("pool"));
    client.asg("DeleteTags", &tag("team", "data")).await.ok();
    assert_eq!(
        client.asg("DescribeTags", &[]).await.ok().all("Key"),
        ["captf.io/template"]
    );
}
