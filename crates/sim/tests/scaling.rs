//! How a group's size follows what it should be: capacity, quotas, failures, scale-in, load.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use std::collections::BTreeMap;

use remuda_sim::{Fault, aws::DEMO_ACCOUNT};
use support::{Client, demo};

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
async fn without_capacity_the_group_keeps_trying_and_says_so() {
    let client = demo();
    let world = client.sim.world();
    for zone in ["us-east-1a", "us-east-1b", "us-east-1c"] {
        world.set_capacity(zone, "m6i.large", Some(0));
    }
    client.create_group("pool", "2").await;
    client.pass(120).await;
    let failed = activities(&client).await;
    assert!(failed.all("StatusCode").len() >= 3);
    assert!(failed.all("StatusCode").iter().all(|code| code == "Failed"));
    assert!(
        failed
            .first("StatusMessage")
            .unwrap()
            .contains("sufficient m6i.large capacity")
    );
    assert_eq!(client.group("pool").desired, 2);
    world.set_capacity("us-east-1b", "m6i.large", None);
    client.pass(400).await;
    assert_eq!(
        by_zone(&client, "pool"),
        BTreeMap::from([("us-east-1b".to_owned(), 2)])
    );
}

#[tokio::test(start_paused = true)]
async fn a_quota_stops_launches() {
    let client = demo();
    client
        .sim
        .world()
        .set_vcpu_quota(DEMO_ACCOUNT, "us-east-1", Some(4), Some(2));
    client.create_group("pool", "3").await;
    client.pass(60).await;
    assert_eq!(client.live("pool"), 2, "two vCPUs each");
    let message = activities(&client).await.first("StatusMessage").unwrap();
    assert!(message.contains("vCPU limit of 4"), "{message}");
    let spot = [(
        "LaunchTemplateData.InstanceMarketOptions.MarketType",
        "spot",
    )];
    client.create_template_with("lt-spot", &spot).await.ok();
    let sizes = [("MinSize", "2"), ("MaxSize", "2")];
    client.create_group_of("spot", "lt-spot", &sizes).await.ok();
    client.pass(60).await;
    assert_eq!(client.live("spot"), 1);
    let params = [("AutoScalingGroupName", "spot")];
    let answer = client.asg("DescribeScalingActivities", &params).await.ok();
    assert!(
        answer
            .first("StatusMessage")
            .unwrap()
            .contains("Max spot instance count exceeded")
    );
}

#[tokio::test(start_paused = true)]
async fn scripted_launch_failures_show_up_as_activities() {
    let client = demo();
    let code = "Client.InvalidKMSKey.InvalidState";
    let message = "The KMS key provided is in an incorrect state";
    client
        .sim
        .faults()
        .script(Fault::launch(code, message).resource("pool").times(2));
    client.create_group("pool", "1").await;
    client.pass(120).await;
    assert_eq!(client.live("pool"), 1);
    let messages = activities(&client).await.all("StatusMessage");
    assert_eq!(messages.len(), 2);
    assert!(
        messages[0].starts_with(code) && messages[0].contains(message),
        "{messages:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_deleted_template_fails_launches_until_the_group_gets_another() {
    let client = demo();
    client.create_group("pool", "1").await;
    client.pass(30).await;
    client
        .ec2("DeleteLaunchTemplate", &[("LaunchTemplateName", "pool-lt")])
        .await
        .ok();
    update(&client, &[("MinSize", "2"), ("MaxSize", "2")])
        .await
        .ok();
    client.pass(30).await;
    assert_eq!(client.live("pool"), 1);
    assert_eq!(
        activities(&client).await.first("StatusCode").unwrap(),
        "Failed"
    );
    client.create_template("pool-lt2").await.ok();
    let params = [
        ("LaunchTemplate.LaunchTemplateName", "pool-lt2"),
        ("LaunchTemplate.Version", "$Latest"),
    ];
    update(&client, &params).await.ok();
    client.pass(30).await;
    assert_eq!(client.live("pool"), 2);
}

#[tokio::test(start_paused = true)]
async fn scale_in_spares_protected_members_and_keeps_the_spread() {
    let client = demo();
    client.create_group("pool", "6").await;
    client.pass(30).await;
    let instances = client.sim.world().live_instances("pool");
    let protected = &instances[0].id;
    let params = [
        ("AutoScalingGroupName", "pool"),
        ("InstanceIds.member.1", protected.as_str()),
        ("ProtectedFromScaleIn", "true"),
    ];
    client.asg("SetInstanceProtection", &params).await.ok();
    update(&client, &[("MinSize", "3"), ("MaxSize", "3")])
        .await
        .ok();
    client.pass(60).await;
    assert_eq!(
        by_zone(&client, "pool").into_values().collect::<Vec<_>>(),
        [1, 1, 1]
    );
    update(&client, &[("MinSize", "0"), ("MaxSize", "0")])
        .await
        .ok();
    client.pass(60).await;
    let left = client.sim.world().live_instances("pool");
    assert_eq!(left.iter().map(|i| &i.id).collect::<Vec<_>>(), [protected]);
}

#[tokio::test(start_paused = true)]
async fn one_member_is_terminated_with_or_without_a_replacement() {
    let client = demo();
    client.create_template("lt-one").await.ok();
    let sizes = [("MinSize", "1"), ("MaxSize", "3"), ("DesiredCapacity", "2")];
    client.create_group_of("pool", "lt-one", &sizes).await.ok();
    client.pass(30).await;
    let terminate = |id: String, decrement: &'static str| {
        let client = client.clone();
        async move {
            let params = [
                ("InstanceId", id.as_str()),
                ("ShouldDecrementDesiredCapacity", decrement),
            ];
            client
                .asg("TerminateInstanceInAutoScalingGroup", &params)
                .await
        }
    };
    let first = client.sim.world().live_instances("pool")[0].id.clone();
    let answer = terminate(first.clone(), "false").await.ok();
    assert_eq!(answer.first("StatusCode").unwrap(), "InProgress");
    client.pass(60).await;
    assert_eq!(client.live("pool"), 2);
    let second = client.sim.world().live_instances("pool")[0].id.clone();
    terminate(second, "true").await.ok();
    client.pass(60).await;
    assert_eq!((client.group("pool").desired, client.live("pool")), (1, 1));
    let last = client.sim.world().live_instances("pool")[0].id.clone();
    assert!(
        terminate(last, "true")
            .await
            .first("Message")
            .unwrap()
            .contains("minSize")
    );
    assert_eq!(
        terminate("i-00000000".into(), "false").await.code(),
        "ValidationError"
    );
}

#[tokio::test(start_paused = true)]
async fn target_tracking_follows_the_load() {
    let client = demo();
    client.create_template("lt-one").await.ok();
    let sizes = [("MinSize", "2"), ("MaxSize", "6")];
    client.create_group_of("pool", "lt-one", &sizes).await.ok();
    client.pass(30).await;
    let policy = [
        ("AutoScalingGroupName", "pool"),
        ("PolicyName", "captf-cpu-target-tracking"),
        ("PolicyType", "TargetTrackingScaling"),
        (
            "TargetTrackingConfiguration.PredefinedMetricSpecification.PredefinedMetricType",
            "ASGAverageCPUUtilization",
        ),
        ("TargetTrackingConfiguration.TargetValue", "60.0"),
    ];
    for target in ["0", "-1", "NaN", "inf", "much"] {
        let mut bad = policy;
        bad[4].1 = target;
        let refused = client.asg("PutScalingPolicy", &bad).await;
        assert_eq!(refused.status.as_u16(), 400, "{target}");
    }
    let put = client.asg("PutScalingPolicy", &policy).await.ok();
    assert_eq!(put.all("AlarmName").len(), 2);
    client.sim.world().set_cpu("pool", 90.0);
    client.pass(300).await;
    assert_eq!(
        client.group("pool").desired,
        3,
        "180 points of load at 60 an instance"
    );
    client.sim.world().set_cpu("pool", 10.0);
    client.pass(600).await;
    assert_eq!(
        client.group("pool").desired,
        3,
        "scaling in takes fifteen periods"
    );
    client.pass(600).await;
    assert_eq!(client.group("pool").desired, 2);
    let params = [
        ("AutoScalingGroupName", "pool"),
        ("PolicyName", "captf-cpu-target-tracking"),
    ];
    client.asg("DeletePolicy", &params).await.ok();
    client.sim.world().set_cpu("pool", 100.0);
    client.pass(600).await;
    assert_eq!(client.group("pool").desired, 2);
    assert_eq!(
        client.asg("DeletePolicy", &params).await.code(),
        "ValidationError"
    );
}

#[tokio::test(start_paused = true)]
async fn a_spot_notice_brings_the_replacement_before_the_end() {
    let client = demo();
    let spot = [(
        "LaunchTemplateData.InstanceMarketOptions.MarketType",
        "spot",
    )];
    client.create_template_with("lt-spot", &spot).await.ok();
    let params = [
        ("MinSize", "2"),
        ("MaxSize", "2"),
        ("CapacityRebalance", "true"),
    ];
    client
        .create_group_of("pool", "lt-spot", &params)
        .await
        .ok();
    client.pass(30).await;
    let victim = client.sim.world().live_instances("pool")[0].clone();
    assert!(victim.spot && client.sim.world().interrupt_spot(&victim.id));
    client.pass(8).await;
    assert_eq!(client.live("pool"), 3);
    client.pass(200).await;
    let left = client.sim.world().live_instances("pool");
    assert_eq!(left.len(), 2);
    assert!(!left.iter().any(|instance| instance.id == victim.id));
}

#[tokio::test(start_paused = true)]
async fn capacity_and_quota_come_back_when_instances_end_or_stop() {
    let client = demo();
    let world = client.sim.world();
    for zone in ["us-east-1a", "us-east-1b", "us-east-1c"] {
        world.set_capacity(zone, "m6i.large", Some(1));
    }
    world.set_vcpu_quota(DEMO_ACCOUNT, "us-east-1", Some(6), None);
    client.create_group("pool", "3").await;
    client.pass(30).await;
    assert_eq!(client.live("pool"), 3);
    for size in ["0", "3"] {
        update(&client, &[("MinSize", size), ("MaxSize", size)])
            .await
            .ok();
        client.pass(120).await;
    }
    assert_eq!(client.live("pool"), 3);
    let failed = activities(&client).await.all("StatusCode");
    assert!(!failed.contains(&"Failed".to_owned()), "{failed:?}");
    let stopped = world.live_instances("pool")[0].clone();
    world.stop_instance(&stopped.id);
    client.pass(120).await;
    let zones = by_zone(&client, "pool");
    assert_eq!(zones[&stopped.zone], 1, "its replacement took its place");
}

#[tokio::test]
async fn a_large_group_shrinks_quickly() {
    let client = support::immediate();
    client.create_group("pool", "600").await;
    assert_eq!(client.live("pool"), 600);
    let begin = std::time::Instant::now();
    update(&client, &[("MinSize", "0"), ("MaxSize", "0")])
        .await
        .ok();
    assert_eq!(client.live("pool"), 0);
    assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
}
