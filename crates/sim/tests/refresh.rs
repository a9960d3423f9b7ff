//! Instance refreshes: launch before terminate, one at a time, cancelled and failed.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use remuda_sim::aws::GroupInfo;
use support::{Answer, Client, demo};

const NAME: [(&str, &str); 1] = [("AutoScalingGroupName", "pool")];

async fn start(client: &Client, warmup: &str) -> Answer {
    start_with(client, "100", "200", warmup).await
}

async fn start_with(client: &Client, min: &str, max: &str, warmup: &str) -> Answer {
    let params = [
        NAME[0],
        ("Strategy", "Rolling"),
        ("Preferences.MinHealthyPercentage", min),
        ("Preferences.MaxHealthyPercentage", max),
        ("Preferences.InstanceWarmup", warmup),
        ("Preferences.ScaleInProtectedInstances", "Ignore"),
        ("Preferences.StandbyInstances", "Ignore"),
    ];
    client.asg("StartInstanceRefresh", &params).await
}

async fn status(client: &Client) -> String {
    let answer = client.asg("DescribeInstanceRefreshes", &NAME).await.ok();
    answer.first("Status").unwrap()
}

/// Points the group at a new template and starts a refresh.
async fn roll(client: &Client, template: &str, warmup: &str) {
    client.create_template(template).await.ok();
    point_at(client, template).await;
    start(client, warmup).await.ok();
}

async fn point_at(client: &Client, template: &str) {
    let params = [
        NAME[0],
        ("LaunchTemplate.LaunchTemplateName", template),
        ("LaunchTemplate.Version", "$Latest"),
    ];
    client.asg("UpdateAutoScalingGroup", &params).await.ok();
}

fn from_template(group: &GroupInfo, template: &str) -> usize {
    let made = |m: &&remuda_sim::aws::MemberInfo| {
        m.template
            .as_ref()
            .is_some_and(|(name, _)| name == template)
    };
    group.members.iter().filter(made).count()
}

#[tokio::test(start_paused = true)]
async fn replacements_serve_and_warm_up_before_predecessors_go() {
    let client = demo();
    client.create_group("pool", "3").await;
    client.pass(30).await;
    roll(&client, "pool-v2", "300").await;
    let mut most = 0;
    for second in 0..300 {
        client.pass(1).await;
        let group = client.group("pool");
        most = most.max(group.members.len());
        assert!(group.in_service() >= 3, "at {second}: {:?}", group.members);
        assert_eq!(
            from_template(&group, "pool-lt"),
            3,
            "warmup runs at {second}"
        );
    }
    assert_eq!(most, 6);
    assert_eq!(status(&client).await, "InProgress");
    client.pass(60).await;
    let group = client.group("pool");
    assert_eq!(
        (group.members.len(), from_template(&group, "pool-v2")),
        (3, 3)
    );
    let answer = client.asg("DescribeInstanceRefreshes", &NAME).await.ok();
    assert_eq!(answer.first("Status").unwrap(), "Successful");
    assert_eq!(answer.first("PercentageComplete").unwrap(), "100");
    assert_eq!(answer.first("InstanceWarmup").unwrap(), "300");
}

#[tokio::test(start_paused = true)]
async fn the_maximum_bounds_the_surge() {
    let client = demo();
    client.create_group("pool", "4").await;
    client.pass(30).await;
    client.create_template("pool-v2").await.ok();
    point_at(&client, "pool-v2").await;
    start_with(&client, "100", "150", "10").await.ok();
    let mut most = 0;
    for _ in 0..120 {
        client.pass(2).await;
        let group = client.group("pool");
        let counted = group
            .members
            .iter()
            .filter(|m| !m.lifecycle.starts_with("Terminating"))
            .count();
        most = most.max(counted);
        assert!(group.in_service() >= 4);
    }
    assert_eq!(most, 6);
    assert_eq!(from_template(&client.group("pool"), "pool-v2"), 4);
    assert_eq!(
        start_with(&client, "50", "200", "0").await.code(),
        "ValidationError"
    );
}

#[tokio::test(start_paused = true)]
async fn with_a_lower_minimum_it_terminates_first() {
    let client = demo();
    client.create_group("pool", "4").await;
    client.pass(30).await;
    client.create_template("pool-v2").await.ok();
    point_at(&client, "pool-v2").await;
    start_with(&client, "50", "100", "0").await.ok();
    let (mut most, mut least) = (0, usize::MAX);
    for _ in 0..120 {
        client.pass(2).await;
        let group = client.group("pool");
        let counted = group
            .members
            .iter()
            .filter(|m| !m.lifecycle.starts_with("Terminating"))
            .count();
        most = most.max(counted);
        least = least.min(group.in_service());
    }
    assert_eq!((most, least), (4, 2));
    assert_eq!(status(&client).await, "Successful");
}

#[tokio::test(start_paused = true)]
async fn a_second_refresh_waits_for_the_cancelled_first() {
    let client = demo();
    client.create_group("pool", "3").await;
    client.pass(30).await;
    let nothing = client.asg("CancelInstanceRefresh", &NAME).await;
    assert_eq!(nothing.code(), "ActiveInstanceRefreshNotFound");
    roll(&client, "pool-v2", "300").await;
    client.pass(20).await;
    assert_eq!(
        start(&client, "300").await.code(),
        "InstanceRefreshInProgress"
    );
    client.asg("CancelInstanceRefresh", &NAME).await.ok();
    assert_eq!(status(&client).await, "Cancelling");
    assert_eq!(
        start(&client, "300").await.code(),
        "InstanceRefreshInProgress"
    );
    client.pass(15).await;
    assert_eq!(status(&client).await, "Cancelled");
    let nothing = client.asg("CancelInstanceRefresh", &NAME).await;
    assert_eq!(nothing.code(), "ActiveInstanceRefreshNotFound");
    roll(&client, "pool-v3", "10").await;
    client.pass(120).await;
    let group = client.group("pool");
    assert_eq!(
        (group.members.len(), from_template(&group, "pool-v3")),
        (3, 3)
    );
    assert_eq!(group.refreshes, ["Cancelled", "Successful"]);
    let answer = client.asg("DescribeInstanceRefreshes", &NAME).await.ok();
    assert_eq!(
        answer.all("Status"),
        ["Successful", "Cancelled"],
        "newest first"
    );
}

#[tokio::test(start_paused = true)]
async fn a_refresh_that_cannot_launch_fails_in_the_end() {
    let client = demo();
    client.create_group("pool", "2").await;
    client.pass(30).await;
    for zone in ["us-east-1a", "us-east-1b", "us-east-1c"] {
        client.sim.world().set_capacity(zone, "*", Some(0));
    }
    roll(&client, "pool-v2", "10").await;
    client.pass(3000).await;
    assert_eq!(status(&client).await, "InProgress");
    client.pass(700).await;
    assert_eq!(status(&client).await, "Failed");
    assert_eq!(
        from_template(&client.group("pool"), "pool-lt"),
        2,
        "nothing was lost"
    );
}

#[tokio::test(start_paused = true)]
async fn ignored_members_stay_and_skipped_ones_match() {
    let client = demo();
    client.create_group("pool", "2").await;
    client.pass(30).await;
    let kept = client.sim.world().live_instances("pool")[0].id.clone();
    let params = [
        NAME[0],
        ("InstanceIds.member.1", kept.as_str()),
        ("ProtectedFromScaleIn", "true"),
    ];
    client.asg("SetInstanceProtection", &params).await.ok();
    roll(&client, "pool-v2", "0").await;
    client.pass(120).await;
    assert_eq!(status(&client).await, "Successful");
    assert!(
        client
            .sim
            .world()
            .live_instances("pool")
            .iter()
            .any(|i| i.id == kept)
    );
    assert_eq!(from_template(&client.group("pool"), "pool-v2"), 1);
    let before: Vec<String> = client
        .sim
        .world()
        .live_instances("pool")
        .into_iter()
        .map(|i| i.id)
        .collect();
    let skip = [
        NAME[0],
        ("Preferences.SkipMatching", "true"),
        ("Preferences.ScaleInProtectedInstances", "Ignore"),
    ];
    client.asg("StartInstanceRefresh", &skip).await.ok();
    client.pass(120).await;
    let after: Vec<String> = client
        .sim
        .world()
        .live_instances("pool")
        .into_iter()
        .map(|i| i.id)
        .collect();
    assert_eq!(before, after);
    assert_eq!(status(&client).await, "Successful");
}

#[tokio::test(start_paused = true)]
async fn a_group_of_none_is_refreshed_at_once() {
    let client = demo();
    client.create_group("pool", "0").await;
    start(&client, "300").await.ok();
    client.pass(5).await;
    assert_eq!(status(&client).await, "Successful");
}

#[tokio::test(start_paused = true)]
async fn a_refresh_waits_for_protected_members_and_then_fails() {
    let client = demo();
    client.create_group("pool", "1").await;
    client.pass(30).await;
    let kept = client.sim.world().live_instances("pool")[0].id.clone();
    let protect = |on: &'static str| {
        let (client, kept) = (client.clone(), kept.clone());
        async move {
            let params = [
                NAME[0],
                ("InstanceIds.member.1", kept.as_str()),
                ("ProtectedFromScaleIn", on),
            ];
            client.asg("SetInstanceProtection", &params).await.ok();
        }
    };
    protect("true").await;
    client.asg("StartInstanceRefresh", &NAME).await.ok();
    client.pass(3500).await;
    assert_eq!(status(&client).await, "InProgress");
    client.pass(200).await;
    assert_eq!(status(&client).await, "Failed");
    protect("false").await;
    client.asg("StartInstanceRefresh", &NAME).await.ok();
    client.pass(400).await;
    assert_eq!(status(&client).await, "Successful");
    assert_ne!(client.sim.world().live_instances("pool")[0].id, kept);
}
