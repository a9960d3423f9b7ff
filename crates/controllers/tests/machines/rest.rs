//! A pool at rest: its credential and the cloud are looked at, and whatever changes is seen.

use std::time::Duration;

use remuda_controllers::kinds::Kind;
use remuda_testkit::{Cloud, POOL, World, condition};
use serde_json::json;
use tokio::time::Instant;

use super::ranch::{CLUSTER_NAME, has_members, infra, settled, settled_on_with};

const BOOTSTRAP: &str = "demo-pool-0-bootstrap";
const CREDENTIALS: &str = "demo-aws";
/// Two refreshes, with what the UIDs add to them.
const SOON: Duration = Duration::from_secs(2 * 66 + 5);

fn asked(world: &World, verb: &str, resource: &str) -> usize {
    world.requests.count(verb, resource)
}

#[tokio::test(start_paused = true)]
async fn two_secrets_and_the_cloud_are_looked_at_and_everything_every_ten_minutes() {
    let world = settled().await;
    world.pass(Duration::from_mins(3)).await;
    let looks = || {
        [
            ("get", "secrets"),
            ("get", "terraformmachinepools"),
            ("list", "machines"),
            ("list", "terraformmachinepoolmachines"),
        ]
        .map(|(verb, resource)| asked(&world, verb, resource))
    };
    let (before, mark) = (looks(), world.mark());
    world.pass(Duration::from_mins(30)).await;
    let at_rest = looks();
    let [secrets, pools] = [0, 1].map(|at| at_rest[at] - before[at]);
    // Two in a refresh of 60 to 66 s; a whole pass reads one more. The last two minutes may hold a
    // drift check and what follows it.
    assert!(
        (2 * 27..=2 * 30 + 3 * 9).contains(&secrets),
        "{secrets} Secrets were read"
    );
    assert!((3..=9).contains(&pools), "the pool was read {pools} times");
    assert_eq!(at_rest[2..], before[2..], "no list was read");
    let sweeps = world.aws_calls(mark).len();
    assert!(
        sweeps >= 2 * 27,
        "{sweeps} calls: every refresh reads the cloud"
    );
    Cloud::Aws.replicas(&world, 2).await;
    has_members(&world, 2).await;
    let after = looks();
    assert!(after[2] > at_rest[2], "nobody goes on the word of a watch");
    assert!(after[3] > at_rest[3]);
}

#[tokio::test(start_paused = true)]
async fn a_member_that_ends_is_missed_within_a_refresh() {
    let world = settled().await;
    world.pass(Duration::from_mins(15)).await;
    let gone = infra(&world).await.remove(1);
    Cloud::Aws.kill(&world, &gone);
    let killed = Instant::now();
    let id = &gone["spec"]["providerID"];
    world
        .object_becomes(
            Kind::TerraformMachinePool,
            POOL,
            "it is not listed",
            |pool| {
                let listed = pool["spec"]["providerIDList"].as_array();
                listed.is_some_and(|listed| !listed.contains(id))
            },
        )
        .await;
    assert!(killed.elapsed() < SOON, "{:?}", killed.elapsed());
}

#[tokio::test(start_paused = true)]
async fn another_credential_is_noticed_within_a_refresh_though_nobody_watches_it() {
    let world = settled().await;
    world.pass(Duration::from_mins(15)).await;
    let empty = json!({ "data": null });
    world
        .patch_in(Kind::Secret, "remuda-system", CREDENTIALS, None, empty)
        .await;
    let changed = Instant::now();
    world
        .object_becomes(Kind::TerraformMachinePool, POOL, "it says so", |pool| {
            condition(pool, "IdentityAllowed").is_some_and(|(status, _)| status == "False")
        })
        .await;
    assert!(changed.elapsed() < SOON, "{:?}", changed.elapsed());
}

#[tokio::test(start_paused = true)]
async fn new_bootstrap_data_is_taken_up_within_a_refresh_though_no_watch_shows_it() {
    let demo = Cloud::Aws.demo().edit("Secret", BOOTSTRAP, |secret| {
        let labels = secret["metadata"]["labels"].as_object_mut().unwrap();
        labels.remove(CLUSTER_NAME).unwrap();
    });
    let world = settled_on_with(Cloud::Aws, demo).await;
    world.pass(Duration::from_mins(15)).await;
    let mark = world.mark();
    let other = json!({ "stringData": { "value": "#cloud-config\nruncmd: [echo other]\n" } });
    world.patch(Kind::Secret, BOOTSTRAP, other).await;
    let changed = Instant::now();
    world
        .eventually("the payload is stored anew", || async {
            let writes = world.aws_writes(mark);
            let stored = writes.iter().any(|write| write.contains("PutObject"));
            remuda_testkit::holds(stored, || format!("{writes:?}"))
        })
        .await;
    assert!(changed.elapsed() < SOON, "{:?}", changed.elapsed());
}
