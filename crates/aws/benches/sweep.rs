//! What a cycle costs: 1,000 pools of 10 instances on the simulator, figures from its journal.
//!
//! Run it with `cargo bench -p remuda-aws`. It fails when a cycle takes more read calls than the
//! design allows.
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use remuda_aws::{AwsBackend, Options};
use remuda_cloud::{Credentials, PoolBackend, PoolSession, backend::CredentialSource};
use remuda_plan::{
    aws::observed,
    driver::{Handle, Observed},
    pool::{
        read::{Depth, Freshness},
        secret::Secret,
    },
};
use remuda_sim::aws::{
    AwsSim, DEMO_ACCESS_KEY_ID, DEMO_ACCOUNT, DEMO_REGION, DEMO_SECRET_ACCESS_KEY, InstanceState,
    PlacedInstance,
};

const POOLS: usize = 1_000;
const INSTANCES_EACH: usize = 10;
/// Design, section 10: read calls a cycle on AWS.
const MOST_READS: usize = 25;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime needs nothing that could be missing here");
    runtime.block_on(measure());
}

async fn measure() {
    let sim = AwsSim::builder().demo();
    let handles = fleet(&sim);
    let backend = AwsBackend::new(Options::default().in_process(sim.router()));
    let session = backend
        .session(&credentials())
        .await
        .expect("the demo keys are usable");
    for cycle in 1..=3 {
        sim.journal().clear();
        let virtual_start = tokio::time::Instant::now();
        let real_start = std::time::Instant::now();
        let members = observe_all(&session, &handles).await;
        let groups = sim
            .journal()
            .count("autoscaling", "DescribeAutoScalingGroups");
        let instances = sim.journal().count("ec2", "DescribeInstances");
        let writes = sim.journal().writes().len();
        println!(
            "cycle {cycle}: {groups} group calls + {instances} instance calls = {} reads, {writes} \
             writes, {members} members, {:.1} s under the default ceilings, {:.0} ms of CPU",
            groups + instances,
            virtual_start.elapsed().as_secs_f64(),
            real_start.elapsed().as_secs_f64() * 1_000.0,
        );
        assert_eq!(members, POOLS * INSTANCES_EACH);
        assert!(
            groups + instances <= MOST_READS,
            "more than {MOST_READS} reads"
        );
        assert_eq!(sim.journal().calls().len(), groups + instances);
        tokio::time::sleep(Duration::from_secs(31)).await;
    }
}

async fn observe_all(session: &Arc<dyn PoolSession>, handles: &[Handle]) -> usize {
    let reads = handles
        .iter()
        .map(|handle| session.observe(handle, Depth::Members, Freshness::Steady));
    futures::future::join_all(reads)
        .await
        .into_iter()
        .map(
            |observed| match observed.expect("nothing fails in this world") {
                Observed::Aws(observed) => observed.instances.known().map_or(0, Vec::len),
                Observed::Azure(_) => 0,
            },
        )
        .sum()
}

fn credentials() -> Credentials {
    let key = |name: &str, value: &str| (name.to_owned(), Secret::new(value.into()));
    Credentials {
        cache_key: "bench".to_owned(),
        source: CredentialSource::Keys(BTreeMap::from([
            key("AWS_ACCESS_KEY_ID", DEMO_ACCESS_KEY_ID),
            key("AWS_SECRET_ACCESS_KEY", DEMO_SECRET_ACCESS_KEY),
        ])),
    }
}

/// Groups without launches of their own, their members placed by hand.
fn fleet(sim: &AwsSim) -> Vec<Handle> {
    let world = sim.world();
    let by_hand = |action: &str, params: &[(&str, &str)]| {
        world
            .by_hand(DEMO_ACCOUNT, DEMO_REGION, action, params)
            .expect("good parameters");
    };
    by_hand(
        "CreateLaunchTemplate",
        &[
            ("LaunchTemplateName", "fleet"),
            ("LaunchTemplateData.ImageId", "ami-0123456789abcdef0"),
            ("LaunchTemplateData.InstanceType", "m6i.large"),
        ],
    );
    (0..POOLS)
        .map(|pool| {
            let name = format!("captf-team-a-pool-{pool:04}-00000000");
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
            for member in 0..INSTANCES_EACH {
                world.place_instance(
                    DEMO_ACCOUNT,
                    DEMO_REGION,
                    PlacedInstance {
                        id: format!("i-{:017x}", pool * 1_000 + member),
                        group: name.clone(),
                        zone: "us-east-1a".to_owned(),
                        state: InstanceState::Running,
                        private_ip: None,
                    },
                );
            }
            Handle::Aws(observed::Handle {
                region: DEMO_REGION.to_owned(),
                template_prefix: format!("{name}-"),
                group_name: name,
                payload: None,
                old_payload: None,
                image: None,
                hook: false,
                explained: None,
            })
        })
        .collect()
}
