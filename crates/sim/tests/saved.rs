//! A world that is saved and restored goes on as if nobody had stopped it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use std::sync::{Arc, atomic::Ordering};

use remuda_sim::{
    RestoreError, SimClock,
    aws::{AwsSim, DEMO_BUCKET},
};
use serde_json::{Value, json};
use support::{
    Client, demo, start,
    workload::{Workload, group_with_stub, stub, upload},
};

const NAME: (&str, &str) = ("AutoScalingGroupName", "pool");

/// The world of these bytes, on a clock that has to catch up with it.
fn restore(saved: &[u8]) -> Client {
    let clock = SimClock::starting_at(start());
    Client::new(AwsSim::builder().clock(clock).restore(saved).unwrap())
}

/// Everything people see of a world.
fn seen(client: &Client) -> Value {
    let world = client.sim.world();
    json!({
        "now": client.sim.clock().now(),
        "groups": world.groups(),
        "instances": world.instances(),
        "templates": world.templates(),
    })
}

async fn resize(client: &Client, size: &str) {
    let params = [NAME, ("MinSize", size), ("MaxSize", size)];
    client.asg("UpdateAutoScalingGroup", &params).await.ok();
}

async fn refresh(client: &Client) {
    client.create_template("pool-v2").await.ok();
    let template = [
        NAME,
        ("LaunchTemplate.LaunchTemplateName", "pool-v2"),
        ("LaunchTemplate.Version", "$Latest"),
    ];
    client.asg("UpdateAutoScalingGroup", &template).await.ok();
    let params = [
        NAME,
        ("Preferences.MinHealthyPercentage", "100"),
        ("Preferences.MaxHealthyPercentage", "200"),
        ("Preferences.InstanceWarmup", "60"),
    ];
    client.asg("StartInstanceRefresh", &params).await.ok();
}

async fn delete(client: &Client) {
    let params = [NAME, ("ForceDelete", "true")];
    client.asg("DeleteAutoScalingGroup", &params).await.ok();
}

/// What is under way when the world is saved.
#[derive(Debug, Clone, Copy)]
enum Process {
    ScaleOut,
    Refresh,
    Deletion,
}

/// A group of three, in the middle of something.
async fn in_the_middle(process: Process, seconds: u64) -> Client {
    let client = demo();
    client.create_group("pool", "3").await;
    client.pass(60).await;
    match process {
        Process::ScaleOut => resize(&client, "6").await,
        Process::Refresh => refresh(&client).await,
        Process::Deletion => delete(&client).await,
    }
    client.pass(seconds).await;
    client
}

#[tokio::test(start_paused = true)]
async fn a_restored_world_goes_on_like_one_that_was_never_stopped() {
    for process in [Process::ScaleOut, Process::Refresh, Process::Deletion] {
        for seconds in [0, 1, 5, 12, 40] {
            let original = in_the_middle(process, seconds).await;
            let restored = restore(&original.sim.save());
            for _ in 0..60 {
                assert_eq!(
                    seen(&restored),
                    seen(&original),
                    "{process:?} at {seconds} s"
                );
                tokio::time::sleep(std::time::Duration::from_secs(5)).await;
            }
            let activities = |client: Client| async move {
                let answer = client.asg("DescribeScalingActivities", &[]).await.ok();
                (answer.all("ActivityId"), answer.all("StatusCode"))
            };
            assert_eq!(
                activities(restored.clone()).await,
                activities(original).await
            );
            match process {
                Process::ScaleOut => {
                    assert_eq!(restored.group("pool").in_service(), 6);
                    assert_eq!(restored.live("pool"), 6);
                }
                Process::Refresh => {
                    let group = restored.group("pool");
                    assert_eq!(group.refreshes, ["Successful"]);
                    let new = |m: &remuda_sim::aws::MemberInfo| {
                        m.template
                            .as_ref()
                            .is_some_and(|(name, _)| name == "pool-v2")
                    };
                    assert!(group.members.len() == 3 && group.members.iter().all(new));
                }
                Process::Deletion => {
                    assert!(restored.sim.world().group("pool").is_none());
                    assert_eq!(restored.live("pool"), 0);
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn time_in_which_nothing_ran_has_passed_at_the_first_look() {
    for process in [Process::ScaleOut, Process::Refresh, Process::Deletion] {
        let saved = in_the_middle(process, 5).await.sim.save();
        let later = start() + jiff::SignedDuration::from_hours(2);
        let clock = SimClock::starting_at(later);
        let sim = AwsSim::builder().clock(clock).restore(&saved).unwrap();
        assert_eq!(sim.clock().now(), later);
        let group = sim.world().group("pool");
        match process {
            Process::ScaleOut => assert_eq!(group.unwrap().in_service(), 6),
            Process::Refresh => assert_eq!(group.unwrap().refreshes, ["Successful"]),
            Process::Deletion => assert!(group.is_none()),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn another_seed_draws_other_ids_and_no_id_twice() {
    let original = in_the_middle(Process::ScaleOut, 40).await;
    let saved = original.sim.save();
    let mut first = Vec::new();
    for seed in [0, 7] {
        let builder = AwsSim::builder()
            .clock(SimClock::starting_at(start()))
            .seed(seed);
        let client = Client::new(builder.restore(&saved).unwrap());
        resize(&client, "9").await;
        client.pass(60).await;
        assert_eq!(client.live("pool"), 9, "no new id is one of the old ones");
        first.push(seen(&client)["instances"].clone());
    }
    assert_ne!(first[0], first[1]);
}

#[tokio::test(start_paused = true)]
async fn objects_sessions_and_templates_without_a_name_are_kept() {
    let client = demo();
    client.create_group("pool", "2").await;
    client.pass(30).await;
    let template = [("LaunchTemplateName", "pool-lt")];
    client.ec2("DeleteLaunchTemplate", &template).await.ok();
    let body = [0, 0xff, b'"', 0x80];
    upload(&client, "pool/bytes", &body).await;
    let role = [
        ("RoleArn", remuda_sim::aws::DEMO_CONTROLLER_ROLE_ARN),
        ("RoleSessionName", "test"),
    ];
    let session = client.call("sts", "AssumeRole", &role).await.ok();
    let restored = restore(&client.sim.save());

    assert_eq!(seen(&restored), seen(&client));
    let text = |element| session.first(element).unwrap();
    let (id, secret, token) = (
        text("AccessKeyId"),
        text("SecretAccessKey"),
        text("SessionToken"),
    );
    let assumed = restored.with_key(&id, &secret, Some(&token));
    let path = format!("{DEMO_BUCKET}/pool/bytes");
    assert_eq!(assumed.s3("GET", &path, &[], &[]).await.ok().body, body);
    let instances = restored.sim.world().instances();
    assert!(
        instances
            .iter()
            .all(|i| i.template == Some(("pool-lt".to_owned(), 1)))
    );
}

#[tokio::test(start_paused = true)]
async fn nodes_that_joined_stay_and_those_that_boot_go_on() {
    let (client, api) = (demo(), Workload::default());
    let nodes = client.sim.run_nodes(Arc::new(api.clone()));
    upload(&client, "pool/demo-pool-0", b"#cloud-config\n").await;
    group_with_stub(&client, "3", &stub()).await;
    client.pass(60).await;
    assert_eq!(api.ready(), 3);
    let old = client.sim.world().live_instances("pool");
    let joined = |of: &[remuda_sim::aws::InstanceInfo]| -> Vec<Value> {
        of.iter()
            .map(|instance| api.node(&instance.private_dns).unwrap())
            .collect()
    };
    let before = joined(&old[..2]);

    // One more is ending, and three boot.
    resize(&client, "5").await;
    client.sim.world().terminate_instance(&old[2].id);
    client.pass(25).await;
    let saved = client.sim.save();
    nodes.abort();
    assert!(nodes.await.unwrap_err().is_cancelled());
    assert_eq!(
        api.names().len(),
        2 + usize::from(api.names().contains(&old[2].private_dns))
    );

    let restored = restore(&saved);
    restored.sim.run_nodes(Arc::new(api.clone()));
    restored.pass(120).await;
    let live = restored.sim.world().live_instances("pool");
    let mut wanted: Vec<String> = live.iter().map(|i| i.private_dns.clone()).collect();
    wanted.sort();
    assert_eq!(wanted.len(), 5);
    assert_eq!(api.names(), wanted, "none is doubled, none is lost");
    assert_eq!(api.ready(), 5);
    assert_eq!(joined(&old[..2]), before, "what had joined is left alone");
    assert_eq!(
        restored.sim.journal().instance_calls().len(),
        3,
        "only new machines boot"
    );
    assert!(restored.sim.world().boot_failures().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_node_of_an_instance_that_ended_unseen_is_deleted() {
    let (client, api) = (demo(), Workload::default());
    let nodes = client.sim.run_nodes(Arc::new(api.clone()));
    upload(&client, "pool/demo-pool-0", b"#cloud-config\n").await;
    group_with_stub(&client, "2", &stub()).await;
    client.pass(60).await;
    let victim = client.sim.world().live_instances("pool")[0].clone();
    api.down.store(true, Ordering::SeqCst);
    client.sim.world().terminate_instance(&victim.id);
    client.pass(20).await;
    assert!(api.names().contains(&victim.private_dns));
    let saved = client.sim.save();
    nodes.abort();

    let restored = restore(&saved);
    restored.sim.run_nodes(Arc::new(api.clone()));
    restored.pass(10).await;
    api.down.store(false, Ordering::SeqCst);
    restored.pass(100).await;
    assert!(!api.names().contains(&victim.private_dns));
    assert_eq!(api.ready(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_saved_world_is_refused() {
    let saved = demo().sim.save();
    let refused = |bytes: &[u8]| AwsSim::builder().restore(bytes).unwrap_err();

    let mut newer: Value = serde_json::from_slice(&saved).unwrap();
    newer["format"] = json!(4711);
    let error = refused(&serde_json::to_vec(&newer).unwrap());
    assert!(matches!(error, RestoreError::Format { found: 4711, .. }));
    assert!(error.to_string().contains("4711"), "{error}");
    // Of another format nothing but the number is looked at.
    let error = refused(br#"{"format":4711,"worlds":[]}"#);
    assert!(matches!(error, RestoreError::Format { found: 4711, .. }));

    for broken in [&b""[..], b"ZZZZ", b"{}", &saved[..saved.len() / 2]] {
        assert!(matches!(refused(broken), RestoreError::Unreadable { .. }));
    }
    let mut homeless: Value = serde_json::from_slice(&saved).unwrap();
    homeless["estates"] = json!([]);
    homeless["events"]["heap"] = json!([
        { "at": start(), "order": 1, "event": { "Running": [3, "i-0aaa0000000000001"] } },
    ]);
    let error = refused(&serde_json::to_vec(&homeless).unwrap());
    assert!(matches!(error, RestoreError::Contradictory(_)), "{error}");
}

#[tokio::test(start_paused = true)]
async fn changes_are_told_and_reads_are_none() {
    let client = demo();
    client.create_group("pool", "1").await;
    client.pass(60).await;
    let mut changes = client.sim.changes();
    let mut changed = || {
        let changed = changes.has_changed().unwrap();
        changes.mark_unchanged();
        changed
    };
    assert!(!changed());
    client.asg("DescribeAutoScalingGroups", &[]).await.ok();
    client
        .s3("GET", &format!("{DEMO_BUCKET}?list-type=2"), &[], &[])
        .await
        .ok();
    seen(&client);
    client.pass(60).await;
    assert!(!changed(), "neither reads nor time change anything");

    resize(&client, "2").await;
    assert!(changed(), "a call");
    client.pass(60).await;
    assert!(changed(), "what a group does by itself");
    upload(&client, "pool/x", b"y").await;
    assert!(changed(), "an object");
    client.sim.world().remove_object(DEMO_BUCKET, "pool/x");
    assert!(changed(), "a hand on the world");
}
