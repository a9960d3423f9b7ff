//! The process ends right after any single write, of the cloud or of the record: the end is the
//! same as without, nothing is doubled, nothing is orphaned (design 4).

use remuda_plan::pool::action::ChangeKind;
use serde_json::{Value, json};

use crate::harness::{
    World,
    demo::{NEXT_SET, Pool, ROTATED, SET},
    wire::Recorded,
};

/// The end of a scenario, without ids and times.
#[derive(Debug, PartialEq)]
struct End {
    sets: Vec<SetEnd>,
    settings: Vec<(String, String, u32, u32, Value)>,
    is_operation_left: bool,
    retiring: usize,
}

#[derive(Debug, PartialEq)]
struct SetEnd {
    name: String,
    capacity: u32,
    tags: Value,
    size: Value,
    custom_data: Option<String>,
    instances: usize,
}

impl End {
    fn of(world: &World, pool: &Pool, is_deleted: bool) -> Self {
        let hands = world.sim.world();
        let sets = hands.scale_sets().into_iter().map(|set| SetEnd {
            custom_data: hands.custom_data(&set.name),
            size: set.resource["sku"]["name"].clone(),
            instances: set.instances.len(),
            name: set.name,
            capacity: set.capacity,
            tags: set.tags,
        });
        let settings = hands.settings().into_iter().map(|setting| {
            let tags = setting.resource["tags"].clone();
            let set = setting
                .target
                .rsplit('/')
                .next()
                .unwrap_or_default()
                .to_owned();
            (setting.name, set, setting.minimum, setting.maximum, tags)
        });
        let record = pool
            .record
            .as_ref()
            .filter(|_| !is_deleted)
            .map(|_| pool.remembered());
        Self {
            sets: sets.collect(),
            settings: settings.collect(),
            is_operation_left: record.is_some_and(|record| record.operation.is_some()),
            retiring: record.map_or(0, |record| record.retiring.len()),
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
        let world = World::new();
        let mut pool = Pool::demo();
        if self == Self::CreateAutoscaled {
            pool.autoscale(2, 5);
        }
        if matches!(self, Self::Create | Self::CreateAutoscaled) {
            return (world, pool);
        }
        world.settle_and_boot(&mut pool).await;
        match self {
            Self::Update => {
                pool.inputs.replicas = 4;
                pool.set("vm_size", json!("Standard_D8s_v5"));
                pool.set("additional_tags", json!({ "team": "data" }));
                pool.bootstrap(ROTATED);
            }
            Self::Roll => pool.version("v1.34.2"),
            _ => {}
        }
        (world, pool)
    }

    async fn finish(self, world: &World, pool: &mut Pool) -> End {
        let is_deleted = self == Self::Delete;
        if is_deleted {
            world.delete(pool).await;
        } else {
            world.settle(pool).await;
        }
        // Autoscale and the machines come to rest.
        world.wait(900).await;
        End::of(world, pool, is_deleted)
    }

    /// Passes until the stop; false when the scenario ends before.
    async fn until_stopped(self, world: &World, pool: &mut Pool, stop: usize) -> bool {
        let before = world.recorder.writes_made();
        world.recorder.stop_after(Some(stop));
        for _ in 0..150 {
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

/// Sets are made once each, whatever happens in between.
fn creations(calls: &[Recorded]) -> usize {
    calls
        .iter()
        .filter(|call| call.name == "PUT virtualMachineScaleSets" && call.status < 300)
        .count()
}

async fn survives(scenario: Scenario) {
    let (world, mut pool) = scenario.begin().await;
    let expected = scenario.finish(&world, &mut pool).await;
    for stop in 1.. {
        let (mut world, mut pool) = scenario.begin().await;
        let mark = world.recorder.mark();
        if !scenario.until_stopped(&world, &mut pool, stop).await {
            assert!(stop > 3, "{scenario:?} makes more writes than that");
            return;
        }
        world.restart();
        let end = scenario.finish(&world, &mut pool).await;
        assert_eq!(end, expected, "{scenario:?} stopped after write {stop}");
        let made = creations(&world.recorder.since(mark));
        assert!(
            made <= 1,
            "{scenario:?} stopped after write {stop} made {made} sets"
        );
        match scenario {
            Scenario::Delete => assert!(end.sets.is_empty() && end.settings.is_empty()),
            Scenario::Roll => assert_eq!(end.sets[0].name, NEXT_SET),
            _ => assert_eq!(end.sets[0].name, SET),
        }
        if scenario != Scenario::Delete {
            assert_eq!((end.sets.len(), end.settings.len()), (1, 1));
            let pass = world.pass(&mut pool).await;
            // At most the capacity that Autoscale came to is written down.
            assert!(
                pass.calls.iter().all(|call| !call.is_write()),
                "{:?}",
                pass.writes()
            );
            assert!(
                pass.steps
                    .iter()
                    .all(|step| step.kind == ChangeKind::Bookkeeping)
            );
        }
    }
}

/// The same when the process goes on and only the answer to a call is lost.
async fn survives_lost_answers(scenario: Scenario) {
    let (world, mut pool) = scenario.begin().await;
    let expected = scenario.finish(&world, &mut pool).await;
    for call in 0.. {
        let (world, mut pool) = scenario.begin().await;
        let mark = world.recorder.mark();
        world.recorder.lose_answer(Some(call));
        let end = scenario.finish(&world, &mut pool).await;
        if !world.recorder.lose_answer(None) {
            assert!(call > 1, "{scenario:?} makes more calls than that");
            return;
        }
        assert_eq!(end, expected, "{scenario:?} lost the answer to call {call}");
        assert!(creations(&world.recorder.since(mark)) <= 1);
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

/// Lists lag behind writes: a pass may not see what the one before it made.
#[tokio::test(start_paused = true)]
async fn late_lists_orphan_nothing() {
    use std::time::Duration;
    for scenario in [Scenario::Create, Scenario::Update, Scenario::Roll] {
        let (world, mut pool) = scenario.begin().await;
        let expected = scenario.finish(&world, &mut pool).await;
        let (world, mut pool) = scenario.begin().await;
        let mark = world.recorder.mark();
        let lag = |span| {
            world
                .sim
                .world()
                .set_timing(|timing| timing.list_lag = span);
        };
        lag(Duration::from_mins(3));
        let end = scenario.finish(&world, &mut pool).await;
        assert_eq!(end, expected, "{scenario:?}");
        assert!(creations(&world.recorder.since(mark)) <= 1);
        lag(Duration::ZERO);
        world.delete(&mut pool).await;
        assert!(world.sim.world().scale_sets().is_empty(), "{scenario:?}");
    }
}
