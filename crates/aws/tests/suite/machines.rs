//! A pool with Machines (AWS document 5.5 and 13.10): what they see of the group, and what is done
//! when they ask, against the simulator.

use std::collections::{BTreeMap, BTreeSet};

use remuda_plan::{
    aws::action::Action,
    machines::group::{GroupMember, Leaving},
    pool::action::{Action as Any, Outlook},
};
use serde_json::json;

use crate::harness::{
    Pass, World,
    demo::{GROUP, Pool},
    names,
    wire::Recorded,
    writes,
};

const HELD: &str = "Terminating:Wait";

/// A running pool of this size with Machines.
async fn running(replicas: i64) -> (World, Pool) {
    running_with(replicas, |_| {}).await
}

async fn running_with(replicas: i64, change: impl FnOnce(&mut Pool)) -> (World, Pool) {
    let world = World::simulated();
    let mut pool = world.demo_pool();
    pool.resize(replicas);
    change(&mut pool);
    world.settle(&mut pool).await;
    world.wait(60).await;
    (world, pool)
}

/// Instances of the pool that run, by id.
fn live(world: &World) -> BTreeMap<String, String> {
    let instances = world.sim().world().live_instances(GROUP);
    let running = instances
        .into_iter()
        .filter(|i| i.state.name() == "running");
    running.map(|i| (i.id, i.provider_id)).collect()
}

/// Every instance there ever was.
fn launched(world: &World) -> usize {
    world.sim().world().instances().len()
}

fn sizes(world: &World) -> (u32, u32, u32) {
    let group = world.sim().world().group(GROUP).unwrap();
    (group.min, group.max, group.desired)
}

fn lifecycles(world: &World) -> BTreeMap<String, &'static str> {
    let group = world.sim().world().group(GROUP).unwrap();
    group
        .members
        .into_iter()
        .map(|member| (member.instance_id, member.lifecycle))
        .collect()
}

fn ended(calls: &[Recorded]) -> Vec<(&str, &str)> {
    calls
        .iter()
        .filter(|call| call.name.ends_with("TerminateInstanceInAutoScalingGroup"))
        .map(|call| {
            let decrement = call.param("ShouldDecrementDesiredCapacity");
            (call.param("InstanceId"), decrement)
        })
        .collect()
}

/// Every count that a call asked the group for.
fn asked(calls: &[Recorded]) -> Vec<i64> {
    let counts = calls
        .iter()
        .filter(|call| call.name.ends_with("UpdateAutoScalingGroup"));
    counts
        .filter_map(|call| call.param("DesiredCapacity").parse().ok())
        .collect()
}

fn find<'a>(members: &'a [GroupMember], id: &str) -> &'a GroupMember {
    let found = members.iter().find(|seen| seen.member.instance_id == id);
    found.expect("a member")
}

/// Acts as the account's administrator.
fn by_hand(world: &World, action: &str, params: &[(&str, &str)]) {
    let mut named = vec![("AutoScalingGroupName", GROUP)];
    named.extend_from_slice(params);
    world
        .sim()
        .world()
        .by_hand(remuda_sim::aws::DEMO_ACCOUNT, "us-east-1", action, &named)
        .unwrap();
}

async fn held(world: &World, pool: &Pool) -> Vec<(String, String)> {
    let members = world.group_members(pool).await;
    members
        .into_iter()
        .filter_map(|seen| match seen.leaving {
            Some(Leaving::Held { because, until }) => {
                assert!(until.is_some());
                Some((seen.member.provider_id, because))
            }
            Some(Leaving::Ending) | None => None,
        })
        .collect()
}

/// Proves ours: AWS-114.
#[tokio::test(start_paused = true)]
async fn the_hook_comes_with_the_group_and_goes_with_the_machines() {
    let world = World::simulated();
    let mut pool = world.demo_pool();
    pool.resize(3);
    let calls = world.settle(&mut pool).await;
    let create = calls
        .iter()
        .find(|call| call.name.ends_with("CreateAutoScalingGroup"));
    let hook = |name: &str| {
        let prefix = "LifecycleHookSpecificationList.member.1";
        create
            .unwrap()
            .param(&format!("{prefix}.{name}"))
            .to_owned()
    };
    assert_eq!(hook("LifecycleHookName"), "remuda-drain");
    assert_eq!(
        hook("LifecycleTransition"),
        "autoscaling:EC2_INSTANCE_TERMINATING"
    );
    assert_eq!(hook("HeartbeatTimeout"), "300");
    assert_eq!(hook("DefaultResult"), "CONTINUE");
    assert!(
        !names(&calls)
            .iter()
            .any(|name| name.ends_with("PutLifecycleHook"))
    );

    let others = [
        ("LifecycleHookName", "operator"),
        (
            "LifecycleTransition",
            "autoscaling:EC2_INSTANCE_TERMINATING",
        ),
    ];
    by_hand(&world, "PutLifecycleHook", &others);
    pool.wish = None;
    let off = world.settle(&mut pool).await;
    assert_eq!(writes(&off), ["autoscaling:DeleteLifecycleHook"]);
    pool.resize(3);
    let on = world.settle(&mut pool).await;
    assert_eq!(writes(&on), ["autoscaling:PutLifecycleHook"]);
    assert!(writes(&world.settle(&mut pool).await).is_empty());
    let known = world
        .probe
        .autoscaling
        .describe_lifecycle_hooks()
        .auto_scaling_group_name(GROUP)
        .send()
        .await
        .unwrap();
    assert_eq!(known.lifecycle_hooks().len(), 2);
}

/// A record that is lost takes the memory of the hook along; the group still shows it.
#[tokio::test(start_paused = true)]
async fn a_hook_that_no_record_knows_of_goes_when_the_machines_are_off() {
    let (world, mut pool) = running(2).await;
    pool.record = None;
    pool.wish = None;
    let calls = world.settle(&mut pool).await;
    assert_eq!(
        names(&calls)
            .iter()
            .filter(|name| name.ends_with("LifecycleHook"))
            .count(),
        1
    );
    assert!(writes(&calls).contains(&"autoscaling:DeleteLifecycleHook"));
    let left = world
        .probe
        .autoscaling
        .describe_lifecycle_hooks()
        .auto_scaling_group_name(GROUP)
        .send()
        .await
        .unwrap();
    assert!(left.lifecycle_hooks().is_empty());
    let before = world.recorder.mark();
    assert!(writes(&world.settle(&mut pool).await).is_empty());
    let later = world.recorder.since(before);
    let asked = |name: &str| later.iter().any(|call| call.name.ends_with(name));
    assert!(!asked("DescribeLifecycleHooks"), "asked for once");
}

/// Proves ours: AWS-116.
/// Proves: CAPI-98.
#[tokio::test(start_paused = true)]
async fn one_of_three_is_ended_by_its_name_and_the_group_is_never_asked_for_fewer() {
    let (world, mut pool) = running(3).await;
    let before = live(&world);
    let (id, provider) = before.iter().next().unwrap();
    pool.ask().ends.insert(provider.clone());
    let mut calls = world.tend_all(&mut pool).await;
    world.wait(120).await;
    calls.extend(world.tend_all(&mut pool).await);
    calls.extend(world.settle(&mut pool).await);
    assert_eq!(ended(&calls), [(id.as_str(), "false")]);
    assert_eq!(asked(&calls), [0_i64; 0]);
    assert_eq!(sizes(&world), (3, 3, 3));
    let after = live(&world);
    assert_eq!((after.len(), launched(&world)), (3, 4));
    let kept = after.keys().filter(|id| before.contains_key(*id)).count();
    assert_eq!(kept, 2);
}

/// Proves: CAPI-99.
#[tokio::test(start_paused = true)]
async fn a_replacement_restores_the_balance_of_zones_and_touches_nobody_else() {
    let (world, mut pool) = running(6).await;
    let zones = |world: &World| {
        let mut zones: BTreeMap<String, usize> = BTreeMap::new();
        for instance in world.sim().world().live_instances(GROUP) {
            *zones.entry(instance.zone).or_default() += 1;
        }
        zones
    };
    let balanced: BTreeMap<String, usize> = ["us-east-1a", "us-east-1b", "us-east-1c"]
        .map(|zone| (zone.to_owned(), 2))
        .into();
    assert_eq!(zones(&world), balanced);
    let before = live(&world);
    for (id, provider) in before.iter().take(3) {
        pool.ask().ends = BTreeSet::from([provider.clone()]);
        let now = live(&world);
        world.tend_all(&mut pool).await;
        world.wait(120).await;
        assert_eq!(zones(&world), balanced);
        let gone: Vec<&String> = now
            .keys()
            .filter(|id| !live(&world).contains_key(*id))
            .collect();
        assert_eq!(gone, [id]);
    }
}

/// Proves ours: AWS-115.
/// Proves: CAPI-100.
#[tokio::test(start_paused = true)]
async fn lowered_replicas_and_a_deleted_machine_are_one_instance_in_either_order() {
    for lowered_first in [true, false] {
        let (world, mut pool) = running(3).await;
        let (id, provider) = live(&world).into_iter().next().unwrap();
        let mut calls = Vec::new();
        if lowered_first {
            pool.resize(2);
            calls.extend(world.settle(&mut pool).await);
            assert_eq!(sizes(&world), (2, 3, 3), "nobody is drained yet");
            world.wait(120).await;
            assert_eq!(live(&world).len(), 3);
        }
        // In the other order the count falls while the Machine is drained.
        pool.resize(2);
        pool.ask().ends.insert(provider);
        calls.extend(world.tend_all(&mut pool).await);
        world.wait(120).await;
        calls.extend(world.settle(&mut pool).await);
        assert_eq!(ended(&calls), [(id.as_str(), "true")]);
        assert_eq!(sizes(&world), (2, 2, 2));
        assert_eq!((live(&world).len(), launched(&world)), (2, 3));
    }
}

/// Proves ours: AWS-117.
#[tokio::test(start_paused = true)]
async fn what_the_group_ends_by_itself_is_held_until_it_is_drained() {
    let (world, mut pool) = running(3).await;
    // Somebody lowers the count in the console.
    by_hand(&world, "UpdateAutoScalingGroup", &[("MinSize", "0")]);
    by_hand(&world, "SetDesiredCapacity", &[("DesiredCapacity", "2")]);
    world.wait(10).await;
    let seen = held(&world, &pool).await;
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].1, "scale-in");
    let victim = seen[0].0.clone();
    pool.ask().holds.insert(victim.clone());
    let mut calls = Vec::new();
    for _ in 0..20 {
        let pass = world.tend(&mut pool).await;
        calls.extend(pass.calls);
        world.wait(60).await;
    }
    // Twenty minutes with heartbeats: it runs on, and the group is back at three beside it.
    assert_eq!(held(&world, &pool).await, seen);
    assert_eq!(live(&world).len(), 4);
    let beats = names(&calls)
        .iter()
        .filter(|n| n.ends_with("Heartbeat"))
        .count();
    assert!((8..=14).contains(&beats), "{beats}");
    let explained = names(&calls)
        .iter()
        .filter(|n| n.ends_with("ScalingActivities"))
        .count();
    assert!(explained <= 1, "a cause is read once: {explained}");

    pool.ask().holds.clear();
    pool.ask().ends.insert(victim.clone());
    let calls = world.tend_all(&mut pool).await;
    assert_eq!(ended(&calls), []);
    assert!(writes(&calls).contains(&"autoscaling:CompleteLifecycleAction"));
    world.wait(60).await;
    assert!(!live(&world).values().any(|provider| *provider == victim));
    assert_eq!(live(&world).len(), 3);
    world.tend_all(&mut pool).await;
    assert!(pool.remembered().held.is_empty());
}

/// Proves ours: AWS-117.
#[tokio::test(start_paused = true)]
async fn a_refresh_by_hand_is_held_member_by_member() {
    let (world, pool) = running(2).await;
    let preferences = [
        ("Strategy", "Rolling"),
        ("Preferences.MinHealthyPercentage", "100"),
        ("Preferences.MaxHealthyPercentage", "150"),
        ("Preferences.InstanceWarmup", "0"),
    ];
    by_hand(&world, "StartInstanceRefresh", &preferences);
    world.wait(60).await;
    let seen = held(&world, &pool).await;
    assert!(!seen.is_empty());
    assert!(
        seen.iter()
            .all(|(_, because)| because == "instance refresh"),
        "{seen:?}"
    );
}

/// Proves ours: AWS-117.
#[tokio::test(start_paused = true)]
async fn a_spot_notice_is_held_for_the_two_minutes_there_are() {
    let (world, pool) = running_with(2, |pool| pool.set("spot", json!(true))).await;
    let victim = world.sim().world().live_instances(GROUP)[0].clone();
    assert!(world.sim().world().interrupt_spot(&victim.id));
    world.wait(5).await;
    let members = world.group_members(&pool).await;
    let seen = find(&members, &victim.id);
    assert!(seen.interruptible);
    let Some(Leaving::Held {
        because,
        until: Some(until),
    }) = &seen.leaving
    else {
        panic!("{seen:?}");
    };
    assert_eq!(because, "spot interruption");
    let left = until.as_second() - world.now();
    assert!((100..=120).contains(&left), "EC2 takes it then: {left}");
    world.wait(130).await;
    assert!(!live(&world).contains_key(&victim.id));
    assert_eq!(live(&world).len(), 2);
}

/// Proves ours: AWS-118.
#[tokio::test(start_paused = true)]
async fn a_hold_ends_at_its_limit_and_without_heartbeats_at_its_timeout() {
    for heartbeats in [true, false] {
        let limit = |pool: &mut Pool| pool.set("drain_limit_seconds", json!(900));
        let (world, mut pool) = running_with(2, limit).await;
        by_hand(&world, "UpdateAutoScalingGroup", &[("MinSize", "0")]);
        by_hand(&world, "SetDesiredCapacity", &[("DesiredCapacity", "1")]);
        world.wait(5).await;
        let victim = held(&world, &pool).await[0].0.clone();
        pool.ask().holds.insert(victim.clone());
        let start = world.now();
        while live(&world).values().any(|provider| *provider == victim) {
            if heartbeats {
                world.tend(&mut pool).await;
            }
            world.wait(10).await;
            assert!(world.now() - start < 2000, "it never ends");
        }
        let took = world.now() - start;
        let expected = if heartbeats { 890..=930 } else { 285..=320 };
        assert!(expected.contains(&took), "{heartbeats}: {took}");
    }
}

/// Proves ours: AWS-122.
#[tokio::test(start_paused = true)]
async fn what_is_over_may_be_asked_for_again() {
    let (world, mut pool) = running(2).await;
    let (id, provider) = live(&world).into_iter().next().unwrap();
    pool.ask().ends.insert(provider);
    world.tend_all(&mut pool).await;
    world.wait(60).await;
    let session = world.session().await;
    let handle = world.handle(&pool);
    let (group, instance_id) = (GROUP.to_owned(), id);
    let again = [
        Action::EndInstance {
            group: group.clone(),
            instance_id: instance_id.clone(),
            decrement: false,
        },
        Action::CompleteHook {
            group: group.clone(),
            instance_id: instance_id.clone(),
        },
        Action::ProlongHook {
            group: group.clone(),
            instance_id,
        },
        Action::DeleteHook {
            group: group.clone(),
        },
        Action::DeleteHook { group },
    ];
    for action in again {
        session
            .apply(&handle, &Any::Aws(action.clone()))
            .await
            .expect("no failure");
    }
    assert_eq!(sizes(&world), (2, 2, 2));
}

/// Members on their way out are seen, and what is published is what it was.
#[tokio::test(start_paused = true)]
async fn an_instance_that_shuts_down_is_seen_and_not_published() {
    let (world, mut pool) = running(3).await;
    let (id, _) = live(&world).into_iter().next().unwrap();
    world.terminate_instance(&id).await;
    let members = world.group_members(&pool).await;
    assert_eq!(find(&members, &id).leaving, Some(Leaving::Ending));
    assert!(
        members
            .iter()
            .all(|seen| seen.launched_at.is_some() && seen.revision.is_some())
    );
    let outputs = world.refresh_now(&mut pool).await.unwrap();
    assert_eq!(outputs.provider_id_list.len(), 2);
    pool.wish = None;
    assert_eq!(world.refresh_now(&mut pool).await.unwrap(), outputs);
}

/// One scenario of ends: what Machines ask for while they roll, replace or shrink a pool of three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Replace,
    Shrink,
    Roll,
}

#[derive(Debug, PartialEq)]
struct End {
    sizes: (u32, u32, u32),
    live: usize,
    launched: usize,
    templates: usize,
    refreshes: usize,
    is_pending: bool,
    held: usize,
    outdated: usize,
}

/// Runs a scenario; the process ends once after `stop` writes. `None` when it made fewer.
async fn scenario(kind: Kind, stop: Option<usize>) -> Option<End> {
    let (mut world, mut pool) = running(3).await;
    let victims: Vec<String> = live(&world).into_values().collect();
    let before = world.recorder.writes_made();
    let mark = world.recorder.mark();
    world.recorder.stop_after(stop);
    let victims = match kind {
        Kind::Replace => &victims[..1],
        Kind::Shrink => {
            pool.resize(1);
            &victims[..2]
        }
        Kind::Roll => {
            pool.inputs.kubernetes_version = Some("v1.35.0".to_owned());
            &victims[..]
        }
    };
    let mut is_stopped = false;
    let mut round = Vec::from(victims);
    round.reverse();
    while let Some(victim) = round.last().cloned() {
        pool.ask().ends = BTreeSet::from([victim.clone()]);
        let pass = world.pass(&mut pool).await;
        if !is_stopped && stop.is_some_and(|stop| world.recorder.writes_made() - before >= stop) {
            is_stopped = true;
            world.restart();
        }
        world.wait(10).await;
        if is_over(&pass) && !live(&world).values().any(|provider| *provider == victim) {
            round.pop();
        }
    }
    pool.ask().ends.clear();
    world.wait(120).await;
    if stop.is_some() && !is_stopped {
        return None;
    }
    world.settle(&mut pool).await;
    let members = world.group_members(&pool).await;
    let calls = world.recorder.since(mark);
    Some(End {
        sizes: sizes(&world),
        live: live(&world).len(),
        launched: launched(&world),
        templates: world.sim().world().templates().len(),
        refreshes: names(&calls)
            .iter()
            .filter(|name| name.ends_with("InstanceRefresh"))
            .count(),
        is_pending: pool.remembered().pending_roll.is_some(),
        held: lifecycles(&world)
            .values()
            .filter(|state| **state == HELD)
            .count(),
        outdated: members.iter().filter(|seen| seen.outdated).count(),
    })
}

fn is_over(pass: &Pass) -> bool {
    matches!(
        pass.outlook,
        Some(Outlook::Settled | Outlook::LookAgain { .. })
    ) && pass.failed.is_none()
}

/// Proves ours: AWS-119, AWS-120.
#[tokio::test(start_paused = true)]
async fn ends_and_rolls_survive_a_stop_after_any_write() {
    for kind in [Kind::Replace, Kind::Shrink, Kind::Roll] {
        let whole = scenario(kind, None).await.unwrap();
        let (replicas, made) = match kind {
            Kind::Replace => (3, 4),
            Kind::Shrink => (1, 3),
            Kind::Roll => (3, 6),
        };
        assert_eq!(whole.sizes, (replicas, replicas, replicas), "{kind:?}");
        assert_eq!(
            (whole.live, whole.launched),
            (replicas as usize, made),
            "{kind:?}"
        );
        assert_eq!(
            (whole.templates, whole.refreshes, whole.outdated),
            (1, 0, 0),
            "{kind:?}"
        );
        for stop in 1.. {
            let Some(end) = scenario(kind, Some(stop)).await else {
                assert!(stop > 2, "{kind:?} makes more writes than that");
                break;
            };
            assert_eq!(end, whole, "{kind:?} stopped after write {stop}");
        }
    }
}

/// The answer to a call that ends an instance is lost: the next pass looks before it asks again.
#[tokio::test(start_paused = true)]
async fn a_lost_answer_ends_nobody_twice() {
    for call in 0..3 {
        let (world, mut pool) = running(3).await;
        let before = live(&world);
        let (id, provider) = before.iter().next().unwrap();
        pool.resize(2);
        pool.ask().ends.insert(provider.clone());
        world.recorder.lose_answer(Some(call));
        world.tend_all(&mut pool).await;
        world.recorder.lose_answer(None);
        world.wait(120).await;
        world.settle(&mut pool).await;
        assert_eq!(sizes(&world), (2, 2, 2), "{call}");
        let gone: Vec<&String> = before
            .keys()
            .filter(|id| !live(&world).contains_key(*id))
            .collect();
        assert_eq!((gone, launched(&world)), (vec![id], 3), "{call}");
    }
}
