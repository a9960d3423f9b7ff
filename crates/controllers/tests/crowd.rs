//! Many pools at once: they share their reads, and settled ones cost nothing else.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test reports by panicking"
)]

use std::time::Duration;

use remuda_controllers::{Options, kinds::Kind, objects::Objects};
use remuda_testkit::{Demo, NAMESPACE, World, holds};

/// Enough that reads a pool would show, few enough for a debug build.
const POOLS: usize = 30;

#[tokio::test(start_paused = true)]
async fn settled_pools_share_their_reads_and_write_nothing() {
    let options = Options {
        concurrency: 50,
        ..Options::default()
    };
    let world = World::builder().full_speed().options(options).build().await;
    let demo = (1..POOLS).fold(Demo::default(), |demo, number| {
        demo.second_pool(&format!("pool-{number}"))
    });
    world.apply(&demo).await;
    world.start();
    world
        .eventually("every pool is Running", || async {
            let pools = world
                .objects
                .list(Kind::MachinePool, NAMESPACE, "")
                .await
                .unwrap();
            let running = pools
                .iter()
                .filter(|pool| pool["status"]["phase"] == "Running");
            let running = running.count();
            holds(running == POOLS, || format!("{running} of {POOLS} are"))
        })
        .await;
    world.pass(Duration::from_mins(5)).await;

    let mark = world.mark();
    let cycles = 10;
    world.pass(Duration::from_mins(cycles)).await;
    assert_eq!(world.kubernetes_writes(mark), Vec::<String>::new());
    assert_eq!(world.aws_writes(mark), Vec::<String>::new());
    // One page of groups and one of instances a sweep, two sweeps a cycle at the most: pools are
    // spread over the cycle by their jitter, and an answer is good for half a minute.
    let reads = world.aws_calls(mark).len();
    let bound = 2 * 3 * usize::try_from(cycles).unwrap();
    assert!(reads <= bound, "{reads} reads in {cycles} minutes");
}
