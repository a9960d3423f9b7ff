//! Several managers at work at once, each on its share.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test reports by panicking"
)]

use std::{collections::BTreeSet, sync::Arc};

use remuda_controllers::{Options, kinds::Kind, run};
use remuda_plan::share::Share;
use remuda_testkit::{Demo, Mark, POOL, Tripwire, World, holds};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const TEAMS: [&str; 6] = ["team-a", "team-b", "team-c", "team-d", "team-e", "team-f"];

/// A manager of one share.
struct Manager {
    share: Share,
    wire: Tripwire,
    shutdown: CancellationToken,
    task: JoinHandle<()>,
}

impl Manager {
    fn start(world: &World, index: u16, of: u16) -> Self {
        let share = Share::new(index, of).unwrap();
        let (wire, shutdown) = (Tripwire::never(), CancellationToken::new());
        let options = Options {
            share,
            ..Options::default()
        };
        let context = Arc::new(world.context(&wire));
        let task = tokio::spawn(run(context, options, shutdown.clone()));
        Self {
            share,
            wire,
            shutdown,
            task,
        }
    }

    /// The namespaces of teams that it wrote to.
    fn wrote_to(&self) -> BTreeSet<&'static str> {
        let writes = self.wire.writes();
        let wrote = |team: &str| {
            let place = format!("/namespaces/{team}/");
            writes.iter().any(|write| write.contains(&place))
        };
        TEAMS.into_iter().filter(|team| wrote(team)).collect()
    }

    /// Those whose cluster is in its share.
    fn meant_for(&self) -> BTreeSet<&'static str> {
        let teams = TEAMS.into_iter();
        teams
            .filter(|team| self.share.holds(team, "demo"))
            .collect()
    }
}

async fn six_teams() -> World {
    let world = World::new().await;
    world.apply(&Demo::default()).await;
    for team in &TEAMS[1..] {
        let demo = Demo::in_namespace(team)
            .without("Namespace", "remuda-system")
            .without("Secret", "demo-aws")
            .without("TerraformClusterIdentity", "demo-aws");
        world.apply(&demo).await;
    }
    world
}

async fn all_have_their_groups(world: &World, teams: &BTreeSet<&'static str>) {
    world
        .eventually("every pool has its three instances", || async {
            let resource = Kind::TerraformMachinePool.resource();
            let mut missing = Vec::new();
            for team in teams {
                let pool = world
                    .objects
                    .get_of(&resource, Some(team), POOL)
                    .await
                    .unwrap();
                if pool.unwrap()["status"]["replicas"] != 3 {
                    missing.push(*team);
                }
            }
            holds(missing.is_empty(), || format!("{missing:?}"))
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn each_share_works_on_its_own_clusters_and_together_they_work_on_all() {
    let world = six_teams().await;
    let managers = [Manager::start(&world, 0, 2), Manager::start(&world, 1, 2)];
    all_have_their_groups(&world, &TEAMS.into()).await;
    for manager in &managers {
        assert_eq!(manager.wrote_to(), manager.meant_for(), "{}", manager.share);
        assert!(!manager.meant_for().is_empty(), "both have something to do");
    }
    let made = world.aws_writes(Mark::default());
    let made = made
        .iter()
        .filter(|it| *it == "autoscaling:CreateAutoScalingGroup");
    assert_eq!(made.count(), TEAMS.len(), "none twice");
    for manager in managers {
        manager.shutdown.cancel();
        manager.task.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_share_without_a_manager_waits_and_is_done_when_one_comes() {
    let world = six_teams().await;
    let first = Manager::start(&world, 0, 2);
    all_have_their_groups(&world, &first.meant_for()).await;
    world.pass(std::time::Duration::from_mins(10)).await;
    assert_eq!(first.wrote_to(), first.meant_for());
    let second = Manager::start(&world, 1, 2);
    all_have_their_groups(&world, &TEAMS.into()).await;
    assert_eq!(first.wrote_to(), first.meant_for());
    assert_eq!(second.wrote_to(), second.meant_for());
}
