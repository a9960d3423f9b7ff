//! Leader election, in virtual time: one works at a time, whatever happens to the other.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test reports by panicking"
)]

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use kube::core::{ApiResource, GroupVersionKind};
use remuda_controllers::{
    clock::RuntimeClock,
    election::{Election, Timing},
};
use remuda_plan::share::Share;
use remuda_testkit::{Tripwire, World};
use serde_json::json;
use tokio::{task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

const LEASE: Duration = Duration::from_secs(15);
/// Time between two renewals, and between two looks where there is no watch.
const RETRY: Duration = Duration::from_secs(2);
/// Requests take no time here; a timer may fire up to a millisecond late.
const MOMENT: Duration = Duration::from_millis(2);

/// Who worked, from when, and until when if it ended.
type Entry = (String, Instant, Option<Instant>);

/// When who worked.
#[derive(Clone, Default)]
struct Diary(Arc<Mutex<Vec<Entry>>>);

/// One stretch of work; its end is written down when it is dropped.
struct Stretch(Diary, usize);

impl Diary {
    fn begin(&self, who: &str) -> Stretch {
        let mut entries = self.0.lock().unwrap();
        entries.push((who.to_owned(), Instant::now(), None));
        Stretch(self.clone(), entries.len() - 1)
    }

    fn who_works(&self) -> Vec<String> {
        let entries = self.0.lock().unwrap();
        let at_work = entries.iter().filter(|(.., end)| end.is_none());
        at_work.map(|(who, ..)| who.clone()).collect()
    }

    /// The times between two stretches. Panics when two overlap.
    fn gaps(&self) -> Vec<Duration> {
        let entries = self.0.lock().unwrap();
        entries
            .windows(2)
            .map(|pair| {
                let end = pair[0].2.expect("a stretch ends before the next begins");
                assert!(end <= pair[1].1, "two worked at once");
                pair[1].1 - end
            })
            .collect()
    }
}

impl Drop for Stretch {
    fn drop(&mut self) {
        self.0.0.lock().unwrap()[self.1].2 = Some(Instant::now());
    }
}

/// A candidate at work until it is told to stop, or beyond when it is stubborn.
struct Candidate {
    task: JoinHandle<()>,
    shutdown: CancellationToken,
}

fn candidate(
    world: &World,
    who: &str,
    wire: &Tripwire,
    diary: &Diary,
    stubborn: bool,
) -> Candidate {
    sharing(world, who, wire, diary, (stubborn, Share::default()))
}

fn sharing(
    world: &World,
    who: &str,
    wire: &Tripwire,
    diary: &Diary,
    (stubborn, share): (bool, Share),
) -> Candidate {
    let election = Election {
        objects: world.context(wire).objects.clone(),
        clock: Arc::new(RuntimeClock::starting_at(world.now())),
        namespace: "remuda-system".to_owned(),
        name: "manager".to_owned(),
        share,
        identity: who.to_owned(),
        timing: Timing::default(),
    };
    let shutdown = CancellationToken::new();
    let (diary, name, stop) = (diary.clone(), who.to_owned(), shutdown.clone());
    let task = tokio::spawn(async move {
        election
            .lead(stop, move |stop| {
                let stretch = diary.begin(&name);
                async move {
                    let _stretch = stretch;
                    stop.cancelled().await;
                    if stubborn {
                        std::future::pending::<()>().await;
                    }
                }
            })
            .await;
    });
    Candidate { task, shutdown }
}

async fn delete_lease(world: &World) {
    let lease = ApiResource::from_gvk(&GroupVersionKind::gvk("coordination.k8s.io", "v1", "Lease"));
    let namespace = Some("remuda-system");
    let deleted = world.objects.delete(&lease, namespace, "manager", None);
    deleted.await.unwrap();
}

async fn world() -> World {
    let world = World::new().await;
    world
        .create(&json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "remuda-system" },
        }))
        .await;
    world.let_manager_in().await;
    world
}

/// Kills twenty leaders, one after the other and at odd moments; how long each was followed after.
async fn takeovers(watch: impl Fn(&Tripwire)) -> Vec<Duration> {
    let (world, diary, wire) = (world().await, Diary::default(), Tripwire::never());
    watch(&wire);
    let mut leader = candidate(&world, "0", &wire, &diary, false);
    world.pass(Duration::from_secs(1)).await;
    for round in 1..=20 {
        let next = candidate(&world, &round.to_string(), &wire, &diary, false);
        let odd = Duration::from_millis(round * 331);
        world.pass(Duration::from_mins(1) + odd).await;
        assert_eq!(diary.who_works(), [(round - 1).to_string()]);
        leader.task.abort();
        world.pass(LEASE + RETRY + MOMENT).await;
        assert_eq!(diary.who_works(), [round.to_string()]);
        leader = next;
    }
    diary.gaps()
}

#[tokio::test(start_paused = true)]
async fn whoever_is_killed_is_followed_within_a_lease() {
    let gaps = takeovers(|_| {}).await;
    assert_eq!(gaps.len(), 20);
    // The lease runs from the last renewal, which was at most a retry before the end.
    for gap in &gaps {
        assert!(*gap <= LEASE + MOMENT, "{gap:?}");
        assert!(*gap + RETRY + MOMENT >= LEASE, "{gap:?}");
    }
    let spread = gaps
        .iter()
        .max()
        .unwrap()
        .abs_diff(*gaps.iter().min().unwrap());
    assert!(
        spread > RETRY / 2,
        "they were killed at different moments: {gaps:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn without_a_watch_the_lease_is_polled() {
    let silent = |wire: &Tripwire| wire.deafen("/leases");
    let broken = |wire: &Tripwire| wire.break_watches("/leases");
    for gaps in [takeovers(silent).await, takeovers(broken).await] {
        assert_eq!(gaps.len(), 20);
        let longest = gaps.iter().max().unwrap();
        assert!(*longest <= LEASE + RETRY + MOMENT, "{longest:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_asks_for_nothing_while_the_watch_shows_renewals() {
    let (world, diary, never) = (world().await, Diary::default(), Tripwire::never());
    let _one = candidate(&world, "one", &never, &diary, false);
    world.pass(Duration::from_secs(1)).await;
    let _two = candidate(&world, "two", &never, &diary, false);
    world.pass(Duration::from_secs(10)).await;
    let count = || ["get", "list", "watch", "update"].map(|it| world.requests.count(it, "leases"));
    let before = count();
    world.pass(Duration::from_mins(1)).await;
    let after = count();
    let [reads, lists, watches, writes] = [0, 1, 2, 3].map(|it| after[it] - before[it]);
    assert!(writes >= 29, "the leader renews");
    assert_eq!(
        (reads, lists, watches),
        (writes, 0, 0),
        "only the leader asks"
    );
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_deleted_holds_until_it_would_be_over() {
    let (world, diary) = (world().await, Diary::default());
    let one = candidate(&world, "one", &Tripwire::never(), &diary, false);
    world.pass(Duration::from_secs(1)).await;
    let _two = candidate(&world, "two", &Tripwire::never(), &diary, false);
    for _ in 0..20 {
        world.pass(Duration::from_millis(5_300)).await;
        delete_lease(&world).await;
        world.pass(RETRY + MOMENT).await;
        assert_eq!(diary.who_works(), ["one"], "it makes the lease again");
    }
    one.task.abort();
    delete_lease(&world).await;
    world.pass(LEASE + RETRY + MOMENT).await;
    assert_eq!(diary.who_works(), ["two"]);
    assert!(
        diary.gaps()[0] + RETRY + MOMENT >= LEASE,
        "{:?}",
        diary.gaps()
    );
}

#[tokio::test(start_paused = true)]
async fn who_cannot_renew_stops_before_the_other_begins() {
    for stubborn in [false, true] {
        let (world, diary) = (world().await, Diary::default());
        let wire = Tripwire::never();
        let one = candidate(&world, "one", &wire, &diary, stubborn);
        world.pass(Duration::from_secs(1)).await;
        let two = candidate(&world, "two", &Tripwire::never(), &diary, stubborn);
        world.pass(Duration::from_mins(1)).await;
        assert_eq!(diary.who_works(), ["one"]);
        wire.refuse("holderIdentity");
        world.pass(LEASE + Duration::from_secs(3)).await;
        assert_eq!(diary.who_works(), ["two"]);
        let gaps = diary.gaps();
        assert_eq!(gaps.len(), 1);
        assert!(gaps[0] > Duration::ZERO, "{gaps:?}");
        // It is a candidate again.
        wire.refuse_nothing();
        two.task.abort();
        world.pass(LEASE + Duration::from_secs(3)).await;
        assert_eq!(diary.who_works(), ["one"]);
        drop((one, diary.gaps()));
    }
}

#[tokio::test(start_paused = true)]
async fn who_gets_no_answer_stops_before_the_other_begins() {
    let (world, diary) = (world().await, Diary::default());
    // Its first write takes the lease, the next ones renew it; then nothing is answered.
    let wire = Tripwire::after(10);
    let _one = candidate(&world, "one", &wire, &diary, true);
    world.pass(Duration::from_secs(1)).await;
    let _two = candidate(&world, "two", &Tripwire::never(), &diary, true);
    world.pass(Duration::from_secs(10)).await;
    assert_eq!(diary.who_works(), ["one"]);
    world.pass(Duration::from_mins(1)).await;
    assert!(wire.has_tripped());
    assert_eq!(diary.who_works(), ["two"]);
    assert_eq!(diary.gaps().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn who_is_told_to_stop_gives_the_lease_up() {
    let (world, diary, never) = (world().await, Diary::default(), Tripwire::never());
    let one = candidate(&world, "one", &never, &diary, false);
    world.pass(Duration::from_secs(1)).await;
    let _two = candidate(&world, "two", &never, &diary, false);
    world.pass(Duration::from_secs(30)).await;
    one.shutdown.cancel();
    one.task.await.unwrap();
    world.pass(MOMENT).await;
    assert_eq!(diary.who_works(), ["two"]);
    assert!(diary.gaps()[0] <= MOMENT, "{:?}", diary.gaps());
}

#[tokio::test(start_paused = true)]
async fn shares_of_one_size_work_side_by_side_and_those_of_another_wait_for_all_of_them() {
    let (world, never) = (world().await, Tripwire::never());
    let share = |index, of| (false, Share::new(index, of).unwrap());
    let diary = Diary::default();
    let halves: Vec<Candidate> = (0..2)
        .map(|index| {
            sharing(
                &world,
                &format!("half {index}"),
                &never,
                &diary,
                share(index, 2),
            )
        })
        .collect();
    world.pass(Duration::from_secs(3)).await;
    assert_eq!(diary.who_works().len(), 2);
    let thirds: Vec<Candidate> = (0..3)
        .map(|index| {
            sharing(
                &world,
                &format!("third {index}"),
                &never,
                &diary,
                share(index, 3),
            )
        })
        .collect();
    let whole = candidate(&world, "whole", &never, &diary, false);
    world.pass(Duration::from_mins(2)).await;
    let mut at_work = diary.who_works();
    at_work.sort();
    assert_eq!(at_work, ["half 0", "half 1"]);

    halves[0].task.abort();
    world.pass(Duration::from_mins(1)).await;
    assert_eq!(diary.who_works(), ["half 1"], "a half is still led");
    whole.shutdown.cancel();
    halves[1].shutdown.cancel();
    world.pass(LEASE + Duration::from_secs(10)).await;
    let mut at_work = diary.who_works();
    at_work.sort();
    assert_eq!(at_work, ["third 0", "third 1", "third 2"]);
    drop(thirds);
}

#[tokio::test(start_paused = true)]
async fn of_shares_that_overlap_and_begin_at_once_only_one_size_ever_works() {
    let (world, never) = (world().await, Tripwire::never());
    for round in 0..10 {
        let diary = Diary::default();
        let candidates: Vec<Candidate> = [(0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
            .into_iter()
            .map(|(index, of)| {
                let who = format!("{index}/{of} {round}");
                let share = Share::new(index, of).unwrap();
                sharing(&world, &who, &never, &diary, (false, share))
            })
            .collect();
        for _ in 0..60 {
            world.pass(Duration::from_secs(1)).await;
            let at_work = diary.who_works();
            let halves = at_work.iter().filter(|who| who.contains("/2")).count();
            assert!(halves == 0 || halves == at_work.len(), "{at_work:?}");
        }
        assert!(!diary.who_works().is_empty(), "somebody works");
        for candidate in &candidates {
            candidate.shutdown.cancel();
        }
        world.pass(Duration::from_secs(5)).await;
        assert!(diary.who_works().is_empty());
    }
}
