//! The process ends right after any single write, of the cloud or of the record: the end is the
//! same as without, nothing is doubled, nothing is orphaned (design 4).

use std::collections::BTreeMap;

use serde_json::json;

use crate::harness::{
    World,
    demo::{BUCKET, GROUP, Pool},
};

/// The end of a scenario, without ids and times.
#[derive(Debug, PartialEq)]
struct End {
    groups: Vec<GroupEnd>,
    templates: Vec<(u64, bool, Option<String>)>,
    objects: BTreeMap<String, Vec<u8>>,
    refreshes_accepted: usize,
    is_pending: bool,
}

#[derive(Debug, PartialEq)]
struct GroupEnd {
    name: String,
    sizes: (u32, u32, u32),
    subnets: Vec<String>,
    tags: BTreeMap<String, (String, bool)>,
    suspended: Vec<&'static str>,
    policies: Vec<(String, String)>,
    is_on_the_latest: bool,
}

impl End {
    fn of(world: &World, pool: &Pool, mark: usize) -> Self {
        let hands = world.sim().world();
        let templates = hands.templates();
        let groups = hands
            .groups()
            .into_iter()
            .map(|group| GroupEnd {
                is_on_the_latest: templates
                    .iter()
                    .any(|template| template.name == group.template.0)
                    && group.template.1 == "$Latest",
                name: group.name,
                sizes: (group.min, group.max, group.desired),
                subnets: group.subnets,
                tags: group.tags,
                suspended: group.suspended,
                policies: group
                    .policies
                    .into_iter()
                    .map(|(name, target)| (name, target.to_string()))
                    .collect(),
            })
            .collect();
        let objects = hands
            .object_keys(BUCKET)
            .into_iter()
            .map(|key| {
                let body = hands.object(BUCKET, &key).unwrap().to_vec();
                (key, body)
            })
            .collect();
        let calls = world.recorder.since(mark);
        Self {
            groups,
            templates: templates
                .into_iter()
                .map(|template| {
                    let is_default = template.default_version == template.latest_version;
                    (template.latest_version, is_default, template.user_data)
                })
                .collect(),
            objects,
            refreshes_accepted: calls
                .iter()
                .filter(|call| call.name.ends_with("StartInstanceRefresh") && call.status == 200)
                .count(),
            is_pending: pool.remembered().pending_roll.is_some(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scenario {
    Create,
    CreateAutoscaled,
    Update,
    Roll,
    Delete,
}

impl Scenario {
    /// The world before, and the pool as it is wished for.
    async fn begin(self) -> (World, Pool) {
        let world = World::simulated();
        let mut pool = world.demo_pool();
        if self == Self::CreateAutoscaled {
            pool.autoscale(2, 5);
        }
        if matches!(self, Self::Create | Self::CreateAutoscaled) {
            return (world, pool);
        }
        world.settle(&mut pool).await;
        world.wait(60).await;
        match self {
            Self::Update => {
                pool.inputs.replicas = 4;
                pool.set("instance_type", json!("m6i.xlarge"));
                pool.set("additional_tags", json!({ "team": "data" }));
                pool.bootstrap(b"#cloud-config\nruncmd: [echo rotated]\n");
            }
            Self::Roll => pool.inputs.kubernetes_version = Some("v1.35.0".to_owned()),
            _ => {}
        }
        (world, pool)
    }

    async fn finish(self, world: &World, pool: &mut Pool) {
        if self == Self::Delete {
            world.delete(pool).await;
        } else {
            world.settle(pool).await;
        }
    }

    /// Passes until the stop, or to the end.
    async fn until_stopped(self, world: &World, pool: &mut Pool, stop: usize) -> bool {
        let before = world.recorder.writes_made();
        world.recorder.stop_after(Some(stop));
        for _ in 0..20 {
            let pass = match self {
                Self::Delete => world.teardown_pass(pool).await,
                _ => world.pass(pool).await,
            };
            if world.recorder.writes_made() - before >= stop {
                return true;
            }
            if pass.is_settled() {
                return false;
            }
            world.wait(10).await;
        }
        panic!("{self:?} neither stops nor settles");
    }
}

async fn survives(scenario: Scenario) {
    let (world, mut pool) = scenario.begin().await;
    let mark = world.recorder.mark();
    scenario.finish(&world, &mut pool).await;
    let expected = End::of(&world, &pool, mark);
    for stop in 1.. {
        let (mut world, mut pool) = scenario.begin().await;
        let mark = world.recorder.mark();
        if !scenario.until_stopped(&world, &mut pool, stop).await {
            assert!(stop > 3, "{scenario:?} makes more writes than that");
            return;
        }
        world.restart();
        scenario.finish(&world, &mut pool).await;
        let mut end = End::of(&world, &pool, mark);
        // A version made twice is no harm: nothing launches from the older one.
        for (latest, ..) in &mut end.templates {
            let wanted = expected.templates.first().map_or(0, |(latest, ..)| *latest);
            assert!(
                *latest <= wanted + 1,
                "{scenario:?} stopped after write {stop}"
            );
            *latest = wanted;
        }
        assert_eq!(end, expected, "{scenario:?} stopped after write {stop}");
        if scenario != Scenario::Delete {
            assert_eq!(end.groups.len(), 1);
            assert_eq!(end.groups[0].name, GROUP);
            assert!(world.pass(&mut pool).await.is_settled());
        }
    }
}

/// The same when the process goes on and only the answer to a call is lost.
async fn survives_lost_answers(scenario: Scenario) {
    let (world, mut pool) = scenario.begin().await;
    let mark = world.recorder.mark();
    scenario.finish(&world, &mut pool).await;
    let expected = End::of(&world, &pool, mark);
    for call in 0.. {
        let (world, mut pool) = scenario.begin().await;
        let mark = world.recorder.mark();
        world.recorder.lose_answer(Some(call));
        scenario.finish(&world, &mut pool).await;
        if !world.recorder.lose_answer(None) {
            assert!(call > 1, "{scenario:?} makes more calls than that");
            return;
        }
        let mut end = End::of(&world, &pool, mark);
        for (latest, ..) in &mut end.templates {
            let wanted = expected.templates.first().map_or(0, |(latest, ..)| *latest);
            assert!(
                *latest <= wanted + 1,
                "{scenario:?} lost the answer to call {call}"
            );
            *latest = wanted;
        }
        assert_eq!(end, expected, "{scenario:?} lost the answer to call {call}");
    }
}

/// Reads lag behind writes: a pass may not see what the one before it made.
#[tokio::test(start_paused = true)]
async fn late_reads_orphan_nothing() {
    for scenario in [Scenario::Create, Scenario::Update, Scenario::Roll] {
        let (world, mut pool) = scenario.begin().await;
        let mark = world.recorder.mark();
        scenario.finish(&world, &mut pool).await;
        let expected = End::of(&world, &pool, mark);

        let (world, mut pool) = scenario.begin().await;
        let mark = world.recorder.mark();
        // A pass takes about 70 s: each sees the world as it was before the one before it.
        world
            .sim()
            .world()
            .set_read_lag(std::time::Duration::from_secs(100));
        for _ in 0..10 {
            world.pass(&mut pool).await;
            world.wait(10).await;
        }
        if scenario == Scenario::Create {
            let taken = world
                .sim()
                .journal()
                .named("autoscaling", "CreateAutoScalingGroup");
            assert!(
                taken.len() > 1,
                "a pass made the group again that it could not see"
            );
        }
        world.sim().world().set_read_lag(std::time::Duration::ZERO);
        scenario.finish(&world, &mut pool).await;
        let end = End::of(&world, &pool, mark);
        assert_eq!(end.groups, expected.groups, "{scenario:?}");
        assert_eq!(
            end.refreshes_accepted, expected.refreshes_accepted,
            "{scenario:?}"
        );
        world.delete(&mut pool).await;
        assert_eq!(world.sim().world().templates().len(), 0, "{scenario:?}");
        assert_eq!(world.sim().world().groups().len(), 0, "{scenario:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn lost_answers_double_nothing() {
    for scenario in [
        Scenario::Create,
        Scenario::CreateAutoscaled,
        Scenario::Update,
        Scenario::Roll,
        Scenario::Delete,
    ] {
        survives_lost_answers(scenario).await;
    }
}

#[tokio::test(start_paused = true)]
async fn creation_survives_a_stop_after_any_write() {
    survives(Scenario::Create).await;
    survives(Scenario::CreateAutoscaled).await;
}

#[tokio::test(start_paused = true)]
async fn an_update_survives_a_stop_after_any_write() {
    survives(Scenario::Update).await;
}

#[tokio::test(start_paused = true)]
async fn a_roll_survives_a_stop_after_any_write() {
    survives(Scenario::Roll).await;
}

#[tokio::test(start_paused = true)]
async fn a_deletion_survives_a_stop_after_any_write() {
    survives(Scenario::Delete).await;
}
