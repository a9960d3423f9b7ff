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
