//! Replacing running members by instance refresh (AWS document 4.7, 13.3).

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use remuda_sim::{Fault, aws::AwsSim};
use serde_json::json;

use crate::{
    harness::{
        World,
        demo::{GROUP, Pool},
        moto::{refuse, result},
        names,
        wire::{Double, Recorded},
        writes,
    },
    moto::on_both,
};

const START: &str = "autoscaling:StartInstanceRefresh";
const CANCEL: &str = "autoscaling:CancelInstanceRefresh";

async fn finished(world: &World) -> Pool {
    let mut pool = world.demo_pool();
    world.settle(&mut pool).await;
    world.wait(60).await;
    pool
}

fn version(pool: &mut Pool, version: &str) {
    pool.inputs.kubernetes_version = Some(version.to_owned());
}

/// Waits until the group's refreshes have ended.
async fn refreshed(sim: &AwsSim) {
    for _ in 0..500 {
        let group = sim.world().group(GROUP).unwrap();
        if !group
            .refreshes
            .iter()
            .any(|status| ["Pending", "InProgress"].contains(status))
        {
            return;
        }
        sim.pass(std::time::Duration::from_mins(1)).await;
    }
    panic!("the refresh does not end");
}

fn started(calls: &[Recorded]) -> Vec<&Recorded> {
    calls
        .iter()
        .filter(|call| call.name == START && call.status == 200)
        .collect()
}

on_both! {
    /// Proves: AWS-35.
    #[test]
    async fn another_version_replaces_the_template_and_starts_one_refresh(world: World) {
        let mut pool = finished(&world).await;
        let before = world.probe.templates(GROUP).await;
        version(&mut pool, "v1.35.0");
        let calls = world.settle(&mut pool).await;
        assert_eq!(
            writes(&calls),
            [
                "ec2:CreateLaunchTemplate",
                "autoscaling:UpdateAutoScalingGroup",
                START,
                "ec2:DeleteLaunchTemplate",
            ]
        );
        let after = world.probe.templates(GROUP).await;
        assert_eq!(after.len(), 1);
        let (name, id) = after.first_key_value().unwrap();
        assert!(!before.contains_key(name) && !before.values().any(|old| old == id));
        let group = world.probe.group(GROUP).await.unwrap();
        let template = group.launch_template().unwrap();
        assert_eq!(template.launch_template_name(), Some(name.as_str()));
        assert_eq!(template.version(), Some("$Latest"));
        let start = started(&calls)[0];
        let rows = [
            ("Strategy", "Rolling"),
            ("Preferences.MinHealthyPercentage", "100"),
            ("Preferences.MaxHealthyPercentage", "200"),
            ("Preferences.InstanceWarmup", "300"),
            ("Preferences.ScaleInProtectedInstances", "Ignore"),
            ("Preferences.StandbyInstances", "Ignore"),
            ("Preferences.SkipMatching", "false"),
            ("Preferences.AutoRollback", "false"),
        ];
        for (name, value) in rows {
            assert_eq!(start.param(name), value, "{name}");
        }
        assert!(!start.params.keys().any(|name| name.starts_with("DesiredConfiguration")));
    }

    /// Proves: AWS-42.
    #[test]
    async fn version_and_image_together_are_one_roll(world: World) {
        let mut pool = finished(&world).await;
        version(&mut pool, "v1.35.0");
        pool.set("machine_image", json!({ "id": "ami-0aaaaaaaaaaaaaaaa" }));
        let calls = world.settle(&mut pool).await;
        let made = calls.iter().filter(|call| call.name == "ec2:CreateLaunchTemplate").count();
        assert_eq!((made, started(&calls).len()), (1, 1));
    }

    /// Proves: AWS-104.
    #[test]
    async fn a_roll_uses_the_warmup_of_its_time(world: World) {
        let mut pool = finished(&world).await;
        pool.set("rollout_instance_warmup_seconds", json!(600));
        world.settle(&mut pool).await;
        version(&mut pool, "v1.35.0");
        let calls = world.settle(&mut pool).await;
        assert_eq!(started(&calls)[0].param("Preferences.InstanceWarmup"), "600");
    }
}

/// Proves: AWS-36, AWS-37, AWS-38.
#[tokio::test(start_paused = true)]
async fn each_change_of_the_roll_key_is_a_roll_of_its_own() {
    let world = World::simulated();
    let mut pool = finished(&world).await;
    version(&mut pool, "v1.35.0");
    world.settle(&mut pool).await;
    let filter = |calls: &[Recorded]| {
        let mut found: Vec<String> = calls
            .iter()
            .filter(|call| call.name == "ec2:DescribeImages")
            .map(|call| call.param("Filter.1.Value.1").to_owned())
            .collect();
        found.dedup();
        found
    };
    let before = filter(&world.recorder.since(0)).pop();
    let image = "ami-0aaaaaaaaaaaaaaaa";
    let changes: [fn(&mut Pool); 3] = [
        |pool| version(pool, "v1.35.0+rke2r2"),
        |pool| pool.set("machine_image", json!({ "id": "ami-0aaaaaaaaaaaaaaaa" })),
        |pool| pool.set("machine_image", json!({ "id": null })),
    ];
    for (index, change) in changes.into_iter().enumerate() {
        refreshed(world.sim()).await;
        let templates = world.probe.templates(GROUP).await;
        change(&mut pool);
        let calls = world.settle(&mut pool).await;
        let made: Vec<&Recorded> = calls
            .iter()
            .filter(|call| call.name == "ec2:CreateLaunchTemplate")
            .collect();
        assert_eq!(
            (made.len(), started(&calls).len()),
            (1, 1),
            "change {index}"
        );
        let after = world.probe.templates(GROUP).await;
        assert!(after.len() == 1 && after != templates);
        match index {
            0 => assert_eq!(
                filter(&calls).pop(),
                before,
                "the suffix is not part of the filter"
            ),
            1 => assert_eq!(made[0].param("LaunchTemplateData.ImageId"), image),
            _ => assert_ne!(made[0].param("LaunchTemplateData.ImageId"), image),
        }
    }
}

/// Proves: AWS-39.
#[tokio::test(start_paused = true)]
async fn a_running_refresh_is_cancelled_and_awaited_before_the_next_starts() {
    let world = World::simulated();
    let mut pool = finished(&world).await;
    version(&mut pool, "v1.35.0");
    world.settle(&mut pool).await;
    assert_eq!(
        world.sim().world().group(GROUP).unwrap().refreshes,
        ["InProgress"]
    );
    version(&mut pool, "v1.35.1");
    // A refresh takes its time to be cancelled, so that a pass sees it at that.
    world.sim().world().set_timing(|timing| {
        timing.refresh_cancelling = std::time::Duration::from_secs(90);
    });
    let calls = world.settle(&mut pool).await;
    let protocol: Vec<(&str, u16)> = calls
        .iter()
        .filter(|call| [START, CANCEL].contains(&call.name.as_str()))
        .map(|call| (call.name.as_str(), call.status))
        .collect();
    assert_eq!(protocol, [(START, 400), (CANCEL, 200), (START, 200)]);
    let after_cancel = calls.iter().position(|call| call.name == CANCEL).unwrap();
    let accepted = calls.iter().rposition(|call| call.name == START).unwrap();
    let polls = calls[after_cancel..accepted]
        .iter()
        .filter(|call| call.name == "autoscaling:DescribeInstanceRefreshes")
        .count();
    assert!(polls >= 2, "{polls} polls");
    let group = world.sim().world().group(GROUP).unwrap();
    assert_eq!(group.refreshes[0], "Cancelled");
    assert_eq!(group.refreshes.len(), 2);
    assert_eq!(world.probe.templates(GROUP).await.len(), 1);
}

/// Proves: AWS-40.
#[tokio::test(start_paused = true)]
async fn a_cancel_that_finds_nothing_lets_the_start_go_on_at_once() {
    let world = World::simulated();
    let mut pool = finished(&world).await;
    version(&mut pool, "v1.35.0");
    let is_over = Arc::new(Mutex::new(false));
    let state = Arc::clone(&is_over);
    world
        .recorder
        .answer_with(Some(Double::new(move |call: &Recorded| {
            let mut is_over = state.lock().unwrap();
            let answer: Option<Response<Full<Bytes>>> = match call.name.as_str() {
                START if !*is_over => Some(refuse("InstanceRefreshInProgress")),
                START => Some(result(
                    "StartInstanceRefresh",
                    "<InstanceRefreshId>2</InstanceRefreshId>",
                )),
                CANCEL => {
                    *is_over = true;
                    Some(refuse("ActiveInstanceRefreshNotFound"))
                }
                "autoscaling:DescribeInstanceRefreshes" => Some(result(
                    "DescribeInstanceRefreshes",
                    "<InstanceRefreshes><member><InstanceRefreshId>1</InstanceRefreshId>\
                 <Status>InProgress</Status></member></InstanceRefreshes>",
                )),
                _ => None,
            };
            answer
        })));
    let first = world.pass(&mut pool).await;
    assert_eq!(first.call(START).status, 400);
    world.wait(10).await;
    let second = world.pass(&mut pool).await;
    let protocol: Vec<(&str, u16)> = second
        .calls
        .iter()
        .filter(|call| [START, CANCEL].contains(&call.name.as_str()))
        .map(|call| (call.name.as_str(), call.status))
        .collect();
    assert_eq!(protocol, [(CANCEL, 400), (START, 200)]);
}

/// Proves: AWS-41.
#[tokio::test(start_paused = true)]
async fn a_stop_between_update_and_start_leaves_one_refresh_and_no_third_template() {
    for writes_before in 1.. {
        let mut world = World::simulated();
        let mut pool = finished(&world).await;
        version(&mut pool, "v1.35.0");
        let mark = world.recorder.mark();
        world.recorder.stop_after(Some(writes_before));
        let pass = world.pass(&mut pool).await;
        let last = pass.writes().last().copied().unwrap_or_default().to_owned();
        assert_ne!(last, START, "the stop before the start was never reached");
        if last != "autoscaling:UpdateAutoScalingGroup" {
            continue;
        }
        world.restart();
        world.settle(&mut pool).await;
        let calls = world.recorder.since(mark);
        assert_eq!(started(&calls).len(), 1);
        let made = names(&calls)
            .iter()
            .filter(|name| **name == "ec2:CreateLaunchTemplate")
            .count();
        assert_eq!(
            made, 1,
            "beside the first template only the new one was ever made"
        );
        assert_eq!(world.sim().world().group(GROUP).unwrap().refreshes.len(), 1);
        assert_eq!(world.probe.templates(GROUP).await.len(), 1);
        return;
    }
}

/// A start whose answer is lost is not sent again blindly: the next pass finds the refresh.
#[tokio::test(start_paused = true)]
async fn a_lost_answer_to_a_start_does_not_start_a_second_refresh() {
    let world = World::simulated();
    let mut pool = finished(&world).await;
    version(&mut pool, "v1.35.0");
    let lost = Fault::new(remuda_sim::Effect::LostAnswer).on("autoscaling", "StartInstanceRefresh");
    world.sim().faults().script(lost.once());
    world.settle(&mut pool).await;
    assert_eq!(world.sim().world().group(GROUP).unwrap().refreshes.len(), 1);
    assert_eq!(
        world
            .sim()
            .journal()
            .count("autoscaling", "CancelInstanceRefresh"),
        0
    );
}
