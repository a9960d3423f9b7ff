//! Lifecycle hooks hold members until somebody answers or time runs out.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use support::{Client, demo};

async fn put_hook(client: &Client, name: &str, transition: &str, default: &str) {
    let transition = format!("autoscaling:EC2_INSTANCE_{transition}");
    let params = [
        ("AutoScalingGroupName", "pool"),
        ("LifecycleHookName", name),
        ("LifecycleTransition", transition.as_str()),
        ("HeartbeatTimeout", "60"),
        ("DefaultResult", default),
    ];
    client.asg("PutLifecycleHook", &params).await.ok();
}

async fn answer(client: &Client, hook: &str, instance: &str, result: &str) -> support::Answer {
    let params = [
        ("AutoScalingGroupName", "pool"),
        ("LifecycleHookName", hook),
        ("InstanceId", instance),
        ("LifecycleActionResult", result),
    ];
    client.asg("CompleteLifecycleAction", &params).await
}

async fn resize(client: &Client, size: &str) {
    let params = [
        ("AutoScalingGroupName", "pool"),
        ("MinSize", size),
        ("MaxSize", size),
    ];
    client.asg("UpdateAutoScalingGroup", &params).await.ok();
}

fn lifecycles(client: &Client) -> Vec<&'static str> {
    client
        .group("pool")
        .members
        .iter()
        .map(|member| member.lifecycle)
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_launching_member_waits_for_its_answer() {
    let client = demo();
    client.create_group("pool", "0").await;
    put_hook(&client, "ready", "LAUNCHING", "ABANDON").await;
    resize(&client, "1").await;
    client.pass(20).await;
    assert_eq!(lifecycles(&client), ["Pending:Wait"]);
    let id = client.group("pool").members[0].instance_id.clone();
    assert_eq!(
        answer(&client, "other", &id, "CONTINUE").await.code(),
        "ValidationError"
    );
    answer(&client, "ready", &id, "CONTINUE").await.ok();
    assert_eq!(lifecycles(&client), ["Pending:Proceed"]);
    client.pass(3).await;
    assert_eq!(lifecycles(&client), ["InService"]);
    let again = answer(&client, "ready", &id, "CONTINUE").await;
    assert!(
        again
            .first("Message")
            .unwrap()
            .contains("No active Lifecycle Action")
    );
}

#[tokio::test(start_paused = true)]
async fn an_abandoned_launch_is_replaced() {
    let client = demo();
    client.create_group("pool", "0").await;
    put_hook(&client, "ready", "LAUNCHING", "ABANDON").await;
    resize(&client, "1").await;
    client.pass(20).await;
    let first = client.group("pool").members[0].instance_id.clone();
    client.pass(70).await;
    let members = client.group("pool").members;
    assert!(
        members
            .iter()
            .all(|m| m.instance_id != first || m.lifecycle == "Terminating")
    );
    assert!(members.iter().any(|m| m.instance_id != first));
}

#[tokio::test(start_paused = true)]
async fn a_terminating_member_keeps_running_until_drained() {
    let client = demo();
    client.create_group("pool", "1").await;
    put_hook(&client, "drain", "TERMINATING", "CONTINUE").await;
    client.pass(30).await;
    resize(&client, "0").await;
    client.pass(5).await;
    assert_eq!(lifecycles(&client), ["Terminating:Wait"]);
    let instance = client.sim.world().live_instances("pool")[0].clone();
    assert_eq!(instance.state.name(), "running");
    for _ in 0..5 {
        client.pass(50).await;
        let beat = [
            ("AutoScalingGroupName", "pool"),
            ("LifecycleHookName", "drain"),
            ("InstanceId", instance.id.as_str()),
        ];
        client
            .asg("RecordLifecycleActionHeartbeat", &beat)
            .await
            .ok();
        assert_eq!(lifecycles(&client), ["Terminating:Wait"]);
    }
    answer(&client, "drain", &instance.id, "ABANDON").await.ok();
    assert_eq!(lifecycles(&client), ["Terminating:Proceed"]);
    client.pass(20).await;
    assert!(lifecycles(&client).is_empty());
}

#[tokio::test(start_paused = true)]
async fn all_hooks_must_let_a_member_go() {
    let client = demo();
    client.create_group("pool", "1").await;
    put_hook(&client, "drain", "TERMINATING", "CONTINUE").await;
    put_hook(&client, "archive", "TERMINATING", "CONTINUE").await;
    client.pass(30).await;
    let id = client.group("pool").members[0].instance_id.clone();
    resize(&client, "0").await;
    client.pass(5).await;
    answer(&client, "drain", &id, "CONTINUE").await.ok();
    assert_eq!(lifecycles(&client), ["Terminating:Wait"]);
    answer(&client, "archive", &id, "CONTINUE").await.ok();
    assert_eq!(lifecycles(&client), ["Terminating:Proceed"]);
}

#[tokio::test(start_paused = true)]
async fn hooks_are_listed_and_removed() {
    let client = demo();
    client.create_group("pool", "1").await;
    put_hook(&client, "drain", "TERMINATING", "CONTINUE").await;
    let name = [("AutoScalingGroupName", "pool")];
    let hooks = client.asg("DescribeLifecycleHooks", &name).await.ok();
    assert_eq!(hooks.first("LifecycleHookName").unwrap(), "drain");
    assert_eq!(hooks.first("GlobalTimeout").unwrap(), "6000");
    client.pass(30).await;
    resize(&client, "0").await;
    client.pass(5).await;
    assert_eq!(lifecycles(&client), ["Terminating:Wait"]);
    let delete = [name[0], ("LifecycleHookName", "drain")];
    client.asg("DeleteLifecycleHook", &delete).await.ok();
    client.pass(20).await;
    assert!(lifecycles(&client).is_empty());
    assert_eq!(
        client.asg("DeleteLifecycleHook", &delete).await.code(),
        "ValidationError"
    );
}

/// The terminating hook of a group, as it is created with it.
const DRAIN: [(&str, &str); 4] = [
    (
        "LifecycleHookSpecificationList.member.1.LifecycleHookName",
        "drain",
    ),
    (
        "LifecycleHookSpecificationList.member.1.LifecycleTransition",
        "autoscaling:EC2_INSTANCE_TERMINATING",
    ),
    (
        "LifecycleHookSpecificationList.member.1.HeartbeatTimeout",
        "60",
    ),
    (
        "LifecycleHookSpecificationList.member.1.DefaultResult",
        "CONTINUE",
    ),
];

/// A running group of this size that holds what it ends.
async fn held_group(size: &str, more: &[(&str, &str)]) -> Client {
    let client = demo();
    let market = [(
        "LaunchTemplateData.InstanceMarketOptions.MarketType",
        "spot",
    )];
    client.create_template_with("lt-1", &market).await.ok();
    let mut params = vec![("MinSize", size), ("MaxSize", size)];
    params.extend(DRAIN);
    params.extend_from_slice(more);
    client.create_group_of("pool", "lt-1", &params).await.ok();
    client.pass(30).await;
    client
}

/// Ids of the members that wait at a terminating hook.
fn held(client: &Client) -> Vec<String> {
    let members = client.group("pool").members;
    let waiting = members.iter().filter(|m| m.lifecycle == "Terminating:Wait");
    waiting.map(|m| m.instance_id.clone()).collect()
}

/// Why an instance ends, as the newest activity about it says.
async fn cause(client: &Client, id: &str) -> String {
    let name = [("AutoScalingGroupName", "pool")];
    let answer = client.asg("DescribeScalingActivities", &name).await.ok();
    let about = format!("Terminating EC2 instance: {id}");
    let descriptions = answer.all("Description");
    let at = descriptions.iter().position(|text| *text == about);
    answer.all("Cause")[at.unwrap()].clone()
}

async fn end(client: &Client, id: &str, decrement: &str) -> support::Answer {
    let params = [
        ("InstanceId", id),
        ("ShouldDecrementDesiredCapacity", decrement),
    ];
    client
        .asg("TerminateInstanceInAutoScalingGroup", &params)
        .await
}

#[tokio::test(start_paused = true)]
async fn a_group_is_created_with_its_hooks() {
    let client = held_group("1", &[]).await;
    let name = [("AutoScalingGroupName", "pool")];
    let hooks = client.asg("DescribeLifecycleHooks", &name).await.ok();
    assert_eq!(hooks.first("LifecycleHookName").unwrap(), "drain");
    assert_eq!(hooks.first("HeartbeatTimeout").unwrap(), "60");
    assert_eq!(hooks.first("DefaultResult").unwrap(), "CONTINUE");
    let mut bad = DRAIN.to_vec();
    bad[2].1 = "29";
    bad.extend([("MinSize", "0"), ("MaxSize", "0")]);
    let refused = client.create_group_of("other", "lt-1", &bad).await;
    assert_eq!(refused.code(), "ValidationError");
}

#[tokio::test(start_paused = true)]
async fn an_instance_ended_by_name_waits_and_its_replacement_does_not() {
    let client = held_group("2", &[]).await;
    let id = client.group("pool").members[0].instance_id.clone();
    end(&client, &id, "false").await.ok();
    client.pass(30).await;
    assert_eq!(held(&client), [id.as_str()]);
    assert_eq!(client.group("pool").desired, 2);
    assert_eq!(client.live("pool"), 3, "the replacement is there already");
    assert!(cause(&client, &id).await.contains("user request"));
    // A second call changes nothing: it is on its way.
    end(&client, &id, "false").await.ok();
    answer(&client, "drain", &id, "CONTINUE").await.ok();
    client.pass(30).await;
    assert!(held(&client).is_empty());
    assert_eq!(client.live("pool"), 2);
    assert_eq!(end(&client, &id, "false").await.code(), "ValidationError");
}

#[tokio::test(start_paused = true)]
async fn a_decrement_stops_at_the_minimum_and_leaves_the_instance_alone() {
    let client = held_group("2", &[]).await;
    let id = client.group("pool").members[0].instance_id.clone();
    let refused = end(&client, &id, "true").await;
    assert!(
        refused
            .first("Message")
            .unwrap()
            .contains("desiredSize equals minSize")
    );
    assert!(held(&client).is_empty());
    let lower = [("AutoScalingGroupName", "pool"), ("MinSize", "1")];
    client.asg("UpdateAutoScalingGroup", &lower).await.ok();
    end(&client, &id, "true").await.ok();
    client.pass(30).await;
    assert_eq!(client.group("pool").desired, 1);
    assert_eq!(client.live("pool"), 2, "one serves, one is held");
}

#[tokio::test(start_paused = true)]
async fn nobody_answers_and_the_instance_goes_when_the_time_is_up() {
    let client = held_group("1", &[]).await;
    resize(&client, "0").await;
    client.pass(5).await;
    let ids = held(&client);
    assert!(cause(&client, &ids[0]).await.contains("desired and actual"));
    client.pass(50).await;
    assert_eq!(held(&client), ids);
    client.pass(10).await;
    assert!(held(&client).is_empty(), "after its 60 seconds");
}

#[tokio::test(start_paused = true)]
async fn a_refresh_waits_for_the_drain_of_each_member() {
    let client = held_group("2", &[]).await;
    let name = [("AutoScalingGroupName", "pool")];
    let params = [
        name[0],
        ("Strategy", "Rolling"),
        ("Preferences.MinHealthyPercentage", "100"),
        ("Preferences.MaxHealthyPercentage", "150"),
        ("Preferences.InstanceWarmup", "0"),
    ];
    client.asg("StartInstanceRefresh", &params).await.ok();
    client.pass(30).await;
    let ids = held(&client);
    assert!(!ids.is_empty());
    assert!(cause(&client, &ids[0]).await.contains("instance refresh"));
    let states = client.sim.world().live_instances("pool");
    let first = states.iter().find(|instance| instance.id == ids[0]);
    assert_eq!(first.unwrap().state.name(), "running");
}

#[tokio::test(start_paused = true)]
async fn a_spot_notice_calls_the_hook_at_once_and_ends_the_instance_all_the_same() {
    let client = held_group("2", &[("CapacityRebalance", "true")]).await;
    let victim = client.sim.world().live_instances("pool")[0].clone();
    assert!(client.sim.world().interrupt_spot(&victim.id));
    client.pass(1).await;
    assert_eq!(held(&client), [victim.id.as_str()]);
    assert!(cause(&client, &victim.id).await.contains("Spot"));
    client.pass(20).await;
    assert_eq!(client.live("pool"), 3, "its replacement comes meanwhile");
    let beat = [
        ("AutoScalingGroupName", "pool"),
        ("LifecycleHookName", "drain"),
        ("InstanceId", victim.id.as_str()),
    ];
    for _ in 0..2 {
        client.pass(30).await;
        client
            .asg("RecordLifecycleActionHeartbeat", &beat)
            .await
            .ok();
    }
    // Two minutes after the notice EC2 takes it, whatever the hook says.
    client.pass(50).await;
    let left = client.sim.world().live_instances("pool");
    assert_eq!(left.len(), 2);
    assert!(!left.iter().any(|instance| instance.id == victim.id));
    client.pass(30).await;
    assert!(held(&client).is_empty(), "gone from the group as well");
}

#[tokio::test(start_paused = true)]
async fn without_rebalancing_a_spot_instance_goes_unannounced() {
    let client = held_group("1", &[]).await;
    let victim = client.sim.world().live_instances("pool")[0].clone();
    assert!(client.sim.world().interrupt_spot(&victim.id));
    client.pass(60).await;
    assert!(held(&client).is_empty());
    client.pass(300).await;
    assert_eq!(client.live("pool"), 1);
    assert_ne!(client.sim.world().live_instances("pool")[0].id, victim.id);
}
