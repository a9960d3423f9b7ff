//! The world: accounts apart, replay from a seed, hands on it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use remuda_sim::{
    SimClock,
    aws::{AwsSim, DEMO_ACCOUNT, SubnetSpec},
};
use support::{Client, demo, immediate};

const OTHER: &str = "444455556666";

#[tokio::test]
async fn accounts_and_regions_do_not_see_each_other() {
    let client = immediate();
    let world = client.sim.world();
    world.add_account_key(OTHER, "AKIAOTHER00000000000", "other");
    world.add_region("eu-west-1", "ab");
    client.create_group("pool", "1").await;
    let other = client.with_key("AKIAOTHER00000000000", "other", None);
    for stranger in [other.clone(), client.in_region("eu-west-1")] {
        let groups = stranger.asg("DescribeAutoScalingGroups", &[]).await.ok();
        assert!(groups.all("AutoScalingGroupName").is_empty());
        let instances = stranger.ec2("DescribeInstances", &[]).await.ok();
        assert!(instances.all("instanceId").is_empty());
    }
    let bucket = format!("{}/pool/x", remuda_sim::aws::DEMO_BUCKET);
    assert_eq!(
        other.s3("PUT", &bucket, &[], b"x").await.code(),
        "AccessDenied"
    );
    let nowhere = client.in_region("mars-north-1");
    assert_eq!(
        nowhere.ec2("DescribeInstances", &[]).await.code(),
        "InvalidRegion"
    );
    let subnet = SubnetSpec {
        id: "subnet-0eee",
        vpc: "vpc-0",
        zone: "eu-west-1a",
        cidr: "10.9.0.0/24",
        first_host: 4,
    };
    assert!(world.add_subnet(DEMO_ACCOUNT, "eu-west-1", &subnet));
    assert!(
        !world.add_subnet(DEMO_ACCOUNT, "us-east-1", &subnet),
        "another region's zone"
    );
}

#[tokio::test(start_paused = true)]
async fn equal_seeds_make_equal_worlds() {
    let mut worlds = Vec::new();
    for seed in [1, 1, 2] {
        let clock = SimClock::starting_at(support::start());
        let client = Client::new(AwsSim::builder().clock(clock).seed(seed).demo());
        client.create_group("pool", "3").await;
        client.pass(30).await;
        let ids: Vec<String> = client
            .sim
            .world()
            .live_instances("pool")
            .into_iter()
            .map(|instance| instance.id)
            .collect();
        worlds.push(ids);
    }
    assert_eq!(worlds[0], worlds[1]);
    assert_ne!(worlds[0], worlds[2]);
}

#[tokio::test(start_paused = true)]
async fn changes_by_hand_leave_no_trace_in_the_journal() {
    let client = demo();
    client.create_group("pool", "1").await;
    let before = client.sim.journal().next_number();
    let by_hand = |action: &str, params: &[(&str, &str)]| {
        client
            .sim
            .world()
            .by_hand(DEMO_ACCOUNT, "us-east-1", action, params)
    };
    let params = [("AutoScalingGroupName", "pool"), ("MinSize", "0")];
    by_hand("UpdateAutoScalingGroup", &params).unwrap();
    assert_eq!(client.group("pool").min, 0);
    let refused = by_hand("DeleteLaunchTemplate", &[("LaunchTemplateName", "nobody")]);
    assert!(
        refused
            .unwrap_err()
            .starts_with("InvalidLaunchTemplateName.NotFoundException: ")
    );
    assert!(by_hand("LaunchRockets", &[]).is_err());
    assert_eq!(client.sim.journal().next_number(), before);
}

#[tokio::test(start_paused = true)]
async fn impossible_sizes_are_refused() {
    let client = demo();
    client.create_template("pool-lt").await.ok();
    for size in ["-1", "1.5", "4294967296", "100001", "many"] {
        let sizes = [("MinSize", "0"), ("MaxSize", size)];
        let answer = client.create_group_of("pool", "pool-lt", &sizes).await;
        assert_eq!(answer.code(), "ValidationError", "{size}");
    }
}
