//! What reading costs (Azure document 11).

use std::{collections::BTreeMap, time::Duration};

use remuda_azure::Options;
use remuda_cloud::backend::CredentialSource;
use remuda_plan::{
    azure::{
        observed::{self, SetHandle},
        place::Place,
    },
    driver::Handle,
    pool::{
        read::{Depth, Freshness},
        secret::Secret,
    },
};
use remuda_sim::{
    Effect, Fault,
    azure::{DEMO_GROUP, DEMO_REGION, DEMO_SUBSCRIPTION},
};
use tokio::time::Instant;

use crate::harness::{
    World,
    demo::{Pool, SET},
    secret_keys,
    wire::{Recorded, names},
};

/// A settled pool of so many members, and its handle.
async fn pool_of(members: u32) -> (World, Handle) {
    let world = World::new();
    let mut pool = Pool::demo();
    // Any number is within the bounds of Autoscale.
    pool.autoscale(0, 1000);
    world.settle(&mut pool).await;
    assert!(world.sim.world().resize(SET, members));
    world.wait(600).await;
    let handle = world.handle(&pool);
    (world, handle)
}

async fn reads(
    world: &World,
    handle: &Handle,
    depth: Depth,
    freshness: Freshness,
) -> Vec<Recorded> {
    let mark = world.recorder.mark();
    let seen = world.observe(handle, depth, freshness).await;
    assert!(matches!(seen.members.get(SET), Some(members) if members.known().is_some()));
    let calls = world.recorder.since(mark);
    assert!(calls.iter().all(|call| !call.is_write()));
    calls
        .into_iter()
        .filter(|call| call.name != "POST token")
        .collect()
}

/// Proves: AZURE-98.
#[tokio::test(start_paused = true)]
async fn a_thousand_members_are_22_reads_at_first_and_11_from_then_on() {
    for (members, full, steady) in [(200, 6, 3), (1000, 22, 11)] {
        let (mut world, handle) = pool_of(members).await;
        world.restart();
        let first = reads(&world, &handle, Depth::Full, Freshness::Fresh).await;
        assert!(first.len() <= full, "{members}: {:?}", names(&first));
        world.wait(60).await;
        let next = reads(&world, &handle, Depth::Members, Freshness::Steady).await;
        assert!(next.len() <= steady, "{members}: {:?}", names(&next));
        assert!(
            next.iter()
                .all(|call| !call.path.ends_with("/networkInterfaces"))
        );
    }
}

/// Proves: AZURE-99.
#[tokio::test(start_paused = true)]
async fn pools_of_one_group_share_the_list_of_sets() {
    let world = World::new();
    let mut pools = ["one", "two", "three"].map(Pool::named);
    for pool in &mut pools {
        world.settle(pool).await;
    }
    world.wait(300).await;
    let handles = pools.each_ref().map(|pool| world.handle(pool));
    let mark = world.recorder.mark();
    let session = world.session().await;
    let looks = handles
        .iter()
        .map(|handle| session.observe(handle, Depth::Members, Freshness::Steady));
    for seen in futures::future::join_all(looks).await {
        assert!(seen.is_ok());
    }
    let calls = world.recorder.since(mark);
    let count = |kind: &str| {
        calls
            .iter()
            .filter(|call| call.path.ends_with(kind))
            .count()
    };
    assert_eq!(count("/virtualMachineScaleSets"), 1);
    assert_eq!(count("/virtualMachines"), 3);
    assert_eq!(calls.len(), 4, "{:?}", names(&calls));
}

/// Many sets share the instance lists that Azure allows: each is listed when the group's list
/// shows a change, or when its turn comes.
#[tokio::test(start_paused = true)]
async fn many_steady_sets_take_turns() {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle_and_boot(&mut pool).await;
    let own = world.handle(&pool);
    let session = world.session().await;
    let others: Vec<Handle> = (0..400)
        .map(|number| elsewhere(&format!("set-{number}")))
        .collect();
    let look_at_all = async || {
        let all = others.iter().chain([&own]);
        let looks = all.map(|handle| session.observe(handle, Depth::Members, Freshness::Steady));
        futures::future::join_all(looks).await;
    };
    look_at_all().await;
    world.wait(60).await;
    let mark = world.recorder.mark();
    look_at_all().await;
    assert_eq!(
        names(&world.recorder.since(mark)),
        ["GET virtualMachineScaleSets"]
    );
    assert!(world.sim.world().resize(SET, 4));
    world.wait(31).await;
    let mark = world.recorder.mark();
    look_at_all().await;
    assert!(names(&world.recorder.since(mark)).contains(&"GET virtualMachines"));
}

/// A set that does not exist.
fn elsewhere(name: &str) -> Handle {
    let set = SetHandle {
        created: false,
        members: true,
    };
    Handle::Azure(observed::Handle {
        place: Place {
            subscription_id: DEMO_SUBSCRIPTION.to_owned(),
            resource_group_name: DEMO_GROUP.to_owned(),
            region: DEMO_REGION.to_owned(),
        },
        set_name: name.to_owned(),
        sets: BTreeMap::from([(name.to_owned(), set)]),
        ownership: BTreeMap::new(),
        operation: None,
        image: None,
    })
}

/// Calls in flight are bounded for a subscription, whoever's credentials they are sent with.
#[tokio::test(start_paused = true)]
async fn credentials_of_one_subscription_share_its_calls_in_flight() {
    let took = async |in_flight| {
        let world = World::with(
            |sim| sim,
            |options| Options {
                in_flight,
                ..options
            },
        );
        let slow = Effect::Latency(Duration::from_secs(10));
        let list = Fault::new(slow).on("compute", "VirtualMachineScaleSets_List");
        world.sim.faults().script(list);
        // The same application, and yet another Secret: a credential of its own.
        let CredentialSource::Keys(mut other) = secret_keys() else {
            panic!("keys");
        };
        other.insert("NOTE".to_owned(), Secret::new(b"rotated".to_vec()));
        let one = world.session().await;
        let world = world.signed_in_with(CredentialSource::Keys(other));
        let other = world.session().await;
        let reads = ["a", "b"].into_iter().flat_map(|group| {
            let Handle::Azure(mut handle) = world.handle(&Pool::demo()) else {
                panic!("an Azure pool");
            };
            handle.place.resource_group_name = group.to_owned();
            handle.sets.clear();
            [&one, &other].map(|session| {
                let handle = Handle::Azure(handle.clone());
                async move {
                    let read = session.observe(&handle, Depth::Members, Freshness::Steady);
                    read.await.unwrap()
                }
            })
        });
        let started = Instant::now();
        futures::future::join_all(reads).await;
        started.elapsed().as_secs()
    };
    assert_eq!(took(4).await, 10);
    assert_eq!(took(2).await, 20);
}
