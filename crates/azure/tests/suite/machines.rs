//! Pool Machines on: instances end by name, the count follows, Azure chooses nobody; the process may
//! end after any call.

use std::{collections::BTreeSet, time::Duration};

use remuda_cloud::Applied;
use remuda_plan::{
    azure::{
        action::{Action as Call, SetPatch, Sku},
        image::ImageReference,
    },
    machines::group::{GroupMember, GroupWish, Leaving},
    pool::action::{Action, Outlook},
};
use remuda_sim::azure::Timing;
use serde_json::json;

use crate::harness::{
    Pass, World,
    demo::{NEXT_SET, Pool, SET},
    wire::Recorded,
};

/// Guests approve their end after a while, as the node agent does.
fn world() -> World {
    let timing = Timing {
        terminate_approval: Some(Duration::from_secs(20)),
        ..Timing::realistic()
    };
    let mut world = World::with(|sim| sim.timing(timing), |options| options);
    world.machines_off = false;
    world
}

/// What the pool's Machines would ask for: drains are over at once, a surge of one.
fn decide(pool: &mut Pool, members: &[GroupMember]) {
    let replicas = pool.inputs.replicas;
    let mut ends = pool.wish.take().map(|wish| wish.ends).unwrap_or_default();
    ends.retain(|id| members.iter().any(|it| it.member.provider_id == *id));
    let stays = |it: &&GroupMember, ends: &BTreeSet<String>| {
        it.leaving.is_none() && !ends.contains(&it.member.provider_id)
    };
    let runs = members
        .iter()
        .filter(|it| stays(it, &ends) && it.member.reason.is_none());
    let staying: Vec<&GroupMember> = members.iter().filter(|it| stays(it, &ends)).collect();
    let first = staying
        .iter()
        .filter(|it| it.outdated)
        .chain(&staying)
        .next();
    if i64::try_from(runs.count()).unwrap() > replicas
        && let Some(first) = first
    {
        ends.insert(first.member.provider_id.clone());
    }
    let is_rolling = members.iter().any(|it| it.outdated && stays(&it, &ends));
    pool.wish = Some(GroupWish {
        capacity: replicas + i64::from(is_rolling),
        ends,
        ..GroupWish::default()
    });
}

/// A pass with what Machines ask for, and the time until the next.
async fn pass(world: &World, pool: &mut Pool) -> Pass {
    let members = world.members(pool).await;
    decide(pool, &members);
    let pass = world.pass(pool).await;
    assert!(pass.refused.is_empty(), "{:?}", pass.refused);
    world.wait(15).await;
    pass
}

/// Passes until nothing is left to do.
async fn settle(world: &World, pool: &mut Pool) {
    let mut at_rest = 0;
    for _ in 0..200 {
        let pass = pass(world, pool).await;
        let members = world.members(pool).await;
        let is_at_rest = members
            .iter()
            .all(|it| it.leaving.is_none() && !it.outdated && it.member.reason.is_none());
        let count = i64::try_from(members.len()).unwrap();
        // An old set goes in a pass of its own, once its last instance has gone.
        let is_alone = world.sim.world().scale_sets().len() == 1;
        let is_complete = is_at_rest && is_alone && count == pool.inputs.replicas;
        let is_settled = pass.is_settled() && is_complete;
        at_rest = if is_settled { at_rest + 1 } else { 0 };
        if at_rest == 2 {
            return;
        }
    }
    panic!("not settled: {:?}", world.sim.world().scale_sets());
}

async fn settled() -> (World, Pool) {
    let world = world();
    let mut pool = Pool::demo();
    settle(&world, &mut pool).await;
    (world, pool)
}

/// The ids of a set's instances.
fn instances(world: &World, set: &str) -> Vec<String> {
    let set = world.sim.world().scale_set(set).unwrap();
    set.instances.into_iter().map(|it| it.instance_id).collect()
}

fn end(pool: &mut Pool, id: &str) {
    let wish = pool.wish.as_mut().expect("Machines asked before");
    wish.ends.insert(id.to_owned());
}

fn ended(calls: &[Recorded]) -> Vec<String> {
    let posts = calls.iter().filter(|call| call.name == "POST delete");
    posts
        .filter(|call| call.status < 300)
        .map(|call| call.json()["instanceIds"].to_string())
        .collect()
}

/// Instances by set that calls ended by name.
fn named(calls: &[Recorded]) -> BTreeSet<(String, u64)> {
    let posts = calls.iter().filter(|call| call.name == "POST delete");
    posts
        .filter(|call| call.status < 300)
        .flat_map(|call| {
            let set = call.path.rsplit('/').nth(1).unwrap().to_owned();
            let ids = call.json()["instanceIds"].as_array().unwrap().clone();
            ids.into_iter()
                .map(move |id| (set.clone(), id.as_str().unwrap().parse().unwrap()))
        })
        .collect()
}

/// Nobody made a set smaller but by ending instances by name: whoever is missing, of those there
/// were at first and of those that came (Azure counts them through), was named.
fn assert_nobody_was_taken(world: &World, calls: &[Recorded]) {
    let there: BTreeSet<(String, u64)> = world
        .sim
        .world()
        .scale_sets()
        .into_iter()
        .flat_map(|set| {
            let ids = set.instances.into_iter();
            ids.map(move |it| (set.name.clone(), it.instance_id.parse().unwrap()))
        })
        .collect();
    let named = named(calls);
    let at_first = (0..3).map(|id| (SET.to_owned(), id));
    let came = there
        .iter()
        .flat_map(|(set, last)| (0..=*last).map(|id| (set.clone(), id)));
    for instance in at_first.chain(came) {
        let is_accounted_for = there.contains(&instance) || named.contains(&instance);
        assert!(is_accounted_for, "Azure chose {instance:?}");
    }
    for setting in world.sim.world().settings() {
        assert!(
            setting.activities.iter().all(|it| it.to >= it.from),
            "{:?}",
            setting.activities
        );
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_is_ended_is_replaced_in_the_same_pass() {
    let (world, mut pool) = settled().await;
    let id = world.members(&pool).await[1].member.provider_id.clone();
    end(&mut pool, &id);
    let mark = world.recorder.mark();
    let pass = world.tend_pass(&mut pool).await;
    let post = pass.call("POST delete");
    assert_eq!(post.json(), json!({ "instanceIds": ["1"] }));
    assert!(post.path.ends_with(&format!("/{SET}/delete")));
    let patch = pass.call("PATCH virtualMachineScaleSets");
    assert_eq!(
        patch.json(),
        json!({ "sku": { "name": "Standard_D4s_v5", "tier": "Standard", "capacity": 3 } })
    );
    assert!(patch.headers.contains_key("if-match"));
    assert!(
        !patch.headers["if-match"].is_empty(),
        "only the set that was seen is changed"
    );
    let members = world.members(&pool).await;
    assert!(
        matches!(members[1].leaving, Some(Leaving::Held { .. })),
        "Azure waits for the guest: {:?}",
        members[1]
    );
    assert!(members[0].launched_at.is_some());
    settle(&world, &mut pool).await;
    assert_eq!(instances(&world, SET), ["0", "2", "3"]);
    assert_eq!(ended(&world.recorder.since(mark)), [r#"["1"]"#]);
    assert_nobody_was_taken(&world, &world.recorder.since(mark));
}

#[tokio::test(start_paused = true)]
async fn a_lower_count_ends_whom_machines_chose() {
    let (world, mut pool) = settled().await;
    let mark = world.recorder.mark();
    pool.inputs.replicas = 2;
    settle(&world, &mut pool).await;
    world.wait(600).await;
    assert_eq!(instances(&world, SET), ["1", "2"]);
    let calls = world.recorder.since(mark);
    assert_eq!(ended(&calls), [r#"["0"]"#]);
    assert!(
        calls
            .iter()
            .all(|call| call.name != "PATCH virtualMachineScaleSets")
    );
    let setting = world
        .sim
        .world()
        .setting(&format!("{SET}-autoscale"))
        .unwrap();
    assert_eq!((setting.minimum, setting.maximum), (2, 1000));
    assert_nobody_was_taken(&world, &calls);
    assert_eq!(pool.outputs().replicas, Some(2));
}

/// Azure may refuse other calls while it deletes instances: then they wait, and nothing failed.
#[tokio::test(start_paused = true)]
async fn a_set_that_azure_works_on_takes_the_next_call_later() {
    let mut world = World::with(
        |sim| {
            sim.behaviour(remuda_sim::azure::Behaviour {
                instance_deletions_lock_sets: true,
                ..remuda_sim::azure::Behaviour::default()
            })
        },
        |options| options,
    );
    world.machines_off = false;
    let mut pool = Pool::demo();
    settle(&world, &mut pool).await;
    let ids: Vec<String> = world
        .members(&pool)
        .await
        .into_iter()
        .map(|it| it.member.provider_id)
        .collect();
    end(&mut pool, &ids[0]);
    let first = world.tend_pass(&mut pool).await;
    assert!(first.failed.is_none(), "{:?}", first.failed);
    assert!(first.pending.is_some(), "its successor waits");
    end(&mut pool, &ids[1]);
    let second = world.tend_pass(&mut pool).await;
    assert!(second.failed.is_none() && second.pending.is_some());
    settle(&world, &mut pool).await;
    assert_eq!(instances(&world, SET).len(), 3);
    assert!(!instances(&world, SET).contains(&"0".to_owned()));
    assert!(!instances(&world, SET).contains(&"1".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_vanished_meanwhile_is_no_failure() {
    let (world, pool) = settled().await;
    let session = world.session().await;
    let handle = world.handle(&pool);
    assert!(world.sim.world().operate(SET, 1, "vanish"));
    let action = Action::Azure(Call::DeleteInstances {
        set: SET.to_owned(),
        instance_ids: ["0", "1"].map(str::to_owned).into(),
    });
    let applied = session.apply(&handle, &action).await.unwrap();
    assert!(matches!(applied, Applied::Pending { .. }), "{applied:?}");
    let action = Action::Azure(Call::DeleteInstances {
        set: "gone".to_owned(),
        instance_ids: ["0".to_owned()].into(),
    });
    let applied = session.apply(&handle, &action).await.unwrap();
    assert_eq!(applied, Applied::AlreadySo);
}

#[tokio::test(start_paused = true)]
async fn a_count_that_is_not_the_one_seen_is_left_alone() {
    let (world, pool) = settled().await;
    let session = world.session().await;
    let handle = world.handle(&pool);
    let mark = world.recorder.mark();
    let action = Action::Azure(Call::ResizeSet {
        set: SET.to_owned(),
        vm_size: "Standard_D4s_v5".to_owned(),
        from: 4,
        to: 2,
    });
    let applied = session.apply(&handle, &action).await.unwrap();
    assert!(matches!(applied, Applied::Pending { .. }), "{applied:?}");
    assert!(
        world
            .recorder
            .since(mark)
            .iter()
            .all(|call| !call.is_write())
    );
    assert_eq!(world.sim.world().scale_set(SET).unwrap().capacity, 3);
}

/// The new set grew since it was read: completing it must not make it small again.
#[tokio::test(start_paused = true)]
async fn completing_a_set_that_grew_meanwhile_takes_nobody() {
    let (world, pool) = settled().await;
    let session = world.session().await;
    let handle = world.handle(&pool);
    let mark = world.recorder.mark();
    let image = pool.variables["image_id"].as_str().unwrap();
    let image = image.replace("{semver}", "1.34.1");
    let patch = |capacity, only_from| {
        Action::Azure(Call::UpdateSet(Box::new(SetPatch {
            sku: Some(Sku {
                vm_size: "Standard_D4s_v5".to_owned(),
                capacity,
                only_from,
            }),
            ..SetPatch::new(SET, ImageReference::Community(image.clone()))
        })))
    };
    let applied = session.apply(&handle, &patch(0, Some(0))).await.unwrap();
    assert!(matches!(applied, Applied::Pending { .. }), "{applied:?}");
    let calls = world.recorder.since(mark);
    assert!(calls.iter().all(|call| !call.is_write()), "{calls:?}");
    assert_eq!(instances(&world, SET).len(), 3);
    // One that is as it was seen takes the patch, and only that one.
    let applied = session.apply(&handle, &patch(3, Some(3))).await.unwrap();
    assert!(matches!(applied, Applied::Started { .. }), "{applied:?}");
    let calls = world.recorder.since(mark);
    let sent = calls.iter().find(|call| call.is_write()).unwrap();
    assert!(sent.headers.contains_key("if-match"));
}

#[tokio::test(start_paused = true)]
async fn a_roll_ends_the_old_instances_one_by_one() {
    let (world, mut pool) = settled().await;
    let mark = world.recorder.mark();
    pool.version("v1.34.2");
    settle(&world, &mut pool).await;
    world.wait(600).await;
    let calls = world.recorder.since(mark);
    assert_eq!(ended(&calls), [r#"["0"]"#, r#"["1"]"#, r#"["2"]"#]);
    assert_nobody_was_taken(&world, &calls);
    let sets = world.sim.world().scale_sets();
    assert_eq!(sets.len(), 1);
    assert_eq!(sets[0].name, NEXT_SET);
    assert_eq!(sets[0].capacity, 3);
    let put = calls
        .iter()
        .find(|call| call.name == "PUT virtualMachineScaleSets")
        .unwrap();
    assert_eq!(put.json()["sku"]["capacity"], 0);
    pass(&world, &mut pool).await;
    assert!(pool.remembered().retiring.is_empty());
    let last = pass(&world, &mut pool).await;
    assert!(last.calls.iter().all(|call| !call.is_write()));
    assert_eq!(last.outlook, Some(Outlook::Settled));
}

/// Proves: AZURE-111.
#[tokio::test(start_paused = true)]
async fn both_generations_are_published_while_they_hold_instances() {
    let (world, mut pool) = settled().await;
    pool.version("v1.34.2");
    let mut seen_both = 0;
    for _ in 0..40 {
        pass(&world, &mut pool).await;
        world.refresh(&mut pool).await.unwrap();
        let outputs = pool.outputs();
        let mut all: Vec<String> = world
            .sim
            .world()
            .scale_sets()
            .iter()
            .flat_map(|set| &set.instances)
            .map(|instance| format!("azure://{}", instance.id))
            .collect();
        all.sort();
        assert_eq!(outputs.provider_id_list, all);
        assert_eq!(outputs.replicas, Some(3), "a surge is nobody's wish");
        let holds = |set: &str| all.iter().any(|id| id.contains(set));
        seen_both += usize::from(holds(SET) && holds(NEXT_SET));
    }
    assert!(seen_both > 2, "{seen_both}");
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scenario {
    End,
    Fewer,
    More,
    Roll,
}

impl Scenario {
    async fn begin(self) -> (World, Pool) {
        let (world, mut pool) = settled().await;
        match self {
            Self::End => {
                let id = world.members(&pool).await[0].member.provider_id.clone();
                end(&mut pool, &id);
            }
            Self::Fewer => pool.inputs.replicas = 1,
            Self::More => pool.inputs.replicas = 5,
            Self::Roll => pool.version("v1.34.2"),
        }
        (world, pool)
    }

    async fn finish(self, world: &World, pool: &mut Pool) -> Vec<(String, u32, usize)> {
        settle(world, pool).await;
        world.wait(900).await;
        let sets = world.sim.world().scale_sets().into_iter();
        sets.map(|set| (set.name, set.capacity, set.instances.len()))
            .collect()
    }
}

/// The process ends right after any single write, of the cloud or of the record.
async fn survives(scenario: Scenario, least: usize) {
    for stop in 1.. {
        let (mut world, mut pool) = scenario.begin().await;
        let mark = world.recorder.mark();
        let before = world.recorder.writes_made();
        world.recorder.stop_after(Some(stop));
        let mut is_stopped = false;
        for _ in 0..120 {
            pass(&world, &mut pool).await;
            is_stopped = world.recorder.writes_made() - before >= stop;
            if is_stopped {
                break;
            }
        }
        if !is_stopped {
            assert!(stop > least, "{scenario:?} makes more than {stop} writes");
            return;
        }
        world.restart();
        let end = scenario.finish(&world, &mut pool).await;
        let expected = match scenario {
            Scenario::End => (SET, 3),
            Scenario::Fewer => (SET, 1),
            Scenario::More => (SET, 5),
            Scenario::Roll => (NEXT_SET, 3),
        };
        let expected = (expected.0.to_owned(), expected.1, expected.1 as usize);
        assert_eq!(end, [expected], "{scenario:?} stopped after write {stop}");
        assert_nobody_was_taken(&world, &world.recorder.since(mark));
    }
}

#[tokio::test(start_paused = true)]
async fn ending_and_resizing_survive_a_stop_after_any_write() {
    survives(Scenario::End, 2).await;
    survives(Scenario::Fewer, 3).await;
    survives(Scenario::More, 2).await;
}

#[tokio::test(start_paused = true)]
async fn a_roll_with_machines_survives_a_stop_after_any_write() {
    survives(Scenario::Roll, 12).await;
}
