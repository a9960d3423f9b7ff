//! Instances as EC2 shows them, images and places.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use std::{net::Ipv4Addr, time::Duration};

use remuda_sim::aws::{DEMO_ACCOUNT, ImageSpec, InstanceState, PlacedInstance};
use support::{Client, demo, immediate};

const MEMBERS: [(&str, &str); 2] = [
    ("Filter.1.Name", "tag:aws:autoscaling:groupName"),
    ("Filter.1.Value.1", "pool"),
];

async fn states(client: &Client) -> Vec<String> {
    let answer = client.ec2("DescribeInstances", &MEMBERS).await.ok();
    let mut names = answer.all("name");
    names.sort_unstable();
    names
}

#[tokio::test(start_paused = true)]
async fn instances_go_through_all_states() {
    let client = demo();
    client.create_group("pool", "1").await;
    client.pass(5).await;
    assert_eq!(states(&client).await, ["pending"]);
    client.pass(10).await;
    assert_eq!(states(&client).await, ["running"]);
    let described = client.ec2("DescribeInstances", &MEMBERS).await.ok();
    assert_eq!(
        described.first("privateDnsName").unwrap(),
        "ip-10-0-1-11.ec2.internal"
    );
    assert_eq!(described.first("instanceType").unwrap(), "m6i.large");
    assert!(
        described
            .first("arn")
            .unwrap()
            .ends_with("/captf-team-a-demo-1960e37c-worker")
    );
    let id = described.first("instanceId").unwrap();
    let params = [("InstanceId.1", id.as_str())];
    let hold = [
        ("AutoScalingGroupName", "pool"),
        ("ScalingProcesses.member.1", "ReplaceUnhealthy"),
    ];
    client.asg("SuspendProcesses", &hold).await.ok();
    client.ec2("StopInstances", &params).await.ok();
    assert_eq!(states(&client).await, ["stopping"]);
    client.pass(30).await;
    assert_eq!(states(&client).await, ["stopped"]);
    client.ec2("StartInstances", &params).await.ok();
    assert_eq!(states(&client).await, ["pending"]);
    client.pass(10).await;
    let answer = client.ec2("TerminateInstances", &params).await.ok();
    assert_eq!(answer.all("name"), ["shutting-down", "running"]);
    client.pass(30).await;
    assert_eq!(states(&client).await, ["terminated"]);
    assert_eq!(
        client.ec2("StopInstances", &params).await.code(),
        "IncorrectInstanceState"
    );
    client.ec2("TerminateInstances", &params).await.ok();
    client.pass(3700).await;
    assert!(
        states(&client).await.is_empty(),
        "a terminated instance is forgotten in time"
    );
    let answer = client.ec2("TerminateInstances", &params).await;
    assert_eq!(answer.code(), "InvalidInstanceID.NotFound");
    let malformed = [("InstanceId.1", "nonsense")];
    let answer = client.ec2("DescribeInstances", &malformed).await;
    assert_eq!(answer.code(), "InvalidInstanceID.Malformed");
}

#[tokio::test]
async fn members_come_in_pages_and_by_state() {
    let client = immediate();
    client.create_group("pool", "12").await;
    client.create_group("other", "3").await;
    let mut params = MEMBERS.to_vec();
    params.extend([
        ("Filter.2.Name", "instance-state-name"),
        ("Filter.2.Value.1", "pending"),
        ("Filter.2.Value.2", "running"),
        ("MaxResults", "5"),
    ]);
    let mut seen = Vec::new();
    let mut token: Option<String> = None;
    for _ in 0..3 {
        let mut page = params.clone();
        if let Some(token) = &token {
            page.push(("NextToken", token));
        }
        let answer = client.ec2("DescribeInstances", &page).await.ok();
        seen.extend(answer.all("instanceId"));
        token = answer.first("nextToken");
    }
    assert_eq!(token, None);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 12);
    let both = [MEMBERS[0], MEMBERS[1], ("Filter.1.Value.2", "other")];
    let answer = client.ec2("DescribeInstances", &both).await.ok();
    assert_eq!(answer.all("instanceId").len(), 15);
}

#[tokio::test]
async fn bad_reads_are_refused() {
    let client = immediate();
    for size in ["4", "1001", "x"] {
        let answer = client
            .ec2("DescribeInstances", &[("MaxResults", size)])
            .await;
        assert_eq!(answer.code(), "InvalidParameterValue", "{size}");
    }
    client.create_group("pool", "1").await;
    let id = client.sim.world().live_instances("pool")[0].id.clone();
    let both = [("InstanceId.1", id.as_str()), ("MaxResults", "10")];
    let answer = client.ec2("DescribeInstances", &both).await;
    assert_eq!(answer.code(), "InvalidParameterCombination");
    let names: Vec<String> = (1..=201).map(|n| format!("Filter.1.Value.{n}")).collect();
    let mut many = vec![MEMBERS[0]];
    many.extend(names.iter().map(|name| (name.as_str(), "x")));
    let answer = client.ec2("DescribeInstances", &many).await;
    assert_eq!(answer.code(), "FilterLimitExceeded");
    let token = [("NextToken", "nonsense"), ("MaxResults", "5")];
    assert_eq!(
        client.ec2("DescribeInstances", &token).await.code(),
        "InvalidNextToken"
    );
    let dry = [("DryRun", "true")];
    assert_eq!(
        client.ec2("DescribeInstances", &dry).await.code(),
        "DryRunOperation"
    );
}

#[tokio::test]
async fn instances_can_be_placed_in_any_state() {
    let client = immediate();
    let world = client.sim.world();
    let placed = |id: &str, state, private_ip| PlacedInstance {
        id: id.into(),
        group: "pool".into(),
        zone: "us-east-1a".into(),
        state,
        private_ip,
    };
    let ip = |last| Some(Ipv4Addr::new(10, 0, 1, last));
    let place = |instance| world.place_instance(DEMO_ACCOUNT, "us-east-1", instance);
    assert!(place(placed(
        "i-0aaa0000000000001",
        InstanceState::Running,
        ip(11)
    )));
    assert!(place(placed(
        "i-0ccc0000000000003",
        InstanceState::Pending,
        ip(13)
    )));
    assert!(place(placed(
        "i-0ddd0000000000004",
        InstanceState::Stopping,
        None
    )));
    assert!(place(placed(
        "i-0eee0000000000005",
        InstanceState::ShuttingDown,
        None
    )));
    assert_eq!(
        states(&client).await,
        ["pending", "running", "shutting-down", "stopping"]
    );
    let answer = client.ec2("DescribeInstances", &MEMBERS).await.ok();
    assert_eq!(answer.all("instanceId")[0], "i-0aaa0000000000001");
    let addresses: Vec<String> = answer.all("privateIpAddress");
    assert_eq!(addresses, ["10.0.1.11", "10.0.1.13"]);
}

#[tokio::test]
async fn images_are_found_by_owner_pattern_and_architecture() {
    let client = immediate();
    let find = |owner: &'static str, name: &'static str, architecture: &'static str| {
        let client = client.clone();
        async move {
            let params = [
                ("Owner.1", owner),
                ("IncludeDeprecated", "true"),
                ("Filter.1.Name", "name"),
                ("Filter.1.Value.1", name),
                ("Filter.2.Name", "architecture"),
                ("Filter.2.Value.1", architecture),
                ("Filter.3.Name", "state"),
                ("Filter.3.Value.1", "available"),
            ];
            client.ec2("DescribeImages", &params).await.ok()
        }
    };
    let pattern = "capa-ami-ubuntu-24.04-?1.34.1-*";
    let found = find("819546954734", pattern, "x86_64").await;
    let mut names = found.all("name");
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "capa-ami-ubuntu-24.04-v1.34.1-1750000000",
            "capa-ami-ubuntu-24.04-v1.34.1-1760000000"
        ]
    );
    let mut dates = found.all("creationDate");
    dates.sort_unstable();
    assert_eq!(
        dates,
        ["2025-06-15T15:06:40.000Z", "2025-10-09T08:53:20.000Z"]
    );
    let none: Vec<String> = Vec::new();
    assert_eq!(find("amazon", pattern, "x86_64").await.all("name"), none);
    assert_eq!(
        find("self", "my-own-*", "x86_64")
            .await
            .all("imageId")
            .len(),
        2
    );
    assert_eq!(
        find("819546954734", pattern, "arm64")
            .await
            .all("imageId")
            .len(),
        2
    );
}

#[tokio::test(start_paused = true)]
async fn deprecated_images_show_on_request_only() {
    let client = demo();
    let world = client.sim.world();
    let spec = ImageSpec::new(
        "ami-0dddd0000000000dd",
        "old",
        "819546954734",
        support::start(),
    );
    world.add_image("us-east-1", spec);
    world.deprecate_image("us-east-1", "ami-0dddd0000000000dd");
    let by_name = [("Filter.1.Name", "name"), ("Filter.1.Value.1", "old")];
    let shown = client
        .ec2("DescribeImages", &by_name)
        .await
        .ok()
        .all("imageId");
    assert!(shown.is_empty());
    let all = [by_name[0], by_name[1], ("IncludeDeprecated", "true")];
    let shown = client.ec2("DescribeImages", &all).await.ok().all("imageId");
    assert_eq!(shown, ["ami-0dddd0000000000dd"]);
    world.remove_image("us-east-1", "ami-0dddd0000000000dd");
    let by_id = [("ImageId.1", "ami-0dddd0000000000dd")];
    assert_eq!(
        client.ec2("DescribeImages", &by_id).await.code(),
        "InvalidAMIID.NotFound"
    );
}

#[tokio::test]
async fn subnets_zones_and_regions_are_told() {
    let client = immediate();
    let ids = [
        ("SubnetId.1", "subnet-0aaa0000000000001"),
        ("SubnetId.2", "subnet-0ddd0000000000004"),
    ];
    let answer = client.ec2("DescribeSubnets", &ids).await.ok();
    assert_eq!(answer.all("availabilityZone"), ["us-east-1a", "us-east-1d"]);
    let unknown = [("SubnetId.1", "subnet-0bad")];
    let answer = client.ec2("DescribeSubnets", &unknown).await;
    assert_eq!(answer.code(), "InvalidSubnetID.NotFound");
    let zones = client.ec2("DescribeAvailabilityZones", &[]).await.ok();
    assert_eq!(
        zones.all("zoneId"),
        ["use1-az1", "use1-az2", "use1-az3", "use1-az4"]
    );
    let regions = client.ec2("DescribeRegions", &[]).await.ok();
    assert_eq!(regions.all("regionName"), ["us-east-1"]);
}

#[tokio::test(start_paused = true)]
async fn reads_lag_behind_writes_when_asked_to() {
    let client = demo();
    client.sim.world().set_read_lag(Duration::from_secs(3));
    client.create_template("pool-lt").await.ok();
    let wanted = [("LaunchTemplateName.1", "pool-lt")];
    let early = client.ec2("DescribeLaunchTemplates", &wanted).await;
    assert_eq!(early.code(), "InvalidLaunchTemplateName.NotFoundException");
    client.pass(4).await;
    client.ec2("DescribeLaunchTemplates", &wanted).await.ok();
    client
        .ec2("DeleteLaunchTemplate", &[("LaunchTemplateName", "pool-lt")])
        .await
        .ok();
    client.ec2("DescribeLaunchTemplates", &wanted).await.ok();
    client.pass(4).await;
    let gone = client.ec2("DescribeLaunchTemplates", &wanted).await;
    assert_eq!(gone.code(), "InvalidLaunchTemplateName.NotFoundException");
}
