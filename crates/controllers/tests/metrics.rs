//! What is counted, against what the simulated clouds and the API server saw, in virtual time.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::float_cmp,
    reason = "a test reports by panicking; counts are whole numbers"
)]

use std::{collections::BTreeMap, time::Duration};

use remuda_controllers::kinds::Kind;
use remuda_sim::{
    Call, Effect, Fault, Outcome,
    aws::{DEMO_ACCOUNT, DEMO_REGION},
};
use remuda_testkit::{AZURE_POOL, Demo, Mark, NAMESPACE, POOL, Scrape, World, condition, holds};
use serde_json::{Value, json};

const CALLS: &str = "remuda_cloud_calls_total";
const OF_POOLS: [&str; 4] = [
    "remuda_pool_machines_wanted",
    "remuda_pool_machines",
    "remuda_pool_machines_ready",
    "remuda_pool_ready",
];

const GROUP: &str = "captf-team-a-demo-pool-0-43c6d828";
/// Gauges of one pool under captf's names.
const CAPTFS_OF_POOLS: [&str; 4] = [
    "captf_ready",
    "captf_infrastructure_healthy",
    "captf_drift_detected",
    "captf_inputs_bytes",
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
    for label in ["pool", "name"] {
        let left = scrape.mentions(label, POOL);
        assert_eq!(left, 0, "nobody looks after it here");
    }
    assert_eq!(scrape.by("captf_jobs_active", &[], "op").len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_pools_series_are_gone() {
    let world = World::new().await;
    world.apply(&Demo::default()).await;
    world.start();
    world.pool_is_ready().await;
    world.machine_pool_is_running(3).await;
    assert_eq!(world.scrape().mentions("pool", POOL), OF_POOLS.len());
    let succeeded = ["apply", "refresh"].len();
    let under_captfs = CAPTFS_OF_POOLS.len() + succeeded;
    assert_eq!(world.scrape().mentions("name", POOL), under_captfs);
    world.delete(Kind::MachinePool, POOL).await;
    world.is_gone(Kind::TerraformMachinePool, POOL).await;
    world.pass(Duration::from_secs(5)).await;
    let scrape = world.scrape();
    assert_eq!(scrape.mentions("pool", POOL), 0);
    assert_eq!(scrape.mentions("name", POOL), 0);
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

/// How often each of these events was told of a pool.
async fn told(world: &World, pool: &str, reasons: &[&str]) -> Vec<f64> {
    let events = world.event_reasons(pool).await;
    let count = |reason: &&str| counts(events.iter().filter(|told| told == reason).count());
    reasons.iter().map(count).collect()
}

/// Sums of a metric by the values of a label, for operations that write.
fn written(scrape: &Scrape, name: &str, label: &str, values: &[&str]) -> Vec<f64> {
    let of = |value: &&str| {
        let of = |op| scrape.sum(name, &[("op", op), (label, value)]);
        of("apply") + of("destroy")
    };
    values.iter().map(of).collect()
}

fn seconds(time: &Value) -> f64 {
    let time: jiff::Timestamp = time.as_str().unwrap().parse().unwrap();
    counts(usize::try_from(time.as_second()).unwrap())
}

/// Calls that make an object, or take it away, since a mark.
fn objects(world: &World, since: Mark, verbs: [&str; 2]) -> f64 {
    let calls = world.aws_writes(since);
    let is = |call: &&String| {
        let action = call.split(':').nth(1).unwrap_or_default();
        verbs.iter().any(|verb| action.starts_with(verb))
            && !action.ends_with("Tags")
            && !action.ends_with("Version")
    };
    counts(calls.iter().filter(is).count())
}

const RESULTS: [&str; 4] = ["succeeded", "failed", "deadline", "interrupted"];
const ENDS: [&str; 4] = [
    "JobSucceeded",
    "JobFailed",
    "JobDeadlineExceeded",
    "JobInterrupted",
];

#[tokio::test(start_paused = true)]
async fn a_pools_life_under_captfs_names() {
    let world = World::new().await;
    world.aws.faults().script(
        Fault::new(Effect::Denied)
            .on("autoscaling", "CreateAutoScalingGroup")
            .times(1),
    );
    let watchful = json!({ "intervalSeconds": 120, "action": "Report" });
    world
        .apply(&Demo::default().pool(|pool| pool["spec"]["drift"] = watchful))
        .await;
    world.start();
    world.pool_is_ready().await;
    world.machine_pool_is_running(3).await;
    applied_after_a_failure(&world).await;
    drifted(&world).await;
    deleted(&world).await;
}

/// Labels of the pool's gauges under captf's names.
const CAPTFS: [(&str, &str); 3] = [
    ("kind", "TerraformMachinePool"),
    ("namespace", NAMESPACE),
    ("name", POOL),
];

async fn applied_after_a_failure(world: &World) {
    let scrape = world.scrape();
    let ended = written(&scrape, "captf_jobs_total", "result", &RESULTS);
    assert_eq!(ended, [1.0, 1.0, 0.0, 0.0]);
    assert_eq!(ended, told(world, POOL, &ENDS).await);
    let blamed = [("error_kind", "step"), ("step", "apply"), ("op", "apply")];
    assert_eq!(scrape.sum("captf_job_errors_total", &blamed), 1.0);
    assert_eq!(
        scrape.sum("captf_job_attempts_sum", &[("op", "apply")]),
        2.0
    );
    let made = objects(world, Mark::default(), ["Create", "Put"]);
    let refused = 1.0;
    let added = [("op", "apply"), ("action", "add")];
    let added = scrape.sum("captf_resources_changed_total", &added);
    assert_eq!(added, made - refused);
    for (name, kind) in [
        ("captf_ready", "Ready"),
        ("captf_infrastructure_healthy", "InfrastructureHealthy"),
    ] {
        let object = world.get(Kind::TerraformMachinePool, POOL).await.unwrap();
        assert_eq!(condition(&object, kind).unwrap().0, "True");
        assert_eq!(scrape.sum(name, &CAPTFS), 1.0, "{name}");
    }
    assert_eq!(scrape.sum("captf_drift_detected", &CAPTFS), 0.0);
    let bytes = scrape.sum("captf_inputs_bytes", &CAPTFS);
    assert!((1_000.0..1_000_000.0).contains(&bytes), "{bytes}");
    assert_eq!(scrape.sum("captf_jobs_active", &[]), 0.0);
    assert_eq!(scrape.by("captf_jobs_active", &[], "op").len(), 2);
}

async fn drifted(world: &World) {
    let tag = [
        ("Tags.member.1.ResourceId", GROUP),
        ("Tags.member.1.ResourceType", "auto-scaling-group"),
        ("Tags.member.1.Key", "captf.io/name"),
    ];
    let by_hand = world.aws.world();
    by_hand
        .by_hand(DEMO_ACCOUNT, DEMO_REGION, "DeleteTags", &tag)
        .unwrap_or_else(|error| panic!("{error}"));
    world
        .pool_says("DriftDetected", "True", "DriftReported")
        .await;
    let scrape = world.scrape();
    assert_eq!(scrape.sum("captf_drift_detected", &CAPTFS), 1.0);
    let object = world.get(Kind::TerraformMachinePool, POOL).await.unwrap();
    let found = &object["status"]["lastRun"]["drift"];
    let changes = scrape.by("captf_drift_resources_total", &[], "action");
    let changes: Vec<(&str, f64)> = changes.iter().map(|(at, by)| (at.as_str(), *by)).collect();
    assert_eq!(changes, [("change", found["update"].as_f64().unwrap())]);
    let checks = [("op", "drift"), ("result", "succeeded")];
    let looked = [("operation", "drift"), ("result", "done")];
    let looked = scrape.sum("remuda_pool_operations_total", &looked);
    assert!(looked >= 1.0);
    assert_eq!(scrape.sum("captf_jobs_total", &checks), looked);
    let due = [("op", "drift"), ("reason", "DriftDue")];
    let decided = scrape.sum("captf_reconcile_op_decisions_total", &due);
    assert_eq!(decided, looked);
    let at = |op| {
        let of = [CAPTFS[1], CAPTFS[2], ("op", op)];
        scrape.sum("captf_last_success_timestamp_seconds", &of)
    };
    assert_eq!(at("drift"), seconds(&object["status"]["lastDriftCheck"]));
    assert!(at("apply") > 0.0 && at("apply") < at("drift"));
    assert!(at("refresh") >= at("drift"));
}

async fn deleted(world: &World) {
    let mark = world.mark();
    world.delete(Kind::MachinePool, POOL).await;
    world.is_gone(Kind::TerraformMachinePool, POOL).await;
    world.pass(Duration::from_secs(5)).await;
    let scrape = world.scrape();
    let ended = written(&scrape, "captf_jobs_total", "result", &RESULTS);
    assert_eq!(ended, told(world, POOL, &ENDS).await);
    let destroyed = [("op", "destroy"), ("result", "succeeded")];
    assert_eq!(scrape.sum("captf_jobs_total", &destroyed), 1.0);
    let took = scrape.sum("captf_job_duration_seconds_count", &destroyed);
    assert_eq!(took, 1.0);
    let gone = [("op", "destroy"), ("action", "destroy")];
    let gone = scrape.sum("captf_resources_changed_total", &gone);
    assert_eq!(gone, objects(world, mark, ["Delete", "Delete"]));
    let begun = scrape.by(
        "captf_reconcile_op_decisions_total",
        &[("op", "destroy")],
        "reason",
    );
    assert_eq!(begun, BTreeMap::from([("Deleting".to_owned(), 1.0)]));
    let created = told(world, POOL, &["JobCreated"]).await;
    let begun = ["apply", "destroy"].map(|op| {
        let of = [("op", op)];
        scrape.sum("captf_reconcile_op_decisions_total", &of)
    });
    assert_eq!([begun[0] + begun[1]], *created, "what begins is announced");
}

/// On Azure an apply goes on over several passes.
#[tokio::test(start_paused = true)]
async fn an_operation_of_several_passes_is_one_job() {
    let world = World::new().await;
    world.apply(&Demo::azure()).await;
    world.start();
    let active = [("op", "apply")];
    world
        .eventually("the apply is shown at work", || async {
            let scrape = world.scrape();
            let shown = scrape.sum("captf_jobs_active", &active);
            holds(shown == 1.0, || format!("{shown}"))
        })
        .await;
    let pool = world.get(Kind::TerraformMachinePool, AZURE_POOL).await;
    let began = seconds(&pool.unwrap()["status"]["activeJob"]["startTime"]);
    world.says(AZURE_POOL, "Ready", "True", "Ready").await;
    let scrape = world.scrape();
    let passes = [("operation", "apply"), ("result", "done")];
    let passes = scrape.sum("remuda_pool_operations_total", &passes);
    let jobs = scrape.sum("captf_jobs_total", &[("op", "apply")]);
    assert!(passes > jobs, "{passes} passes, {jobs} jobs");
    assert_eq!(told(&world, AZURE_POOL, &ENDS).await, [jobs, 0.0, 0.0, 0.0]);
    assert_eq!(jobs, 1.0);
    let took = scrape.sum("captf_job_duration_seconds_sum", &[("op", "apply")]);
    let ended = [("name", AZURE_POOL), ("op", "apply")];
    let ended = scrape.sum("captf_last_success_timestamp_seconds", &ended);
    assert!(
        (took - (ended - began)).abs() <= 1.0,
        "{took} {ended} {began}"
    );
    assert!(took > 5.0, "{took}");
    let goes_on = [("op", "none"), ("reason", "JobActive")];
    let goes_on = scrape.sum("captf_reconcile_op_decisions_total", &goes_on);
    assert!(goes_on >= passes, "{goes_on}");
    assert_eq!(scrape.sum("captf_jobs_active", &active), 0.0);
}

#[tokio::test(start_paused = true)]
async fn changed_inputs_and_denied_identities_are_counted_once_each() {
    let world = World::new().await;
    world.apply(&Demo::default()).await;
    world.start();
    world.pool_is_ready().await;
    world.machine_pool_is_running(3).await;
    let changes = "captf_inputs_hash_changes_total";
    let decisions = "captf_reconcile_op_decisions_total";
    assert_eq!(world.scrape().sum(changes, &[]), 0.0);
    let more = json!({ "spec": { "replicas": 4 } });
    world.patch(Kind::MachinePool, POOL, more).await;
    world.machine_pool_is_running(4).await;
    world.pool_is_ready().await;
    let scrape = world.scrape();
    let changed = told(&world, POOL, &["InputsChanged"]).await;
    assert_eq!([scrape.sum(changes, &[])], *changed);
    assert_eq!(scrape.sum(changes, &[]), 1.0);
    let because = [("op", "apply"), ("reason", "InputsChanged")];
    assert_eq!(scrape.sum(decisions, &because), 1.0);
    let first = [("op", "apply"), ("reason", "NoState")];
    assert_eq!(scrape.sum(decisions, &first), 1.0);

    let denied = "captf_identity_denied_total";
    assert_eq!(world.scrape().by(denied, &[], "reason").len(), 0);
    let somebody = json!({ "spec": { "identityRef": { "name": "nobody" } } });
    world
        .patch(Kind::TerraformMachinePool, POOL, somebody)
        .await;
    world
        .pool_says("IdentityAllowed", "False", "IdentityNotFound")
        .await;
    world.pass(Duration::from_mins(30)).await;
    let scrape = world.scrape();
    assert_eq!(scrape.sum(denied, &[("reason", "notfound")]), 1.0);
    let refused = told(&world, POOL, &["IdentityNotAllowed"]).await;
    assert_eq!([scrape.sum(denied, &[])], *refused);
}

/// The metrics outlive the run, as with a process that leads again; what it knew of pools does not.
#[tokio::test(start_paused = true)]
async fn who_leads_anew_knows_when_the_last_apply_was_and_counts_no_job_again() {
    let world = World::new().await;
    world.apply(&Demo::default()).await;
    world.start();
    world.pool_is_ready().await;
    world.machine_pool_is_running(3).await;
    let applied = |scrape: &Scrape| {
        let of = [CAPTFS[1], CAPTFS[2], ("op", "apply")];
        scrape.sum("captf_last_success_timestamp_seconds", &of)
    };
    let jobs = |scrape: &Scrape| scrape.by("captf_jobs_total", &[], "op");
    let before = world.scrape();
    world.stop().await;
    assert!(applied(&before) > 0.0 && applied(&world.scrape()) == 0.0);
    world.pass(Duration::from_mins(10)).await;
    world.start();
    world.pass(Duration::from_mins(5)).await;
    let after = world.scrape();
    assert_eq!(applied(&after), applied(&before));
    assert_eq!(jobs(&after), jobs(&before));
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
