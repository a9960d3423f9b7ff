//! Managers under load, one of them killed again and again.

use std::time::{Duration, Instant};

use remuda_controllers::kinds::Kind;

use crate::place::{Manager, PATIENCE, POOL, Place, until};

/// How long the lease of these managers holds. Production's is 15 s; the rules are the same.
const LEASE: Duration = Duration::from_secs(3);
/// What is added to it. In virtual time a successor takes over within the lease to the millisecond
/// (crates/controllers/tests/election.rs); here it is a process that must be woken, makes
/// [`REQUESTS`], and is seen by a look every tenth of a second.
const BUSY: Duration = Duration::from_secs(1);
/// Requests of a takeover: the leases of other shares, its own, the renewal, and the others again.
/// Each is granted what the slowest of this test's own took meanwhile, for the machine may be busy.
const REQUESTS: u32 = 4;
/// How many times the leader is killed.
const KILLS: usize = 5;
const POOLS: u32 = 8;

fn name(number: u32) -> String {
    match number {
        0 => POOL.to_owned(),
        number => format!("pool-{number}"),
    }
}

fn start(place: &Place) -> Manager {
    place.manager(&[
        "--webhooks",
        "false",
        "--health-addr",
        "0",
        "--leader-elect-lease-duration",
        "3s",
    ])
}

/// Changes the sizes of some pools; what is wanted is written down.
async fn resize(place: &Place, sizes: &mut [u32], random: &mut fastrand::Rng) {
    for _ in 0..3 {
        let which = random.usize(..sizes.len());
        sizes[which] = random.u32(1..=4);
        let number = u32::try_from(which).unwrap();
        place.scale(&name(number), sizes[which]).await;
    }
}

/// Every pool has as many instances and Machines as are wanted, and no more.
async fn agrees(place: &Place, sizes: &[u32]) -> bool {
    let machines = place.list(Kind::Machine).await;
    let wanted: usize = sizes.iter().map(|it| *it as usize).sum();
    if machines.len() != wanted || place.alive() != wanted {
        return false;
    }
    for (number, size) in (0..).zip(sizes) {
        if !place.is_running(&name(number), u64::from(*size)).await {
            return false;
        }
    }
    true
}

/// Kills who leads; how long it took until another did.
async fn kill(place: &Place, leading: &mut Manager) -> Duration {
    let before = place.leader().await;
    leading.kill();
    let killed = Instant::now();
    let mut slowest = Duration::ZERO;
    until("another leads", PATIENCE, async || {
        let asked = Instant::now();
        let now = place.leader().await;
        slowest = slowest.max(asked.elapsed());
        !now.is_empty() && now != before
    })
    .await;
    let took = killed.elapsed();
    let bound = LEASE + BUSY + slowest * REQUESTS;
    assert!(took <= bound, "a takeover took {took:?}, not {bound:?}");
    took
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_doubled_and_nothing_lost_while_leaders_are_killed() {
    let place = Place::filled().await;
    for number in 1..POOLS {
        place.another_pool(&name(number)).await;
    }
    let mut sizes = vec![3; POOLS as usize];
    let mut random = fastrand::Rng::with_seed(7);
    let mut leading = start(&place);
    until("the first leads", PATIENCE, async || {
        !place.leader().await.is_empty()
    })
    .await;
    let mut standby = start(&place);
    let mut slowest = Duration::ZERO;
    for _ in 0..KILLS {
        // It is in the middle of something when it is killed.
        resize(&place, &mut sizes, &mut random).await;
        let pause = Duration::from_millis(random.u64(300..2_000));
        tokio::time::sleep(pause).await;
        // A lease runs from when it was first seen: whoever follows has to be there before.
        until("the other waits", PATIENCE, async || {
            standby.said().contains("this process waits to lead")
        })
        .await;
        let took = kill(&place, &mut leading).await;
        slowest = slowest.max(took);
        leading = std::mem::replace(&mut standby, start(&place));
    }
    println!("the slowest takeover took {slowest:?}");
    until("all is as it is wanted", PATIENCE, async || {
        agrees(&place, &sizes).await
    })
    .await;
    let groups = place.aws.world().groups();
    assert_eq!(groups.len(), POOLS as usize, "one group a pool");
    let made = place.calls("autoscaling:CreateAutoScalingGroup");
    let failed = place.failed_calls("autoscaling:CreateAutoScalingGroup");
    assert_eq!(made - failed, POOLS as usize, "none was made twice");
    // Whoever leads now has nothing left to do.
    assert!(leading.terminate(), "it ends well");
}
