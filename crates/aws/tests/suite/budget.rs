//! What reading costs, and what throttling does (AWS document 11.2, 13.8).

use std::{sync::Arc, time::Duration};

use remuda_aws::{AwsBackend, Options};
use remuda_cloud::{PoolBackend, PoolSession, backend::CredentialSource};
use remuda_plan::{
    aws::observed,
    driver::{Handle, Observed},
    error::FailureClass,
    pool::{
        read::{Depth, Freshness},
        secret::Secret,
    },
};
use remuda_sim::{
    Effect, Fault, Outcome,
    aws::{DEMO_ACCOUNT, InstanceState, PlacedInstance},
};
use tokio::time::Instant;

use crate::{
    harness::{
        World,
        demo::{GROUP, REGION},
        wire::Double,
        writes,
    },
    identity,
    moto::on_both,
};

fn handle(group: &str) -> Handle {
    Handle::Aws(observed::Handle {
        region: REGION.to_owned(),
        group_name: group.to_owned(),
        template_prefix: format!("{group}-"),
        payload: None,
        old_payload: None,
        image: None,
        hook: false,
        explained: None,
    })
}

/// Groups that launch nothing, with members placed by hand.
fn fleet(world: &World, pools: usize, members_each: usize) -> Vec<Handle> {
    let hands = world.sim().world();
    let by_hand = |action: &str, params: &[(&str, &str)]| {
        hands.by_hand(DEMO_ACCOUNT, REGION, action, params).unwrap()
    };
    let template = [
        ("LaunchTemplateName", "fleet"),
        ("LaunchTemplateData.ImageId", "ami-0123456789abcdef0"),
        ("LaunchTemplateData.InstanceType", "m6i.large"),
    ];
    by_hand("CreateLaunchTemplate", &template);
    (0..pools)
        .map(|pool| {
            let name = format!("pool-{pool:04}");
            by_hand(
                "CreateAutoScalingGroup",
                &[
                    ("AutoScalingGroupName", &name),
                    ("MinSize", "0"),
                    ("MaxSize", "100"),
                    ("DesiredCapacity", "0"),
                    ("LaunchTemplate.LaunchTemplateName", "fleet"),
                    ("VPCZoneIdentifier", "subnet-0aaa0000000000001"),
                ],
            );
            by_hand(
                "SuspendProcesses",
                &[
                    ("AutoScalingGroupName", &name),
                    ("ScalingProcesses.member.1", "Terminate"),
                ],
            );
            for member in 0..members_each {
                let placed = PlacedInstance {
                    id: format!("i-{:017x}", pool * 1000 + member),
                    group: name.clone(),
                    zone: "us-east-1a".to_owned(),
                    state: InstanceState::Running,
                    private_ip: None,
                };
                assert!(hands.place_instance(DEMO_ACCOUNT, REGION, placed));
            }
            handle(&name)
        })
        .collect()
}

async fn observe_all(
    world: &World,
    handles: &[Handle],
    freshness: Freshness,
) -> Vec<observed::Observed> {
    let session = world.session().await;
    let reads = handles
        .iter()
        .map(|handle| session.observe(handle, Depth::Members, freshness));
    futures::future::join_all(reads)
        .await
        .into_iter()
        .map(|observed| match observed.unwrap() {
            Observed::Aws(observed) => *observed,
            Observed::Azure(_) => panic!("an AWS pool"),
        })
        .collect()
}

fn reads(world: &World) -> (usize, usize) {
    let journal = world.sim().journal();
    (
        journal.count("autoscaling", "DescribeAutoScalingGroups"),
        journal.count("ec2", "DescribeInstances"),
    )
}

/// Proves: AWS-85.
#[tokio::test(start_paused = true)]
async fn one_cycle_of_120_pools_is_two_group_calls_and_one_a_thousand_instances() {
    let world = World::simulated();
    let handles = fleet(&world, 120, 10);
    let seen = observe_all(&world, &handles, Freshness::Steady).await;
    assert_eq!(reads(&world), (2, 2));
    for observed in &seen {
        assert!(observed.group.known().unwrap().is_some());
        assert_eq!(observed.instances.known().unwrap().len(), 10);
    }
    assert_eq!(world.sim().journal().writes().len(), 0);
    // One call serves up to a thousand instances.
    let world = World::simulated();
    let handles = fleet(&world, 120, 8);
    observe_all(&world, &handles, Freshness::Steady).await;
    assert_eq!(reads(&world), (2, 1));
}

/// Those who ask while a cycle is under way are served by it, and no other follows for them.
#[tokio::test(start_paused = true)]
async fn who_asks_during_a_cycle_starts_no_other() {
    let world = World::simulated();
    let handles = fleet(&world, 3, 1);
    let session = world.session().await;
    let read = |handle: &Handle| {
        let (session, handle) = (Arc::clone(&session), handle.clone());
        tokio::spawn(async move {
            let observed = session.observe(&handle, Depth::Members, Freshness::Steady);
            observed.await.unwrap();
        })
    };
    for handle in &handles {
        read(handle).await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(31)).await;
    let before = reads(&world);
    let slow = Fault::new(Effect::Latency(Duration::from_secs(2)));
    world.sim().faults().script(slow.service("ec2"));
    let first = read(&handles[0]);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let others = [read(&handles[1]), read(&handles[2])];
    first.await.unwrap();
    for other in others {
        other.await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(25)).await;
    assert_eq!(reads(&world), (before.0 + 1, before.1 + 1));
}

on_both! {
    /// Proves: AWS-86.
    #[test]
    async fn without_max_records_only_fifty_of_a_hundred_groups_come_back(world: World) {
        let mut pool = world.demo_pool();
        world.settle(&mut pool).await;
        let mut template = world.probe.group(GROUP).await.unwrap().launch_template.unwrap();
        template.launch_template_id = None;
        let names: Vec<String> = (0..100).map(|number| format!("group-{number:03}")).collect();
        for name in &names {
            world
                .probe
                .autoscaling
                .create_auto_scaling_group()
                .auto_scaling_group_name(name)
                .min_size(0)
                .max_size(0)
                .launch_template(template.clone())
                .vpc_zone_identifier(&world.cluster.zones["us-east-1a"])
                .send()
                .await
                .unwrap();
        }
        let describe = || {
            world
                .probe
                .autoscaling
                .describe_auto_scaling_groups()
                .set_auto_scaling_group_names(Some(names.clone()))
        };
        let short = describe().send().await.unwrap();
        assert_eq!(short.auto_scaling_groups().len(), 50);
        assert!(short.next_token().is_some());
        let whole = describe().max_records(100).send().await.unwrap();
        assert_eq!(whole.auto_scaling_groups().len(), 100);
        // Which is what the backend asks for.
        world.pass(&mut pool).await;
        let calls = world.recorder.since(0);
        assert!(
            calls
                .iter()
                .filter(|call| call.name == "autoscaling:DescribeAutoScalingGroups")
                .all(|call| call.param("MaxRecords") == "100")
        );
    }
}

/// Proves: AWS-87.
#[tokio::test(start_paused = true)]
async fn throttling_of_every_second_call_delays_and_breaks_nothing() {
    let world = World::simulated();
    let mut pool = world.demo_pool();
    world.settle(&mut pool).await;
    world.wait(60).await;
    world.refresh(&mut pool).await.unwrap();
    let listed = pool.outputs().provider_id_list.clone();
    assert_eq!(listed.len(), 3);
    world
        .sim()
        .faults()
        .script(Fault::new(Effect::Throttle).every(2));
    pool.set("instance_type", serde_json::json!("m6i.xlarge"));
    pool.inputs.replicas = 4;
    world.settle(&mut pool).await;
    for _ in 0..5 {
        // A refresh that fails publishes nothing; one that succeeds shows everybody.
        if let Ok(outputs) = world.refresh(&mut pool).await {
            assert!(
                listed
                    .iter()
                    .all(|id| outputs.provider_id_list.contains(id))
            );
        }
    }
    world.sim().faults().clear();
    assert_eq!(world.probe.sizes(GROUP).await, (4, 4, 4));
    // The waits themselves, where nothing else passes the time: each within a ceiling that doubles.
    let world = World::simulated();
    let mut pool = world.demo_pool();
    world.settle(&mut pool).await;
    let first = world.sim().journal().next_number();
    let throttle = Fault::new(Effect::Throttle).on("ec2", "DescribeInstances");
    world.sim().faults().script(throttle.every(2));
    for _ in 0..8 {
        // A turn too far away to wait for is refused with its wait, as a controller needs it.
        if let Err(failure) = world.refresh_now(&mut pool).await {
            assert_eq!(failure.class, FailureClass::Throttled);
            world.wait(failure.retry_after_seconds.unwrap()).await;
        }
    }
    let calls: Vec<remuda_sim::Call> = world
        .sim()
        .journal()
        .since(first)
        .into_iter()
        .filter(|call| call.action == "DescribeInstances")
        .collect();
    let waits: Vec<f64> = calls
        .windows(2)
        .filter(|pair| pair[0].outcome != Outcome::Ok)
        .map(|pair| pair[1].at.duration_since(pair[0].at).as_secs_f64())
        .collect();
    assert!(waits.len() >= 5, "{waits:?}");
    for (wait, ceiling) in waits
        .iter()
        .zip([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0])
    {
        assert!(*wait <= ceiling + 0.001, "{waits:?}");
    }
    assert!(
        waits.iter().any(|wait| *wait > 2.0),
        "waits grow beyond the base: {waits:?}"
    );
}

/// A steady answer serves for 30 s, a converging one for 10 s, and cycles are 5 s apart.
#[tokio::test(start_paused = true)]
async fn answers_are_shared_until_they_are_too_old() {
    let world = World::simulated();
    let handles = fleet(&world, 3, 1);
    let all = |freshness| observe_all(&world, &handles, freshness);
    all(Freshness::Steady).await;
    assert_eq!(reads(&world), (1, 1));
    tokio::time::sleep(Duration::from_secs(9)).await;
    all(Freshness::Converging).await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    all(Freshness::Steady).await;
    assert_eq!(
        reads(&world),
        (1, 1),
        "29 s are not too old for a steady pool"
    );
    all(Freshness::Converging).await;
    assert_eq!(
        reads(&world),
        (2, 2),
        "29 s are too old for a converging one"
    );
    // The cycle was for everybody, and the next starts 5 s later at the earliest.
    let started = Instant::now();
    tokio::time::sleep(Duration::from_secs(31)).await;
    all(Freshness::Steady).await;
    assert_eq!(reads(&world), (3, 3));
    assert!(started.elapsed() < Duration::from_secs(32));
}

/// Fifty pools that ask at once share one batch; a fresh read goes alone and at once.
#[tokio::test(start_paused = true)]
async fn a_batch_is_single_flight_and_a_fresh_read_is_not_delayed() {
    let world = World::simulated();
    let handles = fleet(&world, 50, 1);
    observe_all(&world, &handles, Freshness::Steady).await;
    assert_eq!(reads(&world), (1, 1));
    let started = Instant::now();
    observe_all(&world, &handles[..1], Freshness::Fresh).await;
    assert_eq!(started.elapsed(), Duration::ZERO);
    assert_eq!(reads(&world), (2, 2));
    let fresh = world
        .sim()
        .journal()
        .named("autoscaling", "DescribeAutoScalingGroups");
    assert!(
        fresh
            .last()
            .unwrap()
            .params
            .values()
            .any(|value| value == "pool-0000")
    );
}

/// A pool reads its own write within about a second; the others' answers stay.
#[tokio::test(start_paused = true)]
async fn a_write_makes_only_its_own_group_stale() {
    let world = World::simulated();
    let mut pool = world.demo_pool();
    world.settle(&mut pool).await;
    let others = fleet(&world, 20, 1);
    observe_all(&world, &others, Freshness::Steady).await;
    let before = reads(&world);
    pool.inputs.replicas = 5;
    let session = world.session().await;
    let update = remuda_plan::aws::action::GroupUpdate {
        group: GROUP.to_owned(),
        min_size: Some(5),
        max_size: Some(5),
        ..Default::default()
    };
    let action = remuda_plan::pool::action::Action::Aws(
        remuda_plan::aws::action::Action::UpdateGroup(update),
    );
    session.apply(&world.handle(&pool), &action).await.unwrap();
    let started = Instant::now();
    let outputs = world
        .refresh_with(&mut pool, Freshness::Steady)
        .await
        .unwrap();
    assert_eq!(outputs.replicas, Some(5));
    assert!(started.elapsed() <= Duration::from_secs(1));
    observe_all(&world, &others, Freshness::Steady).await;
    assert_eq!(reads(&world), (before.0 + 1, before.1 + 1));
}

/// Pools that stopped asking leave the cycle.
#[tokio::test(start_paused = true)]
async fn a_cycle_reads_only_pools_that_asked_lately() {
    let world = World::simulated();
    let handles = fleet(&world, 120, 1);
    observe_all(&world, &handles, Freshness::Steady).await;
    assert_eq!(reads(&world), (2, 1));
    for _ in 0..6 {
        tokio::time::sleep(Duration::from_secs(31)).await;
        observe_all(&world, &handles[..1], Freshness::Steady).await;
    }
    let before = reads(&world);
    tokio::time::sleep(Duration::from_secs(31)).await;
    observe_all(&world, &handles[..1], Freshness::Steady).await;
    assert_eq!(reads(&world), (before.0 + 1, before.1 + 1));
}

/// A pool that is known to have changed is read again by itself.
#[tokio::test(start_paused = true)]
async fn a_changed_pool_is_read_again_without_a_cycle() {
    let world = World::simulated();
    let handles = fleet(&world, 120, 1);
    observe_all(&world, &handles, Freshness::Steady).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let started = Instant::now();
    observe_all(&world, &handles[..1], Freshness::Changed).await;
    assert!(started.elapsed() <= Duration::from_secs(1));
    assert_eq!(reads(&world), (3, 2));
}

/// A chunk whose read failed is unknown to all of its pools, and the others know theirs.
#[tokio::test(start_paused = true)]
async fn a_failed_chunk_is_unknown_to_its_pools_only() {
    let world = World::simulated();
    let handles = fleet(&world, 150, 1);
    let denied = Fault::new(Effect::Denied).on("autoscaling", "DescribeAutoScalingGroups");
    world.sim().faults().script(denied.once());
    let seen = observe_all(&world, &handles, Freshness::Steady).await;
    let known: Vec<bool> = seen
        .iter()
        .map(|seen| seen.group.known().is_some())
        .collect();
    assert_eq!(
        known,
        [[false; 100].as_slice(), [true; 50].as_slice()].concat()
    );
    assert!(seen.iter().all(|seen| seen.instances.known().is_some()));
}

/// An idle hour of a converged pool makes no mutating call.
#[tokio::test(start_paused = true)]
async fn an_idle_hour_writes_nothing() {
    let world = World::simulated();
    let mut pool = world.demo_pool();
    world.settle(&mut pool).await;
    world.wait(60).await;
    world.pass(&mut pool).await;
    world.sim().journal().clear();
    for _ in 0..60 {
        world.wait(29).await;
        world.refresh(&mut pool).await.unwrap();
    }
    assert_eq!(world.sim().journal().writes().len(), 0);
    assert_eq!(reads(&world), (60, 60));
}

/// Client-side ceilings: writes leave ten at once, then two a second.
#[tokio::test(start_paused = true)]
async fn writes_keep_to_their_ceiling() {
    let world = World::simulated();
    let handles = fleet(&world, 16, 0);
    let session = world.session().await;
    let started = Instant::now();
    let updates = handles.iter().map(|handle| {
        let Handle::Aws(aws) = handle else {
            panic!("an AWS pool");
        };
        let update = remuda_plan::aws::action::GroupUpdate {
            group: aws.group_name.clone(),
            max_size: Some(50),
            ..Default::default()
        };
        let action = remuda_plan::pool::action::Action::Aws(
            remuda_plan::aws::action::Action::UpdateGroup(update),
        );
        let session = session.clone();
        async move { session.apply(handle, &action).await.unwrap() }
    });
    futures::future::join_all(updates).await;
    // 10 at once and 6 at two a second.
    let took = started.elapsed().as_secs_f64();
    assert!((2.9..3.1).contains(&took), "{took}");
}

/// `Retry-After` is a lower bound of the wait.
#[tokio::test(start_paused = true)]
async fn retry_after_is_honoured() {
    let world = World::simulated();
    let mut pool = world.demo_pool();
    let asked = std::sync::Arc::new(std::sync::Mutex::new(Vec::<Instant>::new()));
    let seen = std::sync::Arc::clone(&asked);
    world.recorder.answer_with(Some(Double::new(
        move |call: &crate::harness::wire::Recorded| {
            if call.name != "s3:HeadObject" {
                return None;
            }
            let mut seen = seen.lock().unwrap();
            seen.push(Instant::now());
            (seen.len() == 1).then(|| {
                http::Response::builder()
                    .status(503)
                    .header("retry-after", "7")
                    .body(http_body_util::Full::default())
                    .unwrap()
            })
        },
    )));
    let pass = world.pass(&mut pool).await;
    assert_eq!(pass.failed, None);
    let asked = asked.lock().unwrap();
    assert!(asked[1] - asked[0] >= Duration::from_secs(7));
    assert!(!writes(&pass.calls).is_empty());
}

/// Without ceilings nothing waits.
#[tokio::test(start_paused = true)]
async fn ceilings_can_be_lifted() {
    let world = World::simulated_with(|options| Options {
        ceilings: Vec::new(),
        ..options
    });
    let handles = fleet(&world, 30, 0);
    let started = Instant::now();
    for handle in &handles {
        observe_all(&world, std::slice::from_ref(handle), Freshness::Fresh).await;
    }
    assert_eq!(started.elapsed(), Duration::ZERO);
}

/// Calls in flight are bounded for an account, whoever's credentials they are sent with: roles name
/// their account, and a key that names none counts by itself.
#[tokio::test(start_paused = true)]
async fn roles_of_one_account_share_its_calls_in_flight() {
    let world = World::simulated_with(|options| Options {
        in_flight: 1,
        ..options
    });
    let handles = fleet(&world, 1, 0);
    let slow = Effect::Latency(Duration::from_secs(5));
    let groups = Fault::new(slow).on("autoscaling", "DescribeAutoScalingGroups");
    world.sim().faults().script(groups);
    let role = identity::assumed_role();
    let mut again = role.clone();
    if let CredentialSource::Keys(keys) = &mut again.source {
        keys.insert("NOTE".to_owned(), Secret::new(b"rotated".to_vec()));
    }
    let backend = AwsBackend::new(world.options().clone());
    let sessions = [
        backend.session(&role).await.unwrap(),
        backend.session(&again).await.unwrap(),
        world.session().await,
    ];
    let took = async |sessions: &[Arc<dyn PoolSession>]| {
        let started = Instant::now();
        let reads = sessions
            .iter()
            .map(|session| session.observe(&handles[0], Depth::Members, Freshness::Fresh));
        for read in futures::future::join_all(reads).await {
            read.unwrap();
        }
        started.elapsed().as_secs()
    };
    assert_eq!(took(&sessions[..1]).await, 5);
    assert_eq!(
        took(&sessions[1..]).await,
        5,
        "the key is not known to be of that account"
    );
    assert_eq!(took(&sessions).await, 10);
}
