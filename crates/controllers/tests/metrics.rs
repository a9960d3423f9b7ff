//! What is counted, against what the simulated clouds and the API server saw, in virtual time.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::float_cmp,
    reason = "a test reports by panicking; counts are whole numbers"
)]

use std::{collections::BTreeMap, time::Duration};

use remuda_controllers::kinds::Kind;
use remuda_sim::{Call, Effect, Fault, Outcome};
use remuda_testkit::{AZURE_POOL, Demo, NAMESPACE, POOL, World};

const CALLS: &str = "remuda_cloud_calls_total";
const OF_POOLS: [&str; 4] = [
    "remuda_pool_machines_wanted",
    "remuda_pool_machines",
    "remuda_pool_machines_ready",
    "remuda_pool_ready",
];

/// Calls by name, as the simulated cloud counted them.
fn counted(calls: &[Call]) -> BTreeMap<String, f64> {
    let mut counts = BTreeMap::new();
    for call in calls {
        *counts.entry(call.name()).or_default() += 1.0;
    }
    counts
}

#[tokio::test(start_paused = true)]
async fn a_pools_way_to_ready_is_counted_as_the_cloud_saw_it() {
    let world = World::new().await;
    world.apply(&Demo::default()).await;
    assert_eq!(world.scrape().sum("remuda_leader", &[]), 0.0);
    world.start();
    world.pool_is_ready().await;
    world.machine_pool_is_running(3).await;
    world.pass(Duration::from_mins(5)).await;

    let scrape = world.scrape();
    let calls = scrape.by(CALLS, &[("cloud", "aws")], "action");
    assert_eq!(calls, counted(&world.aws.journal().calls()));
    assert!(calls.len() > 5, "{calls:?}");
    let answered = scrape.by(
        "remuda_cloud_call_duration_seconds_count",
        &[("cloud", "aws")],
        "action",
    );
    assert_eq!(answered, calls, "each call has a duration");
    assert_eq!(scrape.by(CALLS, &[], "region").len(), 1);
    let refused = world.aws.journal().calls();
    let refused = refused.iter().filter(|call| call.outcome != Outcome::Ok);
    let failed: f64 = scrape.sum(CALLS, &[]) - scrape.sum(CALLS, &[("result", "success")]);
    assert_eq!(failed, counts(refused.count()));

    let writes = world.aws_writes(remuda_testkit::Mark::default()).len();
    let steps = scrape.by("remuda_pool_steps_total", &[], "result");
    assert_eq!(steps.get("done"), Some(&counts(writes)), "{steps:?}");
    let done = [("operation", "apply"), ("result", "done")];
    assert!(scrape.sum("remuda_pool_operations_total", &done) >= 1.0);
    assert_eq!(scrape.sum("remuda_leader", &[]), 1.0);
    for (name, figure) in OF_POOLS.into_iter().zip([3.0, 3.0, 3.0, 1.0]) {
        let pool = [("namespace", NAMESPACE), ("pool", POOL)];
        assert_eq!(scrape.sum(name, &pool), figure, "{name}");
    }
    for kind in ["TerraformMachinePool", "MachinePool", "Cluster"] {
        let kind = [("kind", kind)];
        let ended = scrape.sum("remuda_reconciles_total", &kind);
        assert!(ended >= 1.0, "{kind:?}");
        let took = scrape.sum("remuda_reconcile_duration_seconds_count", &kind);
        assert_eq!(took, ended, "{kind:?}");
        let waited = scrape.sum("remuda_workqueue_wait_duration_seconds_count", &kind);
        assert!(waited >= 1.0 && waited <= ended, "{kind:?}");
        assert_eq!(scrape.sum("remuda_workqueue_depth", &kind), 0.0, "{kind:?}");
        assert_eq!(
            scrape.sum("remuda_reconciles_running", &kind),
            0.0,
            "{kind:?}"
        );
    }
    assert!(scrape.sum("remuda_events_total", &[("result", "written")]) >= 1.0);
    let told = scrape.sum("remuda_sweep_answer_age_seconds_count", &[("cloud", "aws")]);
    assert!(told >= 5.0, "{told}");
    let read = scrape.sum("remuda_sweep_last_success_timestamp_seconds", &[]);
    let ago = counts(usize::try_from(world.now().as_second()).unwrap()) - read;
    assert!((0.0..=90.0).contains(&ago), "read {ago} s ago");

    world.stop().await;
    let scrape = world.scrape();
    assert_eq!(scrape.sum("remuda_leader", &[]), 0.0);
    assert_eq!(
        scrape.mentions("pool", POOL),
        0,
        "nobody looks after it here"
    );
}

#[tokio::test(start_paused = true)]
async fn a_deleted_pools_series_are_gone() {
    let world = World::new().await;
    world.apply(&Demo::default()).await;
    world.start();
    world.pool_is_ready().await;
    world.machine_pool_is_running(3).await;
    assert_eq!(world.scrape().mentions("pool", POOL), OF_POOLS.len());
    world.delete(Kind::MachinePool, POOL).await;
    world.is_gone(Kind::TerraformMachinePool, POOL).await;
    world.pass(Duration::from_secs(5)).await;
    let scrape = world.scrape();
    assert_eq!(scrape.mentions("pool", POOL), 0);
    assert_eq!(
        scrape
            .by("remuda_workqueue_depth", &[], "kind")
            .values()
            .sum::<f64>(),
        0.0,
        "what was woken and is gone waits no longer"
    );
    // No label is a name of an object but the pools', and those are gone.
    let names: Vec<&str> = scrape
        .values()
        .filter(|value| value.contains("demo"))
        .collect();
    assert_eq!(names, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn calls_to_azure_are_counted_as_azure_saw_them() {
    let world = World::new().await;
    world.apply(&Demo::azure()).await;
    world.start();
    world.says(AZURE_POOL, "Ready", "True", "Ready").await;
    world.is_running(AZURE_POOL, 3).await;
    world.pass(Duration::from_mins(5)).await;
    let scrape = world.scrape();
    let calls = scrape.by(CALLS, &[("cloud", "azure")], "action");
    let mut seen = BTreeMap::new();
    for (name, count) in counted(&world.azure.journal().calls()) {
        *seen.entry(in_words_of_ours(&name).to_owned()).or_default() += count;
    }
    assert_eq!(calls, seen);
    assert_eq!(
        scrape.sum("remuda_pool_machines_ready", &[("pool", AZURE_POOL)]),
        3.0
    );
    assert!(
        scrape.sum(
            "remuda_sweep_answer_age_seconds_count",
            &[("cloud", "azure")]
        ) >= 1.0
    );
    assert!(
        scrape.sum("remuda_pool_steps_total", &[("result", "pending")]) >= 1.0,
        "Azure takes its time"
    );
}

#[tokio::test(start_paused = true)]
async fn throttling_and_failures_have_their_class() {
    let world = World::new().await;
    world.apply(&Demo::default()).await;
    world.aws.faults().script(
        Fault::new(Effect::Throttle)
            .on("ec2", "DescribeInstances")
            .times(2),
    );
    world.aws.faults().script(
        Fault::new(Effect::Denied)
            .on("autoscaling", "CreateAutoScalingGroup")
            .times(1),
    );
    world.start();
    world.pool_is_ready().await;
    world.machine_pool_is_running(3).await;
    let scrape = world.scrape();
    let of =
        |action: &str, result: &str| scrape.sum(CALLS, &[("action", action), ("result", result)]);
    assert_eq!(of("ec2:DescribeInstances", "throttled"), 2.0);
    assert_eq!(of("autoscaling:CreateAutoScalingGroup", "denied"), 1.0);
    let by_cloud = [("cloud", "aws"), ("by", "cloud")];
    assert_eq!(scrape.sum("remuda_cloud_throttles_total", &by_cloud), 2.0);
    let failed = [("effect", "new_machines_only"), ("result", "failed")];
    let failed = scrape.sum("remuda_pool_steps_total", &failed)
        + scrape.sum(
            "remuda_pool_steps_total",
            &[("effect", "none"), ("result", "failed")],
        );
    assert_eq!(failed, 1.0);
    let denied = [("operation", "apply"), ("result", "denied")];
    assert_eq!(scrape.sum("remuda_pool_operations_total", &denied), 1.0);
}

/// How a call is named after its resource, by the operation id of Azure's API description.
fn in_words_of_ours(operation: &str) -> &str {
    let (service, operation) = operation.split_once(':').unwrap();
    match (service, operation) {
        ("login", _) => "POST token",
        ("network", _) => "LIST networkInterfaces",
        (_, "Operations_Get") => "GET operations",
        (_, "GalleryImages_Get" | "Images_Get") => "GET images",
        (_, "VirtualMachineScaleSets_List") => "LIST virtualMachineScaleSets",
        (_, "VirtualMachineScaleSets_Get") => "GET virtualMachineScaleSets",
        (_, "VirtualMachineScaleSets_CreateOrUpdate") => "PUT virtualMachineScaleSets",
        (_, "VirtualMachineScaleSets_Update") => "PATCH virtualMachineScaleSets",
        (_, "VirtualMachineScaleSetVMs_List") => "LIST virtualMachines",
        (_, "AutoscaleSettings_ListByResourceGroup") => "LIST autoscalesettings",
        (_, "AutoscaleSettings_CreateOrUpdate") => "PUT autoscalesettings",
        _ => operation,
    }
}

fn counts(of: usize) -> f64 {
    f64::from(u32::try_from(of).unwrap())
}
