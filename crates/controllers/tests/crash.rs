//! Survives: the controllers are killed right after their n-th write, for every n, and started
//! again. The end is the same, nothing is doubled, nothing is left over.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test reports by panicking"
)]

use std::{collections::BTreeSet, time::Duration};

use remuda_controllers::kinds::Kind;
use remuda_sim::aws::Timing;
use remuda_testkit::{Demo, POOL, Tripwire, World};
use serde_json::{Value, json};

const BUCKET: &str = "captf-bootstrap-20261001000000000000000001";

/// What a person does, and how the world looks when everything has followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scenario {
    Create,
    Scale,
    Roll,
    Delete,
}

impl Scenario {
    /// A world in which the person is about to act.
    async fn before(self) -> World {
        // Nothing is learned from waiting for warm machines.
        let mut timing = Timing::realistic();
        timing.keep_warmup = false;
        let world = World::builder().timing(timing).build().await;
        if self == Self::Create {
            return world;
        }
        world.apply(&Demo::default()).await;
        world.start();
        world.machine_pool_is_running(3).await;
        world.pool_is_ready().await;
        world.pass(Duration::from_mins(2)).await;
        world.stop().await;
        world
    }

    async fn act(self, world: &World) {
        match self {
            Self::Create => world.apply(&Demo::default()).await,
            Self::Scale => {
                world
                    .patch(
                        Kind::MachinePool,
                        POOL,
                        json!({ "spec": { "replicas": 5 } }),
                    )
                    .await;
            }
            Self::Roll => {
                let version = json!({ "version": "v1.35.0" });
                let patch = json!({ "spec": { "template": { "spec": version } } });
                world.patch(Kind::MachinePool, POOL, patch).await;
            }
            Self::Delete => world.delete(Kind::MachinePool, POOL).await,
        }
    }

    async fn is_done(self, world: &World) {
        match self {
            Self::Create => world.machine_pool_is_running(3).await,
            Self::Scale => world.machine_pool_is_running(5).await,
            Self::Roll => {
                let wanted = json!([{ "version": "v1.35.0", "replicas": 3 }]);
                world
                    .object_becomes(Kind::MachinePool, POOL, "three new Nodes", |pool| {
                        pool["status"]["versions"] == wanted && pool["status"]["replicas"] == 3
                    })
                    .await;
                world.machine_pool_is_running(3).await;
            }
            Self::Delete => {
                world.is_gone(Kind::MachinePool, POOL).await;
                world.is_gone(Kind::TerraformMachinePool, POOL).await;
                return;
            }
        }
        world.pool_is_ready().await;
    }
}

/// What must not depend on when the controllers died.
#[derive(Debug, PartialEq)]
struct End {
    groups: Vec<(String, u32, u32, u32, usize)>,
    templates: usize,
    /// The template that the group names is the one there is.
    template_is_named: bool,
    payloads: Vec<String>,
    nodes: usize,
    records: usize,
    finalizers: Value,
    block_move: bool,
    versions: Value,
}

async fn end(world: &World) -> End {
    let aws = world.aws.world();
    let groups = aws.groups();
    let templates: BTreeSet<String> = aws.templates().into_iter().map(|it| it.name).collect();
    let pool = world
        .get(Kind::TerraformMachinePool, POOL)
        .await
        .unwrap_or_default();
    let machine_pool = world.get(Kind::MachinePool, POOL).await.unwrap_or_default();
    let nodes = world
        .workload()
        .list_of(&Kind::Node.resource(), None, "")
        .await
        .unwrap();
    End {
        template_is_named: groups
            .iter()
            .all(|group| templates.contains(&group.template.0)),
        groups: groups
            .iter()
            .map(|group| {
                let members = aws.live_instances(&group.name).len();
                (
                    group.name.clone(),
                    group.min,
                    group.max,
                    group.desired,
                    members,
                )
            })
            .collect(),
        templates: templates.len(),
        payloads: aws.object_keys(BUCKET),
        nodes: nodes.len(),
        records: usize::from(
            world
                .get(Kind::Secret, "remuda-pool-demo-pool-0")
                .await
                .is_some(),
        ),
        finalizers: pool["metadata"]["finalizers"].clone(),
        block_move: !pool["metadata"]["annotations"]["clusterctl.cluster.x-k8s.io/block-move"]
            .is_null(),
        versions: machine_pool["status"]["versions"].clone(),
    }
}

/// Any cloud call implies a stored finalizer; any cloud write a stored block-move.
async fn invariants_hold(world: &World, at: usize) {
    let pool = world.get(Kind::TerraformMachinePool, POOL).await;
    let Some(pool) = pool else { return };
    let writes = world.aws.journal().writes();
    if !world.aws.journal().calls().is_empty() {
        let finalizers = pool["metadata"]["finalizers"].as_array();
        assert!(
            finalizers.is_some_and(|all| all
                .iter()
                .any(|it| it == "terraformmachinepool.infrastructure.cluster.x-k8s.io")),
            "a cloud call before the finalizer, at write {at}"
        );
    }
    assert!(
        writes
            .iter()
            .filter(|call| call.action == "CreateAutoScalingGroup")
            .count()
            <= 1
    );
}

async fn survives(scenario: Scenario) {
    let reference = scenario.before().await;
    let tripwire = Tripwire::never();
    reference.start_with(&tripwire);
    scenario.act(&reference).await;
    scenario.is_done(&reference).await;
    reference.pass(Duration::from_mins(3)).await;
    let writes = tripwire.writes();
    let wanted = end(&reference).await;
    assert!(writes.len() > 3, "{writes:?}");
    drop(reference);

    for at in 1..=writes.len() {
        let world = scenario.before().await;
        let tripwire = Tripwire::after(at);
        world.start_with(&tripwire);
        scenario.act(&world).await;
        // Later writes than the scenario's own may never come in a run that took another order.
        let _ = tokio::time::timeout(Duration::from_hours(1), tripwire.tripped()).await;
        world.crash().await;
        invariants_hold(&world, at).await;
        world.start();
        scenario.is_done(&world).await;
        world.pass(Duration::from_mins(3)).await;
        let got = end(&world).await;
        assert_eq!(
            got,
            wanted,
            "killed after write {at}: {:?}",
            tripwire.writes().last()
        );
        world.stays_quiet(Duration::from_mins(5)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn creating_a_pool_survives_a_crash_after_every_write() {
    survives(Scenario::Create).await;
}

#[tokio::test(start_paused = true)]
async fn scaling_a_pool_survives_a_crash_after_every_write() {
    survives(Scenario::Scale).await;
}

#[tokio::test(start_paused = true)]
async fn rolling_a_pool_survives_a_crash_after_every_write() {
    survives(Scenario::Roll).await;
}

#[tokio::test(start_paused = true)]
async fn deleting_a_pool_survives_a_crash_after_every_write() {
    survives(Scenario::Delete).await;
}
