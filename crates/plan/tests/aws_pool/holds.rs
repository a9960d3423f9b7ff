//! The lifecycle hook: put and deleted with the Machines, what it holds, and for how long.

use remuda_plan::{
    aws::observed::Departure,
    machines::group::Leaving,
    pool::{
        action::{Action as Any, Outlook},
        drift,
    },
};
use serde_json::json;

use super::{
    cloud::{End, applied, name_of},
    demo::demo,
    machines::{ask, hold, id_at, pool, provider, tended},
};

#[test]
fn a_group_with_machines_is_made_with_a_hook_and_settles() {
    let (cloud, demo) = applied(pool(demo()));
    let hook = cloud.hook.clone().expect("a hook");
    assert_eq!(hook.transition, "autoscaling:EC2_INSTANCE_TERMINATING");
    assert_eq!(
        (hook.heartbeat_seconds, hook.default_result.as_str()),
        (300, "CONTINUE")
    );
    let plan = cloud.plan(&demo).expect("a plan can be made");
    assert_eq!((plan.steps.len(), plan.outlook), (0, Outlook::Settled));
    let sizes = (cloud.group().min_size, cloud.group().max_size);
    assert_eq!(sizes, (3, 3));
}

/// Proves ours: AWS-114.
#[test]
fn a_group_from_before_gets_the_hook_and_loses_it_with_its_machines() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = pool(demo);
    assert_eq!(cloud.settle(&mut demo), ["PutLifecycleHook"]);
    assert!(demo.remembered().hook.is_some());
    // Changed by hand: put back, and that is drift.
    cloud.hook.as_mut().expect("a hook").heartbeat_seconds = 7200;
    let plan = cloud.plan(&demo).expect("a plan can be made");
    assert_eq!(drift::summary(&plan).expect("drift").update, 1);
    assert_eq!(cloud.settle(&mut demo), ["PutLifecycleHook"]);
    let mut demo = demo.var("drain_heartbeat_seconds", json!(60));
    assert_eq!(cloud.settle(&mut demo), ["PutLifecycleHook"]);
    // Another limit is for us alone.
    let mut demo = demo.var("drain_limit_seconds", json!(900));
    assert!(cloud.settle(&mut demo).is_empty());
    assert_eq!(demo.remembered().hook.expect("a hook").limit_seconds, 900);

    demo.wish = None;
    assert_eq!(cloud.settle(&mut demo), ["DeleteLifecycleHook"]);
    assert!(cloud.hook.is_none() && demo.remembered().hook.is_none());
}

#[test]
fn why_an_instance_leaves_is_told_in_few_words() {
    let rows = [
        (
            "instance was taken out of service in response to an instance refresh",
            "instance refresh",
        ),
        (
            "taken out of service in response to an EC2 instance rebalance recommendation",
            "spot rebalancing",
        ),
        (
            "taken out of service in response to a Spot Instance interruption notice",
            "spot interruption",
        ),
        (
            "in response to an EC2 health check indicating it has been terminated or stopped",
            "health check",
        ),
        (
            "instance i-1 was taken out of service in response to a user request.",
            "asked for",
        ),
        ("something new", "the group ends it"),
    ];
    let (mut cloud, demo) = applied(pool(demo()));
    let id = id_at(&cloud, 0);
    hold(&mut cloud, &id);
    for (cause, expected) in rows {
        let departure = Departure {
            since: None,
            cause: cause.to_owned(),
        };
        cloud.departures.insert(id.clone(), departure);
        let seen = cloud.group_members(&demo);
        let Some(Leaving::Held { because, .. }) = &seen[0].leaving else {
            panic!("{:?}", seen[0]);
        };
        assert_eq!(because, expected, "{cause}");
    }
}

#[test]
fn a_held_instance_is_kept_by_heartbeats_and_let_go_when_drained() {
    let (mut cloud, mut demo) = applied(pool(demo()));
    let id = id_at(&cloud, 0);
    hold(&mut cloud, &id);
    cloud.tick();
    ask(&mut demo).holds.insert(provider(&id));
    let start = demo.now;
    let mut beats = Vec::new();
    while demo.now - start < 700 {
        let plan = cloud.tend(&demo);
        let Outlook::LookAgain { after_seconds, .. } = plan.outlook else {
            panic!("a drain is watched: {plan:?}");
        };
        assert!(after_seconds <= 100, "a heartbeat must not come too late");
        if plan
            .steps
            .iter()
            .any(|s| name_of(&s.action) == "RecordLifecycleActionHeartbeat")
        {
            beats.push(demo.now - start);
        }
        cloud.run(&mut demo, &plan, usize::MAX);
        demo.now += 10;
    }
    assert_eq!(beats, [100, 200, 300, 400, 500, 600]);
    assert_eq!(cloud.count("CompleteLifecycleAction"), 0);

    let asked = ask(&mut demo);
    asked.holds.clear();
    asked.ends.insert(provider(&id));
    tended(&mut cloud, &mut demo, 3);
    assert_eq!(cloud.count("CompleteLifecycleAction"), 1);
    assert_eq!(cloud.count("TerminateInstanceInAutoScalingGroup"), 0);
    assert!(demo.remembered().held.is_empty());
}

/// Proves ours: AWS-118.
#[test]
fn a_drain_that_takes_all_its_time_is_over() {
    let (mut cloud, demo) = applied(pool(demo().var("drain_limit_seconds", json!(600))));
    let mut demo = demo;
    let id = id_at(&cloud, 0);
    hold(&mut cloud, &id);
    ask(&mut demo).holds.insert(provider(&id));
    let start = demo.now;
    while cloud.count("CompleteLifecycleAction") == 0 {
        let plan = cloud.tend(&demo);
        cloud.run(&mut demo, &plan, usize::MAX);
        let Outlook::LookAgain { after_seconds, .. } = plan.outlook else {
            break;
        };
        demo.now += i64::from(after_seconds);
    }
    assert_eq!(cloud.count("RecordLifecycleActionHeartbeat"), 5);
    assert!(
        (600..=600 + 100).contains(&(demo.now - start)),
        "{}",
        demo.now - start
    );
}

#[test]
fn a_hook_of_somebody_else_is_nothing_we_can_answer() {
    let (mut cloud, demo) = applied(demo());
    let id = id_at(&cloud, 0);
    hold(&mut cloud, &id);
    let mut demo = pool(demo);
    ask(&mut demo).holds.insert(provider(&id));
    assert_eq!(cloud.group_members(&demo)[0].leaving, Some(Leaving::Ending));
    assert!(cloud.tend(&demo).steps.is_empty());
}

#[test]
fn a_lost_heartbeat_is_made_up_for_in_time() {
    let (mut cloud, mut demo) = applied(pool(demo()));
    let id = id_at(&cloud, 0);
    hold(&mut cloud, &id);
    ask(&mut demo).holds.insert(provider(&id));
    let first = cloud.tend(&demo);
    cloud.run(&mut demo, &first, usize::MAX);
    demo.now += 100;
    // Recorded, and the process dies before the call.
    let plan = cloud.tend(&demo);
    assert_eq!(cloud.run(&mut demo, &plan, 1), End::Crashed);
    assert_eq!(cloud.count("RecordLifecycleActionHeartbeat"), 0);
    demo.now += 100;
    let plan = cloud.tend(&demo);
    cloud.run(&mut demo, &plan, usize::MAX);
    assert_eq!(
        cloud.count("RecordLifecycleActionHeartbeat"),
        1,
        "before 300 s are over"
    );
}

#[test]
fn a_deleted_pool_lets_its_held_instances_go() {
    let (mut cloud, mut demo) = applied(pool(demo()));
    demo.now += 60;
    let plan = cloud.teardown(&demo);
    let calls: Vec<&str> = plan
        .steps
        .iter()
        .filter(|step| !matches!(step.action, Any::Remember(_)))
        .map(|step| name_of(&step.action))
        .collect();
    assert_eq!(calls, ["DeleteLifecycleHook", "UpdateAutoScalingGroup"]);
    cloud.run(&mut demo, &plan, usize::MAX);
    cloud.tick();
    assert!(cloud.group().instances.is_empty());
}

#[test]
fn time_limits_of_a_drain_keep_to_what_aws_allows() {
    let rows = [
        ("drain_heartbeat_seconds", json!(29), "V-22"),
        ("drain_heartbeat_seconds", json!(7201), "V-22"),
        ("drain_limit_seconds", json!(29), "V-23"),
        ("drain_limit_seconds", json!(172_801), "V-23"),
    ];
    for (name, value, code) in rows {
        let refused = demo().var(name, value).refused();
        assert_eq!(refused, [(code, name.to_owned())]);
    }
    // A hundred heartbeats are all there are.
    let good = pool(demo())
        .var("drain_heartbeat_seconds", json!(30))
        .var("drain_limit_seconds", json!(86_400))
        .good();
    let hook = good.group.hook.expect("a hook");
    assert_eq!(hook.limit_seconds, 3000);
}
