//! What a pass over an unchanged pool costs: processor time, and what it asks for.
//!
//! Run it with `cargo bench -p remuda-controllers`. It fails when such a pass writes anything.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints its figures and reports by panicking"
)]

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use remuda_controllers::terraform_machine_pool::{PoolKey, reconcile};
use remuda_testkit::{Demo, NAMESPACE, POOL, Tripwire, World};

/// Members of the pool.
const MACHINES: u64 = 10;
/// Longer than the interval between two refreshes: each pass looks at the cloud.
const REFRESH: Duration = Duration::from_secs(70);
/// Shorter than that: a pass that something woke for nothing.
const AWAKE: Duration = Duration::from_millis(1);

fn main() {
    // `cargo test` runs benches, too: there it is about the writes only.
    let measured = std::env::args().any(|argument| argument == "--bench");
    let passes = if measured { 200 } else { 3 };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    for machines in [false, true] {
        runtime.block_on(measure(machines, passes));
    }
}

async fn measure(machines: bool, passes: u32) {
    let world = World::builder().full_speed().build().await;
    let mut demo = Demo::default().machine_pool(|pool| {
        pool["spec"]["replicas"] = MACHINES.into();
    });
    if machines {
        demo = demo.machines();
    }
    world.apply(&demo).await;
    world.start();
    world.machine_pool_is_running(MACHINES).await;
    world.pool_is_ready().await;
    world.pass(Duration::from_mins(5)).await;
    world.stop().await;

    let context = world.context(&Tripwire::never());
    let key = PoolKey {
        namespace: NAMESPACE.to_owned(),
        name: POOL.to_owned(),
    };
    // The first pass of a process remembers nothing and reads more.
    reconcile(&key, &context).await.unwrap();
    let kind = if machines { "with Machines" } else { "alone" };
    for (what, pause) in [("refresh", REFRESH), ("nothing due", AWAKE)] {
        let mark = world.mark();
        let mut spent = Duration::ZERO;
        for _ in 0..passes {
            world.pass(pause).await;
            let start = Instant::now();
            reconcile(&key, &context).await.unwrap();
            spent += start.elapsed();
        }
        let mut calls = BTreeMap::<String, u32>::new();
        for call in world.aws_calls(mark) {
            *calls.entry(call).or_default() += 1;
        }
        println!(
            "{MACHINES} machines {kind}, {what}: {} µs a pass; {passes} passes called {calls:?}",
            (spent / passes).as_micros()
        );
        assert_eq!(world.kubernetes_writes(mark), Vec::<String>::new());
        assert_eq!(world.aws_writes(mark), Vec::<String>::new());
    }
}
